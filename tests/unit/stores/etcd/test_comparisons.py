"""What a transaction on etcd compares, judged as the server does, beside a store that takes one write after another."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.errors import NotEmpty, RevisionMismatch, StoreError, ValueRefused
from syncer.model import MetaPath, Revision
from syncer.stores.contract import BatchRefused, Delete, Put, Write
from syncer.stores.etcd.comparisons import Compare, comparisons_of, refusal
from syncer.stores.etcd.keys import KeySpace
from syncer.stores.etcd.wire import load

KEYS: Final = KeySpace("/ns")
PATHS: Final = tuple(MetaPath(f"/{name}") for name in ("a", "a/b", "a/b/c", "a/b-", "a/b0", "a/d", "a-", "a0/e"))
AT: Final = 7
LIMIT: Final = 10

Held = dict[MetaPath, int]


def put(path: MetaPath, *, new: bool) -> Put:
    return Put(path=path, value=b"x", expected=None if new else Revision(str(AT)))


def delete(path: MetaPath) -> Delete:
    return Delete(path=path, expected=Revision(str(AT)))


def looked(held: Held, each: Compare) -> list[tuple[bytes, int]]:
    """What etcd finds of a key or of a range of keys, in their order."""
    keys = sorted((KEYS.key(path), revision) for path, revision in held.items())
    return [found for found in keys if (each.key <= found[0] < each.end if each.end else found[0] == each.key)]


def asked(held: Held, writes: list[Write]) -> BatchRefused | None:
    """The server's answer to a batch, as it says it."""
    try:
        compared = list(comparisons_of(KEYS, writes, LIMIT))
    except BatchRefused as exc:
        return exc
    passed, responses = True, []
    for each in compared:
        found = looked(held, each)
        passed &= all(at == each.revision for at in [revision for _, revision in found] or [0])
        kvs = [SimpleNamespace(key=key, mod_revision=revision) for key, revision in found[:1]]
        responses.append(SimpleNamespace(response_range=SimpleNamespace(kvs=kvs)))
    told = refusal(KEYS, writes, compared, SimpleNamespace(responses=responses))
    assert not passed or len(compared) <= len(writes) + sum(isinstance(write, Delete) for write in writes)
    assert passed == (told is None), "what a look shows is what the comparison has judged"
    return told


def one_by_one(held: Held, writes: list[Write]) -> dict[int, type[StoreError]]:
    """Each write that cannot be, if those before it could."""
    held, culprits = dict(held), dict[int, type[StoreError]]()
    for index, write in enumerate(writes):
        expected = 0 if write.expected is None else int(write.expected)
        if held.get(write.path, 0) != expected:
            culprits[index] = RevisionMismatch
        elif isinstance(write, Delete) and any(path.startswith(f"{write.path}/") for path in held):
            culprits[index] = NotEmpty
        if isinstance(write, Put):
            held[write.path] = AT + 1
        else:
            held.pop(write.path, None)
    return culprits


WRITES: Final = st.builds(
    lambda path, what: delete(path) if what == "delete" else put(path, new=what == "new"),
    st.sampled_from(PATHS),
    st.sampled_from(("new", "old", "delete", "delete", "delete")),
)


@given(
    st.dictionaries(st.sampled_from(PATHS), st.sampled_from((AT, AT, AT, AT + 2))),
    st.lists(WRITES, max_size=6, unique_by=lambda write: write.path),
)
def test_a_batch_passes_where_one_write_after_another_would(held: Held, writes: list[Write]) -> None:
    told, culprits = asked(held, writes), one_by_one(held, writes)
    assert (told is None) == (not culprits)
    if told is not None:
        assert type(told.cause) in {RevisionMismatch, NotEmpty}
        assert told.index in culprits


def test_a_subtree_is_compared_once() -> None:
    writes = [delete(MetaPath(f"/{name}")) for name in ("a/d", "a/b/c", "a/b", "a")]
    below = [each for each in comparisons_of(KEYS, writes, LIMIT) if each.end]
    assert [(each.index, each.key, each.end) for each in below] == [
        (3, b"/ns/a/", b"/ns/a/b"),
        (3, b"/ns/a/b\0", b"/ns/a/b/c"),
        (3, b"/ns/a/b/c\0", b"/ns/a/d"),
        (3, b"/ns/a/d\0", b"/ns/a0"),
    ]


def test_whoever_is_right_above_the_stranger_is_named() -> None:
    writes: list[Write] = [delete(PATHS[1]), delete(PATHS[0])]
    told = asked({PATHS[0]: AT, PATHS[1]: AT, PATHS[2]: AT}, writes)
    assert told is not None
    assert (told.index, type(told.cause)) == (0, NotEmpty)
    assert "/a/b has children in the store, such as /ns/a/b/c" in str(told.cause)


@pytest.mark.parametrize(
    ("write", "cause"),
    [
        (Put(path=MetaPath("/large"), value=bytes(LIMIT + 1), expected=None), ValueRefused),
        (Put(path=MetaPath("/half-\ud83d"), value=b"", expected=None), ValueRefused),
        (Delete(path=MetaPath("/a"), expected=Revision("no token of etcd's")), RevisionMismatch),
    ],
)
def test_what_can_never_be_is_refused_unasked(write: Write, cause: type[StoreError]) -> None:
    told = asked({}, [put(MetaPath("/good"), new=True), write])
    assert told is not None
    assert (told.index, type(told.cause)) == (1, cause)


def test_a_comparison_and_the_look_where_it_failed_are_of_the_same_keys() -> None:
    request: Any = load().messages["TxnRequest"]()
    for each in comparisons_of(KEYS, [delete(PATHS[0])], LIMIT):
        each.add_to(request)
    assert [(each.key, each.range_end, each.mod_revision) for each in request.compare] == [
        (b"/ns/a", b"", AT),
        (b"/ns/a/", b"/ns/a0", 0),
    ]
    looks = [each.request_range for each in request.failure]
    assert [(each.key, each.range_end, each.limit, each.keys_only) for each in looks] == [
        (b"/ns/a", b"", 1, True),
        (b"/ns/a/", b"/ns/a0", 1, True),
    ]
