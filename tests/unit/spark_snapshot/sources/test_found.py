"""What readers find: batches of bounded size, answers taken apart, and what is kept until all of it is known."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_snapshot.sources import found as module
from spark_snapshot.sources.found import Found, ResourceBatch, batched
from spark_snapshot.sources.spool import BatchSpool
from spark_snapshot.sources.zookeeper import answers
from syncer.model import MetaPath, Millis, ResourceKind, Revision
from syncer.plan.diffing import fingerprint_of
from syncer.stores.zookeeper.requests import Failed, MultiRead, Node

ROWS = st.lists(
    st.builds(
        Found,
        path=st.text(max_size=8).map(MetaPath),
        kind=st.sampled_from(["tenant", "namespace"]),
        tenant=st.sampled_from(["a", "b", ""]),
        value=st.binary(max_size=40),
        modified_ms=st.none() | st.integers(0, 1 << 60).map(Millis),
        revision=st.text(max_size=8).map(Revision),
    ),
    max_size=30,
)
STAT = struct.Struct("!qqqqiiiqiiq")
END = struct.pack("!iBi", -1, 1, -1)


def parts(rows: list[Found], cuts: list[int]) -> list[ResourceBatch]:
    """The rows in parts of any size, some of them empty."""
    places = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    return [ResourceBatch.of(rows[start:end]) for start, end in pairwise(places)]


@given(rows=ROWS, cuts=st.lists(st.integers(0, 30)), most=st.integers(1, 10), bytes_=st.integers(1, 100))
def test_batches_hold_every_row_in_order_and_are_bounded(
    rows: list[Found], cuts: list[int], most: int, bytes_: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH_ROWS", most)
        patch.setattr(module, "BATCH_BYTES", bytes_)
        batches = list(batched(parts(rows, cuts)))
    assert [row for batch in batches for row in batch] == rows
    for batch in batches:
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or sum(map(len, batch.values)) <= bytes_


@given(rows=ROWS, cuts=st.lists(st.integers(0, 30)), memory=st.sampled_from([1, 100, 1 << 20]), data=st.data())
def test_a_spool_gives_back_what_it_was_given_and_corrected(
    rows: list[Found], cuts: list[int], memory: int, data: st.DataObject
) -> None:
    unique = {row.path: row for row in rows}
    corrections = data.draw(
        st.dictionaries(st.sampled_from([*unique, MetaPath("/new")]), st.booleans(), max_size=5), label="corrections"
    )
    corrected = {
        path: unique.get(path, Found(path, "tenant", "a", b"", None, Revision("1")))._replace(value=b"corrected")
        for path, stays in corrections.items()
        if stays
    }
    digests = data.draw(st.booleans(), label="digests")
    with BatchSpool(memory_bytes=memory, digests=digests) as spool:
        for part in parts(list(unique.values()), cuts):
            spool.add(part)
        spool.correct({path: corrected.get(path) for path in corrections})
        batches = list(spool.batches())
    given_back = [row for batch in batches for row in batch]
    for batch in batches:
        assert digests or not batch.digests
        batch.digest()
        assert batch.digests == [fingerprint_of(ResourceKind(row.kind), row.value) for row in batch]
    kept = {path: row for path, row in unique.items() if path not in corrections}
    assert len(given_back) == len(kept) + len(corrected)
    assert {row.path: row for row in given_back} == kept | corrected


def answer(*nodes: tuple[bytes, tuple[int, ...]] | int) -> bytes:
    """An answer as a server writes it."""
    raw = b""
    for node in nodes:
        if isinstance(node, int):
            raw += struct.pack("!iBii", -1, 0, node, node)
        else:
            value, stat = node
            raw += struct.pack("!iBii", 4, 0, 0, len(value)) + value + STAT.pack(*stat)
    return raw + END


STATS = st.tuples(*[st.integers(0, 1 << 60)] * 4, *[st.integers(0, 1 << 30)] * 3, st.integers(-(1 << 63), 1 << 62)).map(
    lambda stat: (*stat, 0, 3, 9)
)
NODES = st.lists(st.tuples(st.binary(max_size=20), STATS) | st.integers(-120, -100), max_size=6)


@given(nodes=NODES, before=st.binary(max_size=8))
def test_answers_say_the_same_as_the_parser_of_the_store(
    nodes: list[tuple[bytes, tuple[int, ...]] | int], before: bytes
) -> None:
    raw = before + answer(*nodes)
    found = answers.values(raw, len(before), len(nodes))
    expected: list[answers.Value | int] = []
    for each in MultiRead.deserialize(raw, len(before)):
        if isinstance(each, Node):
            stat = each.stat
            of_stat = (stat.czxid, stat.mzxid, Millis(stat.mtime), stat.version, stat.ephemeral_owner)
            expected.append((each.value, *of_stat, stat.num_children))
        else:
            assert isinstance(each, Failed)
            expected.append(each.code)
    assert found == expected


@given(nodes=NODES, data=st.data())
def test_an_answer_that_is_cut_or_is_to_another_request_is_refused(
    nodes: list[tuple[bytes, tuple[int, ...]] | int], data: st.DataObject
) -> None:
    raw = answer(*nodes)
    cut = data.draw(st.integers(0, len(raw) - 1))
    for part, count in ((raw[:cut], len(nodes)), (raw, len(nodes) + 1), (raw + b"\0", len(nodes))):
        with pytest.raises((struct.error, ValueError)):
            answers.values(part, 0, count)


def test_an_absent_value_is_empty_and_names_are_no_values() -> None:
    stat = STAT.pack(1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 8)
    raw = struct.pack("!iBii", 4, 0, 0, -1) + stat + END
    assert answers.values(raw, 0, 1) == [(b"", 1, 2, 4, 5, 0, 0)]
    with pytest.raises(ValueError, match="kind 8"):
        answers.values(struct.pack("!iBii", 8, 0, 0, 0) + END, 0, 1)
