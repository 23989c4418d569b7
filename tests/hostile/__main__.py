"""Command line: ``python -m tests.hostile [--only TEXT ...] [--list]``; exit status 1 when anything fails."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import anyio

from syncer.log import configure
from tests.hostile.attack import Attack, Who
from tests.hostile.attacks import ATTACKS
from tests.hostile.playing import Play, Stage
from tests.hostile.report import Played, last_line

STAGES: Final = ((Who.ANYBODY,), (Who.STRANGER, Who.TENANT), (Who.MEMBER,))
"""Attackers that meet the same group stand together."""


async def play_all(attacks: Sequence[Attack], who: Sequence[Who], folder: Path, seed: int) -> list[Played]:
    """Play all attacks by all of these attackers; each is printed when it is over."""
    played: list[Played] = []

    async def on(stage: Stage) -> None:
        plays = [Play(attack, each) for each in stage.who if each in who for attack in attacks if each in attack.who]
        async for each in stage.play(plays):
            played.append(each)
            print(each.line, flush=True)

    async with anyio.create_task_group() as tasks:
        for number, attackers in enumerate(STAGES):
            tasks.start_soon(on, Stage(folder / f"stage{number}", attackers, seed))
    return played


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print, judge."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--only", action="append", metavar="TEXT", help="attacks whose name or aim holds this text")
    parser.add_argument("--who", action="append", type=Who, choices=tuple(Who), help="attackers; all when not given")
    parser.add_argument("--seed", type=int, default=16, help="of every choice")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep stores, databases and logs here")
    parser.add_argument("--list", action="store_true", help="only list them")
    options = parser.parse_args(arguments)
    texts = options.only or [""]
    attacks = [each for each in ATTACKS if any(text in f"{each.name} {each.topic}" for text in texts)]
    if options.list:
        for attack in attacks:
            print(f"{attack.name} ({', '.join(attack.who)}): {attack.what}")
        return 0
    configure(level="error", form="console")
    with tempfile.TemporaryDirectory(prefix="hostile-") as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        played = anyio.run(play_all, attacks, options.who or tuple(Who), folder, options.seed)
    print(last_line(played))
    return 0 if played and not any(each.failure for each in played) else 1


if __name__ == "__main__":
    sys.exit(main())
