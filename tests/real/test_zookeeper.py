"""The ZooKeeper store against real servers: what ZooKeeper alone can do to it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl
from structlog.testing import capture_logs

from deploy.lab.ports import free_ports
from deploy.lab.zookeeper import ZooKeeperServer, ZooKeeperSettings
from syncer.errors import AccessDenied, ConfigError, ParentMissing, RevisionMismatch, StoreUnavailable, ValueRefused
from syncer.model import MetaPath, Revision
from syncer.stores.contract import (
    Armed,
    BatchRefused,
    Beat,
    Changed,
    Delete,
    Gap,
    MetadataStore,
    Put,
    WatchSignal,
)
from syncer.stores.zookeeper.config import ZooKeeperAuth, ZooKeeperConfig, ZooKeeperTls
from syncer.stores.zookeeper.store import READ_PATHS, ZooKeeperStore
from syncer.waiting import WAIT_S, starvation, until
from tests.support.certificates import Authority
from tests.support.link import Link

pytestmark = pytest.mark.real("zookeeper")

SHORT = timedelta(seconds=1)


def path(prefix: MetaPath, name: str) -> MetaPath:
    return MetaPath(f"{prefix}/{name}")


def create(where: MetaPath, value: bytes = b"v") -> Put:
    return Put(path=where, value=value, expected=None)


@asynccontextmanager
async def opened(hosts: str, **settings: Any) -> AsyncIterator[ZooKeeperStore]:
    store = ZooKeeperStore(ZooKeeperConfig(hosts=hosts, **settings))
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@contextmanager
def outside(hosts: str, **settings: Any) -> Iterator[KazooClient]:
    """A client that shares nothing with the store under test."""
    client = KazooClient(hosts, **settings)
    client.start()
    try:
        yield client
    finally:
        client.stop()
        client.close()


class Watcher:
    """Collects the signals of a watch; waits for some with a deadline."""

    def __init__(self, store: MetadataStore, *prefixes: MetaPath) -> None:
        self.signals: list[WatchSignal] = []
        self._task = asyncio.create_task(self._collect(store, prefixes))

    async def _collect(self, store: MetadataStore, prefixes: tuple[MetaPath, ...]) -> None:
        async for signal in store.watch(prefixes):
            self.signals.append(signal)

    @property
    def changed(self) -> set[str]:
        return {path for signal in self.signals if isinstance(signal, Changed) for path in signal.paths}

    def kinds(self) -> list[type[WatchSignal]]:
        return [type(signal) for signal in self.signals if not isinstance(signal, Beat)]

    async def until(self, condition: Callable[[], bool]) -> None:
        await until(condition, "the watch tells it", shown=lambda: self.signals)

    async def armed(self, times: int = 1) -> None:
        await self.until(lambda: sum(isinstance(each, Armed) for each in self.signals) >= times)

    async def close(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task


@asynccontextmanager
async def watching(store: MetadataStore, *prefixes: MetaPath) -> AsyncIterator[Watcher]:
    watcher = Watcher(store, *prefixes)
    try:
        await watcher.armed()
        yield watcher
    finally:
        await watcher.close()


@pytest.fixture
def private_server(tmp_path: Path, zookeeper_server: ZooKeeperServer) -> Iterator[ZooKeeperServer]:
    """A server of the test's own, not started yet, to be treated badly."""
    server = ZooKeeperServer(tmp_path / "server", leashed=True)
    yield server
    server.stop()


# ------------------------------------------------------------------ writes


async def test_a_batch_of_creates_and_updates_returns_the_revisions_that_a_read_returns(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    async with opened(zookeeper_server.hosts) as store:
        (root,) = await store.apply([create(fresh_prefix)])
        assert root.revision is not None
        batch = [
            Put(path=fresh_prefix, value=b"fence", expected=root.revision),
            *(create(path(fresh_prefix, f"k{n}"), b"x" * 700) for n in range(49)),
        ]
        written = await store.apply(batch)

        read = await store.read([write.path for write in batch])

    for outcome in written:
        entry = read[outcome.path]
        assert entry is not None
        assert entry.revision == outcome.revision
        assert not outcome.replaced_unread


async def test_overwriting_a_node_that_was_made_again_at_the_same_version_is_told(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    with outside(zookeeper_server.hosts) as client:
        async with opened(zookeeper_server.hosts) as store:
            (seen,) = await store.apply([create(fresh_prefix, b"read")])
            client.delete(fresh_prefix)
            client.create(fresh_prefix, b"never read")
            assert seen.revision is not None

            (written,) = await store.apply([Put(path=fresh_prefix, value=b"ours", expected=seen.revision)])

    assert written.replaced_unread


async def test_missing_scaffold_is_created_with_the_batch_or_not_at_all(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    inner = path(fresh_prefix, "a")
    leaf = Put(path=path(inner, "leaf"), value=b"v", expected=None, scaffold=(fresh_prefix, inner))
    stale = Put(path=path(fresh_prefix, "fence"), value=b"", expected=Revision("1.0.1"))
    async with opened(zookeeper_server.hosts) as store:
        with pytest.raises(BatchRefused) as refused:
            await store.apply([leaf, stale])
        after_refusal = await store.read([fresh_prefix])
        await store.apply([leaf])
        read = await store.read([fresh_prefix, inner, leaf.path])

    assert (refused.value.index, type(refused.value.cause)) == (1, RevisionMismatch)
    assert after_refusal == {fresh_prefix: None}
    assert [entry.value for entry in read.values() if entry] == [b"", b"", b"v"]


async def test_a_parent_that_is_no_scaffold_is_never_created(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    tenant = path(fresh_prefix, "tenant")
    put = Put(path=path(tenant, "ns"), value=b"v", expected=None, scaffold=(fresh_prefix,))
    async with opened(zookeeper_server.hosts) as store:
        with pytest.raises(BatchRefused) as refused:
            await store.apply([put])
        read = await store.read([fresh_prefix, tenant])
    assert isinstance(refused.value.cause, ParentMissing)
    assert set(read.values()) == {None}


async def test_a_stranger_may_neither_read_nor_write(zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath) -> None:
    own = make_digest_acl("ann", "secret", all=True)
    with outside(zookeeper_server.hosts, auth_data=[("digest", "ann:secret")]) as client:
        client.create(fresh_prefix, b"1", acl=[own])
        async with opened(zookeeper_server.hosts) as stranger:
            with pytest.raises(AccessDenied):
                await stranger.read([fresh_prefix])
            with pytest.raises(BatchRefused) as refused:
                await stranger.apply([create(path(fresh_prefix, "child"))])
        assert isinstance(refused.value.cause, AccessDenied)


async def test_digest_credentials_open_what_they_own_and_an_update_keeps_the_acl(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath, tmp_path: Path
) -> None:
    secret = tmp_path / "password"
    secret.write_text("s3cret-of-ann\n")
    auth = ZooKeeperAuth(user="ann", password_file=secret)
    with outside(zookeeper_server.hosts, auth_data=[("digest", "ann:s3cret-of-ann")]) as client, capture_logs() as logs:
        client.create(fresh_prefix, b"1", acl=[make_digest_acl("ann", "s3cret-of-ann", all=True)])
        async with opened(zookeeper_server.hosts, auth=auth, acl=("auth::cdrwa",)) as store:
            entry = (await store.read([fresh_prefix]))[fresh_prefix]
            assert entry is not None
            await store.apply(
                [Put(path=fresh_prefix, value=b"2", expected=entry.revision), create(path(fresh_prefix, "child"))]
            )
        updated, _ = client.get_acls(fresh_prefix)
        created, _ = client.get_acls(path(fresh_prefix, "child"))
    assert updated == created == [make_digest_acl("ann", "s3cret-of-ann", all=True)]
    assert "s3cret" not in repr(logs)


async def test_what_the_server_cannot_hold_is_refused_before_it_cuts_the_connection(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    illegal = ["relative", "/a/../b", "/a//b", "/a/", "/a\x00b", "/a\ud800b", "/a\uffffb"]
    async with opened(zookeeper_server.hosts) as store:
        for name in illegal:
            with pytest.raises(BatchRefused) as refused:
                await store.apply([create(fresh_prefix), create(MetaPath(name))])
            assert (refused.value.index, type(refused.value.cause)) == (1, ValueRefused), name
        with pytest.raises(BatchRefused) as refused:
            await store.apply([create(fresh_prefix, b"x" * 1_000_001)])
        assert isinstance(refused.value.cause, ValueRefused)
        await store.apply([create(fresh_prefix, b"x" * 1_000_000)])
        read = await store.read([MetaPath(name) for name in illegal])
    assert set(read.values()) == {None}


# ------------------------------------------------------------------ reads


async def test_a_read_sees_what_anyone_wrote_before_it(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    many = [path(fresh_prefix, f"k{n}") for n in range(READ_PATHS * 2 + 7)]
    with outside(zookeeper_server.hosts) as client:
        client.create(fresh_prefix)
        for each in many[::2]:
            client.create(each, each.encode())
        async with opened(zookeeper_server.hosts) as store:
            read = await store.read(many)
    assert list(read) == many
    assert {each: entry.value if entry else None for each, entry in read.items()} == {
        each: each.encode() if index % 2 == 0 else None for index, each in enumerate(many)
    }


async def test_a_scan_yields_every_path_once_ephemeral_ones_marked_and_below_the_chroot_only(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    with outside(zookeeper_server.hosts) as client:
        client.create(f"{fresh_prefix}/admin/t1/n1", b"1", makepath=True)
        for number in range(READ_PATHS + 1):
            client.create(f"{fresh_prefix}/admin/t1/n1/c{number}", b"x" * 100)
        client.create(f"{fresh_prefix}/admin/alive", b"", ephemeral=True)
        async with opened(zookeeper_server.hosts, chroot=fresh_prefix) as store:
            pages = [page async for page in store.scan(MetaPath("/admin"))]
            root = [entry.path async for page in store.scan(MetaPath("/")) for entry in page]
            nothing = [page async for page in store.scan(MetaPath("/none"))]
    entries = [entry for page in pages for entry in page]
    expected = {"/admin", "/admin/alive", "/admin/t1", "/admin/t1/n1"}
    expected |= {f"/admin/t1/n1/c{number}" for number in range(READ_PATHS + 1)}
    assert sorted(entry.path for entry in entries) == sorted(expected)
    assert [entry.path for entry in entries if entry.ephemeral] == ["/admin/alive"]
    assert max(map(len, pages)) <= READ_PATHS
    assert sorted(root) == sorted({"/", *expected})
    assert nothing == []


async def test_a_scan_of_large_values_keeps_its_pages_small(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    with outside(zookeeper_server.hosts) as client:
        client.create(fresh_prefix)
        for number in range(40):
            client.create(f"{fresh_prefix}/d{number:02}", b"")
            client.create(f"{fresh_prefix}/d{number:02}/v", b"x" * 200_000)
    async with opened(zookeeper_server.hosts) as store:
        sizes = [sum(len(entry.value) for entry in page) async for page in store.scan(fresh_prefix)]
    assert sum(sizes) == 40 * 200_000
    assert sorted(sizes)[-2] <= 40 * 200_000  # one page may be what taught the scan the size
    assert len(sizes) >= 3


async def test_a_chroot_that_does_not_exist_is_a_mistake_of_the_configuration(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    store = ZooKeeperStore(ZooKeeperConfig(hosts=zookeeper_server.hosts, chroot=fresh_prefix))
    with pytest.raises(ConfigError, match=fresh_prefix):
        await store.open()
    await store.close()


# ------------------------------------------------------------------ watches


async def test_every_change_below_a_prefix_that_did_not_exist_is_reported(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    inside = [f"{fresh_prefix}/in/k{number}" for number in range(300)]
    with outside(zookeeper_server.hosts) as client:
        client.create(fresh_prefix)
        async with (
            opened(zookeeper_server.hosts, chroot=fresh_prefix) as store,
            watching(store, MetaPath("/in")) as watcher,
        ):
            client.create(f"{fresh_prefix}/in-not", b"")
            client.create(f"{fresh_prefix}/in", b"")
            for each in inside:
                client.create(each, b"")
            client.set(inside[0], b"2")
            client.delete(inside[1])
            await watcher.until(lambda: len(watcher.changed) >= 301)
            await watcher.until(lambda: isinstance(watcher.signals[-1], Beat))
    assert watcher.changed == {"/in", *(each.removeprefix(fresh_prefix) for each in inside)}
    assert Gap not in watcher.kinds()


async def test_a_closed_watch_is_removed_from_the_server(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    async with opened(zookeeper_server.hosts) as store:
        async with watching(store, fresh_prefix):
            assert fresh_prefix in zookeeper_server.ask("wchp").split()
        await until(lambda: fresh_prefix not in zookeeper_server.ask("wchp").split(), "the server has no watch of it")


async def test_two_watches_of_one_prefix_do_not_end_each_other(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    async with opened(zookeeper_server.hosts) as store, watching(store, fresh_prefix) as lasting:
        async with watching(store, fresh_prefix):
            pass
        await store.apply([create(fresh_prefix)])
        await lasting.until(lambda: fresh_prefix in lasting.changed)


async def test_more_waiting_changes_than_allowed_are_a_gap_and_the_watch_goes_on(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    """Nobody takes the changes while they are made; a session hears of its own writes before their answer."""
    async with (
        opened(zookeeper_server.hosts, max_pending_paths=20) as store,
        aclosing(cast("AsyncGenerator[WatchSignal, None]", store.watch([fresh_prefix]))) as signals,
        asyncio.timeout(WAIT_S),
    ):
        assert await anext(signals) == Armed()
        await store.apply([create(fresh_prefix)])
        await store.apply([create(path(fresh_prefix, f"k{number}")) for number in range(40)])
        gap = await anext(signals)
        assert isinstance(gap, Gap)
        assert "more than 20" in gap.reason
        assert await anext(signals) == Armed()
        await store.apply([create(path(fresh_prefix, "later"))])
        later = await anext(signals)
        assert isinstance(later, Changed)
        assert later.paths == (path(fresh_prefix, "later"),)


async def test_a_notice_names_the_transaction_that_it_tells_of(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    """So that a daemon knows its own writes; where several have changed a path, none is named."""
    a, b = path(fresh_prefix, "a"), path(fresh_prefix, "b")
    async with (
        opened(zookeeper_server.hosts) as store,
        opened(zookeeper_server.hosts) as other,
        aclosing(cast("AsyncGenerator[WatchSignal, None]", store.watch([fresh_prefix]))) as signals,
        asyncio.timeout(WAIT_S),
    ):
        assert await anext(signals) == Armed()

        async def told(*paths: MetaPath) -> dict[MetaPath, str]:
            found: dict[MetaPath, str] = {}
            while not found.keys() >= set(paths):
                signal = await anext(signals)
                if isinstance(signal, Changed):
                    found |= dict(zip(signal.paths, signal.marks, strict=True))
            return found

        made = await store.apply([create(fresh_prefix), create(a), create(b)])
        mark = made[0].mark
        assert mark
        assert {each.mark for each in made} == {mark}
        assert [each.distinct for each in made] == [False] * 3
        assert await told(fresh_prefix, a, b) == dict.fromkeys((fresh_prefix, a, b), mark)
        assert made[2].revision is not None
        assert made[1].revision is not None
        changed = await store.apply(
            [Delete(path=a, expected=made[1].revision), Put(path=b, value=b"2", expected=made[2].revision)]
        )
        assert {each.mark for each in changed} - {mark, ""} == {changed[0].mark}
        assert changed[1].distinct
        assert await told(a, b) == dict.fromkeys((a, b), changed[0].mark)
        (theirs,) = await other.apply([Put(path=b, value=b"3", expected=changed[1].revision)])
        assert await told(b) == {b: theirs.mark}
        (ours,) = await store.apply([Put(path=b, value=b"4", expected=theirs.revision)])
        await store.apply([Put(path=b, value=b"5", expected=ours.revision)])
        assert await told(b) == {b: ""}


async def test_a_restarted_server_is_a_gap_and_the_watch_is_armed_again(private_server: ZooKeeperServer) -> None:
    private_server.start()
    async with opened(private_server.hosts) as store, watching(store, MetaPath("/a")) as watcher:
        await asyncio.to_thread(private_server.kill)
        with pytest.raises(StoreUnavailable):
            await ZooKeeperStore(ZooKeeperConfig(hosts=private_server.hosts, connect_timeout=SHORT)).open()
        await asyncio.to_thread(private_server.start)
        await watcher.armed(times=2)
        await store.apply([create(MetaPath("/a"))])
        await watcher.until(lambda: watcher.changed == {"/a"})
    assert watcher.kinds()[:3] == [Armed, Gap, Armed]


async def test_an_expired_session_is_a_gap_and_the_store_goes_on_in_a_new_one(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    def sessions() -> int:
        (line,) = (line for line in zookeeper_server.ask("mntr").splitlines() if "global_sessions" in line)
        return int(line.split()[1])

    before = sessions()
    with Link(zookeeper_server.port) as link:
        async with (
            opened(link.hosts, session_timeout=SHORT) as store,
            watching(store, fresh_prefix) as watcher,
        ):
            link.cut()
            with pytest.raises(StoreUnavailable):
                await ZooKeeperStore(ZooKeeperConfig(hosts=link.hosts, connect_timeout=SHORT)).open()
            await until(lambda: sessions() <= before, "the server has forgotten the session")
            link.mend()
            await watcher.armed(times=2)
            await store.apply([create(fresh_prefix)])
            await watcher.until(lambda: fresh_prefix in watcher.changed)
    assert watcher.kinds()[:3] == [Armed, Gap, Armed]


async def test_a_frozen_server_is_unavailable_within_the_deadline_and_a_gap(private_server: ZooKeeperServer) -> None:
    private_server.start()
    settings = {"session_timeout": timedelta(seconds=3), "request_timeout": SHORT}
    async with opened(private_server.hosts, **settings) as store, watching(store, MetaPath("/a")) as watcher:
        private_server.pause()
        try:
            began = time.monotonic()
            with pytest.raises(StoreUnavailable):
                await store.read([MetaPath("/a")])
            assert time.monotonic() - began < 3 * starvation.patience()
            await watcher.until(lambda: Gap in watcher.kinds())
        finally:
            private_server.resume()
        await watcher.armed(times=2)
        assert (await store.read([MetaPath("/a")])) == {MetaPath("/a"): None}


async def test_closing_beside_a_frozen_server_takes_seconds_not_minutes(private_server: ZooKeeperServer) -> None:
    private_server.start()
    store = ZooKeeperStore(ZooKeeperConfig(hosts=private_server.hosts))
    await store.open()
    private_server.pause()
    try:
        began = time.monotonic()
        await store.close()
        assert time.monotonic() - began < 15 * starvation.patience()
    finally:
        private_server.resume()


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize("local_sessions", ["true", "false"])
async def test_a_server_without_quorum_is_read_only(
    local_sessions: str, tmp_path: Path, zookeeper_server: ZooKeeperServer
) -> None:
    client_port, *ports = free_ports(7)
    quorum = {f"server.{number}": f"127.0.0.1:{ports[number * 2 - 2]}:{ports[number * 2 - 1]}" for number in (1, 2, 3)}
    settings = ZooKeeperSettings(
        port=client_port,
        properties={**quorum, "initLimit": "5", "syncLimit": "2", "localSessionsEnabled": local_sessions},
        system_properties={"readonlymode.enabled": "true"},
    )
    server = ZooKeeperServer(tmp_path, settings=settings, leashed=True)
    server.data_directory.mkdir(parents=True)
    (server.data_directory / "myid").write_text("1")
    try:
        server.launch()
        server.process.wait_until(lambda: "Mode: read-only" in server.ask("srvr"), what="is read-only")
        store = ZooKeeperStore(ZooKeeperConfig(hosts=server.hosts, connect_timeout=timedelta(seconds=3)))
        with pytest.raises(AccessDenied, match="read-only"):
            await store.open()
    finally:
        server.stop()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def tls_server(
    tmp_path_factory: pytest.TempPathFactory, authority: Authority, zookeeper_server: ZooKeeperServer
) -> Iterator[tuple[ZooKeeperServer, str]]:
    """A server that speaks TLS and asks for client certificates; the second value is where."""
    directory = tmp_path_factory.mktemp("tls")
    own = authority.issue("server")
    keystore = directory / "server.pem"
    keystore.write_text(own.key.read_text() + own.cert.read_text())
    (secure_port,) = free_ports(1)
    properties = {
        "secureClientPort": str(secure_port),
        "secureClientPortAddress": "127.0.0.1",
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "ssl.keyStore.location": str(keystore),
        "ssl.keyStore.type": "PEM",
        "ssl.trustStore.location": str(authority.ca),
        "ssl.trustStore.type": "PEM",
        "ssl.clientAuth": "need",
    }
    server = ZooKeeperServer(directory, settings=ZooKeeperSettings(properties=properties), leashed=True)
    try:
        server.start()
        yield server, f"127.0.0.1:{secure_port}"
    finally:
        server.stop()


async def test_tls_carries_large_answers_and_events(
    tls_server: tuple[ZooKeeperServer, str], authority: Authority, fresh_prefix: MetaPath
) -> None:
    client = authority.issue("client")
    tls = ZooKeeperTls(ca=authority.ca, cert=client.cert, key=client.key)
    many = [path(fresh_prefix, f"k{number:03}") for number in range(200)]
    async with opened(tls_server[1], tls=tls) as store, watching(store, fresh_prefix) as watcher:
        await store.apply([create(fresh_prefix)])
        for start in range(0, 200, 40):
            await store.apply([create(each, each.encode() * 300) for each in many[start : start + 40]])
        read = await store.read(many)
        await watcher.until(lambda: watcher.changed == {fresh_prefix, *many})
    assert [entry.value for entry in read.values() if entry] == [each.encode() * 300 for each in many]


@pytest.mark.parametrize("flaw", ["foreign authority", "other host name", "no client certificate"])
async def test_tls_refuses_what_cannot_be_trusted(
    flaw: str, tls_server: tuple[ZooKeeperServer, str], authority: Authority, tmp_path: Path
) -> None:
    client = authority.issue(f"client-{flaw.split(maxsplit=1)[0]}")
    trusted = Authority(tmp_path, "foreign").ca if flaw == "foreign authority" else authority.ca
    hosts = tls_server[1]
    if flaw == "other host name":
        hosts = hosts.replace("127.0.0.1", "127.0.0.2")
    tls = ZooKeeperTls(
        ca=trusted,
        cert=None if flaw == "no client certificate" else client.cert,
        key=None if flaw == "no client certificate" else client.key,
    )
    store = ZooKeeperStore(ZooKeeperConfig(hosts=hosts, tls=tls, connect_timeout=SHORT))
    with pytest.raises(StoreUnavailable, match="no connection"):
        await store.open()


async def test_a_delete_at_an_old_revision_is_refused(
    zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    async with opened(zookeeper_server.hosts) as store:
        (first,) = await store.apply([create(fresh_prefix)])
        assert first.revision is not None
        (second,) = await store.apply([Put(path=fresh_prefix, value=b"2", expected=first.revision)])
        assert second.revision is not None
        with pytest.raises(BatchRefused) as refused:
            await store.apply([Delete(path=fresh_prefix, expected=first.revision)])
        (gone,) = await store.apply([Delete(path=fresh_prefix, expected=second.revision)])
    assert isinstance(refused.value.cause, RevisionMismatch)
    assert gone.revision is None


def test_it_is_a_store_before_it_is_opened() -> None:
    assert ZooKeeperStore.config_model is ZooKeeperConfig
    assert isinstance(ZooKeeperStore(ZooKeeperConfig(hosts="h:1")), MetadataStore)
