"""The gate: tokens before certificates, limits that lock nobody good out, and a file that may change or break."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import structlog

from syncer.access import token_file, tokens
from syncer.access.failures import BURST
from syncer.access.gate import Gate, RightsReader
from syncer.access.roles import AccessRole, Caller
from syncer.access.tokens import ID_BYTES, SECRET_BYTES, ClientEntry
from syncer.errors import RightsUnreadable, TooManyFailures, Unauthorized

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = "192.0.2.1"
SUBJECT = "CN=backup,O=acme"


@dataclass
class World:
    """A gate over a file, and the clock it looks at."""

    path: Path
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self.gate = Gate(RightsReader(self.path, lambda: self.now_s), clock_s=lambda: self.now_s)

    def token(self, name: str = "grafana", expires: datetime | None = None) -> str:
        with token_file.changing(self.path) as change:
            rights, made = tokens.made(
                change.rights,
                os.urandom(ID_BYTES + SECRET_BYTES),
                name=name,
                role=AccessRole.OPERATE,
                values=True,
                expires=expires,
                now=NOW,
            )
            change.write(rights)
        self.now_s += 1
        return made.text

    def admit(self, token: str | None = None, subject: str | None = None, now: datetime = NOW) -> Caller:
        return self.gate.admit(f"Bearer {token}" if token is not None else None, subject, HERE, now)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with structlog.testing.capture_logs():
        yield World(tmp_path / "tokens.json")


def test_a_token_is_a_caller(world: World) -> None:
    text = world.token()
    caller = Caller(name="grafana", role=AccessRole.OPERATE, values=True, credential="token:grafana", origin=HERE)
    assert world.admit(text) == caller
    for header in (f"bearer {text}", f" BEARER   {text} "):
        assert world.gate.admit(header, None, HERE, NOW) == caller


@pytest.mark.parametrize("header", ["", "Bearer", "Basic YTpi", "Bearer x", "Bearer syncer_000000000000_" + "A" * 43])
def test_nobody_else_is(header: str, world: World) -> None:
    world.token()
    with pytest.raises(Unauthorized) as refused:
        world.gate.admit(header, None, HERE, NOW)
    assert refused.value.credential == ""
    with pytest.raises(Unauthorized):
        world.gate.admit(None, None, HERE, NOW)


def test_that_a_token_has_expired_is_said_to_who_has_its_secret_only(world: World) -> None:
    text = world.token(expires=NOW)
    with pytest.raises(Unauthorized, match="has expired") as refused:
        world.admit(text)
    assert refused.value.credential == "token:grafana"
    assert text not in str(refused.value)
    with pytest.raises(Unauthorized, match="not known") as refused:
        world.admit(text[:-2] + ("AA" if not text.endswith("AA") else "BB"))
    assert refused.value.credential == ""
    assert world.admit(text, now=NOW - timedelta(seconds=1)).name == "grafana"


def test_a_certificate_counts_where_no_token_came_and_a_wrong_token_is_not_helped_by_it(world: World) -> None:
    text = world.token()
    with token_file.changing(world.path) as change:
        change.write(
            tokens.allowed(
                change.rights, ClientEntry(name="backup", role=AccessRole.ADMIN, created=NOW, subject=SUBJECT)
            )
        )
    world.now_s += 1
    assert world.admit(subject=SUBJECT).credential == f"mtls:{SUBJECT}"
    assert world.admit(text, SUBJECT).name == "grafana"
    for token, subject in (("wrong", SUBJECT), (None, "CN=other")):
        with pytest.raises(Unauthorized):
            world.admit(token, subject)


def test_who_fails_too_often_is_told_to_wait_and_a_good_token_from_the_same_address_is_taken(world: World) -> None:
    text = world.token()
    for _ in range(BURST):
        with pytest.raises(Unauthorized):
            world.admit("wrong")
    with pytest.raises(TooManyFailures) as refused:
        world.admit("wrong")
    assert 0 < refused.value.retry_after_s <= 6
    assert world.admit(text).name == "grafana"
    with pytest.raises(Unauthorized):
        world.gate.admit(None, None, "192.0.2.2", NOW)


def test_the_file_is_read_again_when_it_is_another_one_and_looked_at_once_a_second(world: World) -> None:
    with pytest.raises(Unauthorized):
        world.admit("none yet")
    text = world.token()
    world.now_s -= 0.5
    with pytest.raises(Unauthorized):
        world.admit(text)
    world.now_s += 0.5
    assert world.admit(text).name == "grafana"
    with token_file.changing(world.path) as change:
        change.write(tokens.revoked(change.rights, "grafana")[0])
    world.now_s += 1
    with pytest.raises(Unauthorized):
        world.admit(text)


def test_a_file_that_breaks_lets_nobody_in_until_it_is_mended(world: World) -> None:
    text = world.token()
    world.admit(text)
    good = world.path.read_bytes()
    world.path.write_bytes(good[:-20])
    world.now_s += 1
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            with pytest.raises(RightsUnreadable) as refused:
                world.admit(text)
            world.now_s += 1
    assert str(world.path) not in str(refused.value), "a stranger is not told where it is"
    assert [entry["event"] for entry in logs] == ["api_rights_unreadable"], "once"
    assert str(world.path) in world.gate.trouble
    world.path.write_bytes(good)
    world.now_s += 1
    assert world.admit(text).name == "grafana"
    assert world.gate.trouble == ""
    world.path.unlink()
    world.now_s += 1
    with pytest.raises(Unauthorized):
        world.admit(text)
