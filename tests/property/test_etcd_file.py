"""A file of ``etcdctl snapshot save`` is read as what it is, or not at all."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_snapshot.sources.etcd.snapshot_file import EtcdFile, read
from spark_snapshot.sources.reach import Reach
from syncer.conflict.withholding import holds_withheld
from syncer.errors import ConfigError, StoreFilesDamaged
from syncer.stores.etcd.wire import load
from tests.support import bolt

NAMES = [f"/admin/policies/t/n{number}" for number in range(12)]

values = st.binary(max_size=30).filter(lambda value: not holds_withheld(value))
"""Values that are read as they are: of one that may hold a secret and is no JSON, nothing is read."""
histories = st.lists(st.tuples(st.sampled_from(NAMES), st.none() | values), max_size=60)
"""Writes, and deletes (no value) of what is there."""


def written(history: list[tuple[str, bytes | None]]) -> tuple[list[tuple[bytes, bytes]], dict[str, tuple[bytes, int]]]:
    """The writes as the bucket has them, and what they leave."""
    items: list[tuple[bytes, bytes]] = []
    left: dict[str, tuple[bytes, int]] = {}
    for name, value in history:
        revision = len(items) + 2
        if value is not None:
            items.append(bolt.write(name, value, revision))
            left[name] = (value, revision)
        elif left.pop(name, None) is not None:
            items.append(bolt.delete(name, revision))
    return items, left


def found(content: bytes) -> dict[str, tuple[bytes, int]]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        batches = list(read(EtcdFile(file=Path(file.name)), Reach()))
    return {str(each.path): (each.value, int(each.revision)) for batch in batches for each in batch}


def compacted(items: list[tuple[bytes, bytes]], upto: int, steps: int) -> list[tuple[bytes, bytes]]:
    """What a compaction leaves that has gone so many steps: of each key the newest write, of the deleted nothing."""
    message = load().messages["KeyValue"]
    names = [message.FromString(value).key for _, value in items[:upto]]
    newest = {name: index for index, name in enumerate(names)}
    taken = [at for at, name in enumerate(names) if newest[name] != at or items[at][0].endswith(b"t")]
    return [item for at, item in enumerate(items) if at not in taken[:steps]]


@given(histories, st.integers(2, 9), st.integers(0, 60), st.integers(0, 60))
def test_any_history_leaves_what_was_written_last_however_far_it_is_compacted(
    history: list[tuple[str, bytes | None]], each: int, upto: int, steps: int
) -> None:
    items, left = written(history)
    wanted = {name: version for name, version in left.items() if version[0]}
    assert found(bolt.sealed(bolt.database(compacted(items, upto, steps), each=each))) == wanted


@given(st.data())
def test_a_cut_or_a_changed_byte_is_refused(data: st.DataObject) -> None:
    items, _ = written([(name, name.encode()) for name in NAMES])
    content = bytearray(bolt.sealed(bolt.database(items)))
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[at:]
    else:
        content[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises((StoreFilesDamaged, ConfigError)):
        found(bytes(content))


@given(st.data())
def test_what_a_server_has_damaged_itself_ends_in_rows_or_in_an_error(data: st.DataObject) -> None:
    """The checksum fits: no other error than ours, and no endless walk."""
    items, _ = written([(name, name.encode()) for name in NAMES])
    content = bytearray(bolt.database(items))
    pages = len(content) // bolt.PAGE_BYTES
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, pages - 1)) * bolt.PAGE_BYTES + data.draw(st.integers(0, 160))
        content[at] = data.draw(st.integers(0, 255))
    try:
        found(bolt.sealed(bytes(content)))
    except (StoreFilesDamaged, ConfigError):
        return
