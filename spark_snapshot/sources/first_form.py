"""Namespaces of the first form (``PROPERTY/CLUSTER/NAMESPACE``) that a reader meets: counted and named, never kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spark_snapshot.format.uncarried import NAMED
from spark_snapshot.sources.found import ResourceBatch
from spark_snapshot.sources.reach import FIRST_FORM
from syncer.paths import first_form_namespace, shown


class FirstFormCount:
    """Counts the namespaces of the first form among what one reader finds.

    Attributes:
        count: So many were met.
        named: The first of them by name as errors show names, at most ``NAMED``.
    """

    def __init__(self) -> None:
        self.count = 0
        self.named: list[str] = []

    def taken_out(self, batches: Iterable[ResourceBatch]) -> Iterator[ResourceBatch]:
        """Yield the batches without these namespaces; a batch of nothing else is left out.

        Args:
            batches: What a reader finds, with or without digests.
        """
        for batch in batches:
            if FIRST_FORM not in batch.kinds:
                yield batch
                continue
            kept = [at for at, kind in enumerate(batch.kinds) if kind != FIRST_FORM]
            self._add(path for path, kind in zip(batch.paths, batch.kinds, strict=True) if kind == FIRST_FORM)
            if kept:
                columns = [[column[at] for at in kept] if column else [] for column in (*batch.columns, batch.digests)]
                yield ResourceBatch(*columns)

    def told(self) -> dict[str, object]:
        """Return the count and the names for the record of the reader's file; empty where none were met."""
        return {"first_form": self.count, "first_form_named": self.named} if self.count else {}

    def _add(self, paths: Iterable[str]) -> None:
        names = [shown(name) for path in paths if (name := first_form_namespace(path)) is not None]
        self.count += len(names)
        self.named = sorted([*self.named, *names])[:NAMED]
