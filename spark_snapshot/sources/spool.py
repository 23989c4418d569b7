"""A spool for what a reader has read until it is known that all of it belongs to one moment of the store.

Nothing of a read that fails, or begins anew, has been seen by anybody. Small reads stay in memory, large ones go to a
file without a name, which is gone when the process is.
"""

from __future__ import annotations

import marshal
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate, pairwise
from types import TracebackType
from typing import Final, Self

from spark_snapshot.sources.found import Found, ResourceBatch, batched
from syncer.errors import DiskFull, StoreError
from syncer.model import MetaPath

MEMORY_BYTES: Final = 32 << 20
ATTEMPTS: Final = 3

_SIZES: Final = struct.Struct("!qq")
_VALUES: Final = Found._fields.index("value")


class BatchSpool:
    """Batches in the order in which they came, and corrections of them.

    Args:
        memory_bytes: More goes to a file.
        digests: Make those as the batches come, while the store is at its next answer.
    """

    def __init__(self, memory_bytes: int = MEMORY_BYTES, *, digests: bool = False) -> None:
        self._digests = digests
        self._file = tempfile.SpooledTemporaryFile(max_size=memory_bytes)  # noqa: SIM115 - closed by close()
        self._corrections: dict[MetaPath, Found | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, batch: ResourceBatch) -> None:
        """Keep a batch.

        Raises:
            DiskFull: There is no room for it.
        """
        if self._digests:
            batch.digest()
        values = b"".join(batch.values)  # by itself: marshal would take seven times as long
        columns = [*batch.columns[:_VALUES], *batch.columns[_VALUES + 1 :], batch.digests]
        head = marshal.dumps([list(map(len, batch.values)), *columns])
        try:
            self._file.write(_SIZES.pack(len(head), len(values)))
            self._file.write(head)
            self._file.write(values)
        except OSError as exc:
            raise DiskFull(
                f"what was read cannot be kept in {tempfile.gettempdir()}: {exc.strerror}",
                hint="Make room there, or set TMPDIR to a place that has it.",
            ) from exc

    def correct(self, corrections: Mapping[MetaPath, Found | None]) -> None:
        """Replace what was, or will be, added at these paths; ``None``: there is nothing."""
        self._corrections.update(corrections)

    def batches(self) -> Iterator[ResourceBatch]:
        """All of it, once; each path once where the batches had it once."""
        corrections = self._corrections
        self._file.seek(0)
        while sizes := self._file.read(_SIZES.size):
            head_bytes, values_bytes = _SIZES.unpack(sizes)
            lengths, *columns = marshal.loads(self._file.read(head_bytes))  # noqa: S302 - written by this process
            values = self._file.read(values_bytes)
            cut = [values[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]
            columns.insert(_VALUES, cut)
            batch = ResourceBatch(*columns)
            if not corrections.keys().isdisjoint(batch.paths):
                batch = ResourceBatch.of(each for each in batch if each.path not in corrections)
            if len(batch):
                yield batch
        corrected = [each for each in corrections.values() if each is not None]
        if corrected:
            yield from batched([ResourceBatch.of(corrected)])


def settled(
    attempt: Callable[[BatchSpool], None], *, again: tuple[type[StoreError], ...], digests: bool = False
) -> Iterator[ResourceBatch]:
    """Batches of one whole read; it begins anew, some times, when it fails in a way that a new one may not.

    Args:
        attempt: Reads all of it into a spool.
        again: Errors after which to begin anew.
        digests: Make those as the batches come.
    """
    for number in range(1, ATTEMPTS + 1):
        with BatchSpool(digests=digests) as spool:
            try:
                attempt(spool)
            except again:
                if number == ATTEMPTS:
                    raise
                continue
            yield from spool.batches()
            return
