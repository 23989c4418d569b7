"""The ZooKeeper store without a server: configuration, bytes on the wire, the notices between two threads."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from syncer.connecting.causes import MISSPELT
from syncer.errors import ConfigError, StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.contract import MetadataStore
from syncer.stores.zookeeper.config import ZooKeeperAuth, ZooKeeperConfig, ZooKeeperTls
from syncer.stores.zookeeper.requests import Failed, Multi, MultiRead, Node, Stat, first_failure
from syncer.stores.zookeeper.session import SEVERAL, Notices
from syncer.stores.zookeeper.store import ZooKeeperStore
from syncer.stores.zookeeper.wire import Client, ZooKeeperConnection

STAT = Stat(11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21)
END = struct.pack("!iBi", -1, 1, -1)


def stat_bytes() -> bytes:
    return struct.pack("!qqqqiiiqiiq", *STAT)


def error_bytes(code: int) -> bytes:
    return struct.pack("!iBi", -1, 0, code) + struct.pack("!i", code)


def buffer(value: bytes) -> bytes:
    return struct.pack("!i", len(value)) + value


# ------------------------------------------------------------------ configuration


@pytest.mark.parametrize(
    "settings",
    [
        {"hosts": ""},
        {"hosts": "zk:2181/pulsar"},
        {"hosts": "zk:2181", "chroot": "pulsar"},
        {"hosts": "zk:2181", "chroot": "/pulsar/"},
        {"hosts": "zk:2181", "acl": ()},
        {"hosts": "zk:2181", "acl": ("world:anyone",)},
        {"hosts": "zk:2181", "acl": ("world:anyone:xyz",)},
        {"hosts": "zk:2181", "tls": {"cert": "c.pem"}},
        {"hosts": "zk:2181", "auth": {"user": "a:b", "password_file": "p"}},
        {"hosts": "zk:2181", "session_timout": 3},
    ],
)
def test_a_mistake_in_the_configuration_is_found_before_anything_starts(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ZooKeeperConfig.model_validate(settings)


def test_the_chroot_is_taken_apart_from_the_hosts_and_acl_ids_may_hold_colons() -> None:
    config = ZooKeeperConfig(hosts="a:1,b:2", chroot="/pulsar/east", acl=("digest:ann:hash=:cdrwa", "auth::r"))
    assert isinstance(ZooKeeperStore(config), MetadataStore)


@pytest.mark.parametrize(
    "settings",
    [
        {"auth": ZooKeeperAuth(user="ann", password_file=Path("missing"))},
        {"tls": ZooKeeperTls(ca=Path("missing"))},
        {"tls": ZooKeeperTls(cert=Path("missing"), key=Path("missing"))},
    ],
)
async def test_a_named_file_that_is_not_there_is_told_at_once(settings: dict[str, object]) -> None:
    config = ZooKeeperConfig.model_validate({"hosts": "127.0.0.1:1", **settings})
    with pytest.raises(ConfigError, match="missing"):
        await ZooKeeperStore(config).open()


async def test_a_store_that_is_not_open_is_unavailable_and_may_be_closed() -> None:
    store = ZooKeeperStore(ZooKeeperConfig(hosts="127.0.0.1:1"))
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.read([MetaPath("/a")])


def test_a_host_whose_name_has_too_long_a_part_is_unknown_and_the_others_are_tried() -> None:
    long = f"{'a' * 64}.example"
    client = Client(hosts=f"{long}:1,127.0.0.1:2", session_timeout_s=1, auth=[], tls=None, changed=lambda told: None)
    connection = client._connection
    assert isinstance(connection, ZooKeeperConnection)
    assert connection._expand_client_hosts() == [("127.0.0.1", "127.0.0.1", 2)]
    assert client.last_failure == f"{long}:1: {MISSPELT}"


# ------------------------------------------------------------------ wire


def test_each_part_of_a_multi_read_stands_for_itself() -> None:
    head = struct.pack("!iBi", 4, 0, 0)
    names = struct.pack("!iBi", 8, 0, 0) + struct.pack("!i", 2) + buffer("ä".encode()) + buffer(b"b")
    null = struct.pack("!i", -1)
    answer = b"hdr" + head + buffer(b"v") + stat_bytes() + error_bytes(-101) + head + null + stat_bytes() + names + END
    assert MultiRead.deserialize(answer, 3) == [Node(b"v", STAT), Failed(-101), Node(b"", STAT), ["ä", "b"]]


def test_the_refused_part_of_a_multi_is_the_one_with_a_code_of_its_own() -> None:
    results = Multi.deserialize(error_bytes(0) + error_bytes(-103) + error_bytes(-2) + END, 0)
    assert first_failure(results) == (1, -103)


def test_creates_sets_and_deletes_of_a_multi_are_told_apart() -> None:
    create = struct.pack("!iBi", 15, 0, 0) + buffer(b"/a") + stat_bytes()
    update = struct.pack("!iBi", 5, 0, 0) + stat_bytes()
    delete = struct.pack("!iBi", 2, 0, 0)
    results = Multi.deserialize(create + update + delete + END, 0)
    assert results == [STAT, STAT, None]
    assert first_failure(results) is None


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=40), texts=st.lists(st.text(max_size=20), max_size=12))
def test_events_arrive_whole_however_the_stream_is_cut(sizes: list[int], texts: list[str]) -> None:
    seen: list[tuple[str, int]] = []
    client = Client(hosts="127.0.0.1:1", session_timeout_s=1, auth=[], tls=None, changed=seen.extend)
    connection = client._connection
    assert isinstance(connection, ZooKeeperConnection)
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        connection._socket = near
        stream = b"".join(
            buffer(struct.pack("!iqi", -1, number, 0) + struct.pack("!ii", 3, 3) + buffer(text.encode()))
            for number, text in enumerate(texts)
        )
        position = turn = 0
        while position < len(stream):
            size = sizes[turn % len(sizes)]
            far.sendall(stream[position : position + size])
            connection._read_socket(1.0)
            position, turn = position + size, turn + 1
    assert seen == [(text, number) for number, text in enumerate(texts)]


def test_the_client_never_logs_what_it_sends() -> None:
    assert not logging.getLogger("syncer.stores.zookeeper.kazoo").isEnabledFor(logging.ERROR)


# ------------------------------------------------------------------ notices


def events(*paths: str, number: int = 7) -> list[tuple[str, int]]:
    return [(path, number) for path in paths]


async def test_a_path_that_several_transactions_have_changed_names_none_of_them() -> None:
    notices = Notices(asyncio.get_running_loop(), ["/"], capacity=9)
    notices.add([*events("/1", "/2", "/3"), *events("/3", number=8)])
    notices.add([*events("/2", number=8), *events("/2", "/1", "/4", number=7), *events("/5", number=-1)])
    taken, _ = notices.take(9)
    assert dict(taken) == {"/1": 7, "/2": SEVERAL, "/3": SEVERAL, "/4": 7, "/5": -1}


async def test_notices_keep_what_lies_at_or_below_a_prefix_once() -> None:
    notices = Notices(asyncio.get_running_loop(), ["/a", "/b/c"], capacity=100)
    await asyncio.to_thread(notices.add, events("/a", "/a/x", "/a/x", "/ab", "/b", "/b/c", "/b/cd"))
    await notices.wait(5)
    assert notices.take(100) == (tuple(events("/a", "/a/x", "/b/c")), None)
    assert notices.take(100) == ((), None)


async def test_notices_are_taken_oldest_first_and_the_rest_stays_due() -> None:
    notices = Notices(asyncio.get_running_loop(), ["/"], capacity=100)
    notices.add(events(*(f"/{number}" for number in range(5))))
    assert notices.take(3) == (tuple(events("/0", "/1", "/2")), None)
    await asyncio.wait_for(notices.wait(60), 5)
    assert notices.take(3) == (tuple(events("/3", "/4")), None)


async def test_one_notice_too_many_is_a_gap_until_it_is_forgotten() -> None:
    notices = Notices(asyncio.get_running_loop(), ["/"], capacity=2)
    notices.add(events("/1", "/2", "/3"))
    notices.add(events("/4"))
    paths, gap = notices.take(10)
    assert (paths, gap) == ((), "more than 2 changed paths were waiting")
    notices.forget()
    notices.add(events("/5"))
    assert notices.take(10) == (tuple(events("/5")), None)


async def test_a_break_drops_what_was_noted_and_keeps_its_first_reason() -> None:
    notices = Notices(asyncio.get_running_loop(), ["/"], capacity=2)
    notices.add(events("/1"))
    notices.break_off("connection lost")
    notices.break_off("session lost")
    assert notices.take(10) == ((), "connection lost")
