"""The audit trail: all or nothing, once for each key, who was refused, and how long it is kept."""

from __future__ import annotations

import itertools
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from syncer.errors import OperationsFull, RequestKeyReused
from syncer.model import Millis
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.state.contract.operations import KEY_KEPT_MS, MAX_PENDING, MAX_REFUSED, Asked, OperationState
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.waiting import WAIT_S
from tests.support.older_schema import take_back
from tests.unit.state.test_contract import EAST

PAUSE = OperationRequest(OperationKind.PAUSE, {"everywhere": "true"})
RESUME = OperationRequest(OperationKind.RESUME, {})
BOT = Asked(by="bot", reason="TICKET-7", origin="192.0.2.1", credential="token:bot", key="k1", fingerprint="f1")


@pytest.fixture
def clock() -> list[int]:
    return [1_000_000]


@pytest.fixture
def state(tmp_path: Path) -> Iterator[SqlState]:
    with closing(SqlState.open(f"sqlite:///{tmp_path / 'state.db'}", EAST)) as opened:
        opened.activate()
        yield opened


@pytest.fixture
def views(state: SqlState, tmp_path: Path, clock: list[int]) -> Iterator[Views]:
    del state
    with closing(Views.open(f"sqlite:///{tmp_path / 'state.db'}", EAST, clock=lambda: Millis(clock[0]))) as opened:
        yield opened


def asked(**changes: str | None) -> Asked:
    facts: dict[str, str | None] = {each: getattr(BOT, each) for each in BOT.__dataclass_fields__}
    return Asked(**{**facts, **changes})  # type: ignore[arg-type]  # its own fields


def test_the_trail_tells_who_from_where_with_what_why_and_when(views: Views, clock: list[int]) -> None:
    first, second = views.ask_all([PAUSE, RESUME], BOT)
    found = views.operations(10)
    assert [each.id for each in found] == [first, second]
    each = found[0]
    assert (each.asked_by, each.reason, each.origin, each.credential) == ("bot", "TICKET-7", "192.0.2.1", "token:bot")
    assert (each.asked_at_ms, each.finished_at_ms, each.state) == (clock[0], None, OperationState.PENDING)
    assert views.operations(10, first) == [found[1]]
    assert views.operations(1) == [each] == [views.operation(first)]
    assert views.latest_operation() == second


def test_a_request_that_is_repeated_with_its_key_is_asked_once(views: Views, clock: list[int]) -> None:
    numbers = views.ask_all([PAUSE, RESUME], BOT)
    assert views.ask_all([PAUSE, RESUME], BOT) == numbers == views.asked_before(BOT)
    clock[0] += KEY_KEPT_MS - 1
    assert views.ask_all([PAUSE], BOT) == numbers, "what it would ask for now does not matter"
    clock[0] += 1
    assert views.asked_before(BOT) == []
    again = views.ask_all([PAUSE, RESUME], BOT)
    assert again[0] > numbers[-1], "its day was over"
    assert views.asked_before(BOT) == again


def test_a_key_belongs_to_one_request_of_one_credential(views: Views) -> None:
    numbers = views.ask_all([PAUSE], BOT)
    with pytest.raises(RequestKeyReused):
        views.ask_all([PAUSE], asked(fingerprint="f2"))
    with pytest.raises(RequestKeyReused):
        views.asked_before(asked(fingerprint="f2"))
    assert views.ask_all([PAUSE], asked(credential="token:other")) != numbers
    assert views.ask_all([PAUSE], asked(key="k2")) != numbers
    without = asked(key=None)
    assert views.ask_all([PAUSE], without) != views.ask_all([PAUSE], without)
    assert views.asked_before(without) == []


def test_many_at_once_with_one_key_ask_once(views: Views) -> None:
    found: list[list[int]] = []
    barrier = threading.Barrier(8)

    def ask() -> None:
        barrier.wait(WAIT_S)
        found.append(views.ask_all([PAUSE, RESUME], BOT))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(WAIT_S)
    assert len(found) == 8
    assert all(each == found[0] for each in found)
    assert len(views.operations(100)) == 2


def test_a_decision_about_many_things_is_taken_whole_or_refused_whole(views: Views) -> None:
    many = [OperationRequest(OperationKind.CONFIRM, {"path": f"/{each}"}) for each in range(MAX_PENDING + 7)]
    numbers = views.ask_all([PAUSE, *many], BOT)
    assert len(numbers) == MAX_PENDING + 8
    with pytest.raises(OperationsFull):
        views.ask_all([PAUSE, many[0]], asked(key=None))
    assert views.pending_numbers() == numbers
    assert views.ask_all([PAUSE, *many], BOT) == numbers, "what is repeated with its key has been asked"


def test_attempts_that_were_refused_are_kept_and_bounded(views: Views, state: SqlState) -> None:
    number = views.ask_all([PAUSE], BOT)[0]
    for each in range(MAX_REFUSED + 7):
        attempt = Asked(by="", reason="", origin=f"192.0.2.{each}", credential="")
        views.note_refused("request", {"route": "/api/v1/pause"}, attempt, code="unauthorized", answer="no token")
    refused = views.operations(2 * MAX_REFUSED, state=OperationState.REFUSED)
    assert len(refused) == MAX_REFUSED
    assert refused[-1].origin == f"192.0.2.{MAX_REFUSED + 6}", "the latest are kept"
    assert (refused[0].code, refused[0].answer, refused[0].finished_at_ms) == ("unauthorized", "no token", 1_000_000)
    with state.transaction() as tx:
        assert [each.id for each in tx.pending_operations(10)] == [number], "nothing of it is asked of the daemon"


def test_the_trail_outlives_the_journal_and_ends_too(views: Views, state: SqlState) -> None:
    numbers = views.ask_all([PAUSE, RESUME, PAUSE], BOT)
    with state.transaction() as tx:
        for number, at, how in zip(numbers, (100, 200), (OperationState.DONE, OperationState.FAILED), strict=False):
            tx.finish_operation(number, how, "", "", Millis(at))
    views.note_refused("request", {}, BOT, code="forbidden", answer="")
    for audit_before, left in itertools.zip_longest((100, 101, 201, 1_000_001), (4, 3, 2, 1)):
        with state.transaction() as tx:
            tx.prune(Millis(2_000_000), 10, Millis(audit_before))
        assert len(views.operations(10)) == left
    assert [each.id for each in views.operations(10)] == numbers[2:], "what waits is not over"


@pytest.mark.parametrize("older", [False, True])
def test_the_oldest_of_a_kind_are_found_by_the_index_alone(tmp_path: Path, older: bool) -> None:
    file = tmp_path / "state.db"
    url = f"sqlite:///{file}"
    with closing(SqlState.open(url, EAST)):
        pass
    if older:
        with closing(sqlite3.connect(file)) as database:
            take_back(database, "0023")
            database.commit()
    with closing(SqlState.open(url, EAST)) as state:
        state.activate()
    with closing(sqlite3.connect(file)) as database:
        query = "SELECT * FROM operations WHERE state = 'pending' AND kind IN ('pause') ORDER BY id LIMIT 9"
        plan = [row[-1] for row in database.execute(f"EXPLAIN QUERY PLAN {query}")]
    assert plan == ["SEARCH operations USING INDEX operations_kind (state=? AND kind=?)"]
