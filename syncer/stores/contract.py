"""The contract of metadata stores: what the daemon needs of one, and nothing more.

A store is one module, one entry point in the group ``syncer.stores`` and one pass of the contract suite
(``tests/contract``). Adapters translate their client's errors into :mod:`syncer.errors` at this seam; nothing of
a client leaves them.

Order that every adapter keeps: a watch is *armed* before ``Armed`` is yielded; whatever changes after that is
reported, or a ``Gap`` is. So a scan that starts after ``Armed`` together with the notices misses nothing. A notice only
says that a path may have changed; it carries no value.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, runtime_checkable

from syncer.making import made_quickly
from syncer.model import MetaPath, Millis, Revision

ABSENT: Final = None
"""As an expected revision: the path must not exist."""
_OVERHEAD_BYTES: Final = 64


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One path as a store holds it at one moment.

    ``modified_at_ms`` is the store's own clock at the last write, ``None`` where the store has no such time (etcd).
    ``distinct`` is false when the store itself may take another value for this one in a conditional write (ZooKeeper
    compares versions, and every node begins at the same one): such a write has to follow its read at once.
    """

    path: MetaPath
    value: bytes = field(repr=False)
    revision: Revision
    modified_at_ms: Millis | None
    ephemeral: bool = False
    distinct: bool = True


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Write ``value`` if the path is at ``expected`` (``None``: must not exist).

    ``scaffold`` lists ancestors, outermost first, that hold no resource and may be created empty on the way, where a
    store has real parents. A missing parent outside the scaffold is refused with ``ParentMissing``.
    """

    path: MetaPath
    value: bytes = field(repr=False)
    expected: Revision | None
    scaffold: tuple[MetaPath, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Delete the path if it is at ``expected``, and nothing stands below it.

    Whatever begins with ``path + "/"`` is below it, also in a store without real parents; the delete is refused with
    ``NotEmpty`` then. Earlier writes of the batch count: what they delete stands there no longer, what they put does.
    """

    path: MetaPath
    expected: Revision


Write = Put | Delete


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Outcome of one write of an applied batch.

    ``revision`` is what a read of the path returns as long as nobody else writes it; ``None`` after a delete.
    ``replaced_unread`` is true when the store shows that the overwritten value was not the one that was read, although
    its check passed (ZooKeeper's version restarts when a node is deleted and made again). ``mark`` names the
    transaction as notices of it do, see :class:`Changed`; empty where the store does not tell. ``distinct``: see
    :class:`Entry`.
    """

    path: MetaPath
    revision: Revision | None
    replaced_unread: bool = False
    mark: str = ""
    distinct: bool = True


class BatchRefused(Exception):
    """The store applied nothing of the batch, because of its write number ``index``.

    ``cause`` is a ``RevisionMismatch``, ``ParentMissing``, ``NotEmpty``, ``ValueRefused`` or ``AccessDenied``.
    ``guard``: the first write's path was rewritten all the same, with the value that it had; its revision now.
    """

    def __init__(self, index: int, cause: Exception, guard: Written | None = None) -> None:
        super().__init__(f"write {index} of the batch was refused: {cause}")
        self.index = index
        self.cause = cause
        self.guard = guard


@dataclass(frozen=True, slots=True)
class Armed:
    """From now on every change is reported, or a ``Gap`` is."""


@dataclass(frozen=True, slots=True)
class Changed:
    """These paths may have changed (also: been created or deleted). At least one path; duplicates are allowed.

    ``marks`` is empty, or has for each path the name of the transaction of which this is told, and of no other one;
    empty where that cannot be said. No two transactions have the same name between two gaps of the watch.
    """

    paths: tuple[MetaPath, ...]
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Beat:
    """Nothing was missed so far: the watch was verified to be whole just now. Yielded at least every 5 seconds.

    Never kept in a queue: it is begun after the signal before it was taken. So whatever was written before a signal was
    taken is told of before the second beat after that.
    """


@dataclass(frozen=True, slots=True)
class Gap:
    """Changes may have been missed since the last signal. The adapter arms again by itself and yields ``Armed``."""

    reason: str


WatchSignal = Armed | Changed | Beat | Gap


def never(path: MetaPath) -> bool:
    """No path."""
    del path
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a store can do; the daemon asks instead of guessing by kind.

    ``max_batch_writes`` and ``max_batch_bytes`` bound one ``apply``, in which a delete counts as ``delete_weight``
    writes; ``max_value_bytes`` bounds one value. A path that is written ``alone`` shares its batch with nothing but the
    fence. ``real_parents``: a put needs its parent.
    """

    modified_times: bool
    real_parents: bool
    transactions: bool
    max_batch_writes: int
    max_batch_bytes: int
    max_value_bytes: int
    delete_weight: int = 1
    alone: Callable[[MetaPath], bool] = field(default=never, compare=False)


def size_of(write: Write) -> int:
    """Bytes that a write takes in a batch, roughly."""
    return len(write.path) + _OVERHEAD_BYTES + (len(write.value) if isinstance(write, Put) else 0)


@runtime_checkable
class MetadataStore(Protocol):
    """One region's metadata store.

    All calls have a deadline of their own and raise ``StoreUnavailable`` when it passes, ``AccessDenied`` when the
    credentials do not do. Reads are linearizable: what was written before the call by anyone is seen.
    """

    @property
    def capabilities(self) -> Capabilities:
        """What this store can do; known before it is opened."""
        ...

    async def open(self) -> None:
        """Connect. Calling it twice is an error of the caller."""
        ...

    async def close(self) -> None:
        """Disconnect and end all threads and watches. Safe to call twice and before ``open``."""
        ...

    async def read(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Entry | None]:
        """Read many paths, *in the order given*: a later path's answer is never older than an earlier one's.

        An absent path maps to ``None``. The daemon puts the fence last, so that its answer is the freshest.
        """
        ...

    async def apply(self, writes: Sequence[Write]) -> tuple[Written, ...]:
        """Apply all writes as one transaction, or none.

        Raises:
            BatchRefused: A check of one write failed, see :class:`Put` and :class:`Delete`; nothing was written.
            StoreUnavailable: The outcome is unknown: all of it or nothing was written.
        """
        ...

    def scan(self, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        """Stream the entry at ``prefix`` (if it exists) and all below, in pages of bounded size and memory.

        No order is promised. A path that exists during the whole scan is in exactly one page; others may be. Entries
        that exist only as empty inner nodes (ZooKeeper's parents) are yielded as well, with an empty value.
        """
        ...

    def watch(self, prefixes: Sequence[MetaPath]) -> AsyncIterator[WatchSignal]:
        """Report changes at and below the prefixes until the iterator is closed.

        Bounded: when more changes are pending than the adapter may hold, it drops them and yields a ``Gap``.
        """
        ...


@runtime_checkable
class TellsNames(Protocol):
    """A store that can tell what stands right below paths without reading a value; not every one can."""

    async def names(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Sequence[str]]:
        """The names one step below each path; none where nothing is.

        Args:
            paths: A few, each once: all of their names are held at once.
        """
        ...


class PartlyRead(NamedTuple):
    """What a store answers of paths, where it cannot answer all of them.

    Args:
        answers: As of ``read``, of those that it can.
        withheld: The others, and why: neither that they exist nor that they do not is known.
        undecided: Paths without an entry whose absence is nobody's decision, as nothing was deleted there but what
            they belong to; each with the entry that stood there last, where that is known.
    """

    answers: Mapping[MetaPath, Entry | None]
    withheld: Mapping[MetaPath, str]
    undecided: Mapping[MetaPath, Entry | None] = MappingProxyType({})


@runtime_checkable
class AnswersPartly(Protocol):
    """A store that keeps some paths elsewhere, and cannot always tell of them; its ``read`` raises for these.

    A scan has none of them. A watch tells of each that was asked for in vain as soon as it can be answered.
    """

    async def read_partly(self, paths: Sequence[MetaPath]) -> PartlyRead:
        """Read what can be read, in the order given."""
        ...


async def read_answerable(store: MetadataStore, paths: Sequence[MetaPath]) -> PartlyRead:
    """Read many paths of any store: of one that answers whole, nothing is withheld."""
    if isinstance(store, AnswersPartly):
        return await store.read_partly(paths)
    return PartlyRead(await store.read(paths), {})
