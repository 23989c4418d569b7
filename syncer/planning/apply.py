"""Perform a plan's operations on a store, as any outside writer does: conditional writes in batches.

Before anything is written, every operation is checked against what the store holds. Each batch is then read again,
written on the revisions just read, and is one transaction: all of it or nothing. So what somebody changes meanwhile is
never overwritten; the run stops there, and what was finished before it stays.

What an operation would leave is taken as performed. So after a crash, or an answer that never came, the same plan goes
on where it stopped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from syncer.conflict.scope import Scope
from syncer.errors import (
    InvariantBroken,
    NotEmpty,
    ParentMissing,
    RevisionMismatch,
    StoreUnavailable,
    SyncerError,
)
from syncer.model import MetaPath
from syncer.paths import OWN_PREFIX, child_prefixes, is_under, scaffold
from syncer.plan.operations import Operation, Standing, stale_at
from syncer.planning.completion import Completion
from syncer.planning.preconditions import living_children
from syncer.planning.sources import READ_PATHS, held, value_of
from syncer.stores.contract import (
    BatchRefused,
    Capabilities,
    Delete,
    Entry,
    MetadataStore,
    Put,
    Write,
    Written,
    size_of,
)

Send = Callable[[Sequence[Write]], Awaitable[tuple[Written, ...]]]
Report = Callable[[int, int], None]
"""Told after each batch: operations behind us, operations in all."""


@dataclass(slots=True, kw_only=True)
class RunOutcome:
    """How far a run came.

    Args:
        applied: Performed now.
        already: Found performed.
        unknown: Sent, and no answer came: all of these were performed, or none.
        unread: Performed on a value that was replaced in the very moment between read and write; see ``Written``.
        unreached: What comes after the stop.
        error: Why the run stopped; ``None``: it came to its end.
    """

    applied: list[Operation] = field(default_factory=list)
    already: list[Operation] = field(default_factory=list)
    unknown: list[Operation] = field(default_factory=list)
    unread: list[MetaPath] = field(default_factory=list)
    unreached: list[Operation] = field(default_factory=list)
    error: SyncerError | None = None


async def pretend(writes: Sequence[Write]) -> tuple[Written, ...]:
    """Take a batch and write nothing: for a dry run, which is the same run but for this."""
    return tuple(Written(path=write.path, revision=None) for write in writes)


async def perform(
    operations: Sequence[Operation],
    store: MetadataStore,
    scope: Scope,
    *,
    completion: Completion | None = None,
    send: Send | None = None,
    report: Report = lambda _done, _total: None,
) -> RunOutcome:
    """Perform operations in their order.

    What the store holds is judged completed, as the plan's values are; a write is laid over what is really there.

    Args:
        operations: What a review has accepted.
        store: The store, open.
        scope: Which paths take part; of children outside it only the store can tell, which refuses the parent's delete.
        completion: Of what the store holds; none when not given.
        send: Performs a batch; the store's own ``apply`` when not given.
        report: Hears how far it has come.

    Raises:
        PlanStale: Something no longer fits; nothing was written.
        StoreError: The store cannot be read; nothing was written.
    """
    for operation in operations:
        if is_under(operation.path, OWN_PREFIX) or not scope.contains(operation.path):
            raise InvariantBroken(f"no plan may write {operation.path}")
    run = _Run(store, scope, completion or Completion(), send or store.apply)
    await run.check(operations)
    left = list(operations)
    while left:
        batch = left[: run.fitting(left)]
        try:
            await run.perform(batch)
        except SyncerError as exc:
            run.outcome.error = exc
            behind = {each.path for each in (*run.outcome.applied, *run.outcome.already, *run.outcome.unknown)}
            run.outcome.unreached = [each for each in left if each.path not in behind]
            break
        left = left[len(batch) :]
        report(len(operations) - len(left), len(operations))
    return run.outcome


class _Run:
    def __init__(self, store: MetadataStore, scope: Scope, completion: Completion, send: Send) -> None:
        self._store = store
        self._scope = scope
        self._completion = completion
        self._send = send
        self._made: set[MetaPath] = set()
        self._gone: set[MetaPath] = set()
        self.outcome = RunOutcome()

    async def check(self, operations: Sequence[Operation]) -> None:
        """Find what no longer fits before anything is written."""
        stale: list[MetaPath] = []
        for some in _portions(operations, READ_PATHS):
            entries = await self._store.read([each.path for each in some])
            whole = await self._whole(some, entries)
            stale += [each.path for each in some if _standing(each, entries, whole) is Standing.STALE]
        if stale:
            raise stale_at(stale)

    def fitting(self, operations: Sequence[Operation]) -> int:
        """How many of the next operations one transaction can take; at least one. Deletes of parents go alone."""
        capabilities = self._store.capabilities
        size = weight = 0
        for count, operation in enumerate(operations):
            size += _size(operation)
            weight += capabilities.delete_weight if operation.after is None else 1
            alone = operation.after is None and bool(child_prefixes(operation.path))
            alone = alone or capabilities.alone(operation.path)
            if count and (alone or not _fits(capabilities, weight, size)):
                return count
            if alone:
                return 1
        return len(operations)

    async def perform(self, batch: Sequence[Operation]) -> None:
        """Read, check, write; one transaction."""
        parents = {each.resource.parent for each in batch if each.after is not None} - {None}
        own = [each.path for each in batch]
        entries = await self._store.read([*own, *sorted(each for each in parents if each and each not in own)])
        whole = await self._whole(batch, entries)
        ready: list[Operation] = []
        already: list[Operation] = []
        for operation in batch:
            match _standing(operation, entries, whole):
                case Standing.STALE:
                    raise stale_at([operation.path])
                case Standing.ALREADY:
                    already.append(operation)
                case Standing.READY:
                    ready.append(operation)
        living = {each.path for each in batch if each.after is not None} | self._made
        for operation in ready:
            await self._check_family(operation, entries, living)
        if ready:
            await self._write(ready, entries)
        self.outcome.already += already
        for operation in batch:
            (self._gone if operation.after is None else self._made).add(operation.path)

    async def _whole(
        self, operations: Sequence[Operation], entries: Mapping[MetaPath, Entry | None]
    ) -> dict[MetaPath, bytes]:
        """What the store holds where operations are to be done, completed."""
        values = ((each.path, value_of(entries, each.path)) for each in operations)
        return await self._completion.of({path: value for path, value in values if value is not None})

    async def _check_family(
        self, operation: Operation, entries: Mapping[MetaPath, Entry | None], living: set[MetaPath]
    ) -> None:
        parent = operation.resource.parent
        if operation.after is not None:
            if parent is not None and parent not in living and value_of(entries, parent) is None:
                raise stale_at([operation.path], f"its parent {parent} was deleted since the plan was made")
            return
        children = await living_children(self._store, self._scope, operation.path) - self._gone
        if children:
            raise stale_at([operation.path], f"{min(children)} was made below it since the plan was made")

    async def _write(self, ready: Sequence[Operation], entries: Mapping[MetaPath, Entry | None]) -> None:
        writes = [_write_of(each, entries.get(each.path), self._completion) for each in ready]
        try:
            written = await self._send(writes)
        except BatchRefused as exc:
            raise _told(ready[exc.index].path, exc.cause) from exc
        except StoreUnavailable as exc:
            self.outcome.unknown = list(ready)
            raise StoreUnavailable(
                f"{exc.message}; whether the last {len(ready)} operations were performed is not known",
                hint="Apply the same plan again when the store answers: what has been performed is recognised.",
            ) from exc
        self.outcome.applied += ready
        self.outcome.unread += [each.path for each in written if each.replaced_unread]


def _standing(
    operation: Operation, entries: Mapping[MetaPath, Entry | None], whole: Mapping[MetaPath, bytes]
) -> Standing:
    entry = entries.get(operation.path)
    if entry is not None and entry.ephemeral:
        return Standing.STALE
    return operation.standing(whole.get(operation.path))


def _write_of(operation: Operation, entry: Entry | None, completion: Completion) -> Write:
    present = entry.value if entry is not None and held(entry) else None
    value = operation.written(present)
    if value is not None:
        value = completion.written(operation.path, value, present)
        return Put(
            path=operation.path,
            value=value,
            expected=entry.revision if entry is not None else None,
            scaffold=scaffold(operation.path),
        )
    if entry is None:
        raise InvariantBroken(f"a delete of what is not there: {operation.path}")
    return Delete(path=operation.path, expected=entry.revision)


def _told(path: MetaPath, cause: Exception) -> SyncerError:
    """A refused write as the plan's error, naming the path. Nothing of its batch was written."""
    match cause:
        case RevisionMismatch():
            return stale_at([path], "changed while the plan was applied")
        case ParentMissing():
            return stale_at([path], "its parent does not exist any more")
        case NotEmpty():
            return stale_at([path], "the store has something below it that the plan does not delete")
        case SyncerError():
            return type(cause)(f"{path}: {cause.message}", hint=cause.hint)
        case _:
            raise InvariantBroken(f"{path}: {cause}") from cause


def _size(operation: Operation) -> int:
    return size_of(Put(path=operation.path, value=operation.after or b"", expected=None))


def _fits(capabilities: Capabilities, weight: int, size_bytes: int) -> bool:
    return weight <= capabilities.max_batch_writes and size_bytes <= capabilities.max_batch_bytes


def _portions(operations: Sequence[Operation], size: int) -> Iterator[Sequence[Operation]]:
    for start in range(0, len(operations), size):
        yield operations[start : start + size]
