"""A region behind its REST API: its sidecar database has one of everything, and callers of every role have tokens."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from typer.testing import CliRunner, Result

from api.admission import Admission, RefusedAttempt
from api.app import create_app
from api.inquiries import Inquiries
from syncer.access import token_file, tokens
from syncer.access.exposure import Exposure
from syncer.access.gate import Gate, RightsReader
from syncer.access.roles import AccessRole
from syncer.access.tokens import ID_BYTES, SECRET_BYTES
from syncer.cli.main import app
from syncer.config import load
from syncer.config.model import Config
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.stores.sqlite.writer import OutsideWriter
from tests.api.test_app import Daemon
from tests.support.adapters import share_adapters
from tests.support.patience import PICTURE_S
from tests.support.region_database import QUIET, REMOTE, daemon, run, state, template, views
from tests.support.served_api import served
from tests.unit.registers import X

share_adapters()

__all__ = ["daemon", "run", "state", "template", "views"]

Found = TypeVar("Found")


@dataclass
class Inside:
    """The region, looked into without threads of its own."""

    config: Config
    views: Views

    async def look(self, question: Callable[[Views], Found]) -> Found:
        return question(self.views)


_DESCRIBED: Final[dict[str, Any]] = {}


@dataclass
class Region:
    """The region's API, and what its callers send.

    Attributes:
        told: Attempts that were refused.
        inside: What its routes look into.
    """

    client: TestClient
    tokens: dict[str, str]
    told: list[RefusedAttempt]
    inside: Inside

    def described(self) -> dict[str, Any]:
        """Return the paths of the description that it serves; all of these regions serve the same one.

        To write it takes a second, so it is read from the first.
        """
        if not _DESCRIBED:
            _DESCRIBED.update(self.client.get("/openapi.json").json()["paths"])
        return _DESCRIBED

    def ask(self, method: str, path: str, by: str = "admin-values", **options: Any) -> Any:
        """A request with a caller's token; of ``nobody``: without any."""
        headers = {**options.pop("headers", {})}
        if by != "nobody":
            headers["Authorization"] = f"Bearer {self.tokens[by]}"
        return self.client.request(method, path, headers=headers, **options)

    def get(self, path: str, by: str = "admin-values", **options: Any) -> Any:
        """What is there."""
        answer = self.ask("GET", path, by, **options)
        assert answer.status_code == 200, answer.text
        return answer


@pytest.fixture
def config(run: Any, tmp_path: Path) -> Config:
    del run  # it has written the file
    return load(tmp_path / "config.toml")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[None]:
    """The region's store: what its registers say."""
    writer = OutsideWriter(tmp_path / "s.db")
    writer.put(QUIET, X)
    writer.put(REMOTE, X)
    yield
    writer.close()


@functools.cache
def made_tokens(folder: Path) -> dict[str, str]:
    """A token of each role, with and without the right to see values, one that has expired, and one of nobody."""
    found: dict[str, str] = {}
    with token_file.changing(folder / "tokens.json") as change:
        rights = change.rights
        for role in AccessRole:
            for values in (False, True):
                name = f"{role.value}-values" if values else role.value
                rights, new = _made(rights, name, role, values=values)
                found[name] = new
        rights, found["expired"] = _made(rights, "expired", AccessRole.ADMIN, values=True, ago=timedelta(days=2))
        change.write(rights)
    found["wrong"] = found["admin"][:-4] + "AAAA"
    return found


def _made(rights: Any, name: str, role: AccessRole, *, values: bool, ago: timedelta | None = None) -> tuple[Any, str]:
    now = datetime.now(UTC) - (ago or timedelta())
    rights, made = tokens.made(
        rights,
        os.urandom(ID_BYTES + SECRET_BYTES),
        name=name,
        role=role,
        values=values,
        expires=now + timedelta(days=1) if ago is not None else None,
        now=now,
    )
    return rights, made.text


@pytest.fixture(scope="session")
def rights_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rights")


def application(inside: Inside, admission: Admission) -> FastAPI:
    """The region's API, in whose tests no picture of a cluster grows old."""
    return create_app(Daemon(), inside=inside, admitting=admission, inquiries=Inquiries(kept_s=PICTURE_S))


@pytest.fixture
def region(config: Config, state: SqlState, store: None, views: Views, rights_folder: Path) -> Iterator[Region]:
    del state, store
    known = made_tokens(rights_folder)
    told: list[RefusedAttempt] = []
    admission = Admission(
        gate=Gate(RightsReader(rights_folder / "tokens.json")), exposure=Exposure(), refused=told.append
    )
    inside = Inside(config, views)
    with TestClient(application(inside, admission), raise_server_exceptions=False) as client:
        yield Region(client, known, told, inside)


def on_another_host(folder: Path, token: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave commands no configuration and no context of this host: the file of the only token that they have."""
    monkeypatch.delenv("SYNCER_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "xdg"))
    file = folder / "token"
    file.write_text(token)
    return file


Afar = Callable[..., Result]
"""Runs a command of another host, by its words, on the region's API."""


@pytest.fixture
def from_afar(region: Region, tmp_path: Path, rights_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Afar]:
    token = on_another_host(tmp_path, made_tokens(rights_folder)["read"], monkeypatch)
    admission = Admission(gate=Gate(RightsReader(rights_folder / "tokens.json")), exposure=Exposure())
    inside = Inside(region.inside.config, region.inside.views)
    with served(application(inside, admission)) as address:
        yield lambda *words: CliRunner().invoke(
            app, ["--server", address, *words], env={"SYNCER_TOKEN_FILE": str(token)}
        )


def document_of(answer: Result) -> Any:
    """What a command from afar has printed, after what the server in this process logs."""
    return json.loads(answer.stdout[answer.stdout.index("{\n") :])
