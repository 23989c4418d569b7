"""What the etcd store promises beyond the contract: logins, TLS, compaction, silence, limits of the server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import ValidationError

from deploy.lab.ports import free_ports
from deploy.lab.software import etcd_binary
from syncer.connecting.causes import ENDED
from syncer.errors import AccessDenied, ConfigError, InvariantBroken, StoreUnavailable, ValueRefused
from syncer.model import MetaPath
from syncer.stores.contract import Armed, BatchRefused, Changed, Entry, Gap, Put, WatchSignal
from syncer.stores.etcd import EtcdConfig, EtcdStore, EtcdTls
from syncer.stores.etcd.connection import in_words
from syncer.stores.etcd.wire import load
from syncer.waiting import WAIT_S, until
from tests.conftest import require
from tests.support.certificates import Authority
from tests.support.etcd import EtcdGateway, EtcdServer
from tests.support.etcd import EtcdTls as ServerTls
from tests.support.link import Link

TIMEOUT: Final = timedelta(seconds=60)
"""Of what has to be answered."""
SHORT: Final = timedelta(seconds=1)
"""Of what is not."""
PATH: Final = MetaPath("/admin/policies/acme")
PASSWORD: Final = "c0rrect horse"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServer]:
    """A server that all tests of this module share; each has paths of its own."""
    require(etcd_binary)
    with running(tmp_path_factory.mktemp("etcd")) as server:
        yield server


@contextlib.contextmanager
def running(directory: Path, **options: Any) -> Iterator[EtcdServer]:
    server = EtcdServer(directory, **options)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextlib.asynccontextmanager
async def opened(server: EtcdServer, **settings: Any) -> AsyncIterator[EtcdStore]:
    settings = {"endpoints": (server.endpoint,), "request_timeout": TIMEOUT, **settings}
    store = EtcdStore(EtcdConfig(**settings))
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def read(store: EtcdStore, path: MetaPath = PATH) -> Entry | None:
    return (await store.read([path]))[path]


async def seen(signals: AsyncIterator[WatchSignal], met: Callable[[WatchSignal], bool]) -> WatchSignal:
    async with asyncio.timeout(WAIT_S):
        async for signal in signals:
            if met(signal):
                return signal
    raise AssertionError("the watch ended")


async def unavailable(store: EtcdStore) -> None:
    """Read until it fails: a signalled process may answer once more before it stops."""

    async def forever() -> None:
        while True:
            await read(store)

    with pytest.raises(StoreUnavailable):
        await asyncio.wait_for(forever(), WAIT_S)


def is_gap(signal: WatchSignal) -> bool:
    return isinstance(signal, Gap)


def is_armed(signal: WatchSignal) -> bool:
    return signal == Armed()


def reports(path: MetaPath) -> Callable[[WatchSignal], bool]:
    return lambda signal: isinstance(signal, Changed) and path in signal.paths


def either(*conditions: Callable[[WatchSignal], bool]) -> Callable[[WatchSignal], bool]:
    return lambda signal: any(met(signal) for met in conditions)


# --- the wire, without a server -------------------------------------------------------------------------------------


def test_the_rebuilt_messages_are_etcds() -> None:
    wire = load()
    assert wire is load(), "built once"
    assert wire.methods["KV.Txn"].path == "/etcdserverpb.KV/Txn"
    assert wire.methods["Watch.Watch"].response.DESCRIPTOR.full_name == "etcdserverpb.WatchResponse"
    request = wire.messages["WatchRequest"](progress_request=wire.messages["WatchProgressRequest"]())
    assert request.SerializeToString() == b"\x1a\x00", "field 3, an empty message"
    create = wire.messages["WatchCreateRequest"](key=b"k", fragment=True)
    assert create.SerializeToString() == b"\x0a\x01k\x40\x01", "field 8, a bool"


def test_the_generated_modules_are_never_imported() -> None:
    import sys

    load()
    assert not [name for name in sys.modules if name.split(".")[0] == "etcd3"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"endpoints": ()},
        {"endpoints": ("http://127.0.0.1:2379",)},
        {"endpoints": ("localhost",)},
        {"namespace": "no-slash"},
        {"namespace": "/ends/"},
        {"username": "root"},
        {"password_file": "secret"},
        {"tls": {"cert_file": "cert.pem"}},
        {"unknown": 1},
        {"request_timeout": 0},
    ],
)
def test_a_wrong_configuration_is_refused(wrong: Mapping[str, object]) -> None:
    with pytest.raises(ValidationError):
        EtcdConfig.model_validate(wrong)


async def test_a_missing_password_or_certificate_file_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    for settings in ({"username": "root", "password_file": gone}, {"tls": {"ca_file": gone}}):
        store = EtcdStore(EtcdConfig.model_validate(settings))
        with pytest.raises(ConfigError, match="gone"):
            await store.open()


# --- reaching the server --------------------------------------------------------------------------------------------


@pytest.mark.real("etcd")
async def test_the_next_server_is_taken_when_one_is_away(server: EtcdServer) -> None:
    (dead,) = free_ports(1)
    path = MetaPath("/failover/path")
    async with opened(server, endpoints=(f"127.0.0.1:{dead}", server.endpoint)) as store:
        await store.apply([Put(path=path, value=b"x", expected=None)])
        assert await read(store, path) is not None
        signals = store.watch([path])
        await seen(signals, is_armed)
        with server.gateway() as gateway:
            gateway.put(path, b"y")
        await seen(signals, reports(path))


@pytest.mark.real("etcd")
async def test_no_server_is_told_at_once_and_opening_can_be_tried_again(tmp_path: Path) -> None:
    server = EtcdServer(tmp_path)
    store = EtcdStore(EtcdConfig(endpoints=(server.endpoint,), request_timeout=TIMEOUT))
    with pytest.raises(StoreUnavailable, match=server.endpoint):
        await store.open()
    with pytest.raises(StoreUnavailable, match="not open"):
        await read(store)
    server.start()
    try:
        await store.open()
        with pytest.raises(InvariantBroken):
            await store.open()
        assert await read(store) is None
    finally:
        await store.close()
        server.kill()


@pytest.mark.real("etcd")
async def test_a_server_that_hangs_is_unavailable_and_its_watch_a_gap(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        async with opened(server, request_timeout=timedelta(seconds=1)) as store:
            signals = store.watch([PATH])
            await seen(signals, is_armed)
            server.pause()
            await unavailable(store)
            gap = await seen(signals, is_gap)
            assert isinstance(gap, Gap)
            assert "did not answer" in gap.reason
            server.resume()
            await seen(signals, is_armed)
            with server.gateway() as gateway:
                gateway.put(PATH, b"x")
            await seen(signals, reports(PATH))


@pytest.mark.real("etcd")
async def test_a_cut_link_is_a_gap_and_mends(server: EtcdServer) -> None:
    path = MetaPath("/link/path")
    port = int(server.endpoint.rpartition(":")[2])
    with Link(port) as link:
        async with opened(server, endpoints=(link.hosts,)) as store:
            signals = store.watch([MetaPath("/link")])
            await seen(signals, is_armed)
            link.cut()
            await seen(signals, is_gap)
            with pytest.raises(StoreUnavailable):
                await read(store, path)
            link.mend()
            await seen(signals, is_armed)
            with server.gateway() as gateway:
                gateway.put(path, b"x")
            await seen(signals, reports(path))
            assert await read(store, path) is not None


@pytest.mark.real("etcd")
async def test_a_watch_overtaken_by_compaction_is_a_gap(server: EtcdServer) -> None:
    root = MetaPath("/overtaken")
    async with opened(server) as store:
        signals = store.watch([root])
        assert await anext(signals) == Armed()
        gap = await overtaken(server, root, signals)
        assert "compacted" in gap.reason
        await seen(signals, is_armed)
        with server.gateway() as gateway:
            gateway.put(f"{root}/after", b"x")
        await seen(signals, reports(MetaPath(f"{root}/after")))


async def overtaken(server: EtcdServer, root: MetaPath, signals: AsyncIterator[WatchSignal]) -> Gap:
    """Write and compact while nobody reads the watch, until it has missed something.

    How much the stream and the buffers at its ends hold differs from run to run (about 15 MB): what reached the last
    write was not overtaken, and twice as much follows.
    """
    for number in (300, 600, 1_200):
        last = MetaPath(f"{root}/last-{number}")
        await asyncio.to_thread(write_and_compact, server, root, number, last)
        signal = await seen(signals, either(is_gap, reports(last)))
        if isinstance(signal, Gap):
            return signal
    raise AssertionError("the watch kept up with 1,200 writes that nobody read")


def write_and_compact(server: EtcdServer, root: MetaPath, number: int, last: MetaPath) -> None:
    with server.gateway() as gateway:
        for written in range(number):
            gateway.put(f"{root}/{written % 10}", bytes(64 * 1024))
        gateway.put(last, b"x")
        gateway.compact()


@pytest.mark.real("etcd")
async def test_a_scan_goes_on_over_a_compaction(server: EtcdServer) -> None:
    root = MetaPath("/compacted")
    paths = [MetaPath(f"{root}/{number:04}") for number in range(300)]
    async with opened(server) as store:
        for start in range(0, len(paths), 100):
            await store.apply([Put(path=path, value=b"x", expected=None) for path in paths[start : start + 100]])
        found = []
        async for page in store.scan(root):
            found += [entry.path for entry in page]
            with server.gateway() as gateway:
                gateway.put(f"{root}/0000", b"y")
                gateway.compact()
        assert found == paths


# --- logins ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServer]:
    """A server that asks for user and password; ``narrow`` may use what is below ``/admin`` only."""
    require(etcd_binary)
    with running(tmp_path_factory.mktemp("guarded")) as server:
        with server.gateway() as gateway:
            gateway.call("auth/user/add", {"name": "narrow", "password": PASSWORD})
            gateway.call("auth/role/add", {"name": "admin-only"})
            permission = {"permType": "READWRITE", "key": "L2FkbWlu", "range_end": "L2FkbWlv"}  # /admin up to /admio
            gateway.call("auth/role/grant", {"name": "admin-only", "perm": permission})
            gateway.call("auth/user/grant", {"user": "narrow", "role": "admin-only"})
            gateway.enable_auth(PASSWORD)
        yield server


def login(tmp_path: Path, user: str, password: str = PASSWORD) -> dict[str, object]:
    file = tmp_path / "password"
    file.write_text(f"{password}\n")
    return {"username": user, "password_file": file}


@pytest.mark.real("etcd")
async def test_a_user_with_the_right_password_may_do_all(guarded: EtcdServer, tmp_path: Path) -> None:
    async with opened(guarded, **login(tmp_path, "root")) as store:
        signals = store.watch([MetaPath("/everything")])
        await seen(signals, is_armed)
        await store.apply([Put(path=MetaPath("/everything/path"), value=b"x", expected=None)])
        await seen(signals, reports(MetaPath("/everything/path")))


@pytest.mark.real("etcd")
@pytest.mark.parametrize("user", ["root", "stranger", None])
async def test_a_wrong_login_is_denied(guarded: EtcdServer, tmp_path: Path, user: str | None) -> None:
    settings = {} if user is None else login(tmp_path, user, "wrong")
    store = EtcdStore(EtcdConfig.model_validate({"endpoints": (guarded.endpoint,), **settings}))
    with pytest.raises(AccessDenied):
        await store.open()
    await store.close()


@pytest.mark.real("etcd")
async def test_what_a_role_does_not_allow_is_denied(guarded: EtcdServer, tmp_path: Path) -> None:
    async with opened(guarded, **login(tmp_path, "narrow")) as store:
        (written,) = await store.apply([Put(path=PATH, value=b"x", expected=None)])
        entry = await read(store)
        assert entry is not None
        assert entry.revision == written.revision
        other = MetaPath("/other")
        with pytest.raises(AccessDenied):
            await read(store, other)
        with pytest.raises(BatchRefused) as caught:
            await store.apply([Put(path=other, value=b"x", expected=None)])
        assert isinstance(caught.value.cause, AccessDenied)
        with pytest.raises(AccessDenied):
            await seen(store.watch([other]), is_armed)
        await seen(store.watch([MetaPath("/admin")]), is_armed)


@pytest.mark.real("etcd")
async def test_a_login_that_ran_out_is_renewed(guarded: EtcdServer, tmp_path: Path) -> None:
    path = MetaPath("/renewed")
    async with opened(guarded, **login(tmp_path, "root")) as store:
        (written,) = await store.apply([Put(path=path, value=b"1", expected=None)])
        signals = store.watch([path])
        await seen(signals, is_armed)
        guarded.restart()  # it keeps the tokens in memory only
        await seen(signals, is_gap)
        await seen(signals, is_armed)
        guarded.restart()
        await asyncio.to_thread(wait_for_leader, guarded)
        await until(
            lambda: store.apply([Put(path=path, value=b"2", expected=written.revision)]),
            "the channel has connected again",
            passing=StoreUnavailable,
        )
        entry = await read(store, path)
        assert entry is not None
        assert entry.value == b"2"


def wait_for_leader(server: EtcdServer) -> None:
    with server.gateway(user="root", password=PASSWORD) as gateway:
        gateway.get("/")


@pytest.mark.real("etcd")
async def test_a_login_where_none_is_asked_for_does_no_harm(server: EtcdServer, tmp_path: Path) -> None:
    async with opened(server, **login(tmp_path, "root")) as store:
        assert await read(store) is None


# --- TLS ------------------------------------------------------------------------------------------------------------


@pytest.mark.real("etcd")
async def test_tls_with_certificates_on_both_sides(tmp_path: Path) -> None:
    require(etcd_binary)
    authority, stranger = Authority(tmp_path), Authority(tmp_path, "stranger")
    ours, theirs = authority.issue("client"), authority.issue("server")
    files = ServerTls(
        ca_file=authority.ca,
        cert_file=theirs.cert,
        key_file=theirs.key,
        client_cert_file=ours.cert,
        client_key_file=ours.key,
    )
    with running(tmp_path, tls=files) as server:
        async with opened(server, tls=EtcdTls(ca_file=authority.ca, cert_file=ours.cert, key_file=ours.key)) as store:
            signals = store.watch([PATH])
            await seen(signals, is_armed)
            await store.apply([Put(path=PATH, value=b"x", expected=None)])
            await seen(signals, reports(PATH))
        for tls in (
            EtcdTls(ca_file=stranger.ca, cert_file=ours.cert, key_file=ours.key),
            EtcdTls(ca_file=authority.ca),
            None,
        ):
            store = EtcdStore(EtcdConfig(endpoints=(server.endpoint,), tls=tls, request_timeout=TIMEOUT))
            with pytest.raises((AccessDenied, StoreUnavailable)) as caught:
                await store.open()
            if tls is not None and tls.ca_file == stranger.ca:
                assert type(caught.value) is AccessDenied
                assert "TLS" in caught.value.hint


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.real("etcd")
async def test_a_request_that_the_server_finds_too_large_names_the_largest_value(tmp_path: Path) -> None:
    with running(tmp_path, flags=("--max-request-bytes=65536",)) as server:
        async with opened(server) as store:
            sizes = {"/a": 10, "/b": 200_000, "/c": 10}
            batch = [Put(path=MetaPath(path), value=bytes(size), expected=None) for path, size in sizes.items()]
            with pytest.raises(BatchRefused) as caught:
                await store.apply(batch)
            assert (caught.value.index, type(caught.value.cause)) == (1, ValueRefused)
            assert await read(store, MetaPath("/a")) is None


@pytest.mark.real("etcd")
async def test_a_full_server_is_told_with_what_to_do(tmp_path: Path) -> None:
    with running(tmp_path, flags=("--quota-backend-bytes=1000000",)) as server:
        async with opened(server) as store:
            with pytest.raises(StoreUnavailable) as caught:
                await fill(store)
            assert "quota" in caught.value.hint


async def fill(store: EtcdStore) -> None:
    for number in range(200):
        await store.apply([Put(path=MetaPath(f"/{number}"), value=bytes(100_000), expected=None)])


@pytest.mark.real("etcd")
async def test_answers_beyond_one_message_come_in_parts(server: EtcdServer) -> None:
    root = MetaPath("/large")
    paths = [MetaPath(f"{root}/{number:02}") for number in range(40)]
    async with opened(server) as store:
        for number, path in enumerate(paths):
            await store.apply([Put(path=path, value=bytes([number]) * 1024 * 1024, expected=None)])
        entries = await store.read(paths)
        assert [entry and entry.value[:1] for entry in entries.values()] == [bytes([each]) for each in range(40)]
        pages = [page async for page in store.scan(root)]
        assert [entry.path for page in pages for entry in page] == paths
        assert all(sum(len(entry.value) for entry in page) <= 16 * 1024 * 1024 for page in pages)


@pytest.mark.real("etcd")
async def test_a_key_that_is_no_text_is_passed_over(server: EtcdServer) -> None:
    root = MetaPath("/bytes")
    async with opened(server) as store:
        signals = store.watch([root])
        await seen(signals, is_armed)
        with server.gateway() as gateway:
            put_raw(gateway, b"/bytes/\xff\xfe")
            gateway.put(f"{root}/text", b"x")
        await seen(signals, reports(MetaPath(f"{root}/text")))
        assert [entry.path async for page in store.scan(root) for entry in page] == [f"{root}/text"]


def put_raw(gateway: EtcdGateway, key: bytes) -> None:
    import base64

    gateway.call("kv/put", {"key": base64.b64encode(key).decode(), "value": ""})


@pytest.mark.real("etcd")
async def test_a_namespace_is_put_before_every_key(server: EtcdServer) -> None:
    path = MetaPath("/inner/path")
    async with opened(server, namespace="/outer") as store, opened(server) as plain:
        signals = store.watch([MetaPath("/inner")])
        await seen(signals, is_armed)
        await store.apply([Put(path=path, value=b"x", expected=None)])
        await seen(signals, reports(path))
        assert await read(plain, MetaPath(f"/outer{path}")) is not None
        assert await read(plain, path) is None
        assert [entry.path async for page in store.scan(MetaPath("/")) for entry in page] == [path]


@pytest.mark.real("etcd")
async def test_a_batch_that_etcd_cannot_take_is_a_bug_of_the_caller(server: EtcdServer) -> None:
    async with opened(server) as store:
        twice = [Put(path=PATH, value=b"x", expected=None)] * 2
        many = [Put(path=MetaPath(f"/many/{number}"), value=b"", expected=None) for number in range(129)]
        for batch in (twice, many):
            with pytest.raises(InvariantBroken):
                await store.apply(batch)
        assert await read(store) is None


@pytest.mark.parametrize(
    ("details", "words"),
    [
        (
            "last error: UNKNOWN: ipv4:1.2.3.4:5: Failed to connect to remote host: connect: Connection refused (111)",
            "connection refused",
        ),
        (
            "last error: UNKNOWN: ipv4:1.2.3.4:5: Failed to connect to remote host: No route to host",
            "no route to host",
        ),
        ("errors resolving x:1: [field:hostname lookup error:x:1: Domain name not found]", "the host is unknown"),
        (
            "Tls handshake failed (TSI_PROTOCOL_FAILURE): CERTIFICATE_VERIFY_FAILED: unable to get local issuer: OK",
            "the server's certificate is not accepted: unable to get local issuer",
        ),
        (
            "Custom verification check failed with error: UNAUTHENTICATED: Hostname Verification Check failed.",
            "the server's certificate is not accepted: it is of another name",
        ),
        ("Tls handshake failed: WRONG_VERSION_NUMBER: Invalid", "the server does not speak TLS on this port"),
        (
            "last error: INTERNAL: ipv4:1.2.3.4:5: Failed parsing HTTP/2 (Expected SETTINGS frame)",
            "the server is no etcd: it does not speak HTTP/2 on this port",
        ),
        ("last error: UNAVAILABLE: ipv4:1.2.3.4:5: Socket closed", ENDED),
        ("ipv4:1.2.3.4:5: connection attempt timed out before receiving SETTINGS frame", "no answer in time"),
        ("etcdserver: request timed out", "etcdserver: request timed out"),
    ],
    ids=str,
)
def test_a_connection_that_was_not_made_is_told_by_its_cause(details: str, words: str) -> None:
    assert in_words(details) == words
