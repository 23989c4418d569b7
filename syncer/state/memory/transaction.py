"""One transaction on a database in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from syncer.conflict.classes.periods import ScopePeriod
from syncer.conflict.register import Register
from syncer.conflict.withholding import carried_value, withheld_payload
from syncer.model import Millis, Region
from syncer.state.contract.identity import Identity, check_changes
from syncer.state.contract.membership import Membership
from syncer.state.contract.operations import OperationState
from syncer.state.contract.peers import PeerRow
from syncer.state.contract.repairs import Repair, RepairState, Telling
from syncer.state.memory.jobs import JobTables
from syncer.state.memory.ledger_audits import LedgerAuditTables
from syncer.state.memory.move_runs import MoveRunTables
from syncer.state.memory.paths import PathTables
from syncer.state.memory.records import RecordTables


class MemoryTransaction(PathTables, RecordTables, MoveRunTables, JobTables, LedgerAuditTables):
    """Implements :class:`~syncer.state.contract.transaction.Transaction`."""

    # -- facts

    def identity(self) -> Identity:
        """Facts about the database."""
        return self._db.facts[""]

    def set_identity(self, **changes: object) -> Identity:
        """Change some fields of the identity (not region, database id or last sequence)."""
        check_changes(changes)
        changed: Any = changes
        self._put(self._db.facts, "", replace(self._db.facts[""], **changed))
        return self._db.facts[""]

    def membership(self) -> Membership:
        """This region's place in the group."""
        return self._db.membership[""]

    def set_left(self, left_at: Millis | None) -> None:
        """Note that this region has left the group, or has not."""
        self._put(self._db.membership, "", replace(self._db.membership[""], left_at=left_at))

    def scope_periods(self) -> tuple[ScopePeriod, ...]:
        """The latest scopes of this region, the oldest first."""
        return self._db.scope_periods[""]

    def keep_scope_periods(self, periods: Sequence[ScopePeriod]) -> None:
        """Keep these, and no others."""
        self._put(self._db.scope_periods, "", tuple(periods))

    def save_peer(self, peer: PeerRow) -> None:
        """Keep what a peer told last."""
        self._put(self._db.peers, peer.region, peer)

    def drop_peer(self, region: Region) -> None:
        """Keep nothing of a peer."""
        self._drop(self._db.peers, region)

    def peers(self, regions: Collection[Region] | None = None) -> list[PeerRow]:
        """All peers that were ever heard, or those of these regions."""
        kept = self._db.peers
        return [kept[region] for region in sorted(kept) if regions is None or region in regions]

    def withhold(self, without: Callable[[Register], Register]) -> int:
        """Take what is withheld by now out of what is kept; how many rows had some of it."""
        found = [after for each in self._db.registers.values() if (after := without(each)) is not each]
        self.save(found)
        changed = len(found)
        for events in (self._db.outbox, self._db.carried, self._db.held, self._db.future):
            changed += self._withhold_in(events)
        changed += self._withhold_in(self._db.conflicts)
        for number, row in list(self._db.quarantine.items()):
            payload = withheld_payload(row.poison.path, row.poison.payload)
            if payload is not row.poison.payload:
                poison = replace(row.poison, payload=payload)
                self._put(self._db.quarantine, number, replace(row, poison=poison))
                changed += 1
        return changed

    def _withhold_in(self, rows: dict[Any, Any]) -> int:
        changed = 0
        for key, row in list(rows.items()):
            if row.value is not None and (value := carried_value(row.path, row.value)) is not row.value:
                self._put(rows, key, replace(row, value=value))
                changed += 1
        return changed

    def save_status(self, document: dict[str, object], now: Millis) -> None:
        """Keep the daemon's own report for ``syncer status``."""
        self._put(self._db.status, "", (now, document))

    # -- upkeep

    def prune(self, journal_before: Millis, limit: int, audit_before: Millis | None = None) -> int:
        """Drop journal rows, and operations, repairs and migrations that were over, before that."""
        old = [number for number in sorted(self._db.journal)[:limit] if self._db.journal[number][0] < journal_before]
        done = [
            number
            for number, (operation, at) in sorted(self._db.operations.items())
            if operation.state is not OperationState.PENDING
            and at < (journal_before if audit_before is None else audit_before)
        ][:limit]
        for number in old:
            self._drop(self._db.journal, number)
        for number in done:
            self._drop(self._db.operations, number)
        gone = [key for key, each in self._db.tellings.items() if self._is_over(key[0]) and isinstance(each, Telling)]
        ended = [each.id for each in self._db.repairs.values() if self._is_old(each, journal_before)]
        gone += [key for key in self._db.tellings if key[0] in ended and key not in gone]
        for key in gone:
            self._drop(self._db.tellings, key)
        for number in ended:
            self._drop(self._db.repairs, number)
        taken_along = self._prune_migrations(journal_before) + self._prune_move_runs(journal_before)
        return len(old) + len(done) + len(gone) + len(ended) + taken_along

    def _is_over(self, number: int) -> bool:
        return number in self._db.repairs and self._db.repairs[number].state.over

    @staticmethod
    def _is_old(repair: Repair, before: Millis) -> bool:
        if repair.state.over:
            return repair.finished_at_ms is not None and repair.finished_at_ms < before
        return repair.state is not RepairState.RUNNING and repair.made_at_ms < before
