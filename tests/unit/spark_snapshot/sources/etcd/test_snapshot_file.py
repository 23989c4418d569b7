"""Files of ``etcdctl snapshot save`` that a real server seldom writes, and such as it never does: read or refused."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest

from spark_snapshot.sources.etcd.snapshot_file import EtcdFile, ReaderPart, SnapshotFile, parts, read
from spark_snapshot.sources.place import StorePlace, facts
from spark_snapshot.sources.reach import Reach, Share
from syncer.config import Config, load
from syncer.errors import ConfigError, StoreFilesDamaged
from syncer.model import MetaPath
from tests.support import bolt
from tests.support.bolt import PAGE_BYTES, delete, write

TENANT: Final = "/admin/policies/t"
ITEMS: Final = [write(f"{TENANT}/n{number:02d}", b'{"x":%d}' % number, number) for number in range(2, 42)]
Items = Sequence[tuple[bytes, bytes]]


def saved(folder: Path, database: bytes) -> EtcdFile:
    file = folder / "saved.db"
    file.write_bytes(bolt.sealed(database))
    return EtcdFile(file=file)


def found(place: EtcdFile, reach: Reach | None = None, part: ReaderPart | None = None) -> dict[str, tuple[bytes, str]]:
    batches = list(read(place, reach or Reach(), part))
    assert all(each.modified_ms is None for batch in batches for each in batch)
    rows = [(str(each.path), (each.value, str(each.revision))) for batch in batches for each in batch]
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def position(place: EtcdFile) -> str:
    return facts(StorePlace.offline(place.file)).position


@pytest.mark.parametrize("each", [2, 3, 100])
def test_a_tree_of_any_depth_is_read(tmp_path: Path, each: int) -> None:
    place = saved(tmp_path, bolt.database(ITEMS, each=each))
    assert found(place) == {f"{TENANT}/n{n:02d}": (b'{"x":%d}' % n, str(n)) for n in range(2, 42)}
    assert position(place) == "41"


def test_the_newest_write_counts_and_a_delete_is_one(tmp_path: Path) -> None:
    items = [
        write(f"{TENANT}/made-again", b"1", 2),
        write(f"{TENANT}/gone", b"2", 3),
        delete(f"{TENANT}/made-again", 4),
        delete(f"{TENANT}/gone", 5),
        delete(f"{TENANT}/gone-before", 6),  # a compaction has taken what it deletes
        write(f"{TENANT}/made-again", b"7", 7),
        write(f"{TENANT}/session", b"8", 8),
        write(f"{TENANT}/session", b"9", 9, lease=17),
        write(f"{TENANT}/empty", b"", 10),
    ]
    assert found(saved(tmp_path, bolt.database(items))) == {f"{TENANT}/made-again": (b"7", "7")}


@pytest.mark.parametrize("length", [1, 100, 200, 20_000])
def test_names_of_any_length(tmp_path: Path, length: int) -> None:
    name = f"{TENANT}/{'n' * length}"
    place = saved(tmp_path, bolt.database([write(name, b"{}", 2), delete(f"{name}x", 3)]))
    assert found(place) == {name: (b"{}", "2")}


def test_writes_of_one_transaction_share_their_revision(tmp_path: Path) -> None:
    """A delete and a write of one key in it stand in their order."""
    key, value = write(f"{TENANT}/n", b"old", 2)
    _, new = write(f"{TENANT}/n", b"new", 3)
    items = [(key, value), (bolt.revision(3, 0, deletes=True), delete(f"{TENANT}/n", 3)[1]), (bolt.revision(3, 1), new)]
    assert found(saved(tmp_path, bolt.database(items))) == {f"{TENANT}/n": (b"new", "3")}


def test_a_value_that_takes_many_pages(tmp_path: Path) -> None:
    large = bytes(range(256)) * 4_096
    items = [*ITEMS[:4], write(f"{TENANT}/large", large, 50), write(f"{TENANT}/small", b"{}", 51)]
    place = saved(tmp_path, bolt.database(items))
    assert found(place)[f"{TENANT}/large"] == (large, "50")
    assert found(place)[f"{TENANT}/small"] == (b"{}", "51")


def test_what_is_known_of_a_store_whose_newest_writes_are_compacted_away(tmp_path: Path) -> None:
    compacted = {b"finishedCompactRev": bolt.revision(60), b"scheduledCompactRev": bolt.revision(70)}
    assert position(saved(tmp_path, bolt.database(ITEMS, facts=compacted))) == "70"
    assert position(saved(tmp_path, bolt.database([], facts={b"consistent_index": bytes(8)}))) == "1"
    assert found(EtcdFile(file=tmp_path / "saved.db")) == {}


def test_only_what_is_asked_for_under_the_namespace(tmp_path: Path) -> None:
    items = [
        write(f"/meta{TENANT}/n", b"1", 2),
        write(f"{TENANT}/n", b"2", 3),
        write(f"/meta{TENANT}-b/n", b"3", 4),
        write("/meta/ledgers/LAYOUT", b"4", 5),
        write("/metadata/admin/policies/t/n", b"5", 6),
    ]
    file = saved(tmp_path, bolt.database(items)).file
    place = EtcdFile(file=file, namespace="/meta")
    assert found(place) == {f"{TENANT}/n": (b"1", "2"), f"{TENANT}-b/n": (b"3", "4")}
    assert found(place, Reach(tenants=frozenset({"t"}))) == {f"{TENANT}/n": (b"1", "2")}
    with SnapshotFile(place) as opened:
        assert opened.value_at(MetaPath("/ledgers/LAYOUT")) == b"4"
        assert opened.value_at(MetaPath("/ledgers/other")) is None


def test_several_readers_find_everything_once_in_the_same_file(tmp_path: Path) -> None:
    place = saved(tmp_path, bolt.database(ITEMS))
    divided = parts(place, 3)
    each = [found(place, part=part) for part in divided]
    assert sum(map(len, each)) == len(ITEMS)
    assert {path for rows in each for path in rows} == found(place).keys()

    saved(tmp_path, bolt.database(ITEMS[:-1]))  # the next night's, by the same name
    with pytest.raises(StoreFilesDamaged, match="became another"):
        found(place, part=divided[1])
    assert found(place, part=ReaderPart(Share(0, 1))).keys() == {f"{TENANT}/n{n:02d}" for n in range(2, 41)}


def _patched(at: int, form: str, *values: int) -> Callable[[bytes], bytes]:
    def patch(database: bytes) -> bytes:
        changed = bytearray(database)
        struct.pack_into(form, changed, at, *values)
        return bytes(changed)

    return patch


def _meta(database: bytes, **changed: int) -> bytes:
    pages = len(database) // PAGE_BYTES
    return bolt.paged([bolt.meta(0, 2, pages, 7, **changed)]) + database[PAGE_BYTES:]


def _inner(items: Items) -> bytes:
    """A database whose bucket of keys is one leaf, on page 3, of items as they are given."""
    return bolt.database(items, each=100)


def _first_of(page: int) -> int:
    return page * PAGE_BYTES + 16


BROKEN: Final[dict[str, tuple[Callable[[bytes], bytes], str]]] = {
    "another page": (_patched(3 * PAGE_BYTES, "<Q", 4), "says that it is page 4"),
    "a page of the free ones": (_patched(3 * PAGE_BYTES + 8, "<H", 0x10), "of the kind 16"),
    "a page of two kinds": (_patched(3 * PAGE_BYTES + 8, "<H", 3), "of the kind 3"),
    "an empty leaf": (_patched(3 * PAGE_BYTES + 10, "<H", 0), "with 0 elements"),
    "more elements than a page has room for": (_patched(3 * PAGE_BYTES + 10, "<H", 60_000), "60000 elements"),
    "a page that takes more than there are": (_patched(3 * PAGE_BYTES + 12, "<I", 900), "takes 900 more"),
    "a page that takes the next one, too": (_patched(3 * PAGE_BYTES + 12, "<I", 1), "belongs to two"),
    "an element outside": (_patched(_first_of(3) + 4, "<I", 9_000), "outside of its page"),
    "an element in the table": (_patched(_first_of(3) + 4, "<I", 3), "outside of its page"),
    "a value that is too long": (_patched(_first_of(3) + 12, "<I", 9_000), "outside of its page"),
    "a branch that names itself": (_patched(_first_of(5) + 8, "<Q", 5), "belongs to two"),
    "a branch that names a page twice": (_patched(_first_of(5) + 8, "<Q", 4), "belongs to two"),
    "a branch that names the pages of others": (_patched(_first_of(5) + 16 + 8, "<Q", 3), "stands behind"),
    "a branch that takes a key from a page": (_patched(_first_of(5) + 2 * 16 + 17 + 7, "<B", 4), "is not before"),
    "a branch that names no page": (_patched(_first_of(5) + 8, "<Q", 99), "no page 99"),
    "a branch that names a meta page": (_patched(_first_of(5) + 8, "<Q", 1), "no page 1"),
    "a branch with elements outside": (_patched(_first_of(5), "<I", 9_000), "outside of its page"),
    "a branch of too many": (_patched(5 * PAGE_BYTES + 10, "<H", 60_000), "60000 elements"),
    "a branch out of order": (_patched(_first_of(5), "<I", 32 + 17), "not in order"),
    "no magic": (lambda raw: _meta(raw, magic=1), "begin like one|no snapshot of etcd"),
    "another version": (lambda raw: _meta(raw, version=3), "begin like one"),
    "pages of an odd size": (lambda raw: _meta(raw, page_bytes=4_000), "pages have 4000"),
    "a meta page whose checksum does not fit": (_patched(PAGE_BYTES + 16 + 56, "<Q", 1), "checksum of page 1"),
    "a second meta page that is none": (_patched(PAGE_BYTES + 8, "<H", 2), "page 1 is not"),
    "fewer pages than it says": (lambda raw: raw[:-PAGE_BYTES], "pages of 4096"),
    "no such bucket": (lambda raw: raw.replace(b"key", b"kex", 1), "no bucket b'key'"),
    "a bucket that is a value": (_patched(_first_of(2), "<I", 0), "no bucket b'key'"),
    "a bucket without a root": (_patched(_first_of(2) + 12, "<I", 8), "has no root"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_tree_that_is_none_is_refused_though_its_checksum_fits(tmp_path: Path, name: str) -> None:
    damage, match = BROKEN[name]
    whole = bolt.database(ITEMS[:6], each=3)
    assert len(whole) == 6 * PAGE_BYTES, "two leaves, and a branch on page 5"
    place = saved(tmp_path, damage(whole))
    assert damage(whole) != whole
    with pytest.raises((StoreFilesDamaged, ConfigError), match=match):
        found(place)


BAD_WRITES: Final[dict[str, tuple[Items, str]]] = {
    "no revision": ([(b"k", b"v")], "is no revision"),
    "a mark of another kind": ([(bolt.revision(2) + b"x", ITEMS[0][1])], "is no revision"),
    "without its line": ([(bytes(17), ITEMS[0][1])], "is no revision"),
    "out of order": ([ITEMS[1], ITEMS[0]], "is not before"),
    "twice": ([ITEMS[0], ITEMS[0]], "is not before"),
    "of no key": ([(bolt.revision(2), b"")], "of no key"),
    "of a key that is cut off": ([(bolt.revision(2), b"\x0a\x7fabc")], "of no key"),
    "of a key without a length": ([(bolt.revision(2), b"\x0a\xff\xff")], "of no key"),
    "unreadable": ([(bolt.revision(2), ITEMS[0][1] + b"\xff")], "cannot be read"),
    "of another revision": ([(bolt.revision(9), ITEMS[0][1])], "another revision"),
}


@pytest.mark.parametrize("name", BAD_WRITES)
def test_writes_that_are_none_are_refused(tmp_path: Path, name: str) -> None:
    items, match = BAD_WRITES[name]
    with pytest.raises(StoreFilesDamaged, match=match):
        found(saved(tmp_path, _inner(items)))


def test_a_file_that_is_written_to_meanwhile_is_refused(tmp_path: Path) -> None:
    place = saved(tmp_path, bolt.database(ITEMS))

    def read_while(change: Callable[[], None]) -> None:
        with SnapshotFile(place) as opened:
            change()
            opened.check()

    with pytest.raises(StoreFilesDamaged, match="written to"):
        read_while(lambda: os.utime(place.file, ns=(1, 1)))
    with pytest.raises(StoreFilesDamaged, match="shorter"):
        read_while(lambda: os.truncate(place.file, PAGE_BYTES))


def test_what_is_no_such_file_is_told_with_what_to_do(tmp_path: Path) -> None:
    raw = bolt.database(ITEMS)
    for content, match in (
        (raw, "no checksum at its end"),
        (b"ZKSN" + raw, "no snapshot of etcd"),
        (b"", "no snapshot"),
    ):
        file = tmp_path / "file"
        file.write_bytes(content)
        with pytest.raises(ConfigError, match=match) as raised:
            facts(StorePlace.offline(file))
        assert "etcdctl snapshot save" in raised.value.hint
    file.write_bytes(bolt.sealed(raw)[:-5])
    with pytest.raises(StoreFilesDamaged, match="cut off"):
        facts(StorePlace.offline(file))
    with pytest.raises(ConfigError, match="no folder"):
        StorePlace.offline(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="there is no file"):
        list(read(EtcdFile(file=tmp_path / "nothing"), Reach()))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="no snapshot of etcd"):
        facts(StorePlace.offline(tmp_path / "pipe"))


def configured(folder: Path, store: str) -> Config:
    file = folder / "region.toml"
    bus = f'[bus]\nkind = "embedded"\npath = "{folder}/bus.db"\n'
    file.write_text(f'region = "east"\nclusters = ["east"]\n[store]\n{store}\n{bus}', encoding="utf-8")
    return load(file, file_only=True)


def test_files_of_another_kind_of_store_are_refused(tmp_path: Path) -> None:
    place = saved(tmp_path, bolt.database(ITEMS))
    etcd = configured(tmp_path, 'kind = "etcd"\nnamespace = "/meta"')
    zookeeper = configured(tmp_path, 'kind = "zookeeper"\nhosts = "h:1"\nchroot = "/c"')
    assert '"namespace": "/meta"' in StorePlace.files_of(etcd, place.file).settings
    assert '"chroot": "/c"' in StorePlace.files_of(zookeeper, tmp_path).settings
    with pytest.raises(ConfigError, match="a file of etcd, and the store of region east is zookeeper"):
        StorePlace.files_of(zookeeper, place.file)
    with pytest.raises(ConfigError, match="a folder of zookeeper, and the store of region east is etcd"):
        StorePlace.files_of(etcd, tmp_path)
