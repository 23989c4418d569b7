"""Batches of what a reader finds: resources with their values, by column, of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import starmap
from typing import Any, Final, NamedTuple, TypeAlias

from syncer.model import Digest, MetaPath, Millis, ResourceKind, Revision
from syncer.plan.diffing import fingerprint_of, raw_fingerprint
from syncer.wanted.contract import REFUSED

BATCH_ROWS: Final = 2_000
BATCH_BYTES: Final = 8 << 20
"""A batch has at most so many bytes of values, or one value."""


_DIGEST_OF: Final = {kind.value: partial(fingerprint_of, kind) for kind in ResourceKind}
_REFUSED_AT: Final = Revision("")


class Found(NamedTuple):
    """A path as its store holds it. Times: the store's own, if it keeps any; that of creation only where asked for."""

    path: MetaPath
    kind: str
    tenant: str
    value: bytes
    modified_ms: Millis | None
    revision: Revision
    created_ms: Millis | None = None


Row: TypeAlias = (
    tuple[MetaPath, str, str, bytes, Millis | None, Revision]
    | tuple[MetaPath, str, str, bytes, Millis | None, Revision, Millis | None]
)
"""As :class:`Found`; quicker to make. All rows of a batch have a time of creation, which may be none, or no place."""


@dataclass(slots=True)
class ResourceBatch:
    """Resources by column, since millions are read and columns are what becomes of them; rows for whoever wants those.

    All lists are equally long, but for two that may be empty: times of creation, where the rows have none, and the
    digests, which may be left to whoever needs them, see :meth:`digest`.
    """

    paths: list[MetaPath] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    tenants: list[str] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)
    modified_ms: list[Millis | None] = field(default_factory=list)
    revisions: list[Revision] = field(default_factory=list)
    created_ms: list[Millis | None] = field(default_factory=list)
    digests: list[Digest] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> ResourceBatch:
        """A batch of rows."""
        columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)]
        return cls(*columns)

    @property
    def columns(self) -> tuple[list[Any], ...]:
        """All that the store holds, in the order of :class:`Found`."""
        return self.paths, self.kinds, self.tenants, self.values, self.modified_ms, self.revisions, self.created_ms

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[Found]:
        told = self.columns if self.created_ms else self.columns[:-1]
        return starmap(Found, zip(*told, strict=True))

    def extend(self, other: ResourceBatch) -> None:
        """Add the rows of another."""
        self.paths += other.paths
        self.kinds += other.kinds
        self.tenants += other.tenants
        self.values += other.values
        self.modified_ms += other.modified_ms
        self.revisions += other.revisions
        self.created_ms += other.created_ms

    def digest(self) -> None:
        """Make the digests, if they are not there; nothing may be added afterwards."""
        if not self.digests:
            pairs = zip(self.kinds, self.values, strict=True)
            self.digests = [_DIGEST_OF.get(kind, raw_fingerprint)(value) for kind, value in pairs]

    def part(self, start: int, end: int) -> ResourceBatch:
        """The rows from one up to another."""
        columns: list[list[Any]] = [column[start:end] for column in self.columns]
        return ResourceBatch(*columns)


def refused(path: MetaPath) -> Row:
    """The row that tells of a path which may not be read, nor what lies below it."""
    return path, REFUSED, "", b"", None, _REFUSED_AT, None


def batched(parts: Iterable[ResourceBatch]) -> Iterator[ResourceBatch]:
    """Put what comes in parts of any size into batches."""
    batch, size = ResourceBatch(), 0
    for part in parts:
        for piece, weight in _pieces(part):
            if len(batch) and (size + weight > BATCH_BYTES or len(batch) + len(piece) > BATCH_ROWS):
                yield batch
                batch, size = ResourceBatch(), 0
            batch.extend(piece)
            size += weight
    if len(batch):
        yield batch


def _pieces(part: ResourceBatch) -> Iterator[tuple[ResourceBatch, int]]:
    """The part, or halves of it, none heavier than a batch may be; with the bytes of values in each."""
    weight = sum(map(len, part.values))
    if len(part) > 1 and (weight > BATCH_BYTES or len(part) > BATCH_ROWS):
        middle = len(part) // 2
        yield from _pieces(part.part(0, middle))
        yield from _pieces(part.part(middle, len(part)))
    elif len(part):
        yield part, weight
