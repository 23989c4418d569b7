"""A snapshot as one side of a comparison with a live region: what 'restore' brings back. Needs no Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import anyio.to_thread
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_snapshot.format.layout import DATA, Snapshot, verify
from spark_snapshot.format.manifest import current_projections
from spark_snapshot.format.selection import Selection
from spark_snapshot.format.uncarried import uncarried
from syncer.conflict.exclusion.rules import Exclusions
from syncer.conflict.scope import Scope, check_rule
from syncer.errors import ConfigError, SnapshotDamaged, SnapshotInvalid, SnapshotsIncomparable
from syncer.model import Digest, MetaPath, Region
from syncer.planning.completion import NOT_AT_HAND
from syncer.planning.first_form import FirstFormSeen

_BATCH_ROWS: Final = 16_384


class SnapshotSide:
    """What a snapshot holds of a selection. The whole snapshot is verified before anything of it is used.

    Args:
        snapshot: Which one.
        selection: The part that is meant; what lies outside is as if it were not there.

    Attributes:
        selection: That part, as far as the snapshot reaches. Of nothing else may be said what it holds, or lacks.

    Raises:
        PreconditionFailed: What is meant is not in the snapshot.
        SnapshotsIncomparable: Its digests were made by projections that are not this program's.
        SnapshotInvalid: Its scope has a rule that this program does not take.
    """

    def __init__(self, snapshot: Snapshot, selection: Selection) -> None:
        about = snapshot.manifest.about
        if about.projections != current_projections():
            raise SnapshotsIncomparable(
                f"snapshot {snapshot.id} was taken by projections that are not this program's",
                hint="Use the version of this program that took it.",
            )
        self._snapshot = snapshot
        self.selection = selection.inside(snapshot.extent)
        self._verified = False
        self.region = Region(snapshot.region)
        self.scope = _scope(snapshot)
        self._own_fields = Exclusions(about.own_fields, told=True)

    @property
    def name(self) -> str:
        """What it is, for people."""
        return f"snapshot {self._snapshot.id} of region {self.region} ({self.selection})"

    @property
    def trouble(self) -> str:
        """Why its values are not completed."""
        return "" if self._snapshot.manifest.about.registers else NOT_AT_HAND

    @property
    def own_values(self) -> bool:
        """Whether no registers took part that have the group's values."""
        return not self._snapshot.manifest.about.registers

    @property
    def first_form(self) -> FirstFormSeen:
        """Namespaces of the first form, as they were met when the snapshot was taken.

        Raises:
            SnapshotDamaged: What is told of them is not as it was written.
        """
        if (found := uncarried(self._snapshot.place)) is None:
            return FirstFormSeen()
        return FirstFormSeen(found.first_form.count, found.first_form.named)

    def excluded(self, path: MetaPath) -> frozenset[str]:
        """Fields that are the region's own there; none, where registers have put the group's values in their place."""
        return self._own_fields.at(path)

    async def own(self, paths: Collection[MetaPath]) -> dict[MetaPath, frozenset[str]]:
        """The same of some paths."""
        return {path: found for path in paths if (found := self.excluded(path))}

    async def picture(self) -> dict[MetaPath, Digest]:
        """Digests of all resources of the selection that were alive."""
        return await anyio.to_thread.run_sync(self._picture)

    async def values(self, paths: Collection[MetaPath]) -> dict[MetaPath, bytes]:
        """Values of some of them."""
        wanted = frozenset(path for path in paths if self.selection.covers(path))
        return await anyio.to_thread.run_sync(self._values, wanted)

    def _picture(self) -> dict[MetaPath, Digest]:
        self._verify()
        found: dict[MetaPath, Digest] = {}
        for batch in self._batches(["path", "tenant", "digest"]):
            for row in batch.drop_columns("tenant").to_pylist():
                if row["digest"] is not None and self.selection.covers(MetaPath(row["path"])):
                    found[MetaPath(row["path"])] = Digest(row["digest"])
        return found

    def _values(self, wanted: frozenset[MetaPath]) -> dict[MetaPath, bytes]:
        self._verify()
        if not wanted:
            return {}
        names = pa.array(sorted(wanted), pa.string())
        found: dict[MetaPath, bytes] = {}
        for batch in self._batches(["path", "tenant", "value"]):
            chosen = batch.filter(pc.is_in(batch.column("path").cast(pa.string()), value_set=names))
            for row in chosen.to_pylist():
                if row["value"] is not None:
                    found[MetaPath(row["path"])] = row["value"]
        return found

    def _batches(self, columns: list[str]) -> Iterator[pa.Table]:
        """All rows that the selection can cover, in portions."""
        narrowed = self.selection.narrowed_to
        tenants = None if narrowed is None else pa.array(sorted(narrowed), pa.string())
        for record in self._snapshot.manifest.files:
            where = self._snapshot.place / DATA / record.name
            try:
                with pq.ParquetFile(where.path, filesystem=where.files) as file:
                    for batch in file.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False):
                        table = pa.Table.from_batches([batch])
                        if tenants is not None:
                            table = table.filter(pc.is_in(table.column("tenant").cast(pa.string()), value_set=tenants))
                        yield table
            except (pa.ArrowException, OSError) as exc:
                raise SnapshotDamaged(f"{where} cannot be read: {exc}") from exc

    def _verify(self) -> None:
        if not self._verified:
            verify(self._snapshot)
            self._verified = True


def _scope(snapshot: Snapshot) -> Scope:
    """Return the scope that a snapshot was taken by.

    Raises:
        SnapshotInvalid: It has a rule that this program does not take.
    """
    rules = snapshot.manifest.about.rules
    try:
        for rule in rules:
            check_rule(rule)
    except ConfigError as exc:
        raise SnapshotInvalid(f"{snapshot.place}: {exc.message}") from exc
    return Scope(rules, told=True)
