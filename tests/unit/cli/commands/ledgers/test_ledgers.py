"""``syncer ledgers`` on a store with values as BookKeeper and Pulsar write them: answers, exit codes, bad input."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.config import load
from syncer.documents.ledgers.audit import LedgerAuditDocument
from syncer.documents.ledgers.explained import ExplainedLedgerDocument, ExplainedTopicDocument
from syncer.documents.ledgers.losses import AnyLossDocument, DecommissionDocument, LossDocument
from syncer.documents.ledgers.recovery import UnderReplicatedDocument
from syncer.documents.ledgers.references import OrphansDocument
from syncer.inspection.ledgers import answering
from syncer.inspection.ledgers.questions import OrphansQuestion
from syncer.inspection.ledgers.reading import LedgersWish
from syncer.ledgers.auditing.findings import LedgerFindingCode
from syncer.ledgers.auditing.loading import NoLoading
from syncer.ledgers.losses.decommission import BlockedBy
from syncer.stores.sqlite import OutsideWriter
from tests.support.logs import logging_restored
from tests.support.stored_ledgers import StoredLedgers

T, U = "persistent://acme/orders/t", "persistent://acme/orders/u"
Run: TypeAlias = Callable[..., Result]


@pytest.fixture(autouse=True)
def _log_put_back() -> Iterator[None]:
    with logging_restored():
        yield


@pytest.fixture
def run(tmp_path: Path) -> Run:
    file = tmp_path / "config.toml"
    tables = "".join(
        f'[cluster.{name}]\nservice_url = "http://{name}:8080"\nbroker_service_url = "pulsar://{name}:6650"\n'
        f'[cluster.{name}.admin]\nurl = "http://{name}:8080"\n'
        f'[cluster.{name}.store]\nkind = "sqlite"\npath = "{tmp_path}/{name}.db"\n'
        for name in ("lab", "other")
    )
    file.write_text(
        f'region = "east"\n[store]\nkind = "sqlite"\npath = "{tmp_path}/store.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{tmp_path}/bus.db"\n{tables}',
        encoding="utf-8",
    )

    def invoke(*words: str, lab: StoredLedgers | None = None, other: StoredLedgers | None = None) -> Result:
        for name, stored in (("lab", lab), ("other", other)):
            if stored is not None:
                writer = OutsideWriter(tmp_path / f"{name}.db")
                for path, value in stored.values.items():
                    writer.put(path, value)
                writer.close()
        return CliRunner().invoke(app, ["-c", str(file), "ledgers", *words, "--cluster", "lab"], catch_exceptions=False)

    return invoke


def well() -> StoredLedgers:
    stored = StoredLedgers().bookies("abcd").topic(T, 1, 2).topic(U, 3).put("/ledgers/underreplication/leader", b'"a"')
    stored.ledger(1, (3, 2, 2), (0, "abc")).ledger(2, (3, 2, 2), (0, "bcd"), last=None)
    return stored.ledger(3, (2, 2, 2), (0, "ab"))


def test_an_audit_of_what_is_well_finds_nothing(run: Run) -> None:
    found = run("audit", "-o", "json", lab=well())
    assert found.exit_code == 0, found.output
    told = LedgerAuditDocument.model_validate_json(found.stdout)
    assert told.findings == []
    assert told.read.whole
    assert [(each.name, each.ledgers) for each in told.groups] == [("acme/orders", 3)]
    assert told.total.entries_by_replicas_left == {2: 200}
    text = run("audit", "--by-topic")
    assert text.exit_code == 0
    assert "no findings" in text.stderr
    assert T in text.stdout


def test_an_audit_with_findings_exits_with_3_and_says_what_to_do(run: Run) -> None:
    found = run("audit", lab=well().ledger(9, (2, 2, 2), (0, "xy")).put("/ledgers/00/0000/L0010", b"junk"))
    assert found.exit_code == 3
    assert LedgerFindingCode.ENTRIES_LOST.value in found.stdout
    assert "entries-lost: 9\nhint: Bring these bookies back" in found.stderr
    assert "NOT WHOLE: ledgers: 0 refused, 1 not understood" in found.stderr
    assert "junk" not in found.output


def test_a_ledger_is_explained_by_its_id(run: Run) -> None:
    stored = well().ledger(9, (3, 1, 1), (0, "abx"), last=5).mark(9, "x", locked_by="host-a")
    found = run("explain", "9", "-o", "json", lab=stored)
    assert found.exit_code == 3
    told = ExplainedLedgerDocument.model_validate_json(found.stdout)
    assert told.lost_ranges == [[2, 2], [5, 5]]
    assert (told.marked_for, told.copied_by) == (["x"], "host-a")
    text = run("explain", "9")
    assert "x       /default-rack  no   2                          lost" in text.stdout
    assert "entries of which no replica is up: 2 to 2, 5 to 5" in text.stderr
    assert "copied" not in text.stdout
    assert "host-a copies it" in text.stdout
    assert run("explain", "1").exit_code == 0


def test_a_topic_is_explained_by_its_name(run: Run) -> None:
    assert run("explain", T, lab=well()).exit_code == 0
    found = run("explain", U, "-o", "json", lab=StoredLedgers().ledger(3, (2, 2, 2), (0, "xy"), last=None))
    assert found.exit_code == 3
    told = ExplainedTopicDocument.model_validate_json(found.stdout)
    assert (told.loadable, told.reason, told.blocking_ledger) == (False, NoLoading.LAST_LEDGER_NOT_RECOVERABLE, 3)
    assert (
        "cannot be loaded: last-ledger-not-recoverable, ledger 3\nhint: 'syncer ledgers explain 3'"
        in run("explain", U).stderr
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("explain", "99"), r"there is no ledger 99 in cluster lab"),
        (("explain", "persistent://a/b/c"), "there is no topic persistent://a/b/c in cluster lab"),
        (("what-if", "z"), "there is no bookie z in cluster lab"),
        (("what-if", "--rack", "r9"), "there is no bookie in rack /r9 of cluster lab"),
        (("what-if", "--any", "9"), "9 bookies cannot be lost: the ledgers of cluster lab name 4"),
        (("decommission", "z"), "there is no bookie z in cluster lab"),
    ],
)
def test_what_is_not_there_is_said_with_what_to_give(run: Run, words: tuple[str, ...], says: str) -> None:
    found = run(*words, lab=well())
    assert found.exit_code == 1
    assert says in found.stderr
    assert "hint: " in found.stderr


def test_what_a_loss_harms_and_whether_writing_goes_on(run: Run) -> None:
    stored = well().put("/bookies", b'{"g": {"c": {"rack": "r1"}, "d": {"rack": "/r1"}}}')
    found = run("what-if", "a", "b", "-o", "json", lab=stored)
    told = LossDocument.model_validate_json(found.stdout)
    assert found.exit_code == 3
    assert (told.lost_ledgers, told.topics_lost, told.topics_not_loadable) == ([1, 3], [T, U], [])
    assert told.opening is not None
    assert (told.opening.assumed, told.opening.possible) == (True, False)
    rack = LossDocument.model_validate_json(run("what-if", "--rack", "r1", "-o", "json").stdout)
    assert (rack.bookies, rack.topics_not_loadable) == (["c", "d"], [T])
    harmless = run("what-if", "d", "--quorums", "3/2/2")
    assert harmless.exit_code == 0
    assert "brokers can open new ledgers with 3/2/2; 0 bookies to spare" in harmless.stderr
    enforced = run("what-if", "d", "--quorums", "2/2/2", "--enforce-racks", "2")
    assert "brokers CANNOT open new ledgers with 2/2/2: too-few-bookies" in enforced.stderr
    assert enforced.exit_code == 3


def test_the_loss_of_any(run: Run) -> None:
    found = run("what-if", "--any", "2", "-o", "json", lab=well())
    told = AnyLossDocument.model_validate_json(found.stdout)
    assert found.exit_code == 3
    assert (told.tried, told.exact, told.bookies) == (6, True, 4)
    assert told.worst[0].bookies == ["a", "b"]
    assert told.worst[0].lost_ledgers == 2
    assert run("what-if", "--any", "1").exit_code == 0
    assert "harm something (all tried)" in run("what-if", "--any", "2").stderr


def test_what_it_moves_to_stop_bookies(run: Run) -> None:
    stored = well().ledger(4, (1, 1, 1), (0, "a"), length=100)
    found = run("decommission", "a", "d", "--rate", "1", "-o", "json", lab=stored)
    told = DecommissionDocument.model_validate_json(found.stdout)
    assert found.exit_code == 3
    assert [each.bookies for each in told.steps] == [["d"], ["a"]]
    assert [each.ends for each in told.steps] == [True, False]
    assert told.steps[1].blocked[BlockedBy.NOTHING_TO_COPY_FROM] == 1
    assert told.steps[1].seconds == pytest.approx(told.steps[1].bytes / (1 << 20))
    assert "never moves: ledger 4: nothing-to-copy-from" in run("decommission", "a").stderr
    together = DecommissionDocument.model_validate_json(
        run("decommission", "a", "d", "--together", "-o", "json").stdout
    )
    assert [each.bookies for each in together.steps] == [["a", "d"]]
    assert run("decommission", "d").exit_code == 0


def test_marked_ledgers_and_whether_recovery_moves(run: Run) -> None:
    assert run("under-replicated", lab=well()).exit_code == 0
    found = run("under-replicated", "-o", "json", lab=StoredLedgers().ledger(5, (2, 2, 2), (0, "ax")).mark(5, "x"))
    told = UnderReplicatedDocument.model_validate_json(found.stdout)
    assert found.exit_code == 3
    assert [(each.ledger_id, each.state.value) for each in told.marked] == [(5, "waiting")]
    text = run("under-replicated")
    assert "works" in text.stdout
    assert "a (by pulsar)" in text.stdout


def test_orphans_are_proven_only_where_all_clusters_were_given(run: Run) -> None:
    stored = (
        well().ledger(7, (2, 2, 2), (0, "ab")).ledger(8, (2, 2, 2), (0, "ab")).ledger(9, (1, 1, 1), (0, "a"), custom={})
    )
    other = StoredLedgers().topic("persistent://acme/bills/v", 8)
    found = run("orphans", "--apart", "1", lab=stored, other=other)
    assert found.exit_code == 0
    assert "unreferenced here (other-clusters)" in found.stdout
    assert "0 orphans, 0 missing ledgers, 1 foreign ledger" in found.stderr
    found = run("orphans", "--apart", "1", "--beside", "other", "--all-clusters", "-o", "json")
    told = OrphansDocument.model_validate_json(found.stdout)
    assert found.exit_code == 3
    assert [each.ledger_id for each in told.unreferenced] == [7]
    assert (told.orphans, told.missing) == (1, [])
    found = run("orphans", "--apart", "1", "-o", "json", lab=StoredLedgers().topic(T, 1, 2, 99))
    assert [each.ledger_id for each in OrphansDocument.model_validate_json(found.stdout).missing] == [99]
    assert found.exit_code == 3


def test_a_ledger_that_is_referred_to_between_the_looks_is_no_orphan(run: Run, tmp_path: Path) -> None:
    stored = well().ledger(7, (2, 2, 2), (0, "ab")).ledger(8, (2, 2, 2), (0, "ab"))
    at = "/managed-ledgers/acme/orders/persistent/u"
    before = StoredLedgers().topic(U, 3).values[at]
    rests: list[float] = []

    def rest(seconds: float) -> None:
        """A broker refers to 7 that it has just made; it lets it go at once, and is about to delete it."""
        rests.append(seconds)
        writer = OutsideWriter(tmp_path / "lab.db")
        writer.put(at, StoredLedgers().topic(U, 3, 7).values[at] if len(rests) == 1 else before)
        writer.close()

    assert run("audit", lab=stored).exit_code in {0, 3}
    question = OrphansQuestion(whole=True, apart_s=3)
    told = answering.orphans(load(tmp_path / "config.toml"), LedgersWish(table="lab"), question, rest)
    assert [each.ledger_id for each in told.unreferenced] == [8]
    assert (told.orphans, rests) == (1, [3, 3])
    assert [each.part.value for each in told.first.parts] == [each.part.value for each in told.second.parts]


def test_files_of_another_store_are_not_read(run: Run, tmp_path: Path) -> None:
    found = run("audit", "--from-files", str(tmp_path), lab=well())
    assert found.exit_code == 78
    assert "is read as a folder of zookeeper, and the store of cluster lab is sqlite" in found.stderr


def test_parquet_of_what_was_read_is_answered_from_as_the_store_is(run: Run, tmp_path: Path) -> None:
    stored = well().ledger(9, (2, 2, 2), (0, "xy")).put("/ledgers/00/0000/L0010", b"junk")
    live = LedgerAuditDocument.model_validate_json(run("audit", "-o", "json", lab=stored).stdout)
    rows = {"path": list(stored.values), "value": list(stored.values.values())}
    (tmp_path / "export").mkdir()
    pq.write_table(pa.table(rows), tmp_path / "export" / "part-0.parquet")
    for place in ("export", "export/part-0.parquet"):
        found = run("audit", "-o", "json", "--from-files", str(tmp_path / place))
        assert found.exit_code == 3, found.output
        told = LedgerAuditDocument.model_validate_json(found.stdout)
        assert (told.findings, told.total, told.groups) == (live.findings, live.total, live.groups)
    pq.write_table(pa.table({"key": rows["path"]}), tmp_path / "export" / "part-0.parquet")
    refused = run("audit", "--from-files", str(tmp_path / "export"))
    assert refused.exit_code == 78
    assert "'path' is missing" in refused.stderr


def test_an_audit_tells_how_ledgers_are_spread_over_racks(run: Run) -> None:
    racks = json.dumps({"default": {name: {"rack": "/r2" if name == "d" else "/r1"} for name in "abcd"}})
    found = run("audit", lab=well().put("/bookies", racks.encode()))
    assert found.exit_code == 3
    assert (
        "spread: 0 of 3 ledgers over at least 2 racks; BookKeeper's auditor would count 2 of 2 closed" in found.stderr
    )
    assert "warning   not-spread  3      ledgers have write quorums that are not spread over racks" in found.stdout
    assert "NOT spread as configured" in run("explain", "3").stderr
