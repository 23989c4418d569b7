"""The audit of ledgers in bulk: rows of a store in, judgements out, on Spark as without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from kazoo.client import KazooClient
from pyspark.sql import DataFrame, Row, SparkSession

from deploy.lab.zookeeper import ZooKeeperServer
from spark_snapshot import sources
from spark_snapshot.audit import frames
from spark_snapshot.audit.judging import LostBookies
from spark_snapshot.format.rows import DATED_STORE
from spark_snapshot.sources import StorePlace
from syncer.ledgers.decoding.entries import ledger_entry
from syncer.ledgers.decoding.messages import MESSAGES
from syncer.ledgers.judging.ledger import judge
from syncer.ledgers.metadata import LedgerMetadata
from syncer.model import MetaPath
from syncer.stores.zookeeper.store import ZooKeeperConfig
from syncer.wanted.ledgers import LedgerPart, ledger_paths
from tests.bench.ledger_values import bookie, values
from tests.spark.stores import kazoo

LEDGERS = 3_000
LOST = frozenset({bookie(4), bookie(9), bookie(14)})


def store_rows(spark: SparkSession, end: int) -> DataFrame:
    rows = [(path, "ledger", "", b"", None, "1", value, 7) for path, value in values(0, end)]
    return spark.createDataFrame(rows, DATED_STORE).repartition(3)


def pure(end: int) -> tuple[dict[int, LedgerMetadata], set[str]]:
    """Ledgers by their ids, and the paths of those that cannot be decoded."""
    found, broken = {}, set()
    for path, value in values(0, end):
        ledger = ledger_entry(path, value, 7)
        if isinstance(ledger, LedgerMetadata):
            found[ledger.ledger_id] = ledger
        else:
            broken.add(path)
    return found, broken


def plain(row: Row) -> dict[str, Any]:
    return row.asDict(recursive=True)


@pytest.fixture(scope="module")
def store(spark: SparkSession) -> Iterator[DataFrame]:
    rows = store_rows(spark, LEDGERS).cache()
    yield rows
    rows.unpersist()


def test_every_value_is_a_ledger_or_one_that_cannot_be_decoded(store: DataFrame) -> None:
    wanted, broken = pure(LEDGERS)
    found = frames.decoded(store)
    ledgers = {row["ledger_id"]: plain(row) for row in frames.ledgers_in(found).collect()}
    assert {row["path"] for row in frames.undecodable_in(found).collect()} == broken
    assert 0 < len(broken) < LEDGERS / 20
    assert ledgers.keys() == wanted.keys()
    for ledger_id, ledger in wanted.items():
        row = ledgers[ledger_id]
        assert (row["ensemble"], row["write_quorum"], row["ack_quorum"]) == ledger.quorums
        assert (row["state"], row["last_entry"], row["length_bytes"]) == (
            ledger.state,
            ledger.last_entry,
            ledger.length_bytes,
        )
        assert [(each["first_entry"], tuple(each["bookies"])) for each in row["segments"]] == list(ledger.segments)
        assert row["created_ms"] == 7
        assert row["topic"].startswith(f"persistent://tenant-{ledger_id % 97}/namespace-{ledger_id % 13}/topic-")


@pytest.mark.parametrize("others", [False, True])
def test_every_ledger_is_judged_as_the_pure_judge_does(store: DataFrame, others: bool) -> None:
    wanted, _ = pure(LEDGERS)
    names = frozenset(map(bookie, range(50)))
    lost = LostBookies(names - LOST if others else LOST, others)
    found = frames.judged(frames.ledgers_in(frames.decoded(store)), lost).collect()
    assert len(found) == len(wanted)
    for row in found:
        pure_one = judge(wanted[row["ledger_id"]], LOST)
        assert row["class"] == pure_one.replica_class
        assert tuple(row["by_replicas_left"]) == pure_one.by_replicas_left
        assert (row["recoverable"], row["single_copy"]) == (pure_one.recoverable, pure_one.is_single_copy)
        assert row["named"] == sorted(pure_one.named)
        assert row["lost_bytes"] == pure_one.bytes_of(pure_one.lost_entries)
    assert {row["class"] for row in found} >= {"no-replica", "below-ack-quorum", "whole"}
    assert {row["recoverable"] for row in found} == {None, True, False}


@pytest.mark.real("zookeeper")
def test_what_a_store_holds_is_audited(
    spark: SparkSession, zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath
) -> None:
    held = dict(values(0, 300))
    topic = MESSAGES["ManagedLedgerInfo"]()
    topic.ledgerInfo.add(ledgerId=3, entries=4, size=5, timestamp=6)
    with kazoo(zookeeper_server.hosts) as client:
        fill(client, fresh_prefix, held | {"/managed-ledgers/acme/orders/persistent/t": topic.SerializeToString()})
    place = StorePlace.made("zookeeper", ZooKeeperConfig(hosts=zookeeper_server.hosts, chroot=fresh_prefix))
    decoded = frames.decoded(sources.shaped(spark, place, ledger_paths(LedgerPart.LEDGERS), readers=2))
    wanted, broken = pure(300)
    assert {row["ledger_id"] for row in frames.ledgers_in(decoded).collect()} == wanted.keys()
    assert {row["path"] for row in frames.undecodable_in(decoded).collect()} == broken
    assert frames.ledgers_in(decoded).where("created_ms is null").count() == 0
    referred = frames.referred(sources.shaped(spark, place, ledger_paths(LedgerPart.REFERENCES)))
    assert [tuple(row)[:5] for row in frames.references_in(referred).collect()] == [
        (3, "persistent://acme/orders/t", "data", 4, 5)
    ]
    assert frames.undecodable_in(referred).count() == 0


def fill(client: KazooClient, chroot: str, held: dict[str, bytes]) -> None:
    for path, value in held.items():
        client.create(chroot + path, value, makepath=True)


def test_the_tables_of_spark_are_those_of_arrow(store: DataFrame) -> None:
    found = frames.judged(frames.ledgers_in(frames.decoded(store)), LostBookies(frozenset()))
    table = found.limit(1).toArrow()
    assert table.schema.field("named").type == pa.list_(pa.string())
    assert table.num_rows == 1
