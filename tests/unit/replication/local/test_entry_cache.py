"""What was last read is remembered within bounds, and forgotten as soon as it may have changed."""

from __future__ import annotations

from syncer.model import MetaPath, Revision
from syncer.replication.local.entry_cache import EntryCache
from syncer.stores.contract import Entry


def entry(name: str, size: int = 100, *, distinct: bool = True, ephemeral: bool = False) -> Entry:
    return Entry(
        path=MetaPath(f"/admin/policies/{name}"),
        value=b"x" * size,
        revision=Revision("1"),
        modified_at_ms=None,
        ephemeral=ephemeral,
        distinct=distinct,
    )


def test_the_longest_unused_goes_first() -> None:
    remembered = EntryCache(max_bytes=2_000)
    a, b, c, d = (entry(name) for name in "abcd")
    for each in (a, b, c):
        remembered.keep(each)
    assert remembered.get(a.path) is a
    remembered.keep(d)
    assert remembered.get(b.path) is None
    assert [remembered.get(each.path) for each in (a, c, d)] == [a, c, d]


def test_one_that_is_larger_than_all_is_not_kept() -> None:
    remembered = EntryCache(max_bytes=2_000)
    remembered.keep(entry("a", size=5_000))
    assert remembered.get(entry("a").path) is None
    remembered.keep(entry("b"))
    assert remembered.get(entry("b").path) is not None


def test_a_later_read_takes_the_place_of_the_former() -> None:
    remembered = EntryCache(max_bytes=2_000)
    for size in range(100, 400, 50):
        remembered.keep(entry("a", size=size))
    found = remembered.get(entry("a").path)
    assert found is not None
    assert len(found.value) == 350


def test_what_a_conditional_write_cannot_tell_from_others_is_not_remembered() -> None:
    remembered = EntryCache()
    remembered.keep(entry("a"))
    remembered.keep(entry("a", distinct=False))
    remembered.keep(entry("b", ephemeral=True))
    assert remembered.get(entry("a").path) is None
    assert remembered.get(entry("b").path) is None


def test_forgetting() -> None:
    remembered = EntryCache()
    a, b = entry("a"), entry("b")
    remembered.keep(a)
    remembered.keep(b)
    remembered.forget([a.path, entry("c").path])
    assert remembered.get(a.path) is None
    assert remembered.get(b.path) is b
    remembered.clear()
    assert remembered.get(b.path) is None
