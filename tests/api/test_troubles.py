"""Requests in bad times: the database is locked, gone, full, or rebuilt; nobody is active; a clock has gone back."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, event

from api.admission import Admission
from api.app import create_app
from syncer.access.exposure import Exposure
from syncer.access.gate import Gate, RightsReader
from syncer.model import Millis
from syncer.replication.driver import Driver
from syncer.replication.recovery.progress import Phase, Rebuild
from syncer.state.contract.operations import OperationState
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.api.conftest import Inside, Region, made_tokens
from tests.api.routes_table import API, HELD, ROUTES, WHY
from tests.api.test_app import Daemon
from tests.property.strategies import NOW
from tests.support.region_database import REMOTE, driver_of
from tests.unit.registers import HERE

HOLD: Final = f"{API}/holds/{HELD}"
CONFIRM: Final = {**WHY, "decision": "confirm"}
WAIT: Final = {"Prefer": "wait=30"}
SHORT_S: Final = 0.2
DAY_MS: Final = 86_400_000


def refused(answer: Any, status: int, code: str, folder: Path) -> None:
    """An answer is that problem, and names nothing of the host."""
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert ("retry-after" in answer.headers) == (status == 503)
    assert str(folder) not in answer.text
    assert "Traceback" not in answer.text


@contextmanager
def other_views(region: Region, folder: Path, **options: Any) -> Iterator[Views]:
    """The region is looked into by these."""
    before = region.inside.views
    with closing(Views.open(f"sqlite:///{folder / 'state.db'}", HERE, **options)) as views:
        region.inside.views = views
        try:
            yield views
        finally:
            region.inside.views = before


@pytest.mark.parametrize("verb", ["forget", "forget-by-force", "admit"])
def test_an_unknown_region_is_not_found_and_nothing_is_done(
    verb: str, region: Region, daemon: Driver, views: Views
) -> None:
    del daemon
    before = views.membership()
    answer = region.ask("POST", f"{API}/regions/nowhere/{verb}", json=WHY, headers=WAIT)
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found"), answer.text
    (row,) = views.operations(10)
    assert (row.state, row.code, row.asked_by, row.reason) == (
        OperationState.FAILED,
        "not-found",
        "admin-values",
        "TICKET-7",
    )
    assert views.membership() == before
    assert region.ask("GET", f"{API}/conflicts-of/nowhere").status_code == 404


def test_a_locked_database_takes_no_change_and_shows_what_it_has(region: Region, views: Views, tmp_path: Path) -> None:
    said = {"Idempotency-Key": "one"}
    with (
        other_views(region, tmp_path, busy_timeout_s=SHORT_S),
        closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        refused(region.ask("POST", f"{API}/pause", json=WHY, headers=said), 503, "state-unavailable", tmp_path)
        assert region.get(f"{API}/holds").json()["items"]
        other.execute("ROLLBACK")
        assert views.operations(10) == []
        assert region.ask("POST", f"{API}/pause", json=WHY, headers=said).status_code == 202
    assert len(views.operations(10)) == 1


def test_a_database_that_is_gone_is_told_by_every_route_and_comes_back(
    region: Region, views: Views, tmp_path: Path
) -> None:
    views.close()  # what is open holds the file as it was
    file, away = tmp_path / "state.db", tmp_path / "away.db"
    shutil.move(file, away)
    apart = {f"{API}/status", f"{API}/configuration", f"{API}/version"}
    for row in ROUTES:
        # a stream says it by an event; a plan is read before the database is; a cluster is looked at without it
        if (
            row.template not in apart
            and not row.template.startswith(f"{API}/clusters/")
            and row.asked == row.method
            and row.good != 422
        ):
            answer = region.ask(row.method, row.example, json=row.body, headers={"If-Match": '"seen"'})
            refused(answer, 503, "state-unavailable", tmp_path)
            assert answer.json()["detail"] == "the sidecar database cannot be used now; the daemon's log says why"
    assert not file.exists(), "nobody makes a new one"
    shutil.move(away, file)
    assert views.operations(10) == []
    assert region.ask("POST", f"{API}/pause", json=WHY).status_code == 202


def test_a_database_that_was_never_made_is_no_path_of_the_host(region: Region, tmp_path: Path) -> None:
    class Opening(Inside):
        """One that opens its database anew, as the daemon does after a trouble."""

        async def look(self, question: Any) -> Any:
            with closing(Views.open(f"sqlite:///{tmp_path / 'never.db'}", HERE)) as views:
                return question(views)

    app = create_app(Daemon(), inside=Opening(region.inside.config, region.inside.views), admitting=_admission(region))
    with TestClient(app) as client:
        refused(client.get(f"{API}/holds", headers=_bearer(region)), 503, "state-missing", tmp_path)


def _admission(region: Region) -> Admission:
    found: Admission = region.client.app.state.admission  # type: ignore[attr-defined]  # of the region's own application
    return found


def _bearer(region: Region) -> dict[str, str]:
    return {"Authorization": f"Bearer {region.tokens['admin']}"}


@contextmanager
def full_disk() -> Iterator[None]:
    """SQLite gets no page more, as on a full disk, by whoever opens a database here."""

    def bound(connection: Any, _record: Any) -> None:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(Engine, "connect", bound)
    try:
        yield
    finally:
        event.remove(Engine, "connect", bound)


def test_a_full_disk_takes_no_part_of_a_change(region: Region, views: Views, tmp_path: Path) -> None:
    asked = 0
    long = {"reason": "x" * 2_000}
    with full_disk(), other_views(region, tmp_path):
        while (answer := region.ask("POST", f"{API}/pause", json=long)).status_code == 202:
            asked += 1
            assert asked < 200, "there is an end"
        refused(answer, 503, "state-unavailable", tmp_path)
        refused(
            region.ask("POST", f"{API}/pause", json=long, headers={"Idempotency-Key": "one"}),
            503,
            "state-unavailable",
            tmp_path,
        )
        assert region.get(f"{API}/holds").json()["items"], "what is there is shown"
    assert len(views.operations(1_000)) == asked, "each that was answered 202 is kept, and nothing else"
    assert region.ask("POST", f"{API}/pause", json=long, headers={"Idempotency-Key": "one"}).status_code == 202
    assert len(views.operations(1_000)) == asked + 1


# -- of the daemon


def test_while_nobody_is_active_it_is_taken_and_waits(region: Region, state: SqlState) -> None:
    headers = {"If-Match": region.get(HOLD).headers["etag"], "Idempotency-Key": "one"}
    waited = region.ask("POST", HOLD, json=CONFIRM, headers={**headers, "Prefer": "wait=1"})
    assert (waited.status_code, waited.json()["items"][0]["state"]) == (202, "pending")
    assert region.get(HOLD).json()["path"] == REMOTE, "nothing is decided yet"
    driver_of(state).operate(Millis(NOW))
    assert region.get(waited.headers["location"]).json()["state"] == "done"
    assert region.ask("POST", HOLD, json=CONFIRM, headers=headers).status_code == 200, "the repeat is told so"


def test_while_it_is_paused_decisions_are_made_and_their_writes_wait(
    region: Region, daemon: Driver, views: Views
) -> None:
    del daemon
    assert region.ask("POST", f"{API}/pause", json=WHY, headers=WAIT).status_code == 200
    headers = {"If-Match": region.get(HOLD).headers["etag"], **WAIT}
    assert region.ask("POST", HOLD, json=CONFIRM, headers=headers).status_code == 200
    register = views.register(REMOTE)
    assert register is not None
    assert (register.hold, register.due) == (None, True)
    assert region.ask("POST", f"{API}/resume", json=WHY, headers=WAIT).status_code == 200


def test_while_a_lost_database_is_rebuilt_nothing_is_decided(region: Region, state: SqlState, views: Views) -> None:
    with state.transaction() as tx:
        kept = Rebuild(phase=Phase.HEARING, reason="it was lost")
        tx.set_identity(rebuild=kept.encode())
    headers = {"If-Match": region.get(HOLD).headers["etag"], "Idempotency-Key": "one"}
    assert region.ask("POST", HOLD, json=CONFIRM, headers=headers).status_code == 202
    driver_of(state).operate(Millis(NOW))
    answer = region.ask("POST", HOLD, json=CONFIRM, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition-failed"), answer.text
    assert "rebuilt" in answer.json()["detail"]
    assert answer.json()["now"]["path"] == REMOTE, "it is held still"
    (row,) = views.operations(10)
    assert row.state is OperationState.FAILED


# -- clocks that go back


def test_a_clock_that_goes_back_makes_no_key_new_and_none_eternal(region: Region, views: Views, tmp_path: Path) -> None:
    times = [Millis(NOW)]
    said = {"Idempotency-Key": "one"}
    with other_views(region, tmp_path, clock=lambda: times[-1]):
        first = region.ask("POST", f"{API}/pause", json=WHY, headers=said).json()
        times.append(Millis(NOW - 2 * DAY_MS))
        assert region.ask("POST", f"{API}/pause", json=WHY, headers=said).json() == first
        other = region.ask("POST", f"{API}/resume", json=WHY, headers=said)
        assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")
        times.append(Millis(NOW + DAY_MS + 1))
        assert region.ask("POST", f"{API}/resume", json=WHY, headers=said).status_code == 202
    assert [each.kind for each in views.operations(10)] == ["pause", "resume"]


def test_a_token_ends_by_the_clock_as_it_is(region: Region, views: Views, tmp_path: Path) -> None:
    """The daemon keeps no clock of its own: one that was set back lets in again whom its present has not ended yet."""
    known, now = made_tokens(tmp_path), [datetime.now(UTC)]
    gate = Gate(RightsReader(tmp_path / "tokens.json"))
    admission = Admission(gate=gate, exposure=Exposure(), clock=lambda: now[-1])
    app = create_app(Daemon(), inside=Inside(region.inside.config, views), admitting=admission)
    with TestClient(app) as client:
        headers = {"Authorization": f"Bearer {known['expired']}"}
        refused(client.get(f"{API}/holds", headers=headers), 401, "unauthorized", tmp_path)
        now.append(now[0] - timedelta(days=1, hours=12))
        assert client.get(f"{API}/holds", headers=headers).status_code == 200
        assert client.get(f"{API}/holds", headers={"Authorization": f"Bearer {known['admin']}"}).status_code == 200


def test_waiting_ends_in_time_whatever_the_clock_says(region: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    wall = itertools.count(NOW / 1000, -3_600)
    monkeypatch.setattr("time.time", lambda: next(wall))
    answer = region.ask("POST", f"{API}/pause", json=WHY, headers={"Prefer": "wait=1"})
    assert answer.status_code == 202
