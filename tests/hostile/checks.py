"""What must hold after each attack, whoever made it and whatever it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from syncer.model import MetaPath
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.waiting import until
from tests.hostile.group import NAMES, Group, Member, conflicts_of, same

MEMORY_MIB: Final = 384
"""Bound of the resident memory of one daemon; one that has just started takes about 110."""
SHOWN: Final = 80
"""Characters of a path."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Which daemon process works on which database, in which of its turns as the active one."""

    pid: int
    database: str
    generation: int
    epoch: int
    tally: dict[str, int]
    quarantine: int
    last_poison: int
    conditions: frozenset[str]

    @classmethod
    def of(cls, member: Member) -> Standing:
        """How a member stands now."""
        status = member.status()
        report: dict[str, Any] = dict(status.document or {})
        identity = status.identity
        return cls(
            pid=member.pid,
            database=identity.database_id,
            generation=identity.generation,
            epoch=identity.epoch,
            tally=dict(report.get("tally", {})),
            quarantine=status.counts.quarantine,
            last_poison=max((row.id for row in member.poisoned()), default=0),
            conditions=frozenset(each["code"] for each in report.get("conditions", ())),
        )


def standing(group: Group) -> dict[str, Standing]:
    """How all stand now."""
    return {member.name: Standing.of(member) for member in group}


async def all_well(group: Group, before: dict[str, Standing], *, renews: bool) -> None:
    """Wait until all is as if nothing had been said.

    Raises:
        AssertionError: It is not, and the text says what.
    """
    began_ms = wall_clock_ms()
    if renews:
        await until(lambda: all(map(_is_whole, group)), "nothing is rebuilt", needs=group)
    await honest_writes_arrive(group)
    await roots_are_equal(group, began_ms)
    for member in group:
        now, then = Standing.of(member), before[member.name]
        assert now.pid == then.pid or renews, f"the daemon of {member.name} was started anew"
        same = now.database == then.database
        assert same or renews, f"{member.name} has thrown its database away"
        assert now.epoch == then.epoch or renews, f"the daemon of {member.name} has fallen, and begun anew"
        paused = member.identity.paused
        assert paused is None, f"{member.name} stands still: {paused}"
        resident = member.resident_mib
        assert resident < MEMORY_MIB, f"the daemon of {member.name} has {resident:.0f} MiB, bound {MEMORY_MIB}"


def _is_whole(member: Member) -> bool:
    """Whether a region's database is no longer being rebuilt: what differs until then is held, as at first contact."""
    status = member.status()
    report: dict[str, Any] = dict(status.document or {})
    own = report.get("database_id") == status.identity.database_id  # and not what the former one has told
    return own and status.identity.first_scan_done and not report["rebuild"]


async def honest_writes_arrive(group: Group) -> None:
    """Every honest write is everywhere, or was kept whole in a conflict; first without, then with a loss on the bus."""
    group.write_everywhere()
    await _until_everywhere(group)
    group.quarrel()
    await group.lose()
    await _until_everywhere(group)
    for path, values in _overwritten(group):
        kept = conflicts_of(list(group), path)
        lost = [value for value in values if not any(same(path, value, each) for each in kept)]
        assert not lost, f"{path[:SHOWN]}: {lost[0][:60]!r} stands nowhere, and in no conflict record"
    group.unsettled.clear()


async def _until_everywhere(group: Group) -> None:
    def missing() -> str:
        paths = sorted(set(_missing(group)))
        return f"{len(paths)} are not: {', '.join(path[:SHOWN] for path in paths[:5])}"

    await until(lambda: not any(_missing(group)), "every honest write is everywhere", needs=group, shown=missing)


def _missing(group: Group) -> Iterator[MetaPath]:
    """Honest paths that are not the same everywhere."""
    first, *others = (member.writer.items() for member in group)
    for path in group.unsettled:
        if not all(same(path, other.get(path), first.get(path)) for other in others):
            yield path


def _overwritten(group: Group) -> Iterator[tuple[MetaPath, list[bytes]]]:
    """Honest paths, and the values of them that stand nowhere."""
    held = group.members[NAMES[0]].writer.items()
    for path in sorted(group.unsettled):
        if gone := [value for value in group.honest[path] if not same(path, value, held.get(path))]:
            yield path, gone


async def roots_are_equal(group: Group, since_ms: int) -> None:
    """Every pair of regions finds its digest trees equal, by heartbeats sent after this moment."""

    def equal() -> bool:
        for member in group:
            found = member.report().get("comparisons", {})
            for peer in set(NAMES) - {member.name}:
                compared = found.get(peer, {})
                if compared.get("state") != "equal" or (compared.get("equal_at_ms") or 0) < since_ms:
                    return False
        return True

    await until(equal, "all roots are equal", needs=group)
