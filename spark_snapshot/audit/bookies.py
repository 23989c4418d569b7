"""The bookies of a cluster as an audit lists them: those that are there, and those that are named and away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import Row

from spark_snapshot.audit.rows import BOOKIE_LIST, UNDECODABLE
from syncer.ledgers.auditing.spreading import racks_were_read
from syncer.ledgers.decoding.entries import ledger_entry
from syncer.ledgers.decoding.undecodable import Undecodable
from syncer.ledgers.nodes import BookieCookie, BookieRegistration, BookieState
from syncer.ledgers.placement.racks import RackMap, rack_map
from syncer.wanted.contract import REFUSED
from syncer.wanted.ledgers import LedgerPathKind


@dataclass(slots=True)
class ListedBookies:
    """Bookies by what the store says of them.

    Attributes:
        states: Of those that are there.
        cookies: Bookies that once had disks there.
        racks: As operators told Pulsar.
        flaws: Rows of ``UNDECODABLE``.
    """

    states: dict[str, BookieState] = field(default_factory=dict)
    cookies: set[str] = field(default_factory=set)
    racks: RackMap = field(default_factory=RackMap)
    flaws: list[tuple[str, str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Iterable[Row], root: str) -> ListedBookies:
        """List the bookies.

        Args:
            rows: What was read of them, rows of ``DATED_STORE``.
            root: Where BookKeeper's own paths begin.
        """
        found = cls()
        for row in rows:
            path, kind, value = row["path"], row["kind"], bytes(row["value"])
            if kind == REFUSED:
                found.flaws.append((path, kind, "it may not be read, nor what lies below it"))
            elif kind == LedgerPathKind.RACKS:
                found.racks = rack_map(value)
                found.flaws += [(path, kind, flaw) for flaw in found.racks.flaws]
            else:
                found._take(ledger_entry(path, value, row["created_ms"], root))
        return found

    def _take(self, entry: object) -> None:
        match entry:
            case BookieRegistration():
                state = BookieState.READ_ONLY if entry.read_only else BookieState.WRITABLE
                if self.states.get(entry.bookie) is not BookieState.WRITABLE:
                    self.states[entry.bookie] = state
            case BookieCookie():
                self.cookies.add(entry.bookie)
            case Undecodable():
                self.flaws.append((entry.path, entry.kind, entry.why))

    @property
    def known(self) -> bool:
        """Some are there. Files keep none, since they are there for a session: then nobody is taken for lost."""
        return bool(self.states)

    @property
    def racks_known(self) -> bool:
        """The racks of bookies were configured, and read without a flaw."""
        return racks_were_read(self.racks, [path for path, kind, _ in self.flaws if kind == REFUSED])

    @property
    def writable(self) -> frozenset[str]:
        """Those that take entries."""
        return frozenset(each for each, state in self.states.items() if state is BookieState.WRITABLE)

    def rows(self, away: Mapping[str, int]) -> pa.RecordBatch:
        """Rows of ``BOOKIE_LIST``, in the order of their ids.

        Args:
            away: Bookies that ledgers name and that are not there, with the ledgers of each.
        """
        names = sorted({*self.states, *self.cookies, *away})
        columns: list[list[Any]] = [
            names,
            [self.states.get(each, BookieState.AWAY) for each in names],
            [each in self.cookies for each in names],
            [self.racks.racks.get(each) for each in names],
            [None if each in self.states else away.get(each, 0) for each in names],
        ]
        return pa.RecordBatch.from_arrays(
            [pa.array(column, each.type) for column, each in zip(columns, BOOKIE_LIST, strict=True)],
            schema=BOOKIE_LIST,
        )

    def undecodable(self) -> pa.RecordBatch:
        """Rows of ``UNDECODABLE``."""
        columns: Any = zip(*self.flaws, strict=True) if self.flaws else ((), (), ())
        return pa.RecordBatch.from_arrays([pa.array(each, pa.string()) for each in columns], schema=UNDECODABLE)
