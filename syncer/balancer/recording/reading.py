"""Reading a history beside its writer: samples, changes of owner, outcomes of moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from sqlalchemy import func, select

from syncer.balancer.history.changes import OwnerChange
from syncer.balancer.history.encoding import decoded
from syncer.balancer.history.outcomes import MoveOutcome
from syncer.balancer.history.sample import LoadSample
from syncer.balancer.recording.opening import opened_to_read, translated
from syncer.balancer.recording.tables import changes, samples
from syncer.balancer.recording.writing import read_outcomes

_AT_ONCE: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryExtent:
    """How much a history has: samples, from when to when, and changes of owner; times None where it has no sample."""

    samples: int
    first_ms: int | None
    last_ms: int | None
    changes: int
    size_bytes: int


class HistoryReader:
    """A history that is read, whoever writes it."""

    def __init__(self, path: Path, cluster: str) -> None:
        """Open it.

        Args:
            path: The file.
            cluster: Name of the cluster's table.

        Raises:
            HistoryMissing: There is none.
            HistoryForeign: The file is no history of this cluster, or damaged.
            HistoryUnavailable: It cannot be read.
        """
        self._path = path
        self._engine = opened_to_read(path, cluster)

    def __enter__(self) -> Self:
        """Read it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._engine.dispose()

    def extent(self) -> HistoryExtent:
        """Tell how much it has.

        Raises:
            HistoryForeign: It is damaged.
            HistoryUnavailable: It cannot be read.
        """
        with translated(self._path), self._engine.connect() as connection, connection.begin():
            row = connection.execute(
                select(func.count(), func.min(samples.c.taken_ms), func.max(samples.c.taken_ms)).select_from(samples)
            ).one()
            moved = connection.execute(select(func.count()).select_from(changes)).scalar_one()
        return HistoryExtent(
            samples=row[0], first_ms=row[1], last_ms=row[2], changes=moved, size_bytes=self._path.stat().st_size
        )

    def samples(self, since_ms: int = 0, newest: int | None = None) -> Iterator[LoadSample]:
        """Read samples, the oldest first, a few at a time.

        Args:
            since_ms: The time from which on.
            newest: At most so many, the last ones; None: all.

        Raises:
            HistoryForeign: It is damaged.
            HistoryUnavailable: It cannot be read.
        """
        chosen = select(samples.c.taken_ms).where(samples.c.taken_ms >= since_ms)
        with translated(self._path), self._engine.connect() as connection, connection.begin():
            times = list(connection.scalars(chosen.order_by(samples.c.taken_ms.desc()).limit(newest)))[::-1]
        for begin in range(0, len(times), _AT_ONCE):
            some = times[begin : begin + _AT_ONCE]
            with translated(self._path), self._engine.connect() as connection, connection.begin():
                rows = list(
                    connection.scalars(
                        select(samples.c.data).where(samples.c.taken_ms.in_(some)).order_by(samples.c.taken_ms)
                    )
                )
            yield from map(decoded, rows)

    def changes(self, since_ms: int = 0) -> list[OwnerChange]:
        """Read changes of owner, the oldest first.

        Args:
            since_ms: The time from which on.

        Raises:
            HistoryForeign: It is damaged.
            HistoryUnavailable: It cannot be read.
        """
        columns = [column for column in changes.c if column.name != "bytes"]
        asked = select(*columns).where(changes.c.by_ms >= since_ms).order_by(changes.c.by_ms, changes.c.bundle)
        with translated(self._path), self._engine.connect() as connection, connection.begin():
            return [OwnerChange(**row) for row in connection.execute(asked).mappings()]

    def outcomes(self) -> list[MoveOutcome]:
        """Read the outcomes of our own moves, the oldest first.

        Raises:
            HistoryForeign: It is damaged.
            HistoryUnavailable: It cannot be read.
        """
        with translated(self._path), self._engine.connect() as connection, connection.begin():
            return read_outcomes(connection)
