"""Secrets that are planted, and searched for: token, value and password, in logs, rows, export and every refusal."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
import structlog
from fastapi.testclient import TestClient

from api.app import create_app
from syncer.attempts import AttemptTrail
from syncer.conflict.acts import RecordConflict
from syncer.model import Millis
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.stores.sqlite.writer import OutsideWriter
from syncer.waiting import until
from tests.api.conftest import Inside, Region
from tests.api.routes_table import API, HELD, ROUTES, WHY
from tests.api.test_app import Daemon
from tests.property.strategies import NOW
from tests.support.region_database import QUIET, Run, good
from tests.unit.registers import THERE, at, version

MARK: Final = "hunter2-planted"
VALUE: Final = json.dumps({"adminRoles": [MARK], "allowedClusters": ["here"]}).encode()
PASSWORD: Final = "hunter2-password"
CALLERS: Final = ("nobody", "wrong", "expired", "read", "operate", "admin", "read-values", "admin-values")


@pytest.fixture
def planted(region: Region, state: SqlState, tmp_path: Path) -> Region:
    """The region with a value that nobody may see without a right of their own."""
    lost, won = at(-8_500), at(-7_500, THERE)
    with state.transaction() as tx:
        conflict = RecordConflict(
            path=QUIET,
            loser=lost,
            loser_seen={version(VALUE, lost).by: lost.updated_at_ms},
            loser_digest=version(VALUE, lost).digest,
            value=VALUE,
            winner=won,
        )
        tx.conflict(conflict, Millis(NOW))
        letter = DeadLetter(
            origin="bus", code="value-invalid", detail="no JSON", position="8", path=QUIET, payload=VALUE
        )
        tx.quarantine(letter, Millis(NOW))
    with closing(OutsideWriter(tmp_path / "s.db")) as writer:
        writer.put(QUIET, VALUE)
    return region


def forms(secret: str) -> tuple[str, ...]:
    """As it may be written."""
    raw = secret.encode()
    return (secret, base64.b64encode(raw).decode().rstrip("=")[:-1], raw.hex())


def secrets(region: Region) -> list[str]:
    tokens = [text.split("_", 2)[2] for text in region.tokens.values()]
    return [form for secret in (*tokens, PASSWORD) for form in forms(secret)]


def careless(region: Region) -> Iterator[Any]:
    """Requests with a secret where none belongs."""
    token = region.tokens["admin"]
    hold, ask = f"{API}/holds/{HELD}", region.ask
    yield ask("GET", f"{API}/holds", params={"token": token})
    yield ask("GET", f"{API}/holds", params={"limit": token})
    yield ask("GET", f"{API}/holds", params={"reason": token})
    for header in (f"Basic {token}", f"Bearer {token} {token}", f"Bearer {token[:-1]}", token):
        yield ask("GET", f"{API}/holds", "nobody", headers={"Authorization": header})
    yield ask("GET", f"{API}/holds", "nobody", headers={"Cookie": f"token={token}", "X-Api-Key": token})
    for name in ("If-Match", "Idempotency-Key", "Prefer"):
        yield ask("POST", hold, json={**WHY, "decision": "confirm"}, headers={name: f'"{token} {MARK} {PASSWORD}"'})
    for body in (
        {**WHY, "token": token},
        {**WHY, "decision": token},
        {"reason": [token]},
        {"reason": "", "value": MARK},
    ):
        yield ask("POST", hold, json=body, headers={"If-Match": '"x"'})
    yield ask("POST", hold, content=f'{{"reason": "{token} {MARK}', headers={"Content-Type": "application/json"})


async def kept(region: Region, views: Views) -> None:
    """Have the refused attempts written as the daemon does."""
    trail = AttemptTrail(lambda: views)
    before = views.latest_operation()
    for attempt in region.told[:90]:
        trail.keep(attempt)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(trail.run)
        await until(lambda: views.latest_operation() >= before + len(region.told[:90]), "all of them are written")
        tasks.cancel_scope.cancel()


def test_no_planted_secret_is_found_anywhere(planted: Region, run: Run, views: Views) -> None:
    answers: list[tuple[str, Any]] = []
    with structlog.testing.capture_logs() as logged:
        for row in ROUTES:
            answers += [(each, planted.ask(row.asked, row.example, each, json=row.body)) for each in CALLERS]
        for number in (1, 2):
            answers += [(caller, planted.ask("GET", f"{API}/conflicts/{number}", caller)) for caller in CALLERS]
            answers += [(caller, planted.ask("GET", f"{API}/quarantine/{number}", caller)) for caller in CALLERS]
        answers += [("nobody", each) for each in careless(planted)]
        anyio.run(kept, planted, views)
        exported = good(run("operations", "export"))
        listed = good(run("operations", "list", "-o", "json", "--limit", "1000"))
    problems = [each for _, each in answers if each.status_code >= 400]
    hidden = [each for caller, each in answers if not caller.endswith("-values")]
    rows = views.operations(1_000)
    assert len(problems) > 100
    assert {"pending", "refused"} == {each.state for each in rows}
    assert len(logged) > 100
    assert exported.count("\n") >= len(rows)
    everywhere = [*map(str, logged), *map(repr, rows), exported, listed, *map(str, planted.told)]
    everywhere += [f"{each.text} {each.headers}" for each in problems]
    for secret in secrets(planted):
        assert not [each[:300] for each in everywhere if secret in each], secret
        assert not [each.url for _, each in answers if secret in each.text]
    for form in forms(MARK):
        assert not [each[:300] for each in everywhere if form in each]
        assert not [each.url for each in hidden if form in each.text]
    assert [caller for caller, each in answers if MARK in each.text], "who has the right does see it"


def test_the_password_of_a_database_that_is_away_is_not_told(region: Region) -> None:
    class Away(Inside):
        """One whose database is on a server that is not there."""

        async def look(self, question: Any) -> Any:
            with closing(Views.open(f"postgresql://syncer:{PASSWORD}@127.0.0.1:1/syncer", busy_timeout_s=1.0)) as views:
                return question(views)

    admission = region.client.app.state.admission  # type: ignore[attr-defined]  # of the region's own application
    app = create_app(Daemon(), inside=Away(region.inside.config, region.inside.views), admitting=admission)
    with TestClient(app) as client, structlog.testing.capture_logs() as logged:
        answer = client.get(f"{API}/holds", headers={"Authorization": f"Bearer {region.tokens['read']}"})
    assert (answer.status_code, answer.json()["code"]) == (503, "state-unavailable")
    assert logged, "the log says why"
    assert PASSWORD not in f"{logged} {answer.text} {answer.headers}"
    assert "127.0.0.1" not in answer.text
