"""A log replayed over a fuzzy snapshot gives what the server held, whatever happened and whenever each node was saved.

The model applies transactions one after the other, as a server does; the snapshot saves each path as it was at some
moment of its own between the snapshot's number and its end.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from spark_snapshot.sources.reach import Reach, Share
from spark_snapshot.sources.zookeeper.files import ZooKeeperFolder, read
from tests.support import zookeeper_files as files
from tests.support.zookeeper_files import Znode

PATHS = [f"/admin/policies/t/{name}" for name in "abc"]
SESSIONS = (501, 502)

State = dict[str, Znode]
Step = tuple[str, str, int]

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["create", "create", "ephemeral", "delete", "set", "set", "multi", "refused", "close"]),
        st.sampled_from(PATHS),
        st.sampled_from(SESSIONS),
    ),
    max_size=25,
)


def applied(state: State, step: Step, zxid: int) -> tuple[State, tuple[int, bytes], int]:
    """The state after a step, the transaction that a server would log for it, and the session that asked for it."""
    what, path, session = step
    node = state.get(path)
    value = b'{"at":%d}' % zxid
    made = Znode(path=path, value=value, czxid=zxid, mzxid=zxid, mtime=zxid * 10)
    match what:
        case "create" if node is None:
            return {**state, path: made}, files.create(made), session
        case "ephemeral" if node is None:
            made = replace(made, owner=session)
            return {**state, path: made}, files.create(made), session
        case "delete" if node is not None:
            return {at: each for at, each in state.items() if at != path}, files.delete(path), session
        case "set" if node is not None:
            after = replace(node, value=value, mzxid=zxid, mtime=zxid * 10, version=node.version + 1)
            return {**state, path: after}, files.set_data(path, value, after.version), session
        case "multi" if node is not None:
            renewed = {**state, path: made}
            return renewed, files.multi([files.delete(path), files.create(made)]), session
        case "refused":
            return state, files.multi([files.delete(path), files.error()]), session
        case "close":
            left = {at: each for at, each in state.items() if each.owner != session}
            return left, files.close_session(), session
        case _:
            return state, files.error(), session


@given(steps=STEPS, data=st.data())
def test_the_outcome_is_what_the_server_held(steps: list[Step], data: st.DataObject) -> None:
    states: list[State] = [{}]
    records = []
    for zxid, step in enumerate(steps, start=1):
        after, part, session = applied(states[-1], step, zxid)
        states.append(after)
        records.append(files.record(zxid, zxid * 10, part, session=session))
    begin = data.draw(st.integers(0, len(steps)), label="the snapshot's number")
    saved = [
        states[data.draw(st.integers(begin, len(steps)), label=f"when {path} is saved")].get(path) for path in PATHS
    ]
    cut = data.draw(st.integers(0, begin), label="transactions of the first log")
    content = {
        f"snapshot.{begin:x}": files.snapshot([node for node in saved if node is not None]),
        "log.1": files.log(records[:cut]),
        f"log.{cut + 1:x}": files.log(records[cut:]),
    }
    with tempfile.TemporaryDirectory() as folder:
        place = ZooKeeperFolder(folder=files.written(Path(folder), content))
        shares = [[each for batch in read(place, Reach(), Share(index, 2)) for each in batch] for index in range(2)]

    found = {each.path: (each.value, each.modified_ms, each.revision) for share in shares for each in share}
    assert len(found) == sum(map(len, shares))
    assert found == {
        path: (node.value, node.mtime, f"{node.mzxid}.{node.version}.{node.czxid}")
        for path, node in states[-1].items()
        if node.owner == 0
    }


def test_a_session_that_is_closed_twice_takes_nothing_that_was_made_in_between(tmp_path: Path) -> None:
    path = PATHS[0]
    ephemeral = Znode(path=path, value=b"{}", czxid=1, mzxid=1, mtime=10, owner=501)
    later = Znode(path=path, value=b'{"at":3}', czxid=3, mzxid=3, mtime=30)
    transactions = [files.close_session(), files.create(later), files.close_session()]
    records = [files.record(zxid, zxid * 10, each, session=501) for zxid, each in enumerate(transactions, start=2)]
    content = {"snapshot.1": files.snapshot([ephemeral]), "log.2": files.log(records)}
    place = ZooKeeperFolder(folder=files.written(tmp_path, content))
    assert [(each.path, each.value) for batch in read(place, Reach()) for each in batch] == [(path, later.value)]
