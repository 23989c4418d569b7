"""What a reader finds: a resource with its value, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from syncer.model import MetaPath, Millis, Revision

BATCH_ROWS: Final = 2_000
BATCH_BYTES: Final = 8 << 20
"""A batch has at most so many bytes of values, or one value."""


class Found(NamedTuple):
    """A resource as its store holds it. A plain tuple: millions are made. ``modified_ms``: the store's own time."""

    path: MetaPath
    value: bytes
    modified_ms: Millis | None
    revision: Revision


Batch: TypeAlias = list[Found]


def batched(found: Iterable[Found]) -> Iterator[Batch]:
    """Put what is found one by one into batches."""
    batch: Batch = []
    size = 0
    for each in found:
        weight = len(each[1])
        if batch and (size + weight > BATCH_BYTES or len(batch) >= BATCH_ROWS):
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += weight
    if batch:
        yield batch
