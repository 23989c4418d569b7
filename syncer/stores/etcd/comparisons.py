"""The comparisons of a transaction: each key is at its revision, and nothing is below one that is deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from syncer.errors import NotEmpty, RevisionMismatch, ValueRefused
from syncer.stores.contract import BatchRefused, Delete, Put, Write
from syncer.stores.etcd.keys import KeySpace, covers
from syncer.stores.etcd.wire import MOD_REVISION, Dynamic


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison for one write of a batch: its key is at a revision, 0 being absent.

    With an ``end`` it is of all keys from ``key`` to before that one: etcd takes a range without keys to be at 0, and
    one with keys to be at none.
    """

    index: int
    key: bytes
    revision: int = 0
    end: bytes = b""

    def add_to(self, request: Dynamic) -> None:
        """Compare, and look where a comparison has failed, within the same transaction."""
        compare = request.compare.add()  # its result's default is EQUAL
        compare.target, compare.mod_revision = MOD_REVISION, self.revision
        compare.key, compare.range_end = self.key, self.end
        lookup = request.failure.add().request_range
        lookup.key, lookup.range_end, lookup.keys_only, lookup.limit = self.key, self.end, True, 1


def comparisons_of(keys: KeySpace, writes: Sequence[Write], max_value_bytes: int) -> Iterator[Compare]:
    """What is compared for a batch, in the order of its writes.

    One comparison for each put and, where children come before their parents, no more than two for each delete.

    Raises:
        BatchRefused: What one write asks for can never be.
    """
    for index, write in enumerate(writes):
        try:
            if isinstance(write, Put) and len(write.value) > max_value_bytes:
                size = len(write.value)
                raise ValueRefused(f"the value of {write.path} has {size} bytes; at most {max_value_bytes} are allowed")
            yield Compare(index, keys.key(write.path), _mod_revision(write))
            if isinstance(write, Delete):
                yield from _empty_below(keys, writes, index)
        except (ValueRefused, RevisionMismatch, NotEmpty) as exc:
            raise BatchRefused(index, exc) from exc


def _empty_below(keys: KeySpace, writes: Sequence[Write], index: int) -> Iterator[Compare]:
    """Nothing is below a key that is deleted, but for what earlier writes delete: so nothing is between these.

    Where a later write deletes what is above it, that one's comparisons are enough, if the children came first.
    """
    path, earlier = writes[index].path, writes[:index]
    for write in earlier:
        if isinstance(write, Put) and covers(path, write.path):
            raise NotEmpty(f"{path} has a child that the same batch puts: {write.path}")
    later = [write.path for write in writes[index + 1 :] if isinstance(write, Delete)]
    if any(covers(each, path) for each in later) and not any(covers(path, each) for each in later):
        return
    start, end = keys.below(path)
    for key in sorted(keys.key(write.path) for write in earlier if covers(path, write.path)):
        yield Compare(index, start, end=key)
        start = key + b"\0"
    yield Compare(index, start, end=end)


def refusal(
    keys: KeySpace, writes: Sequence[Write], compared: Sequence[Compare], answer: Dynamic
) -> BatchRefused | None:
    """Name the first write of which a comparison failed, from the transaction's own look; ``None``: none did."""
    failed: list[BatchRefused] = []
    for each, response in zip(compared, answer.responses, strict=True):
        kvs = response.response_range.kvs
        actual = kvs[0].mod_revision if kvs else 0
        if actual == each.revision:
            continue
        failed.append(_not_empty(keys, writes, kvs[0].key) if each.end else _elsewhere(writes, each.index, actual))
    return min(failed, key=lambda each: each.index, default=None)


def _elsewhere(writes: Sequence[Write], index: int, actual: int) -> BatchRefused:
    write = writes[index]
    is_at = f"is at revision {actual}" if actual else "does not exist"
    expected = write.expected if write.expected is not None else "absent"
    return BatchRefused(index, RevisionMismatch(f"{write.path} {is_at}, expected {expected}"))


def _not_empty(keys: KeySpace, writes: Sequence[Write], child: bytes) -> BatchRefused:
    """The first write that deletes something above the key: its own comparison may be part of another's."""
    index, path = next(
        (index, write.path)
        for index, write in enumerate(writes)
        if isinstance(write, Delete) and child.startswith(keys.below(write.path)[0])
    )
    return BatchRefused(
        index, NotEmpty(f"{path} has children in the store, such as {child.decode(errors='backslashreplace')}")
    )


def _mod_revision(write: Write) -> int:
    """The expected ``mod_revision``; 0 stands for an absent key.

    Raises:
        RevisionMismatch: The token is none of etcd's, so no key can be at it.
    """
    if write.expected is None and isinstance(write, Put):
        return 0
    expected = write.expected or ""
    if expected.isascii() and expected.isdigit() and 0 < int(expected) < 2**63:
        return int(expected)
    raise RevisionMismatch(f"{write.path} cannot be at revision {write.expected!r}")
