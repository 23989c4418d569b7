"""Reading a store of a kind that has no reader of its own: somebody else's adapter, here on SQLAlchemy."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from spark_snapshot.sources import throttle
from spark_snapshot.sources.found import Found
from spark_snapshot.sources.place import StorePlace, facts, source
from spark_snapshot.sources.reach import Reach
from syncer.config import adapters
from syncer.conflict.scope import Rule, Scope
from syncer.conflict.settings import Direction
from syncer.errors import AccessDenied, ConfigError, StoreError, StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.contract import Entry
from syncer.stores.sqlite import OutsideWriter
from syncer.stores.sqlite.config import SqliteConfig
from syncer.waiting import WAIT_S, wait_until
from syncer.wanted.contract import REFUSED
from syncer.wanted.ledgers import ledger_paths
from tests.support.planning import resources, value
from tests.support.tables_store import ENTRY_POINTS, KIND, Tables, TablesConfig, TablesStore

SPACE = MetaPath("/admin/policies/acme/orders")
NEW = MetaPath("/admin/policies/acme/aaa-new")
TOPIC = MetaPath("/admin/partitioned-topics/acme/orders/persistent/topic-00003")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/tables.db"


@pytest.fixture
def tables(url: str) -> Iterator[Tables]:
    made = Tables(url)
    for path, stored in resources("acme", topics=20).items():
        made.put(path, stored)
    yield made
    made.engine.dispose()


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The adapter is a package's, as pip would have left it."""
    information = tmp_path / "tables-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tables\nVersion: 1.0\n", encoding="utf-8")
    (information / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    adapters.installed.cache_clear()
    monkeypatch.setattr(TablesStore, "opened", 0)
    yield
    adapters.installed.cache_clear()
    assert TablesStore.opened == 0, "each is closed, whatever has happened"


def read(place: StorePlace, reach: Reach) -> dict[MetaPath, bytes]:
    """All that the readers of a place find; no path twice."""
    reader = source(place)
    rows = [row for part in reader.parts(reach, 4) for batch in reader.read(reach, part) for row in batch]
    found = {row.path: row.value for row in rows}
    assert len(found) == len(rows)
    return found


def place_of(url: str) -> StorePlace:
    return StorePlace.made(KIND, TablesConfig(url=url), region="here")


def test_a_store_of_another_kind_is_read_as_any_other(url: str, tables: Tables, tmp_path: Path) -> None:
    tables.put(MetaPath("/admin/policies/zeta"), value())
    tables.put(MetaPath("/loadbalance/brokers/one"), b"{}")
    writer = OutsideWriter(tmp_path / "same.db")
    for path in [*resources("acme", topics=20), MetaPath("/admin/policies/zeta")]:
        writer.put(path, resources("acme", topics=20).get(path, value()))
    writer.close()
    own = StorePlace.made("sqlite", SqliteConfig(path=tmp_path / "same.db"))
    narrow = Scope([Rule("/admin/policies/acme/**", Direction.BOTH)])
    for reach in (Reach(), Reach(tenants=frozenset({"acme"})), Reach(under=SPACE), Reach(scope=narrow)):
        assert read(place_of(url), reach) == read(own, reach) != {}
    about = facts(place_of(url))
    assert (about.kind, about.identity, about.position) == (KIND, None, "")


def test_what_changes_while_it_is_read_is_read_again(url: str, tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    def change() -> None:
        TablesStore.between_pages = staticmethod(lambda: None)
        tables.put(SPACE, value(message_ttl_in_seconds=7))
        tables.put(NEW, value())
        tables.delete(TOPIC)

    monkeypatch.setattr(TablesStore, "between_pages", staticmethod(change))
    wanted = {**resources("acme", topics=20), SPACE: value(message_ttl_in_seconds=7), NEW: value()}
    del wanted[TOPIC]
    assert read(place_of(url), Reach()) == wanted


def test_a_store_that_never_rests_is_read_all_the_same(
    url: str, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, written, scanned = threading.Event(), [0], [0]

    def write() -> None:
        while not done.wait(0.002):
            tables.put(SPACE, value(message_ttl_in_seconds=written[0] + 1))
            written[0] += 1

    def behind_the_last_page() -> None:
        scanned[0] = written[0]
        while written[0] == scanned[0]:
            time.sleep(0.001)

    monkeypatch.setattr(TablesStore, "between_pages", staticmethod(behind_the_last_page))
    thread = threading.Thread(target=write)
    thread.start()
    wait_until(lambda: written[0], "the first write")
    try:
        found = read(place_of(url), Reach())
    finally:
        done.set()
        thread.join(WAIT_S)
    assert found.keys() == resources("acme", topics=20).keys()
    assert json.loads(found[SPACE])["message_ttl_in_seconds"] > scanned[0] > 0, "as it was during the last round"


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (ValueError("its own"), "the store's watch has failed: ValueError"),
        (AccessDenied("a secret path"), "a secret path"),
    ],
)
def test_a_watch_that_fails_ends_the_reading_at_once(
    url: str, tables: Tables, monkeypatch: pytest.MonkeyPatch, failure: Exception, said: str
) -> None:
    del tables
    monkeypatch.setattr(TablesStore, "failure", failure)
    monkeypatch.setattr("spark_snapshot.sources.contract.PATIENCE_S", WAIT_S)
    began = time.monotonic()
    with pytest.raises(StoreError, match=said):
        read(place_of(url), Reach())
    assert time.monotonic() - began < WAIT_S


def test_a_watch_that_says_nothing_is_not_waited_for_for_ever(
    url: str, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    del tables
    monkeypatch.setattr("tests.support.tables_store.BEAT_S", WAIT_S)
    monkeypatch.setattr("spark_snapshot.sources.contract.PATIENCE_S", 0.2)
    with pytest.raises(StoreUnavailable, match="has said nothing"):
        read(place_of(url), Reach())


def test_a_gap_begins_the_reading_anew_some_times(url: str, tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    del tables
    monkeypatch.setattr(TablesStore, "gaps", 2)
    assert read(place_of(url), Reach()) == resources("acme", topics=20)
    assert TablesStore.gaps == 0
    TablesStore.gaps = 10
    with pytest.raises(StoreUnavailable, match="the test wants one"):
        read(place_of(url), Reach())


LEDGERS = {MetaPath(f"/ledgers/00/0000/L{number:04d}"): b"a ledger" for number in range(23)}
TOPICS = {MetaPath("/managed-ledgers/acme/orders/persistent/new"): b""}


def ledgers_of(url: str, **terms: int) -> dict[MetaPath, Found]:
    """All that belongs to ledgers; no path twice."""
    reader, wanted = source(place_of(url)), ledger_paths(**terms)  # type: ignore[arg-type]
    rows = [row for part in reader.parts(wanted, 4) for batch in reader.read(wanted, part) for row in batch]
    assert len({row.path for row in rows}) == len(rows)
    return {row.path: row for row in rows}


@pytest.fixture
def ledgers(tables: Tables) -> Tables:
    for path, held in {**LEDGERS, **TOPICS}.items():
        tables.put(path, held)
    return tables


def test_where_no_moment_is_asked_for_one_scan_is_all(
    url: str, ledgers: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is watched, so that nothing that a watch says, or does not say, ends the reading."""
    monkeypatch.setattr(TablesStore, "failure", ValueError("of a watch"))
    monkeypatch.setattr(TablesStore, "between_pages", staticmethod(lambda: ledgers.put(next(iter(LEDGERS)), b"new")))
    found = {path: row.value for path, row in ledgers_of(url).items()}
    assert found.keys() == {**LEDGERS, **TOPICS}.keys()
    assert {value for path, value in found.items() if path in LEDGERS} <= {b"a ledger", b"new"}


def test_a_subtree_that_may_not_be_read_is_told_where_that_is_forgiven(
    url: str, ledgers: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    del ledgers
    scan = TablesStore.scan

    def guarded(self: TablesStore, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        if prefix == "/managed-ledgers":
            raise AccessDenied(prefix)
        return scan(self, prefix)

    monkeypatch.setattr(TablesStore, "scan", guarded)
    found = ledgers_of(url)
    assert {path: row.value for path, row in found.items() if row.kind != REFUSED} == LEDGERS
    assert {path for path, row in found.items() if row.kind == REFUSED} == {"/managed-ledgers"}


def test_a_scan_waits_as_long_as_its_pages_are_large(
    url: str, ledgers: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    del ledgers
    now_s = [0.0]

    async def slept(wait_s: float) -> None:
        now_s[0] += wait_s

    monkeypatch.setattr(throttle, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(throttle, "sleep_in_loop", slept)
    ledgers_of(url, max_reads_per_s=2)
    assert now_s[0] == pytest.approx((len(LEDGERS) + len(TOPICS)) / 2)


def test_a_secret_is_never_sent_to_readers(url: str) -> None:
    settings = TablesConfig.model_validate({"url": url, "password": "hidden"})
    with pytest.raises(ConfigError, match="they hold a secret"):
        StorePlace.made(KIND, settings)


def test_a_kind_that_is_not_installed_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no kind of .* named 'not'"):
        source(StorePlace(kind="not", settings="{}"))
