"""Writing: samples, changes of owner and outcomes of moves into the file of a history, within its bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, delete, func, insert, select
from sqlalchemy.dialects.sqlite import insert as upsert

from syncer.balancer.history.changes import LastHeld, OwnerChange, follow
from syncer.balancer.history.encoding import decoded, encoded
from syncer.balancer.history.outcomes import MoveOutcome
from syncer.balancer.history.sample import LoadSample
from syncer.balancer.history.thinning import HistoryBounds, SampleMark, keep
from syncer.balancer.recording.opening import opened_to_write, translated
from syncer.balancer.recording.tables import LAST_RUN, changes, facts, outcomes, samples
from syncer.errors import HistoryUnavailable

MOST_OUTCOMES: Final = 1000
_ROW_BYTES: Final = 64
"""Of a change, beside its names."""
_LESS: Final = 0.8
"""Of the room that was aimed at, where the file takes more than its content."""
_TRIES: Final = 40


class HistoryWriter:
    """The one writer of a history; its calls block.

    ``set_aside`` is the damaged file whose place it has taken, ``size_bytes`` what the file takes.
    """

    def __init__(self, path: Path, cluster: str, bounds: HistoryBounds) -> None:
        """Open the file, and make it where there is none.

        Args:
            path: The file.
            cluster: Name of the cluster's table.
            bounds: Of the history.

        Raises:
            HistoryForeign: The file is no history of this cluster.
            HistoryUnavailable: It cannot be read or written.
        """
        self._path, self._bounds = path, bounds
        self._engine, self.set_aside = opened_to_write(path, cluster)
        self._held = self._last_held()
        self.size_bytes = self._size()

    def close(self) -> None:
        """Close it."""
        self._engine.dispose()

    def record(self, sample: LoadSample) -> list[OwnerChange]:
        """Keep a sample and the changes of owner that it shows; drop what the bounds do not allow.

        A sample that is not younger than the last one is not kept: the clock was set back.

        Args:
            sample: The sample.

        Raises:
            HistoryUnavailable: It cannot be written, or there is no room for one sample.
            HistoryForeign: The file is damaged.
        """
        data = encoded(sample)
        if len(data) > self._bounds.most_bytes * _LESS:
            raise HistoryUnavailable(
                f"a sample of {sample.cluster} takes {len(data)} bytes, and the history may have"
                f" {self._bounds.most_bytes}",
                hint="Raise 'max_bytes' in [cluster.NAME.history].",
            )
        holdings = {name: each.held for name, each in sample.bundles.items()}
        held, found = follow(self._held, holdings, sample.taken_ms)
        with translated(self._path):
            with self._engine.begin() as connection:
                if (connection.execute(select(func.max(samples.c.taken_ms))).scalar() or 0) >= sample.taken_ms:
                    return []
                connection.execute(insert(samples).values(taken_ms=sample.taken_ms, bytes=len(data), data=data))
                if found:
                    connection.execute(insert(changes), [_row(each) for each in found])
            self._shrink(sample.taken_ms)
        self._held, self.size_bytes = held, self._size()
        return found

    def last_run(self) -> int:
        """Tell the number of the last run of moves whose outcomes are kept; 0 for none.

        Raises:
            HistoryUnavailable: It cannot be read.
            HistoryForeign: The file is damaged.
        """
        with translated(self._path), self._engine.begin() as connection:
            return int(connection.execute(select(facts.c.value).where(facts.c.name == LAST_RUN)).scalar() or 0)

    def keep_run(self, number: int, found: Iterable[MoveOutcome]) -> None:
        """Keep the outcomes of a run of moves, and forget the oldest beyond a thousand.

        Args:
            number: The run's.
            found: Of its moves.

        Raises:
            HistoryUnavailable: It cannot be written.
            HistoryForeign: The file is damaged.
        """
        rows = [{"run": number, **asdict(each)} for each in found]
        with translated(self._path), self._engine.begin() as connection:
            if rows:
                connection.execute(upsert(outcomes).on_conflict_do_nothing(), rows)
            connection.execute(
                upsert(facts)
                .values(name=LAST_RUN, value=str(number))
                .on_conflict_do_update(index_elements=["name"], set_={"value": str(number)})
            )
            oldest = connection.execute(
                select(outcomes.c.asked_ms).order_by(outcomes.c.asked_ms.desc()).offset(MOST_OUTCOMES - 1).limit(1)
            ).scalar()
            if oldest is not None:
                connection.execute(delete(outcomes).where(outcomes.c.asked_ms < oldest))

    def outcomes(self) -> list[MoveOutcome]:
        """Read all outcomes that are kept, the oldest first.

        Raises:
            HistoryUnavailable: It cannot be read.
            HistoryForeign: The file is damaged.
        """
        with translated(self._path), self._engine.begin() as connection:
            return read_outcomes(connection)

    def sample_before(self, at_ms: int) -> LoadSample | None:
        """Read the last sample that was taken before a time; None where there is none.

        Args:
            at_ms: The time.

        Raises:
            HistoryUnavailable: It cannot be read.
            HistoryForeign: The file is damaged.
        """
        with translated(self._path), self._engine.begin() as connection:
            data = connection.execute(
                select(samples.c.data).where(samples.c.taken_ms <= at_ms).order_by(samples.c.taken_ms.desc()).limit(1)
            ).scalar()
        return None if data is None else decoded(data)

    def _last_held(self) -> Mapping[str, LastHeld]:
        """Who was seen last to own each bundle, by the sample before; owners that it did not know are forgotten."""
        with translated(self._path), self._engine.begin() as connection:
            last = connection.execute(select(func.max(samples.c.taken_ms))).scalar()
        sample = None if last is None else self.sample_before(last)
        if sample is None:
            return {}
        return follow({}, {name: each.held for name, each in sample.bundles.items()}, sample.taken_ms)[0]

    def _shrink(self, now_ms: int) -> None:
        """Drop what the bounds do not allow, and more of the oldest where the file takes more than its content."""
        room = self._bounds.most_bytes
        for _ in range(_TRIES):
            with self._engine.begin() as connection:
                left = self._drop(connection, replace(self._bounds, most_bytes=room), now_ms)
            with closing(self._engine.raw_connection()) as raw:
                cursor = raw.cursor()
                cursor.execute("PRAGMA incremental_vacuum").fetchall()
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if self._size() <= self._bounds.most_bytes or left <= 1:
                return
            room = int(room * _LESS)

    def _drop(self, connection: Connection, bounds: HistoryBounds, now_ms: int) -> int:
        sizes = {row.by_ms: row.size for row in connection.execute(_CHANGES)}
        marks = {row.taken_ms: row.bytes for row in connection.execute(_SAMPLES)}
        decision = keep(
            [SampleMark(at, marks.get(at, 0), sizes.get(at, 0)) for at in sorted({*marks, *sizes})], bounds, now_ms
        )
        for at in decision.thinned:
            connection.execute(delete(samples).where(samples.c.taken_ms == at))
        connection.execute(delete(samples).where(samples.c.taken_ms < decision.since_ms))
        connection.execute(delete(changes).where(changes.c.by_ms < decision.since_ms))
        return sum(at >= decision.since_ms for at in marks)

    def _size(self) -> int:
        sides = (self._path, self._path.with_name(self._path.name + "-wal"))
        return sum(each.stat().st_size for each in sides if each.exists())


_CHANGES: Final = select(changes.c.by_ms, func.sum(changes.c.bytes).label("size")).group_by(changes.c.by_ms)
_SAMPLES: Final = select(samples.c.taken_ms, samples.c.bytes)


def read_outcomes(connection: Connection) -> list[MoveOutcome]:
    """Read all outcomes of moves, the oldest first.

    Args:
        connection: To the file of a history.
    """
    columns = [column for column in outcomes.c if column.name != "run"]
    rows = connection.execute(select(*columns).order_by(outcomes.c.asked_ms)).mappings()
    return [MoveOutcome(**row) for row in rows]


def _row(change: OwnerChange) -> dict[str, object]:
    size = len(change.bundle) + len(change.source) + len(change.target) + _ROW_BYTES
    return {**asdict(change), "bytes": size}
