"""The spread of ledgers over racks, or regions, by column: as :mod:`syncer.ledgers.auditing.spreading` tells of each.

Ensembles are many, those of racks are few: each of these is judged once, by the pure rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from spark_snapshot.audit.columns import Flags, LedgerColumns
from spark_snapshot.audit.ledger_files import LedgerFiles
from spark_snapshot.audit.rows import UNSPREAD
from spark_snapshot.audit.writing import WRITTEN, TaskTables
from syncer.ledgers.auditing.spreading import PlacementRules
from syncer.ledgers.placement.adherence import RackPolicy, is_spread
from syncer.ledgers.placement.racks import RackMap

NEEDED: Final = ("ledger_id", "ensemble", "write_quorum", "ack_quorum", "last_entry", "topic", "segments")
COUNTS: Final = ("ledgers", "closed", "not_spread", "counted")
TOLD: Final = pa.schema([*WRITTEN, *(pa.field(name, pa.int64()) for name in COUNTS)])
"""What a task tells: rows of ``WRITTEN``, and one without a table that has the counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadRule:
    """What ledgers are held against.

    Args:
        racks: Bookie → rack, as operators told Pulsar.
        rules: How brokers place ledgers.
        writable: Bookies that take entries now; ``None``: not known, so nothing is said of what the auditor counts.
    """

    racks: Mapping[str, str]
    rules: PlacementRules
    writable: frozenset[str] | None

    def segments_not_spread(self, ledgers: LedgerColumns) -> Flags:
        """The segments that are not spread, by the racks, or regions, that are configured.

        Args:
            ledgers: A batch.
        """
        known = RackMap(self.racks)
        place_of = known.region if self.rules.regions else known.rack
        return _not_spread(ledgers, [place_of(each) for each in ledgers.names], self.rules.held_against)

    def segments_counted(self, ledgers: LedgerColumns) -> Flags | None:
        """The segments in which BookKeeper's auditor finds fault; ``None`` where that is not known.

        Args:
            ledgers: A batch.
        """
        writable = self.writable
        if writable is None:
            return None
        if self.rules.regions:
            return np.zeros(len(ledgers.segments.ledger), dtype=np.bool_)
        known = RackMap(self.racks)
        places = [known.rack(each) if each in writable else None for each in ledgers.names]
        return _not_spread(ledgers, places, self.rules.policy)


@dataclass(slots=True)
class SpreadCounts:
    """Ledgers by their spread; ``counted`` is of closed ones, and nothing where it is not known."""

    ledgers: int = 0
    closed: int = 0
    not_spread: int = 0
    counted: int | None = None

    def add(self, told: Mapping[str, int | None]) -> None:
        """Add what a task has counted.

        Args:
            told: By the names of ``COUNTS``.
        """
        self.ledgers += told["ledgers"] or 0
        self.closed += told["closed"] or 0
        self.not_spread += told["not_spread"] or 0
        counted = told["counted"]
        if counted is not None:
            self.counted = (self.counted or 0) + counted


def unspread(rows: pa.RecordBatch, rule: SpreadRule, counts: SpreadCounts) -> pa.RecordBatch:
    """Count a batch by its spread, and tell of what is not spread.

    Args:
        rows: Of ``LEDGERS``, with the columns ``NEEDED``.
        rule: What they are held against.
        counts: Grow.

    Returns:
        Rows of ``UNSPREAD``.
    """
    if not rows.num_rows:
        return pa.RecordBatch.from_pylist([], schema=UNSPREAD)
    ledgers = LedgerColumns.of(rows)
    here = ledgers.segments.ledger
    failing = np.bincount(here[rule.segments_not_spread(ledgers)], minlength=len(ledgers))
    harmed = np.flatnonzero(failing)
    counted = rule.segments_counted(ledgers)
    told: dict[str, int | None] = {
        "ledgers": len(ledgers),
        "closed": int(ledgers.closed.sum()),
        "not_spread": len(harmed),
        "counted": None,
    }
    if counted is not None:
        at_fault = np.bincount(here[counted], minlength=len(ledgers)) > 0
        told["counted"] = int((at_fault & ledgers.closed).sum())
    counts.add(told)
    return pa.RecordBatch.from_arrays(
        [
            rows.column("ledger_id").take(harmed),
            rows.column("topic").take(harmed),
            pa.array(failing[harmed], pa.int32()),
        ],
        schema=UNSPREAD,
    )


@dataclass(frozen=True, slots=True)
class SpreadTables:
    """Tells of the spread of ledgers in files; what ``mapInArrow`` calls.

    Args:
        location: The folder of the audit's tables.
        ledgers: The files.
        rule: What ledgers are held against.
    """

    location: str
    ledgers: LedgerFiles
    rule: SpreadRule

    def __call__(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows of ``TOLD`` for numbers of parts.

        Raises:
            SnapshotDamaged: A file is gone or damaged.
            OSError: The place refuses a file, or has no room.
        """
        counts = SpreadCounts()
        with TaskTables(self.location, unspread=UNSPREAD) as tables:
            for batch in numbers:
                chosen: list[Any] = batch.column(0).to_pylist()
                for number in chosen:
                    for rows in self.ledgers.rows(number, NEEDED):
                        tables.add(unspread=unspread(rows, self.rule, counts))
            for written in tables.told(0):
                nothing = [pa.nulls(written.num_rows, pa.int64())] * len(COUNTS)
                yield pa.RecordBatch.from_arrays([*written.columns, *nothing], schema=TOLD)
        row = dict.fromkeys(TOLD.names) | {name: getattr(counts, name) for name in COUNTS}
        yield pa.RecordBatch.from_pylist([row], schema=TOLD)


def _not_spread(ledgers: LedgerColumns, place_of: list[str | None] | list[str], policy: RackPolicy) -> Flags:
    """The segments of which a write quorum is not spread over places; those of each bookie are given."""
    places: list[str | None] = [None, *sorted({each for each in place_of if each is not None})]
    number = {each: at for at, each in enumerate(places)}
    codes = np.array([number[each] for each in place_of], dtype=np.int64)[ledgers.bookies]
    found = np.zeros(len(ledgers.segments.ledger), dtype=np.bool_)
    for chosen, ensemble, write in ledgers.alike(np.arange(len(found))):
        if not ensemble:
            continue
        rows = codes[ledgers.segments.start[chosen][:, None] + np.arange(ensemble)]
        kinds, which = np.unique(rows, axis=0, return_inverse=True)
        fails = [not is_spread([places[each] for each in kind], write, policy) for kind in kinds.tolist()]
        found[chosen] = np.array(fails, dtype=np.bool_)[which.reshape(-1)]
    return found
