"""A cluster's ledgers over HTTP: the commands' documents, each by a process apart, shared and bounded in time."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from typer.testing import CliRunner

from api.inquiries import Inquiries
from syncer.cli.main import app
from syncer.config import load
from syncer.errors import InquiriesFull, NotFound, NotInTime, SyncerError
from syncer.inspection.inquiries.child import PROGRAM
from syncer.inspection.ledgers.questions import AuditQuestion, ExplainQuestion
from syncer.inspection.ledgers.reading import LedgersWish
from syncer.stores.sqlite import OutsideWriter
from syncer.waiting import wait_until
from tests.api.conftest import Afar, Region, document_of
from tests.api.routes_table import API
from tests.support.children import children_with
from tests.support.logs import logging_restored
from tests.support.stored_ledgers import StoredLedgers

TOPIC: Final = "persistent://acme/orders/t"
LEDGERS: Final = f"{API}/clusters/lab/ledgers"
ASKED: Final = (
    ("audit", "--by-topic", "--max-reads", "1000"),
    ("explain", "1"),
    ("explain", TOPIC),
    ("what-if", "a", "b", "--quorums", "3/2/2", "--enforce-racks", "2"),
    ("what-if", "--any", "2", "--limit", "3"),
    ("decommission", "a", "d", "--together", "--rate", "2.5"),
    ("under-replicated",),
    ("orphans", "--beside", "other", "--all-clusters", "--apart", "1"),
)
"""Commands that a daemon answers as this host does."""


@pytest.fixture(autouse=True)
def _log_put_back() -> Iterator[None]:
    with logging_restored():
        yield


@pytest.fixture
def lab(region: Region, tmp_path: Path) -> Path:
    """The region, whose configuration has a cluster with ledgers, one without a reference and one that is lost."""
    tables = "".join(
        f'[cluster.{name}]\nservice_url = "http://{name}:8080"\nbroker_service_url = "pulsar://{name}:6650"\n'
        f'[cluster.{name}.admin]\nurl = "http://{name}:8080"\n'
        f'[cluster.{name}.store]\nkind = "sqlite"\npath = "{tmp_path}/{name}.db"\n'
        for name in ("lab", "other")
    )
    stored = StoredLedgers().bookies("abc").topic(TOPIC, 1, 2).mark(1, "d")
    stored.ledger(1, (3, 2, 2), (0, "abd")).ledger(2, (3, 2, 2), (0, "bcd"), last=None).ledger(3, (1, 1, 1), (0, "d"))
    for name, values in (("lab", stored.values), ("other", {})):
        writer = OutsideWriter(tmp_path / f"{name}.db")
        for path, value in values.items():
            writer.put(path, value)
        writer.close()
    file = tmp_path / "config.toml"
    file.write_text(
        f'region = "here"\n[store]\nkind = "sqlite"\npath = "{tmp_path}/s.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{tmp_path}/b.db"\n[state]\npath = "{tmp_path}/state.db"\n{tables}',
        encoding="utf-8",
    )
    region.inside.config = load(file)
    return file


def lasting(found: Any) -> Any:
    """Without what differs between two readings."""
    moments = {"taken_ms", "began_ms", "ended_ms", "first_ms", "second_ms", "age_ms"}
    if isinstance(found, dict):
        return {name: lasting(each) for name, each in found.items() if name not in moments}
    return [lasting(each) for each in found] if isinstance(found, list) else found


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        (f"{API}/clusters/red/ledgers/audit", 404, "not-found"),
        (f"{LEDGERS}/orphans?beside=red", 404, "not-found"),
        (f"{LEDGERS}/orphans?beside=lab", 422, "request-invalid"),
        (f"{LEDGERS}/audit?within=0", 422, "request-invalid"),
        (f"{LEDGERS}/audit?ledgers_root=ledgers", 422, "request-invalid"),
        (f"{LEDGERS}/audit?ledgers_root=/a//b", 422, "request-invalid"),
        (f"{LEDGERS}/loss", 422, "request-invalid"),
        (f"{LEDGERS}/loss?bookie=a&quorums=2/3/2", 422, "request-invalid"),
        (f"{LEDGERS}/any-loss?size=11", 422, "request-invalid"),
        (f"{LEDGERS}/loss?bookie=z", 404, "not-found"),
    ],
)
def test_what_cannot_be_asked_is_said(path: str, status: int, code: str, region: Region, lab: Path) -> None:
    answer = region.ask("GET", path, "read")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["hint"]


def test_a_store_that_is_away_is_named_without_places_of_the_host(region: Region, lab: Path, tmp_path: Path) -> None:
    (tmp_path / "lab.db").unlink()
    (tmp_path / "lab.db").mkdir()
    answer = region.ask("GET", f"{LEDGERS}/audit", "read")
    assert answer.status_code in {502, 503}, answer.text
    assert str(tmp_path) not in answer.text


def test_who_asks_the_same_shares_an_answer_and_too_many_are_sent_away(lab: Path) -> None:
    wish, clock_s = LedgersWish(table="lab"), [0.0]
    told: list[bytes] = []
    codes: list[str] = []

    async def all_ask() -> Inquiries:
        inquiries = Inquiries(most=2, clock_s=lambda: clock_s[0])
        config = load(lab)

        async def ask(within_s: float = 100) -> None:
            try:
                told.append(await inquiries.ask_of_ledgers(config, wish, AuditQuestion(), within_s))
            except (InquiriesFull, NotInTime) as exc:
                codes.append(exc.code)

        async with anyio.create_task_group() as tasks:
            for within_s in (100, 0.05, 100):  # the second gives up, and leaves the answer to the first
                tasks.start_soon(ask, within_s)
        await ask()
        clock_s[0] = 30.0
        await ask()
        with pytest.raises(NotFound, match="no topic"):
            await inquiries.ask_of_ledgers(config, wish, ExplainQuestion("persistent://a/b/c"), 100)
        return inquiries

    inquiries = anyio.run(all_ask)
    assert sorted(codes) == ["cluster-inquiries-full", "not-in-time"]
    first, shared, anew = (json.loads(each)["read"]["taken_ms"] for each in told)
    assert first == shared < anew
    assert inquiries.asked == {"ledgers-audit": 5, "ledgers-explain": 1}
    assert inquiries.failed == {"cluster-inquiries-full": 1, "not-in-time": 1, "not-found": 1}


def test_who_goes_away_at_once_begins_no_more_than_may_be_waited_for(lab: Path) -> None:
    codes: list[str] = []

    async def all_ask() -> None:
        inquiries, config = Inquiries(most=2), load(lab)
        for number in range(1, 5):
            wish = LedgersWish(table="lab", max_reads_per_s=number)
            try:
                await inquiries.ask_of_ledgers(config, wish, AuditQuestion(), 0.01)
            except (InquiriesFull, NotInTime) as exc:
                codes.append(exc.code)

    anyio.run(all_ask)
    assert codes == ["not-in-time", "not-in-time", "cluster-inquiries-full", "cluster-inquiries-full"]


def test_a_process_that_is_killed_is_said_and_the_next_one_answers(lab: Path) -> None:
    wish = LedgersWish(table="lab", max_reads_per_s=1)

    async def ask() -> None:
        inquiries, config = Inquiries(), load(lab)
        killing = threading.Thread(target=kill_reader)
        killing.start()
        with pytest.raises(SyncerError, match="broke off") as found:
            await inquiries.ask_of_ledgers(config, wish, AuditQuestion(), 100)
        killing.join()
        assert found.value.hint == "Ask again; its cause is in the log."
        told = json.loads(await inquiries.ask_of_ledgers(config, LedgersWish(table="lab"), AuditQuestion(), 100))
        assert told["read"]["whole"]
        assert inquiries.failed == {SyncerError.code: 1}

    def kill_reader() -> None:
        """Kill the process of this one's that reads ledgers, once it is there."""
        os.kill(wait_until(lambda: children_with(PROGRAM), "a process reads ledgers")[0], signal.SIGKILL)

    anyio.run(ask)


def test_another_hosts_command_shows_the_same_and_ends_the_same(lab: Path, tmp_path: Path, from_afar: Afar) -> None:
    def asked(*words: str) -> Any:
        return from_afar("-o", "json", "ledgers", *words, "--cluster", "lab")

    for words in ASKED:
        far = asked(*words)
        near = CliRunner().invoke(app, ["-c", str(lab), "-o", "json", "ledgers", *words, "--cluster", "lab"])
        assert far.exit_code == near.exit_code, far.output
        assert lasting(document_of(far)) == lasting(json.loads(near.stdout)), words
    page = asked("audit", "--html", str(tmp_path / "far.html"))
    assert page.exit_code == 3, page.output
    assert "probability" in (tmp_path / "far.html").read_text(encoding="utf-8").lower()
    refused = asked("audit", "--from-files", str(tmp_path))
    assert (refused.exit_code, "--from-files" in refused.output) == (2, True)
