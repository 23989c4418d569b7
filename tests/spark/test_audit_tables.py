"""An audit's tables: whole or not at all, sealed, and what-if on them as the pure rules have it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from deploy.lab.zookeeper import ZooKeeperServer
from spark_snapshot import sources
from spark_snapshot.audit.judging import LostBookies
from spark_snapshot.audit.losses import judged_again, what_if
from spark_snapshot.audit.manifest import (
    AuditedStore,
    FinishedAudit,
    newest_audit,
    open_audit,
    verify_audit,
)
from spark_snapshot.audit.taking import AuditParts, take_tables
from spark_snapshot.format.drafts import begun
from spark_snapshot.format.manifest import MANIFEST, StoreFacts
from spark_snapshot.format.places import place
from spark_snapshot.format.rows import DATED_STORE
from spark_snapshot.jobs.audit import AuditOrder, audit
from spark_snapshot.runtime.phases import Job
from spark_snapshot.sources import StorePlace
from syncer.errors import NotFound, SnapshotDamaged, SnapshotInvalid, SnapshotRefused, SyncerError
from syncer.ledgers.auditing.spreading import PlacementRules
from syncer.ledgers.decoding.entries import ledger_entry
from syncer.ledgers.decoding.messages import MESSAGES
from syncer.ledgers.judging.ledger import judge
from syncer.ledgers.losses.copysets import Copysets
from syncer.ledgers.losses.impact import loss_impact
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.placement.adherence import RackPolicy, adheres_as_configured, adheres_as_counted
from syncer.ledgers.placement.racks import RackMap
from syncer.model import MetaPath
from syncer.stores.zookeeper.config import ZooKeeperConfig
from tests.bench.ledger_values import bookie, values
from tests.spark.stores import kazoo

COUNT = 2_000
AWAY = (bookie(4), bookie(9))
ENDED = StoreFacts(kind="zookeeper", revision_before="0x1", revision_after="0x2")
TOPIC = "/managed-ledgers/acme/orders/persistent/t"


def rows_of(spark: SparkSession, rows: list[tuple[str, str, bytes]]) -> DataFrame:
    return spark.createDataFrame(
        [(path, kind, "", b"", None, "1", value, 7) for path, kind, value in rows], DATED_STORE
    )


def ledger_rows(spark: SparkSession) -> DataFrame:
    return rows_of(spark, [(path, "ledger", value) for path, value in values(0, COUNT)]).repartition(3)


def reference_rows(spark: SparkSession) -> DataFrame:
    topic = MESSAGES["ManagedLedgerInfo"]()
    for ledger_id in range(COUNT):
        if ledger_id % 2:
            topic.ledgerInfo.add(ledgerId=ledger_id)
    broken = "/managed-ledgers/acme/orders/persistent/broken"
    return rows_of(spark, [(TOPIC, "managed-ledger", topic.SerializeToString()), (broken, "managed-ledger", b"\xff")])


def bookie_rows(spark: SparkSession) -> DataFrame:
    there = [each for each in map(bookie, range(50)) if each not in AWAY]
    rows = [(f"/ledgers/available/{each}", "bookie", b"") for each in there[:-1]]
    rows.append((f"/ledgers/available/readonly/{there[-1]}", "read-only-bookie", b""))
    rows.append(
        (
            "/ledgers/cookies/gone:3181",
            "cookie",
            b'5\nbookieHost: "gone:3181"\njournalDir: "/j"\nledgerDirs: "1\\t/l"\n',
        )
    )
    rows.append(("/bookies", "racks", b'{"default": {"%s": {"rack": "/r1"}}}' % there[0].encode()))
    return rows_of(spark, rows)


def about(cluster: str = "green") -> AuditedStore:
    store = StoreFacts(kind="zookeeper")
    return AuditedStore(cluster=cluster, taken_at_ms=1_700_000_000_000, made_by="test", store=store, root="/ledgers")


def taken(spark: SparkSession, folder: Path) -> FinishedAudit:
    parts = AuditParts(
        ledgers=lambda: ledger_rows(spark),
        references=lambda: reference_rows(spark),
        bookies=lambda: bookie_rows(spark),
        ended=lambda: ENDED,
    )
    with begun(place(folder), "green", taken_at_ms=about().taken_at_ms) as draft:
        return take_tables(Job(spark), draft, about(), parts)


@pytest.fixture(scope="module")
def ledgers() -> list[LedgerMetadata]:
    found = (ledger_entry(path, value, 7) for path, value in values(0, COUNT))
    return [ledger for ledger in found if isinstance(ledger, LedgerMetadata)]


@pytest.fixture(scope="module")
def finished(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> FinishedAudit:
    return taken(spark, tmp_path_factory.mktemp("audits"))


def test_an_audit_has_all_its_tables_and_says_what_was_found(
    spark: SparkSession, finished: FinishedAudit, ledgers: list[LedgerMetadata]
) -> None:
    summary = finished.manifest.summary
    judged = [judge(ledger, frozenset(AWAY)) for ledger in ledgers]
    assert summary.ledgers == len(ledgers)
    assert summary.lost_entries == sum(each.lost_entries for each in judged) > 0
    assert summary.lost_bytes == sum(each.bytes_of(each.lost_entries) or 0 for each in judged)
    assert summary.not_recoverable == sum(each.recoverable is False for each in judged)
    assert summary.undecodable == {"ledger": COUNT - len(ledgers), "managed-ledger": 1}
    assert (summary.references, summary.sets_left_out) == (COUNT // 2, 0)
    assert (summary.bookies_known, summary.bookies_away) == (True, AWAY)
    assert finished.manifest.about.store == ENDED
    tables = {
        table: spark.read.parquet(*(each.location for each in finished.files(table)))
        for table in finished.manifest.tables
    }
    assert tables["ledgers"].count() == len(ledgers)
    bookies = {row["bookie"]: row for row in tables["bookies"].collect()}
    assert len(bookies) == 51
    assert {name for name, row in bookies.items() if row["state"] == "away"} == {*AWAY, "gone:3181"}
    assert bookies[AWAY[0]]["named_by"] == sum(AWAY[0] in ledger.bookies() for ledger in ledgers)
    assert (bookies["gone:3181"]["named_by"], bookies["gone:3181"]["cookie"]) == (0, True)
    assert bookies[bookie(0)]["rack"] == "/r1"


def test_every_ledger_is_a_row_with_all_that_its_value_says(
    spark: SparkSession, finished: FinishedAudit, ledgers: list[LedgerMetadata]
) -> None:
    found = spark.read.parquet(*(each.location for each in finished.files("ledgers"))).collect()
    rows = {row["ledger_id"]: row.asDict(recursive=True) for row in found}
    assert len(found) == len(rows) == len(ledgers)
    for ledger in ledgers:
        row = rows[ledger.ledger_id]
        assert (row["ensemble"], row["write_quorum"], row["ack_quorum"]) == ledger.quorums
        wanted = (ledger.state, ledger.last_entry, ledger.length_bytes, 7)
        assert (row["state"], row["last_entry"], row["length_bytes"], row["created_ms"]) == wanted
        assert [(each["first_entry"], tuple(each["bookies"])) for each in row["segments"]] == list(ledger.segments)


def test_ledgers_are_held_against_racks_as_without_spark(
    spark: SparkSession, tmp_path: Path, ledgers: list[LedgerMetadata]
) -> None:
    racks = RackMap({bookie(number): f"/r{number % 3}" for number in range(50)})
    document = json.dumps({"default": {each: {"rack": rack} for each, rack in racks.racks.items()}}).encode()
    configured = rows_of(spark, [("/bookies", "racks", document)])
    rules = PlacementRules(policy=RackPolicy(min_racks=3))
    parts = AuditParts(
        ledgers=lambda: ledger_rows(spark),
        references=lambda: reference_rows(spark),
        bookies=lambda: bookie_rows(spark).where("kind <> 'racks'").union(configured),
        ended=lambda: ENDED,
    )
    with begun(place(tmp_path), "green", taken_at_ms=about().taken_at_ms) as draft:
        audited = take_tables(Job(spark), draft, about(), parts, rules)
    reopened = open_audit(audited.place)
    verify_audit(reopened)
    spread = reopened.manifest.summary.spread
    assert spread is not None
    wanted = {
        ledger.ledger_id: sum(
            not adheres_as_configured(names, ledger.quorums.write, racks, rules.policy) for _, names in ledger.segments
        )
        for ledger in ledgers
    }
    rows = spark.read.parquet(*(each.location for each in reopened.files("unspread"))).collect()
    assert {row["ledger_id"]: row["segments"] for row in rows} == {each: n for each, n in wanted.items() if n}
    assert 0 < spread.not_spread == len(rows) < len(ledgers)
    assert (spread.over, spread.min_racks, spread.ledgers) == ("racks", 3, len(ledgers))
    up = frozenset(map(bookie, range(49))) - {*AWAY}
    closed = [ledger for ledger in ledgers if ledger.is_closed]
    assert spread.counted == sum(
        not all(adheres_as_counted(names, each.quorums.write, racks, up, rules.policy) for _, names in each.segments)
        for each in closed
    )
    assert spread.closed == len(closed)


def test_copysets_are_those_of_the_pure_rules(
    spark: SparkSession, finished: FinishedAudit, ledgers: list[LedgerMetadata]
) -> None:
    pure = Copysets()
    for ledger in ledgers:
        pure.add(ledger)
    rows = spark.read.parquet(*(each.location for each in finished.files("copysets"))).collect()
    for kind, wanted in (("losing", pure.losing), ("blocking", pure.blocking)):
        found = [(tuple(row["bookies"]), row["ledgers"]) for row in rows if row["kind"] == kind and row["ledgers"]]
        assert len(dict(found)) == len(found)
        assert dict(found) == {tuple(sorted(pure.bits.named(bits))): count for bits, count in wanted.items()}


def test_what_if_is_as_the_pure_rules_have_it(
    spark: SparkSession, finished: FinishedAudit, ledgers: list[LedgerMetadata]
) -> None:
    lost = frozenset(map(bookie, range(4, 16)))
    referred = {each.ledger_id: "persistent://acme/orders/t" for each in ledgers if each.ledger_id % 2}
    own = {
        each.ledger_id: f"persistent://tenant-{each.ledger_id % 97}/namespace-{each.ledger_id % 13}"
        f"/topic-{each.ledger_id % 100_003}"
        for each in ledgers
    }
    wanted = loss_impact(ledgers, lost, own | referred)
    found = what_if(spark, finished, LostBookies(lost))
    assert found.counts.classes == {each.value: count for each, count in wanted.classes.items()}
    assert (found.counts.lost_entries, found.counts.lost_bytes) == (wanted.lost_entries, wanted.lost_bytes)
    assert found.counts.unknown_bytes == wanted.unknown_bytes
    assert found.counts.not_recoverable == len(wanted.blocked_ledgers) > 0
    assert found.lost == (len(wanted.topics_lost), tuple(sorted(wanted.topics_lost)))
    assert found.not_loadable == (len(wanted.topics_not_loadable), tuple(sorted(wanted.topics_not_loadable)))
    assert found.without_topic == 0
    harmed = judged_again(spark, finished, LostBookies(lost)).where("counts is null").collect()
    assert {row["ledger_id"] for row in harmed} == {*wanted.lost_ledgers, *wanted.blocked_ledgers}


def test_nothing_lost_harms_nothing(spark: SparkSession, finished: FinishedAudit) -> None:
    found = what_if(spark, finished, LostBookies(frozenset()))
    assert (found.counts.lost_entries, found.counts.not_recoverable, found.lost[0]) == (0, 0, 0)


def test_an_audit_is_opened_and_damage_is_seen(spark: SparkSession, tmp_path: Path) -> None:
    folder = place(tmp_path)
    with pytest.raises(NotFound):
        newest_audit(folder, "green")
    audited = taken(spark, tmp_path)
    assert open_audit(str(audited.place.local)) == newest_audit(folder, "green") == audited
    verify_audit(audited)
    assert {each.name for each in tmp_path.joinpath("green").iterdir()} == {audited.place.name, ".lock"}
    assert {each.name for each in tmp_path.joinpath("green", audited.place.name).iterdir()} == {
        MANIFEST, "ledgers", "references", "undecodable", "bookies", "copysets", "unspread",
    }  # fmt: skip
    file = audited.files("ledgers")[0].local
    assert file is not None
    whole = file.read_bytes()
    file.write_bytes(whole[:-20] + bytes(20))
    with pytest.raises(SnapshotDamaged, match="is not as it was written"):
        verify_audit(audited)
    with pytest.raises(SnapshotDamaged, match="cannot be read"), Job(spark).phase("judge", "judging"):
        what_if(spark, audited, LostBookies(frozenset()))
    file.write_bytes(whole[:-1])
    with pytest.raises(SnapshotDamaged, match="bytes"):
        newest_audit(folder, "green")
    manifest = file.parent.parent / MANIFEST
    manifest.write_text(manifest.read_text().replace("green", "grey!"))
    with pytest.raises(SnapshotDamaged, match="checksum"):
        open_audit(audited.place)
    manifest.unlink()
    with pytest.raises(SnapshotInvalid):
        open_audit(audited.place)


def test_of_a_store_that_fails_nothing_is_left(spark: SparkSession, tmp_path: Path) -> None:
    def dead() -> DataFrame:
        return ledger_rows(spark).selectExpr("raise_error('gone') as path", "kind", "value", "created_ms")

    parts = AuditParts(
        ledgers=lambda: ledger_rows(spark), references=dead, bookies=lambda: bookie_rows(spark), ended=lambda: ENDED
    )
    with pytest.raises(SyncerError), begun(place(tmp_path), "green", taken_at_ms=1) as draft:
        take_tables(Job(spark), draft, about(), parts)
    assert [each.name for each in tmp_path.joinpath("green").iterdir()] == [".lock"]


@pytest.mark.real("zookeeper")
def test_a_cluster_is_audited_from_its_store(
    spark: SparkSession, zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath, tmp_path: Path
) -> None:
    held = dict(values(0, 200)) | {"/ledgers/00/0000/empty-handed": b"x"}
    with kazoo(zookeeper_server.hosts) as client:
        for path, value in held.items():
            client.create(fresh_prefix + path, value, makepath=True)
        for number in range(40):
            client.create(f"{fresh_prefix}/ledgers/available/{bookie(number)}", b"", ephemeral=True, makepath=True)
        config = ZooKeeperConfig(hosts=zookeeper_server.hosts, chroot=fresh_prefix)
        order = AuditOrder(
            cluster="green", place=StorePlace.made("zookeeper", config), folder=place(tmp_path), readers=2
        )
        audited = audit(Job(spark), order)
    pure = [ledger_entry(path, value, None) for path, value in held.items()]
    ledgers = [each for each in pure if isinstance(each, LedgerMetadata)]
    away = frozenset(map(bookie, range(40, 50)))
    summary = audited.manifest.summary
    assert summary.ledgers == len(ledgers)
    assert summary.undecodable == {"ledger": len(held) - len(ledgers)}
    assert summary.bookies_away == tuple(sorted(frozenset().union(*(each.bookies() for each in ledgers)) & away))
    assert summary.lost_entries == sum(judge(each, away).lost_entries for each in ledgers)
    store = audited.manifest.about.store
    assert (store.kind, store.revision_before[:2], store.revision_after[:2]) == ("zookeeper", "0x", "0x")


@pytest.mark.real("zookeeper")
def test_of_a_store_that_became_another_one_nothing_is_left(
    spark: SparkSession,
    zookeeper_server: ZooKeeperServer,
    fresh_prefix: MetaPath,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with kazoo(zookeeper_server.hosts) as client:
        for path, value in values(0, 3):
            client.create(fresh_prefix + path, value, makepath=True)
    place_of_it = StorePlace.made("zookeeper", ZooKeeperConfig(hosts=zookeeper_server.hosts, chroot=fresh_prefix))
    order = AuditOrder(cluster="green", place=place_of_it, folder=place(tmp_path), readers=1)
    facts = sources.facts
    told = iter(["one", "another"])
    monkeypatch.setattr(sources, "facts", lambda where: replace(facts(where), identity=next(told)))
    with pytest.raises(SnapshotRefused, match="another one"):
        audit(Job(spark), order)
    assert [each.name for each in tmp_path.joinpath("green").iterdir()] == [".lock"]


def test_where_no_bookie_is_there_nobody_is_taken_for_lost(spark: SparkSession, tmp_path: Path) -> None:
    nobody = AuditParts(
        ledgers=lambda: ledger_rows(spark),
        references=lambda: rows_of(spark, []),
        bookies=lambda: rows_of(spark, [("/ledgers/available", "refused", b"")]),
        ended=lambda: ENDED,
    )
    with begun(place(tmp_path), "green", taken_at_ms=1) as draft:
        summary = take_tables(Job(spark), draft, about(), nobody).manifest.summary
    assert (summary.bookies_known, summary.bookies_away, summary.lost_entries) == (False, (), 0)
    assert summary.undecodable["refused"] == 1
    assert summary.references == 0
