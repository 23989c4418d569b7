"""Admission: who may ask what, under every exposure; what the trail is told; hosts and bodies that are refused."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import pytest
import structlog
from fastapi import Body, Depends, FastAPI
from fastapi.testclient import TestClient

from api.admission import ANYBODY, Admission, RefusedAttempt, needs
from api.app import create_app, create_probes_app
from api.bodies import MAX_BODY_BYTES
from api.hosts import AcceptedHosts
from syncer.access import token_file, tokens
from syncer.access.exposure import Exposure
from syncer.access.failures import BURST
from syncer.access.gate import Gate, RightsReader
from syncer.access.roles import AccessRole, Caller
from syncer.access.tokens import ID_BYTES, SECRET_BYTES
from syncer.metrics import HTTP_REFUSED
from tests.api.test_app import Daemon

PROBES: Final = ("/livez", "/readyz", "/metrics")
STATUS: Final = "/api/v1/status"
GUARDED: Final = Exposure()
LOOPBACK: Final = Exposure(probes_open=True)


def token(path: Path, role: AccessRole = AccessRole.READ, *, values: bool = False) -> str:
    """Make a token of a role, named like it."""
    with token_file.changing(path) as change:
        rights, made = tokens.made(
            change.rights,
            os.urandom(ID_BYTES + SECRET_BYTES),
            name=f"{role}-values" if values else role,
            role=role,
            values=values,
            expires=None,
            now=datetime.now(UTC),
        )
        change.write(rights)
    return made.text


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


@pytest.fixture
def told() -> list[RefusedAttempt]:
    return []


Serve = Callable[[Exposure], TestClient]


@pytest.fixture
def serve(path: Path, told: list[RefusedAttempt]) -> Iterator[Serve]:
    def serve(exposure: Exposure) -> TestClient:
        gate = Gate(RightsReader(path))
        app = create_app(Daemon(), admitting=Admission(gate=gate, exposure=exposure, refused=told.append))
        add_routes(app)
        return TestClient(app, raise_server_exceptions=False, client=("192.0.2.1", 1))

    with structlog.testing.capture_logs():
        yield serve


def add_routes(app: FastAPI) -> None:
    """Routes as others write them."""

    @app.post("/api/v1/holds/{number}/release")
    async def release(number: int, caller: Annotated[Caller, Depends(needs(AccessRole.OPERATE))]) -> dict[str, Any]:
        return {"number": number, "by": caller.credential, "from": caller.origin}

    @app.get("/api/v1/values", dependencies=[Depends(needs(AccessRole.READ, values=True))])
    async def values() -> str:
        return "values"

    @app.post("/api/v1/echo")
    async def echo(body: Annotated[Any, Body()]) -> int:
        return len(body)


def test_a_route_gets_its_caller(serve: Serve, path: Path) -> None:
    answer = serve(GUARDED).post("/api/v1/holds/7/release", headers=bearer(token(path, AccessRole.ADMIN)))
    assert answer.json() == {"number": 7, "by": "token:admin", "from": "192.0.2.1"}


def test_a_role_that_is_too_small_is_told_which_one_is_needed_and_so_is_the_trail(
    serve: Serve, path: Path, told: list[RefusedAttempt]
) -> None:
    answer = serve(GUARDED).post("/api/v1/holds/7/release", headers=bearer(token(path)))
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert "'operate'" in answer.json()["detail"]
    attempt = {"method": "POST", "route": "/api/v1/holds/{number}/release", "address": "192.0.2.1"}
    assert told == [RefusedAttempt(**attempt, credential="token:read", code="forbidden")]


def test_values_are_a_right_of_their_own(serve: Serve, path: Path) -> None:
    client = serve(GUARDED)
    answer = client.get("/api/v1/values", headers=bearer(token(path, AccessRole.ADMIN)))
    assert (answer.status_code, "--values" in answer.json()["hint"]) == (403, True)
    assert serve(GUARDED).get("/api/v1/values", headers=bearer(token(path, values=True))).status_code == 200


def test_who_has_no_credential_learns_how_to_get_one_and_nothing_else(
    serve: Serve, path: Path, told: list[RefusedAttempt]
) -> None:
    text = token(path)
    wrong = text[:-3] + ("AAA" if not text.endswith("AAA") else "BBB")
    client = serve(GUARDED)
    answers = [client.get(STATUS, headers=bearer(each)) for each in ("x", wrong)] + [client.get(STATUS)]
    assert {each.status_code for each in answers} == {401}
    assert {each.headers["www-authenticate"] for each in answers} == {"Bearer"}
    assert answers[0].json() == answers[1].json(), "an id that is known is not told from one that is not"
    assert not any(wrong in each.text for each in answers)
    assert [(each.route, each.credential, each.code) for each in told] == [(STATUS, "", "unauthorized")] * 3


def test_without_tokens_only_probes_and_status_are_open() -> None:
    app = create_app(Daemon())
    add_routes(app)
    client = TestClient(app)
    assert {client.get(each).status_code for each in (*PROBES, STATUS, "/openapi.json")} == {200}
    answer = client.post("/api/v1/holds/7/release")
    assert (answer.status_code, "syncer api token create" in answer.json()["hint"]) == (401, True)


@pytest.mark.parametrize(
    ("exposure", "is_open"),
    [
        (GUARDED, {"/livez", "/openapi.json"}),
        (LOOPBACK, {*PROBES, "/openapi.json"}),
        (Exposure(probes_open=True, status_open=True), {*PROBES, STATUS, "/openapi.json"}),
    ],
)
def test_what_is_open_to_everybody(exposure: Exposure, is_open: set[str], serve: Serve, path: Path) -> None:
    text, client = token(path), serve(exposure)
    for each in (*PROBES, STATUS, "/openapi.json"):
        assert client.get(each).status_code == (200 if each in is_open else 401), each
        assert client.get(each, headers=bearer(text)).status_code == 200


def test_failures_beyond_the_allowance_are_told_nobody(serve: Serve, path: Path, told: list[RefusedAttempt]) -> None:
    text, client = token(path), serve(GUARDED)
    answers = [client.get(STATUS, headers=bearer("x")) for _ in range(BURST + 5)]
    assert [each.status_code for each in answers] == [401] * BURST + [429] * 5
    assert 0 < int(answers[-1].headers["retry-after"]) <= 6
    assert len(told) == BURST
    assert client.get(STATUS, headers=bearer(text)).status_code == 200
    assert client.post("/api/v1/holds/7/release", headers=bearer(text)).status_code == 403
    app: Any = client.app
    counted = app.state.admission.refusals
    assert counted == {"unauthorized": BURST, "too-many-failures": 5, "forbidden": 1}
    assert counted.keys() == set(HTTP_REFUSED.values or ()), "each is a value of the metric"


def test_a_file_that_cannot_be_used_is_an_error_of_ours_and_not_of_who_asks(serve: Serve, path: Path) -> None:
    text = token(path)
    path.write_bytes(b"nonsense")
    answer = serve(GUARDED).get(STATUS, headers=bearer(text))
    assert (answer.status_code, answer.json()["code"]) == (503, "api-rights-unreadable")
    assert str(path) not in answer.text


def test_probes_alone_have_nothing_else() -> None:
    client = TestClient(create_probes_app(Daemon()))
    for each in PROBES:
        assert client.get(each, headers={"Host": "any.example"}).status_code == 200
    for each in (STATUS, "/openapi.json", "/docs"):
        answer = client.get(each)
        assert (answer.status_code, "api.listen" in answer.json()["hint"]) == (404, True)


def test_no_other_origin_is_given_leave_and_no_cookie_is_set(serve: Serve, path: Path) -> None:
    client = serve(LOOPBACK)
    for method in ("GET", "OPTIONS"):
        answer = client.request(
            method, "/livez", headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
        )
        assert not [name for name in answer.headers if name.startswith("access-control") or name == "set-cookie"]


HERE: Final = ["localhost", "LOCALHOST:8950", "localhost.:80", "127.0.0.1", "127.0.0.1:8950", "[::1]:8950", "[::1]"]
NOWHERE: Final = ["", "[", "[::1", "::1", "a b", "a@localhost", "http://localhost", "localhost:x", ".", "[evil]"]


@pytest.mark.parametrize(
    ("hosts", "taken", "refused"),
    [
        (AcceptedHosts(listens="127.0.0.1"), HERE, ["evil.example", "192.0.2.1", "127.0.0.1.evil.example", *NOWHERE]),
        (AcceptedHosts(listens="::1", names=("a.example",)), [*HERE, "A.example.:1"], ["b.example", *NOWHERE]),
        (AcceptedHosts(listens="0.0.0.0"), [*HERE, "192.0.2.1", "[2001:db8::1]:1", "any.example"], NOWHERE),
        (AcceptedHosts(listens="S.example", names=("a.example",)), [*HERE, "s.example:1"], ["b.example", *NOWHERE]),
        (AcceptedHosts(listens="::", names=("a.example",)), [*HERE, "192.0.2.1", "a.example"], ["b.example", *NOWHERE]),
    ],
)
def test_hosts_that_are_taken(hosts: AcceptedHosts, taken: list[str], refused: list[str]) -> None:
    assert [each for each in taken if not hosts.takes(each)] == []
    assert [each for each in refused if hosts.takes(each)] == []


def test_a_request_for_another_host_is_a_problem() -> None:
    client = TestClient(create_app(Daemon(), hosts=AcceptedHosts(listens="127.0.0.1")), base_url="http://localhost")
    assert client.get("/livez").status_code == 200
    for path in ("/livez", STATUS, "/nothing"):
        answer = client.get(path, headers={"Host": "evil.example"})
        assert (answer.status_code, answer.json()["code"]) == (421, "host-unknown")
        assert "evil.example" not in answer.text


def test_a_body_that_is_too_large_is_refused_however_it_comes(serve: Serve) -> None:
    client = serve(LOOPBACK)
    fits = b'"' + b"a" * (MAX_BODY_BYTES - 2) + b'"'
    json_type = {"Content-Type": "application/json"}
    assert client.post("/api/v1/echo", content=fits, headers=json_type).json() == MAX_BODY_BYTES - 2

    def parts() -> Iterator[bytes]:
        yield fits
        yield b" "

    for content in (fits + b" ", parts()):
        answer = client.post("/api/v1/echo", content=content, headers=json_type)
        assert (answer.status_code, answer.json()["code"]) == (413, "body-too-large")
        assert answer.headers["connection"] == "close"


def test_a_route_may_take_more() -> None:
    app = create_app(Daemon(), larger_bodies={"/api/v1/echo": 4, "/api": 2})
    add_routes(app)
    client = TestClient(app)
    json_type = {"Content-Type": "application/json"}
    assert client.post("/api/v1/echo", content=b'"ab"', headers=json_type).json() == 2
    assert client.post("/api/v1/echo", content=b'"abc"', headers=json_type).status_code == 413
    assert client.post("/api/v1/other", content=b'"a"', headers=json_type).status_code == 413


def test_no_token_is_in_any_line_of_the_log_or_of_the_trail(path: Path, told: list[RefusedAttempt]) -> None:
    good = token(path)
    app = create_app(
        Daemon(), admitting=Admission(gate=Gate(RightsReader(path)), exposure=GUARDED, refused=told.append)
    )
    add_routes(app)
    client = TestClient(app, raise_server_exceptions=False)
    wrong = good[:-3] + ("AAA" if not good.endswith("AAA") else "BBB")
    with structlog.testing.capture_logs() as logs:
        client.post("/api/v1/holds/7/release", headers=bearer(good))
        client.get(STATUS, headers=bearer(wrong))
        client.get(STATUS, headers={"Authorization": good})
        client.get(f"/api/v1/{good}", headers=bearer(good))
        path.write_text(path.read_text().replace("read", good))
        assert client.get(STATUS, headers=bearer(good)).status_code in {200, 503}
    assert len(logs) >= 3
    text = f"{logs} {told}"
    assert not [each for each in (good, wrong) if each.split("_", 2)[2] in text]


def test_anybody_has_no_right_but_to_read() -> None:
    assert ANYBODY == "anybody"
    assert Admission().exposure == Exposure(probes_open=True, status_open=True)
