"""The HTTP surface: health, metrics by content negotiation, status, errors as problems, a committed contract."""

from __future__ import annotations

import http
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import structlog
from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from api.app import create_app
from api.probe import Dependency
from api.problems import AWAY
from api.routes.health import STALLED_AFTER_S
from syncer.dispositions import DISPOSITIONS
from syncer.documents.status import NOT_CARRIED, Outbox, StatusDocument, Waiting
from syncer.errors import StateError, StateUnavailable, SyncerError
from syncer.metrics import WATCH_GAPS, Metrics

STATUS = StatusDocument(
    region="east",
    daemon="running",
    mode="active",
    reported_at_ms=1_700_000_000_000,
    reported_age_s=0.5,
    paused=None,
    baseline_done=True,
    watch_whole=True,
    epoch=1,
    fence=1,
    paths=3,
    outbox=Outbox(depth=0, oldest_age_s=None),
    waiting=Waiting(due=0, holds=0, future_events=0, parked=0, conflicts=0, quarantine=0, operations=0),
    daemons=[],
    peers=[],
    conditions=[],
    not_carried=list(NOT_CARRIED),
)


@dataclass
class Daemon:
    """A daemon in a state of the test's choice."""

    age_s: float = 0.1
    needs: list[Dependency] = field(default_factory=lambda: [Dependency(name="store", ok=True)])
    failure: Exception | None = None
    metrics: Metrics = field(default_factory=lambda: Metrics(version="1", started_s=0))

    @property
    def registry(self) -> CollectorRegistry:
        return self.metrics.registry

    def heartbeat_age_s(self) -> float:
        return self.age_s

    def dependencies(self) -> Sequence[Dependency]:
        return self.needs

    async def status(self) -> Mapping[str, object]:
        if self.failure is not None:
            raise self.failure
        return STATUS.model_dump()


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


@pytest.fixture
def app(daemon: Daemon) -> FastAPI:
    return create_app(daemon)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def test_alive_while_the_loop_turns_whatever_is_missing(daemon: Daemon, client: TestClient) -> None:
    daemon.needs = [Dependency(name="store", ok=False, cause="no connection")]
    answer = client.get("/livez")
    assert (answer.status_code, answer.json()) == (200, {"alive": True, "heartbeat_age_s": 0.1})
    assert answer.headers["cache-control"] == "no-store"


def test_a_hanging_loop_is_not_alive(daemon: Daemon, client: TestClient) -> None:
    daemon.age_s = STALLED_AFTER_S
    answer = client.get("/livez")
    assert (answer.status_code, answer.json()["alive"]) == (503, False)


def test_ready_lists_what_is_missing_and_everything_when_asked(daemon: Daemon, client: TestClient) -> None:
    assert client.get("/readyz").json() == {"ready": True, "dependencies": []}
    daemon.needs.append(Dependency(name="bus", ok=False, cause="no connection to broker:6650"))
    answer = client.get("/readyz")
    missing = {"name": "bus", "ok": False, "cause": "no connection to broker:6650"}
    assert answer.status_code == 503
    assert answer.json() == {"ready": False, "dependencies": [missing]}
    answer = client.get("/readyz?verbose")
    assert answer.json()["dependencies"] == [{"name": "store", "ok": True, "cause": ""}, missing]


def test_metrics_are_openmetrics_for_who_takes_it(daemon: Daemon, client: TestClient) -> None:
    daemon.metrics.add(WATCH_GAPS, 3)
    plain = client.get("/metrics", headers={"Accept": "*/*"})
    assert plain.headers["content-type"].startswith("text/plain; version=")
    families = {family.name: family for family in text_string_to_metric_families(plain.text)}
    assert families["syncer_watch_gaps"].samples[0].value == 3
    open_metrics = client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert open_metrics.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert open_metrics.text.endswith("# EOF\n")


def test_the_status_is_what_the_command_line_prints(client: TestClient) -> None:
    answer = client.get("/api/v1/status")
    assert answer.status_code == 200
    assert StatusDocument.model_validate(answer.json()) == STATUS


@pytest.mark.parametrize("cls", list(DISPOSITIONS), ids=lambda cls: cls.__name__)
def test_each_error_is_a_problem_with_its_own_status(
    cls: type[SyncerError], daemon: Daemon, client: TestClient
) -> None:
    daemon.failure = cls("the thing at the place")
    answer = client.get("/api/v1/status")
    status = DISPOSITIONS[cls].http_status
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": f"urn:pulsar-syncer:error:{cls.code}",
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": AWAY if issubclass(cls, StateError) else "the thing at the place",
        "instance": "/api/v1/status",
        "code": cls.code,
        "hint": cls.default_hint,
    }
    assert ("retry-after" in answer.headers) == (status in {429, 503})
    assert answer.headers.get("www-authenticate") == ("Bearer" if status == 401 else None)


def test_a_bug_says_nothing_of_the_inside(daemon: Daemon, client: TestClient) -> None:
    daemon.failure = RuntimeError("s3cret inside")
    with structlog.testing.capture_logs() as logs:
        answer = client.get("/api/v1/status")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal-error")
    assert "s3cret" not in answer.text
    assert [entry["event"] for entry in logs] == ["request_broke"]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [("GET", "/nothing-here", 404, "not-found"), ("POST", "/livez", 405, "method-not-allowed")],
)
def test_errors_of_http_itself_are_problems_too(
    method: str, path: str, status: int, code: str, client: TestClient
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == code
    assert answer.headers["cache-control"] == "no-store"
    if status == 405:
        assert answer.headers["allow"] == "GET, HEAD, OPTIONS"


ROUTES = ["/livez", "/readyz", "/metrics", "/api/v1/status", "/openapi.json"]


@pytest.mark.parametrize("path", ROUTES)
def test_head_is_get_without_the_body(path: str, client: TestClient) -> None:
    got, asked = client.get(path), client.head(path)
    assert asked.status_code == got.status_code == 200
    assert asked.content == b""
    length, exact = "content-length", path != "/metrics"  # the CPU time of the process has changed meanwhile
    assert asked.headers[length] == got.headers[length] if exact else int(asked.headers[length]) > 0
    assert asked.headers["content-type"] == got.headers["content-type"]


def test_head_tells_by_its_status_what_get_tells(daemon: Daemon, client: TestClient) -> None:
    daemon.needs, daemon.age_s = [Dependency(name="bus", ok=False, cause="gone")], STALLED_AFTER_S
    assert (client.head("/livez").status_code, client.head("/readyz").status_code) == (503, 503)
    assert client.head("/nothing-here").status_code == 404
    assert client.head("/nothing-here").content == b""


@pytest.mark.parametrize("path", ROUTES)
def test_options_says_what_may_be_asked(path: str, client: TestClient) -> None:
    answer = client.options(path)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
    assert client.options("/nothing-here").status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", ROUTES)
def test_any_other_method_is_refused_with_those_that_are_allowed(method: str, path: str, client: TestClient) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


def test_answers_of_now_are_not_kept_and_static_ones_shortly(daemon: Daemon, client: TestClient) -> None:
    for path in ROUTES:
        kept = "public, max-age=300" if path == "/openapi.json" else "no-store"
        assert client.get(path).headers["cache-control"] == client.head(path).headers["cache-control"] == kept
    daemon.failure = StateUnavailable("locked")
    assert client.get("/api/v1/status").headers["cache-control"] == "no-store"
    daemon.failure = RuntimeError("a bug")
    assert client.get("/api/v1/status").headers["cache-control"] == "no-store"


def test_a_failure_leaves_one_line_in_the_log(daemon: Daemon, client: TestClient) -> None:
    daemon.failure = StateUnavailable("locked")
    with structlog.testing.capture_logs() as logs:
        client.get("/api/v1/status")
    (line,) = logs
    assert line == {
        "event": "request_failed",
        "log_level": DISPOSITIONS[StateUnavailable].log_level,
        "path": "/api/v1/status",
        "code": "state-unavailable",
        "cause": "locked",
    }


def test_every_answer_is_described(app: FastAPI, client: TestClient) -> None:
    described: dict[str, Any] = client.get("/openapi.json").json()
    assert set(described["paths"]) == {"/livez", "/readyz", "/metrics", "/api/v1/status"}
    for path in described["paths"].values():
        for operation in path.values():
            assert operation["description"]
