"""Selections of rows: questions that the contract asks, answered on plain mappings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from syncer.conflict.acts import Decision, Journal
from syncer.conflict.register import HoldReason, Register
from syncer.conflict.tombstones import COUNTED
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Millis, Region, Stamp
from syncer.state.contract.conflicts import Amount, ConflictRow
from syncer.state.contract.operations import Operation, OperationState
from syncer.state.contract.quarantine import STRANGE_CODES, DeadLetter, KeptAside
from syncer.state.contract.repairs import RefusedTelling, Repair, RepairState, Telling
from syncer.state.contract.tombstones import Tombstone
from syncer.state.contract.tree import KeptTree
from syncer.state.encoding import dumps, event_head


def stood(register: Register) -> bool:
    """Whether something stood at the path when it was last read."""
    unreadable = register.hold is not None and register.hold.reason is HoldReason.UNREADABLE
    return register.stored_alive or unreadable


def is_delete(row: Journal) -> bool:
    """Whether a decision is that a local delete is published."""
    return row.decision is Decision.PUBLISHED and row.digest is None


def living(registers: Mapping[MetaPath, Register], limit: int, after: MetaPath | None) -> list[tuple[MetaPath, Digest]]:
    """The living known versions of registers, in path order."""
    found: list[tuple[MetaPath, Digest]] = []
    for path in sorted(registers):
        known = registers[path].known
        if path > (after or "") and known is not None and known.digest is not None and len(found) < limit:
            found.append((path, known.digest))
    return found


def logged(tree: KeptTree, changes: bytes) -> KeptTree:
    """The tree with one more row in its log."""
    return replace(tree, number=tree.number + 1, log=(*tree.log, changes))


def dead(
    registers: Mapping[MetaPath, Register], limit: int, until: Millis, after: tuple[Millis, MetaPath] | None
) -> list[Tombstone]:
    """Tombstones with nothing due, by time and path."""
    found: list[Tombstone] = []
    for path, register in registers.items():
        known, busy = register.known, register.due or register.wish is not None or register.intent is not None
        if known is not None and not known.alive and not busy and known.stamp.updated_at_ms <= until:
            found.append(Tombstone(path, known.stamp))
    found.sort(key=lambda each: (each.stamp.updated_at_ms, each.path))
    beyond = [each for each in found if after is None or (each.stamp.updated_at_ms, each.path) > after]
    return beyond[:limit]


def dying(registers: Mapping[MetaPath, Register], limit: int, after: MetaPath | None) -> list[MetaPath]:
    """Paths known to be deleted of which something is unsettled, in path order."""
    found = [
        path
        for path, register in registers.items()
        if register.known is not None
        and not register.known.alive
        and (register.due or register.wish is not None or register.intent is not None)
    ]
    return sorted(path for path in found if after is None or path > after)[:limit]


def unapplied(registers: Iterable[Register], future: Iterable[Stamp]) -> tuple[int, Millis | None]:
    """Deletes that are due and events that wait: how many, as far as they are counted, and the smallest time."""
    times = [stamp.updated_at_ms for stamp in future]
    for register in registers:
        known = register.known
        if known is not None and not known.alive and (register.due or register.wish is not None):
            times.append(known.stamp.updated_at_ms)
    return min(len(times), COUNTED), min(times, default=None)


def kept_values(registers: Iterable[Register], above_bytes: int) -> Amount:
    """Values of registers that are due, those of more bytes than that."""
    values = [each.known.value or b"" for each in registers if each.known is not None and each.due]
    sizes = [len(value) for value in values if len(value) > above_bytes]
    return Amount(len(sizes), sum(sizes))


def kept_conflicts(conflicts: Iterable[ConflictRow]) -> Amount:
    """How much of them is kept."""
    sizes = [len(row.path.encode()) + len(row.value or b"") for row in conflicts]
    return Amount(len(sizes), sum(sizes))


def chosen_conflicts(
    conflicts: Iterable[ConflictRow], limit: int, *, by: Region | None, until: int | None, restored: bool
) -> list[ConflictRow]:
    """The oldest of those that are to be forgotten."""
    chosen = [row for row in conflicts if by in {None, row.loser.region}]
    chosen = [row for row in chosen if until is None or row.id <= until]
    chosen = [row for row in chosen if row.restored_at_ms is not None or not restored]
    return sorted(chosen, key=lambda row: row.id)[:limit]


def kept_aside(poisons: Iterable[DeadLetter], future: Iterable[MetadataChangeEvent]) -> KeptAside:
    """How much of what came by the bus is kept aside, as the rows of a database count it."""
    amounts = {True: Amount(0, 0), False: Amount(0, 0)}
    for poison in poisons:
        if poison.origin == "bus":
            strange = poison.code in STRANGE_CODES
            count, total = amounts[strange]
            amounts[strange] = Amount(count + 1, total + len(poison.payload) + len(dumps(poison.properties).encode()))
    sizes = [len(event.value or b"") + len(event_head(event).encode()) for event in future]
    return KeptAside(strangers=amounts[True], poison=amounts[False], future=Amount(len(sizes), sum(sizes)))


def unfolded(poisons: Iterable[DeadLetter]) -> int:
    """Changes in quarantine that the bus never takes."""
    return sum(poison.origin == "outbox" for poison in poisons)


def repair(rows: Mapping[int, Repair], number: int | None) -> Repair | None:
    """A repair by its number; without one, the oldest that is running."""
    if number is not None:
        return rows.get(number)
    return next((rows[each] for each in sorted(rows) if rows[each].state is RepairState.RUNNING), None)


def tellings(
    rows: Mapping[tuple[int, int], Telling | RefusedTelling], repair: int, limit: int, after: int
) -> list[Telling]:
    """What is to be told of a repair, in order."""
    found = [rows[key] for key in sorted(rows) if key[0] == repair and key[1] > after]
    return [each for each in found if isinstance(each, Telling)][:limit]


def pending_operations(
    operations: Iterable[Operation], limit: int, only: Collection[str] | None, without: Collection[str]
) -> list[Operation]:
    """The first that wait, of some kinds."""
    waiting = (each for each in operations if each.state is OperationState.PENDING and each.kind not in without)
    return list(islice((each for each in waiting if only is None or each.kind in only), limit))


def over(
    rows: Mapping[tuple[int, int], Telling | RefusedTelling],
    repair: int,
    through: int,
    refused: Sequence[RefusedTelling],
) -> list[tuple[int, int]]:
    """What of a repair need not be kept any more."""
    kept = {each.number for each in refused}
    return [
        (of, number)
        for (of, number), each in rows.items()
        if of == repair and number <= through and number not in kept and isinstance(each, Telling)
    ]


def age(event: MetadataChangeEvent) -> tuple[int, str, str]:
    """Order of events by the time of their stamps."""
    return event.stamp.updated_at_ms, event.stamp.region, event.path
