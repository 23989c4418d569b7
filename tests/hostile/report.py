"""What is printed: a line per attack and attacker, and the counts alone on the last line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.hostile.attack import Attack
from tests.hostile.checks import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One attack by one attacker, and how it ended.

    Args:
        who: Who made it, and on what.
        maker: Who made it.
    """

    attack: Attack
    who: str
    maker: str = ""
    failure: str
    happened: str
    seconds: float

    @property
    def line(self) -> str:
        """The line that is printed."""
        verdict = "FAIL" if self.failure else "PASS"
        text = f"{verdict} {self.attack.name} ({self.who}): {self.failure or self.happened} [{self.seconds:.1f} s]"
        return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in " ".join(text.split()))


def happened(before: Standing, after: Standing, commands: Sequence[str]) -> str:
    """What one region shows of an attack: what it has refused, set aside, and tells its operator."""
    counts = {
        name: count - before.tally.get(name, 0)
        for name, count in after.tally.items()
        if name.startswith(("refused.", "ignored.")) and count > before.tally.get(name, 0)
    }
    words = [f"{name.replace('.', ' ')} {count}" for name, count in sorted(counts.items())]
    if after.quarantine > before.quarantine:
        words.append(f"set aside {after.quarantine - before.quarantine}")
    if after.database != before.database:
        words.append("began with a new database")
    words += [f"told {code}" for code in sorted(after.conditions - before.conditions)]
    words += [f"cured by 'syncer {command}'" for command in commands]
    return ", ".join(words) or "nothing came of it"


def last_line(played: Iterable[Played]) -> str:
    """The counts."""
    verdicts = [not each.failure for each in played]
    return f"{sum(verdicts)} passed, {len(verdicts) - sum(verdicts)} failed"
