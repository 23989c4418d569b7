"""Ledgers and what belongs to them by the engine of snapshots: read from servers and from files, and only read."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl
from pyspark.sql import SparkSession

from deploy.lab.etcd import EtcdNode
from deploy.lab.zookeeper import ZooKeeperServer
from spark_snapshot import sources
from spark_snapshot.sources import StorePlace, throttle
from spark_snapshot.sources.etcd import live as etcd
from spark_snapshot.sources.etcd import snapshot_file
from spark_snapshot.sources.found import Found
from spark_snapshot.sources.place import source
from spark_snapshot.sources.reach import Share
from spark_snapshot.sources.zookeeper import files
from spark_snapshot.sources.zookeeper import live as zookeeper
from spark_snapshot.sources.zookeeper.link import Link
from spark_snapshot.sources.zookeeper.transaction_log import LoggedKind, transactions
from syncer.errors import AccessDenied, StoreUnavailable
from syncer.model import MetaPath
from syncer.plan.diffing import raw_fingerprint
from syncer.stores.etcd.config import EtcdConfig
from syncer.stores.etcd.paging import PageSize
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.stores.zookeeper.requests import MultiRead
from syncer.wanted.contract import REFUSED
from syncer.wanted.ledgers import LedgerPart, LedgerPathKind, ledger_paths
from tests.spark.stores import collected, kazoo
from tests.support.etcd import EtcdGateway, EtcdServer, save_snapshot
from tests.support.ledger_paths import KINDS, NOT_WANTED

pytestmark = [pytest.mark.real("zookeeper", "etcd")]

EVERYTHING: Final = ledger_paths()
MANY: Final = [MetaPath(f"/ledgers/00/{number // 100:04d}/L{number % 100:04d}") for number in range(100, 1_000)]
EMPTY: Final = "/managed-ledgers/acme/orders/persistent/new"
"""A topic without a ledger: its node is there, and holds nothing."""
SESSION: Final = "/ledgers/available/alive:3181"
EMPTIED: Final = str(MANY[7])
"""A ledger whose value is gone: it is damaged, and must not be passed over."""
VALUES: Final[dict[str, bytes]] = {
    **{path: f"of {path}".encode() for path in (*KINDS, *MANY)},
    **dict.fromkeys((EMPTY, SESSION, EMPTIED), b""),
}
PASSWORD: Final = "secret"


def found_of(rows: Mapping[MetaPath, Found]) -> dict[str, bytes]:
    return {str(path): row.value for path, row in rows.items()}


@pytest.fixture
def client(zookeeper_server: ZooKeeperServer) -> Iterator[KazooClient]:
    with kazoo(zookeeper_server.hosts) as client:
        yield client


@pytest.fixture
def config(zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath, client: KazooClient) -> ZooKeeperConfig:
    """A chroot with everything in it."""
    client.create(fresh_prefix, b"")
    fill(client, fresh_prefix)
    return ZooKeeperConfig(hosts=zookeeper_server.hosts, chroot=fresh_prefix)


def fill(client: KazooClient, chroot: str = "") -> None:
    """Everything into a ZooKeeper; what is not wanted holds a value where a wanted one would."""
    for path in sorted({*VALUES, *NOT_WANTED} - {SESSION}):
        client.create(chroot + path, VALUES.get(path, b"nobody's"), makepath=True)
    client.create(chroot + SESSION, VALUES[SESSION], ephemeral=True)


@pytest.fixture
def gateway(etcd_server: EtcdNode) -> Iterator[EtcdGateway]:
    with EtcdGateway(etcd_server.endpoint) as gateway:
        yield gateway


@pytest.fixture
def keys(etcd_server: EtcdNode, fresh_prefix: MetaPath, gateway: EtcdGateway) -> EtcdConfig:
    """A namespace with everything in it."""
    put(gateway, fresh_prefix)
    return EtcdConfig(endpoints=(etcd_server.endpoint,), namespace=fresh_prefix)


def put(gateway: EtcdGateway, namespace: str = "") -> None:
    """Everything into an etcd."""
    for path in {*VALUES, *NOT_WANTED} - {SESSION}:
        gateway.put(namespace + path, VALUES.get(path, b"nobody's"))
    gateway.put(namespace + SESSION, VALUES[SESSION], lease=gateway.grant_lease(600))


@pytest.mark.parametrize("of", [1, 2, 3])
def test_zookeeper_gives_every_path_once(config: ZooKeeperConfig, client: KazooClient, of: int) -> None:
    shares = [collected(zookeeper.read(config, EVERYTHING, Share(index, of))) for index in range(of)]
    rows = {path: row for share in shares for path, row in share.items()}
    assert sum(map(len, shares)) == len(rows)
    assert found_of(rows) == VALUES
    assert all(shares)
    for path, row in rows.items():
        _, stat = client.get(config.chroot + path)
        assert (row.created_ms, row.modified_ms) == (stat.ctime, stat.mtime)
        assert row.kind == KINDS.get(path, row.kind)
    assert rows[MetaPath(EMPTY)].kind == LedgerPathKind.MANAGED_LEDGER
    assert {rows[path].kind for path in MANY} == {LedgerPathKind.LEDGER}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_etcd_gives_every_path_once(keys: EtcdConfig, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(etcd, "FEW", 100)
    monkeypatch.setattr(etcd, "PAGE", PageSize(first_keys=4, max_keys=50, page_bytes=1 << 20))
    parts = etcd.parts(keys, EVERYTHING, count)
    shares = [collected(etcd.read(keys, EVERYTHING, part)) for part in parts]
    rows = {path: row for share in shares for path, row in share.items()}
    assert len(parts) == count
    assert sum(map(len, shares)) == len(rows)
    assert found_of(rows) == VALUES
    assert {path: row.kind for path, row in rows.items() if path in KINDS} == KINDS


def test_what_is_asked_for_is_read_part_by_part(config: ZooKeeperConfig, keys: EtcdConfig) -> None:
    for read, store in ((zookeeper.read, config), (etcd.read, keys)):
        parts = [collected(read(store, ledger_paths(part))) for part in LedgerPart]  # type: ignore[arg-type]
        rows = {path: row for part in parts for path, row in part.items()}
        assert sum(map(len, parts)) == len(rows)
        assert found_of(rows) == VALUES


def test_nothing_is_asked_for_below_what_is_not_wanted(
    config: ZooKeeperConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    when_asked(monkeypatch, asked.extend)
    list(zookeeper.read(config, EVERYTHING))
    below = [path.removeprefix(config.chroot) for path in asked]
    assert not [path for path in below if "idgen" in path or "others" in path or path.startswith("/admin")]
    assert len(below) < len(VALUES) + 100


def test_files_of_zookeeper_give_what_the_server_did(tmp_path: Path) -> None:
    server = ZooKeeperServer(tmp_path / "server", leashed=True)
    try:
        server.start()
        config = ZooKeeperConfig(hosts=server.hosts)
        with kazoo(server.hosts) as client:
            fill(client)
            snapshotted = MetaPath("/ledgers/00/0000/L0042")
            server.stop()
            server.start()  # which writes a snapshot; what follows is in the log only
            client.create("/ledgers/00/0000/L0043", b"later")
            client.set(snapshotted, b"written again")
            client.delete("/ledgers/00/0001/L0000")
            served = collected(zookeeper.read(config, EVERYTHING))
        ended = {path: row for path, row in served.items() if path != SESSION}
        server.stop()
        place = files.ZooKeeperFolder(folder=server.data_directory)
        shares = [collected(files.read(place, EVERYTHING, Share(index, 2))) for index in range(2)]
        assert sum(map(len, shares)) == len(ended)
        assert {**shares[0], **shares[1]} == ended
        assert served[snapshotted].value == b"written again"
    finally:
        server.remove()


def test_a_file_of_etcd_gives_what_the_server_did(tmp_path: Path) -> None:
    server = EtcdServer(tmp_path)
    try:
        server.start()
        config = EtcdConfig(endpoints=(server.endpoint,))
        with server.gateway() as gateway:
            put(gateway)
        served = collected(etcd.read(config, EVERYTHING))
        place = snapshot_file.EtcdFile(file=save_snapshot(server.endpoint, tmp_path / "saved.db"))
        parts = snapshot_file.parts(place, 2)
        shares = [collected(snapshot_file.read(place, EVERYTHING, part)) for part in parts]
        assert found_of(served) == VALUES
        assert sum(map(len, shares)) == len(served)
        assert {**shares[0], **shares[1]} == served
    finally:
        server.remove()


@pytest.mark.parametrize("kind", ["zookeeper", "etcd"])
def test_spark_reads_them_as_a_table(
    spark: SparkSession, config: ZooKeeperConfig, keys: EtcdConfig, client: KazooClient, kind: str
) -> None:
    place = StorePlace.made(kind, config if kind == "zookeeper" else keys)
    rows = sources.shaped(spark, place, EVERYTHING, readers=3).collect()
    assert {row["path"]: bytes(row["value"]) for row in rows} == VALUES
    assert len(rows) == len(VALUES)
    (ledger,) = [row for row in rows if row["path"] == "/ledgers/00/0000/L0042"]
    assert (ledger["kind"], bytes(ledger["digest"])) == ("ledger", raw_fingerprint(VALUES[ledger["path"]]))
    _, stat = client.get(config.chroot + ledger["path"])
    assert ledger["created_ms"] == (stat.ctime if kind == "zookeeper" else None)


def test_a_store_that_never_rests_is_read_to_its_end(
    config: ZooKeeperConfig, zookeeper_server: ZooKeeperServer
) -> None:
    """A moment of it would never come; what is there all the time is found once."""
    ended = threading.Event()

    def write() -> None:
        with kazoo(zookeeper_server.hosts) as other:
            number = 0
            while not ended.is_set():
                number += 1
                other.set(f"{config.chroot}/ledgers/00/0000/L0042", f"{number}".encode())
                other.create(f"{config.chroot}/ledgers/00/0000/L{number % 1000 + 1000}", b"new")
                other.delete(f"{config.chroot}/ledgers/00/0000/L{number % 1000 + 1000}")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(3):
            rows = found_of(collected(zookeeper.read(config, EVERYTHING)))
            assert {path: value for path, value in VALUES.items() if rows[path] != value}.keys() <= {
                "/ledgers/00/0000/L0042"
            }
            assert {path.rpartition("/")[0] for path in rows.keys() - VALUES.keys()} <= {"/ledgers/00/0000"}
    finally:
        ended.set()
        thread.join(30)


def test_what_may_not_be_read_is_told_and_the_rest_is_read(config: ZooKeeperConfig, client: KazooClient) -> None:
    hidden = {"/ledgers/00/0001", "/ledgers/00/0000/L0042", "/ledgers/21", "/managed-ledgers/acme", "/schemas"}
    closed = [make_digest_acl("reader", PASSWORD, all=True)]
    for path in hidden:
        client.set_acls(config.chroot + path, closed)
    shares = [collected(zookeeper.read(config, EVERYTHING, Share(index, 3))) for index in range(3)]
    rows = {path: row for share in shares for path, row in share.items()}
    assert sum(map(len, shares)) == len(rows)
    assert {path for path, row in rows.items() if row.kind == REFUSED} == hidden
    assert found_of({path: row for path, row in rows.items() if row.kind != REFUSED}) == {
        path: value
        for path, value in VALUES.items()
        if not any(path == each or path.startswith(f"{each}/") for each in hidden)
    }


def test_a_range_of_etcd_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    server = EtcdServer(tmp_path)
    (tmp_path / "password").write_text(PASSWORD)

    def permission(start: str, end: str) -> dict[str, str]:
        return {"permType": "READ", "key": encoded(start), "range_end": encoded(end)}

    def encoded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    try:
        server.start()
        with server.gateway() as gateway:
            put(gateway)
            gateway.call("auth/user/add", {"name": "narrow", "password": PASSWORD})
            gateway.call("auth/role/add", {"name": "some"})
            for start in ("/ledgers", "/bookies"):
                gateway.call("auth/role/grant", {"name": "some", "perm": permission(start, f"{start}0")})
            gateway.call("auth/user/grant", {"user": "narrow", "role": "some"})
            gateway.enable_auth(PASSWORD)
        narrow = EtcdConfig(endpoints=(server.endpoint,), username="narrow", password_file=tmp_path / "password")
        for count in (1, 2):
            parts = etcd.parts(narrow, EVERYTHING, count)
            rows = collected(row for part in parts for row in etcd.read(narrow, EVERYTHING, part))
            assert {path for path, row in rows.items() if row.kind == REFUSED} == {"/managed-ledgers", "/schemas"}
            assert found_of({path: row for path, row in rows.items() if row.kind != REFUSED}) == {
                path: value for path, value in VALUES.items() if path.startswith(("/ledgers", "/bookies"))
            }
        (tmp_path / "password").write_text("wrong")
        with pytest.raises(AccessDenied):
            list(etcd.read(narrow, EVERYTHING))
    finally:
        server.remove()


def test_a_store_that_dies_meanwhile_is_told_and_gives_no_half_result(
    config: ZooKeeperConfig, zookeeper_server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = config.model_copy(update={"connect_timeout": config.connect_timeout / 15})
    monkeypatch.setattr(zookeeper, "MAX_PATHS", 16)
    when_asked_often(monkeypatch, zookeeper_server.kill)
    found: list[object] = []
    try:
        with pytest.raises(StoreUnavailable, match=zookeeper_server.hosts):
            found.extend(zookeeper.read(impatient, EVERYTHING))
    finally:
        zookeeper_server.start()
    assert not found


def test_a_store_that_comes_back_meanwhile_is_read_whole(
    config: ZooKeeperConfig, zookeeper_server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zookeeper, "MAX_PATHS", 16)

    def restart() -> None:
        zookeeper_server.kill()
        zookeeper_server.start()

    when_asked_often(monkeypatch, restart)
    rows = collected(zookeeper.read(config, ledger_paths(LedgerPart.LEDGERS)))
    assert found_of(rows) == {path: VALUES[path] for path in rows}
    assert rows.keys() >= set(MANY)


def when_asked_often(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Do something once, in the midst of a read."""
    send, sent = Link.send, [0]

    def counted(self: Link, token: object, request: Any) -> None:
        sent[0] += 1
        if sent[0] == 20:
            act()
        send(self, token, request)

    monkeypatch.setattr(Link, "send", counted)


def when_asked(monkeypatch: pytest.MonkeyPatch, note: Callable[[list[str]], None]) -> None:
    """Have the paths of each request to ZooKeeper noted."""

    def noting(request: Any) -> Any:
        def noted(cls: Any, paths: list[str]) -> Any:
            note(paths)
            return request(cls, paths)

        return noted

    for name in ("nodes", "children"):
        monkeypatch.setattr(MultiRead, name, classmethod(noting(getattr(MultiRead, name).__func__)))


class FakeTime:
    """A clock that goes on only while somebody sleeps; and the paths that were asked for, with the time of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 1000.0
        self.asked: list[tuple[float, int]] = []
        monkeypatch.setattr(throttle, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(throttle, "sleep", self.sleep)

    def sleep(self, wait_s: float) -> None:
        self.now_s += wait_s

    def in_a_second(self) -> int:
        """The most paths that any second held."""
        return max(
            sum(paths for later_s, paths in self.asked if begin_s <= later_s < begin_s + 1) for begin_s, _ in self.asked
        )


def test_zookeeper_is_asked_for_no_more_than_the_limit(
    config: ZooKeeperConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, time = 100, FakeTime(monkeypatch)
    when_asked(monkeypatch, lambda paths: time.asked.append((time.now_s, len(paths))))
    rows = collected(zookeeper.read(config, ledger_paths(max_reads_per_s=limit)))
    assert found_of(rows) == VALUES
    assert sum(paths for _, paths in time.asked) >= len(VALUES)
    assert limit * 0.8 <= time.in_a_second() <= limit * 1.2

    time.asked.clear()
    collected(zookeeper.read(config, ledger_paths(max_reads_per_s=limit), Share(0, 4)))
    assert time.in_a_second() <= limit / 4 * 1.2

    begun_s = time.now_s
    assert found_of(collected(zookeeper.read(config, ledger_paths()))) == VALUES
    assert time.now_s == begun_s


def test_etcd_is_asked_for_no_more_than_the_limit(keys: EtcdConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, time = 100, FakeTime(monkeypatch)
    took = etcd._Reader._found

    def counted(self: Any, answer: Any) -> Any:
        time.asked.append((time.now_s, len(answer.kvs)))
        return took(self, answer)

    monkeypatch.setattr(etcd._Reader, "_found", counted)
    wanted = ledger_paths(max_reads_per_s=limit)
    (part,) = etcd.parts(keys, wanted, 1)
    assert found_of(collected(etcd.read(keys, wanted, part))) == VALUES
    assert limit * 0.8 <= time.in_a_second() <= limit * 1.4  # one page is on its way while one is looked at


def test_nothing_but_reads_is_done(
    config: ZooKeeperConfig,
    zookeeper_server: ZooKeeperServer,
    client: KazooClient,
    keys: EtcdConfig,
    gateway: EtcdGateway,
) -> None:
    """ZooKeeper's log has every transaction: a session begins, another ends. etcd's revision is that of before."""
    before = client.set(f"{config.chroot}/ledgers/LAYOUT", VALUES["/ledgers/LAYOUT"]).mzxid
    for index in range(2):
        collected(zookeeper.read(config, EVERYTHING, Share(index, 2)))
    after = client.set(f"{config.chroot}/ledgers/LAYOUT", VALUES["/ledgers/LAYOUT"]).mzxid
    newest = max((zookeeper_server.data_directory / "version-2").glob("log.*"), key=lambda file: file.stat().st_mtime)
    kinds = [each.kind for each in transactions(newest) if before < each.zxid < after]
    assert kinds
    assert set(kinds) <= {LoggedKind.CREATE_SESSION, LoggedKind.CLOSE_SESSION}

    revision = gateway.revision()
    reader = source(StorePlace.made("etcd", keys))
    for part in reader.parts(EVERYTHING, 3):
        collected(reader.read(EVERYTHING, part))
    assert gateway.revision() == revision
