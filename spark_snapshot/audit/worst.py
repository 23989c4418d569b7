"""The worst sets of bookies of a finished audit, by its copysets alone: no ledger is read, and Spark is not needed.

A loss loses what lies on the copysets within it. Entries and bytes of copysets are apart, so that their sums are exact;
a ledger may have several copysets within a loss, so that its ledgers are between the most of one and the sum of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_snapshot.audit.copysets import CopysetKind
from spark_snapshot.audit.manifest import FinishedAudit
from spark_snapshot.audit.rows import COPYSETS
from spark_snapshot.format.places import Place
from syncer.errors import PreconditionFailed, SnapshotDamaged
from syncer.ledgers.losses.copysets import BookieBits
from syncer.ledgers.losses.odds import LossOdds, loss_odds
from syncer.ledgers.losses.tally import MOST_SETS, can_tally


class CountBounds(NamedTuple):
    """A count that is known from below and from above; where both are equal it is exact."""

    at_least: int
    at_most: int


class SetCost(NamedTuple):
    """The cost of the loss of a set of bookies; ``blocked`` are ledgers that nobody could recover."""

    bookies: tuple[str, ...]
    entries: int
    bytes: int
    ledgers: CountBounds
    blocked: CountBounds


class CopysetCosts:
    """The copysets of a cluster, by the bits of their bookies.

    Args:
        table: Rows of ``COPYSETS``.
        bookies: All bookies that may be lost.
    """

    def __init__(self, table: pa.Table, bookies: Sequence[str]) -> None:
        self._bits = BookieBits(sorted(bookies))
        self._all = list(self._bits.values())
        self._losing: dict[int, tuple[int, int, int]] = {}
        self._blocking: dict[int, int] = {}
        columns: list[list[Any]] = [table.column(name).to_pylist() for name in table.schema.names]
        for kind, names, ledgers, entries, size in zip(*columns, strict=True):
            bits = self._bits.bits(names)
            if kind == CopysetKind.LOSING:
                self._losing[bits] = (ledgers, entries, size)
            else:
                self._blocking[bits] = ledgers
        self._sizes = sorted({bits.bit_count() for bits in (*self._losing, *self._blocking)})

    def worst(self, size: int, count: int) -> list[SetCost]:
        """Find the sets that cost most: by ledgers, at most, that they lose or block, then by bytes.

        Args:
            size: Bookies of a set.
            count: How many sets.

        Raises:
            PreconditionFailed: There are too many sets of this size to try all, or none.
        """
        if not can_tally(len(self._all), size):
            raise PreconditionFailed(
                f"of {len(self._all)} bookies not every set of {size} can be tried: {MOST_SETS} are, and no more",
                hint="Try a smaller --size, or name a set to 'what-if'.",
            )
        costs = (self.cost(some) for some in combinations(self._all, size))
        harmful = [each for each in costs if each.entries or each.ledgers.at_most or each.blocked.at_most]
        harmful.sort(key=lambda each: (-each.ledgers.at_most - each.blocked.at_most, -each.bytes, each.bookies))
        return harmful[:count]

    def cost(self, lost: Sequence[int]) -> SetCost:
        """Add up the copysets within a loss.

        Args:
            lost: The bits of the bookies.
        """
        losing, blocking = [], []
        for bits in self._within(lost):
            if bits in self._losing:
                losing.append(self._losing[bits])
            if bits in self._blocking:
                blocking.append(self._blocking[bits])
        ledgers, entries, sizes = zip(*losing, strict=True) if losing else ((), (), ())
        return SetCost(self._bits.named(sum(lost)), sum(entries), sum(sizes), _bounds(ledgers), _bounds(blocking))

    def odds(self, size: int, pick: Callable[[int], int]) -> LossOdds:
        """Tell how likely it is that the loss of bookies at random loses an entry, or blocks a ledger.

        Args:
            size: Bookies that are lost.
            pick: Gives a random number from 0 up to, and without, the one that it is given.
        """
        return loss_odds({*self._losing, *self._blocking}, self._all, size, pick)

    def _within(self, lost: Sequence[int]) -> Iterator[int]:
        for size in self._sizes:
            for some in combinations(lost, size):
                yield sum(some)


def _bounds(counts: Sequence[int]) -> CountBounds:
    return CountBounds(max(counts, default=0), sum(counts))


def copyset_costs(audit: FinishedAudit, size: int) -> CopysetCosts:
    """Read the copysets of a finished audit that a loss can hold.

    Args:
        audit: The audit.
        size: Bookies that are lost.

    Raises:
        SnapshotDamaged: A file of the audit is gone or damaged.
    """
    tables = [_read(file) for file in audit.files("copysets")]
    some = [each.filter(pc.less_equal(_lengths(each), pa.scalar(size, pa.int32()))) for each in tables]
    named: set[str] = {
        row for file in audit.files("bookies") for row in _read(file).column("bookie").to_pylist() if row is not None
    }
    for each in tables:
        column: Any = each.column("bookies").combine_chunks()
        named.update(column.flatten().unique().to_pylist())
    return CopysetCosts(pa.concat_tables(some) if some else COPYSETS.empty_table(), sorted(named))


def _lengths(table: pa.Table) -> Any:  # noqa: ANN401 - Arrow's functions give anything
    column: Any = table.column("bookies")
    return pc.list_value_length(column)


def _read(file: Place) -> pa.Table:
    try:
        return pq.read_table(file.path, filesystem=file.files, partitioning=None, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as exc:
        raise SnapshotDamaged(f"{file} cannot be read: {exc}") from exc
