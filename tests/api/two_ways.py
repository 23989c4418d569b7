"""A region of this host and its like behind a server: one command is run both ways, and both answers are compared.

Each has a copy of one database; one is reached by its file, the other by REST.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import structlog
from typer.testing import CliRunner, Result

from api.admission import Admission
from api.app import create_app
from syncer.access.exposure import Exposure
from syncer.access.gate import Gate, RightsReader
from syncer.cli.main import app
from syncer.config import load
from syncer.config.model import Config
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.inspection.status import collect
from syncer.replication.driver import Driver
from syncer.state.contract.jobs import JobKind
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.stores.sqlite.writer import OutsideWriter
from tests.api.conftest import Inside, made_tokens, on_another_host
from tests.api.test_app import Daemon
from tests.support.jobs import wanted
from tests.support.region_database import CAPABILITIES, QUIET, REMOTE
from tests.support.served_api import served
from tests.unit.registers import HERE, X

NOW: Final = re.compile(r"20(?:2[5-9]|[3-9]\d)-\S+ \S+Z")
"""A time of the test itself; those of the database are earlier."""


class Looking(Daemon):
    """A daemon that tells its region's status as the real one does."""

    def __init__(self, inside: Inside) -> None:
        super().__init__()
        self.inside = inside

    async def status(self) -> Mapping[str, object]:
        return collect(self.inside.views, self.inside.config).model_dump(mode="json")


@dataclass
class Copy:
    """A copy of the region."""

    file: Path
    config: Config
    views: Views
    state: SqlState
    driver: Driver


@contextmanager
def copied(template: Path, folder: Path) -> Iterator[Copy]:
    folder.mkdir()
    shutil.copy(template, folder / "state.db")
    file = folder / "config.toml"
    file.write_text(
        f'region = "here"\n[store]\nkind = "sqlite"\npath = "{folder}/s.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{folder}/b.db"\n[state]\npath = "{folder}/state.db"\n',
        encoding="utf-8",
    )
    with closing(OutsideWriter(folder / "s.db")) as writer:
        writer.put(QUIET, X)
        writer.put(REMOTE, X)
    url = f"sqlite:///{folder / 'state.db'}"
    with closing(SqlState.open(url, HERE)) as state, closing(Views.open(url, HERE)) as views:
        state.activate()
        with state.transaction() as tx:
            tx.ask_job(wanted(JobKind.TAKE, tenants=["acme"]))
        driver = Driver(Replica(Settings(region=HERE)), Scope(), state, CAPABILITIES)
        yield Copy(file, load(file), views, state, driver)


@dataclass
class BothWays:
    """The region of this host, and its like behind a server."""

    here: Copy
    there: Copy
    address: str
    token: Path

    def locally(self, command: str, *more: str) -> Result:
        return CliRunner().invoke(app, ["--config", str(self.here.file), *command.split(), *more])

    def remotely(self, command: str, *more: str) -> Result:
        environment = {"SYNCER_TOKEN_FILE": str(self.token)}
        arguments = [*command.split(), "--server", self.address, *more]
        return CliRunner().invoke(app, arguments, env=environment)

    def lasting(self, text: str) -> str:
        """Without what differs by where it was called, and without ages, which go on between two looks."""
        text = text.replace(f" --config {self.here.file}", "").replace(f" --server {self.address}", "")
        text = re.sub(r'("(?:age_s|asked_by|origin|credential|asked_at_ms)": )[^,\n]+', r"\1-", text)
        text = NOW.sub("NOW", text)
        text = re.sub(r'age_s": [0-9.]+', 'age_s": 0', text).replace(str(self.there.file.parent), "FOLDER")
        return text.replace(str(self.here.file.parent), "FOLDER")

    def same(self, command: str, *more: str) -> tuple[Result, Result]:
        local, remote = self.locally(command, *more), self.remotely(command, *more)
        assert (local.exit_code, self.lasting(local.stdout)) == (remote.exit_code, self.lasting(remote.stdout)), (
            local.output,
            remote.output,
            remote.exception,
        )
        return local, remote


@pytest.fixture
def both(template: Path, tmp_path: Path, rights_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BothWays]:
    token = on_another_host(tmp_path, made_tokens(rights_folder)["admin-values"], monkeypatch)
    with ExitStack() as stack:
        here, there = (stack.enter_context(copied(template, tmp_path / name)) for name in ("one", "two"))
        inside = Inside(there.config, there.views)
        admission = Admission(gate=Gate(RightsReader(rights_folder / "tokens.json")), exposure=Exposure())
        address = stack.enter_context(served(create_app(Looking(inside), inside=inside, admitting=admission)))
        stack.enter_context(structlog.testing.capture_logs())  # the server's, who shares the process
        yield BothWays(here, there, address, token)
