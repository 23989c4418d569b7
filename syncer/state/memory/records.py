"""The part of a database in memory about records: journal, conflicts, quarantine, operations, repairs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from syncer.conflict.acts import FillConflict, Journal, RecordConflict
from syncer.conflict.causality.consumed import Consumed
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Region, Stamp
from syncer.state.contract.conflicts import Amount, ConflictRow
from syncer.state.contract.operations import Operation, OperationState
from syncer.state.contract.quarantine import DeadLetter, DeadLetterRow, KeptAside
from syncer.state.contract.repairs import RefusedTelling, Repair, Telling
from syncer.state.memory import selection
from syncer.state.memory.database import UndoLog


class RecordTables(UndoLog):
    """The part of a transaction that is about records."""

    # -- consumption

    def consumed(self, senders: Collection[str]) -> dict[str, Consumed]:
        """What was consumed of each sender that is known."""
        return {sender: self._db.consumed[sender] for sender in senders if sender in self._db.consumed}

    def senders(self) -> set[str]:
        """Every sender of whom something was consumed."""
        return set(self._db.consumed)

    def save_consumed(self, consumed: dict[str, Consumed]) -> None:
        """Replace what was consumed of these senders."""
        for sender, value in consumed.items():
            self._put(self._db.consumed, sender, value)

    # -- journal and conflicts

    def journal(self, rows: Sequence[Journal], now: Millis) -> None:
        """Append decisions."""
        for entry in rows:
            self._put(self._db.journal, self._number("journal"), (now, entry))

    def deletes_passed(self, since: Millis, limit: int) -> list[Millis]:
        """When the latest local deletes were journaled as published, after ``since``, oldest first; not those held."""
        deletes = (at for at, row in self._db.journal.values() if selection.is_delete(row))
        return sorted(at for at in deletes if at > since)[-limit:]

    def conflict(self, record: RecordConflict, now: Millis) -> None:
        """Keep a conflict; the same path, loser stamp and digest is kept once, its value filled if it was lacking."""
        for number, row in self._db.conflicts.items():
            if (row.path, row.loser, row.loser_digest) == (record.path, record.loser, record.loser_digest):
                if row.value is None and record.value is not None:
                    self._put(self._db.conflicts, number, replace(row, value=record.value))
                return
        number = self._number("conflicts")
        row = ConflictRow(
            id=number,
            path=record.path,
            loser=record.loser,
            loser_seen=record.loser_seen,
            loser_digest=record.loser_digest,
            value=record.value,
            winner=record.winner,
            reason=record.reason,
            recorded_at_ms=now,
        )
        self._put(self._db.conflicts, number, row)

    def fill_conflict(self, fill: FillConflict) -> None:
        """Give the value to conflicts of this path and digest that lack it."""
        for number, row in list(self._db.conflicts.items()):
            if row.path == fill.path and row.loser_digest == fill.digest and row.value is None:
                self._put(self._db.conflicts, number, replace(row, value=fill.value))

    def conflict_row(self, number: int) -> ConflictRow | None:
        """A conflict by its number."""
        return self._db.conflicts.get(number)

    def mark_restored(self, number: int, now: Millis) -> None:
        """Note that the loser of a conflict was restored."""
        row = self._db.conflicts.get(number)
        if row is not None:
            self._put(self._db.conflicts, number, replace(row, restored_at_ms=now))

    def kept_conflicts(self) -> Amount:
        """How many conflicts are kept, and how many bytes of values and paths in all."""
        return selection.kept_conflicts(self._db.conflicts.values())

    def drop_conflicts(
        self, limit: int, *, by: Region | None = None, until: int | None = None, restored: bool = False
    ) -> int:
        """Forget the oldest conflicts: whose loser is of that region, or was restored; how many were there."""
        chosen = selection.chosen_conflicts(self._db.conflicts.values(), limit, by=by, until=until, restored=restored)
        for row in chosen:
            self.drop_conflict(row.id)
        return len(chosen)

    def drop_conflict(self, number: int) -> None:
        """Forget a conflict."""
        self._drop(self._db.conflicts, number)

    # -- quarantine, and events from the future

    def quarantine(self, poison: DeadLetter, now: Millis) -> None:
        """Keep something that cannot be handled; the same origin and position is kept once."""
        place = (poison.origin, poison.position)
        if all((row.poison.origin, row.poison.position) != place for row in self._db.quarantine.values()):
            number = self._number("quarantine")
            self._put(self._db.quarantine, number, DeadLetterRow(id=number, poison=poison, recorded_at_ms=now))

    def kept_aside(self) -> KeptAside:
        """How much of what came by the bus is kept aside."""
        return selection.kept_aside((row.poison for row in self._db.quarantine.values()), self._db.future.values())

    def unfolded(self) -> int:
        """How many changes of this region stand in quarantine because the bus will never take them."""
        return selection.unfolded(row.poison for row in self._db.quarantine.values())

    def dead_letter(self, number: int) -> DeadLetterRow | None:
        """A quarantined thing by its number."""
        return self._db.quarantine.get(number)

    def drop_dead_letter(self, number: int) -> None:
        """Remove a quarantined thing."""
        self._drop(self._db.quarantine, number)

    def hold_event(self, event: MetadataChangeEvent, until: Millis, now: Millis) -> None:
        """Keep an event from the future aside until then; the same path and stamp is kept once, the sooner."""
        del now  # nobody asks here since when it is held
        key = (event.path, event.stamp)
        if key not in self._db.future:
            self._put(self._db.future, key, event)
        self._put(self._db.future_until, key, min(until, self._db.future_until.get(key, until)))

    def future_events(self, now: Millis, limit: int) -> list[MetadataChangeEvent]:
        """Held events whose time has come, the oldest stamps first."""
        found = [event for key, event in self._db.future.items() if self._db.future_until[key] <= now]
        return sorted(found, key=selection.age)[:limit]

    def future_events_at(self, paths: Collection[MetaPath], limit: int) -> list[MetadataChangeEvent]:
        """Held events of these paths, whatever their time, the oldest stamps first."""
        return sorted((event for event in self._db.future.values() if event.path in paths), key=selection.age)[:limit]

    def future_event(self, path: MetaPath, stamp: Stamp | None) -> MetadataChangeEvent | None:
        """The held event of a path (the oldest when no stamp is given)."""
        found = (event for event in self._db.future.values() if event.path == path and stamp in {None, event.stamp})
        return min(found, key=selection.age, default=None)

    def drop_future(self, path: MetaPath, stamp: Stamp) -> None:
        """Forget a held event."""
        self._drop(self._db.future, (path, stamp))
        self._drop(self._db.future_until, (path, stamp))

    # -- operations and repairs

    def pending_operations(
        self, limit: int, *, only: Collection[str] | None = None, without: Collection[str] = ()
    ) -> list[Operation]:
        """Operations that wait for the daemon, oldest first."""
        found = (self._db.operations[number][0] for number in sorted(self._db.operations))
        return selection.pending_operations(found, limit, only, without)

    def finish_operation(self, number: int, state: OperationState, answer: str, code: str, now: Millis) -> None:
        """Answer an operation."""
        if number in self._db.operations:
            operation = replace(
                self._db.operations[number][0], state=state, answer=answer, code=code, finished_at_ms=now
            )
            self._put(self._db.operations, number, (operation, now))

    def repair(self, number: int | None = None) -> Repair | None:
        """A repair by its number; without one, the oldest that is running. Cheap when none is."""
        return selection.repair(self._db.repairs, number)

    def save_repair(self, repair: Repair) -> None:
        """Keep how far a repair is, or that it is over."""
        self._put(self._db.repairs, repair.id, repair)

    def tellings(self, repair: int, limit: int, after: int) -> list[Telling]:
        """What is to be told of a repair, with a number above ``after``, in order."""
        return selection.tellings(self._db.tellings, repair, limit, after)

    def decided(self, repair: int, through: int, refused: Sequence[RefusedTelling]) -> None:
        """All up to that number were decided; of these only the refused ones are kept, with the reason."""
        for key in selection.over(self._db.tellings, repair, through, refused):
            self._drop(self._db.tellings, key)
        for each in refused:
            self._put(self._db.tellings, (repair, each.number), each)
