"""Commands on the daemon's own host and by REST from another one: the same output, and the same exit status.

Each command runs against two copies of one database, one by its file and one behind a real server, with the real
driver performing what it is asked.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import structlog
from typer.testing import CliRunner, Result

from api.admission import Admission
from api.app import create_app
from syncer.access.exposure import Exposure
from syncer.access.gate import Gate, RightsReader
from syncer.cli.main import app
from syncer.cli.reaching.routed import ROUTED
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
from tests.api import test_same_answers
from tests.api.conftest import Inside, made_tokens
from tests.api.test_app import Daemon
from tests.support.jobs import wanted
from tests.support.region_database import CAPABILITIES, QUIET, REMOTE, performing
from tests.support.served_api import served
from tests.unit.cli.test_refusals import said
from tests.unit.registers import HERE, X

HELD: Final = str(REMOTE)
NOW: Final = re.compile(r"20(?:2[5-9]|[3-9]\d)-\S+ \S+Z")
"""A time of the test itself; those of the database are earlier."""

LOOKS: Final = (
    "status",
    "status -o json",
    "status --check",
    "status --check -o json",
    "status --wait 0",
    "regions list",
    "regions join",
    "regions join --limit 1 -o json",
    "holds list",
    "holds list --limit 1",
    "holds list --limit 1 --after /admin/policies/from-the-future -o json",
    "conflicts list -o json",
    "conflicts list --all",
    "conflicts show 1",
    "conflicts show 1 -o json",
    "conflicts show 1 --store-timeout 0 -o yaml",
    "conflicts show 9",
    "quarantine list",
    "parked list",
    "parked list --limit 1 -o json",
    "events tail",
    "events tail -n 2 -o json",
    "events tail -n 0",
    "events tail --path /admin/policies/parked",
    "explain /admin/policies/quiet",
    "explain quiet -o json",
    "explain held-remote --limit 1",
    "explain nowhere",
    "operations list",
    "operations list --state failed",
    "operations show 1",
    "operations export",
    "config show",
    "config show -o json",
    "jobs list",
    "jobs list --limit 1 -o json",
    "jobs show 1",
    "jobs show 9",
    "migration list",
    "migration status",
    "migration status 7",
    "migration events",
    "snapshot repairs",
    "snapshot progress 7",
    "holds confirm held-remote",
    "holds reject --all --only first-contact",
    "holds confirm nowhere",
    "conflicts restore 1",
    "quarantine discard 1",
    "regions forget there",
)
"""What is only looked at, and what is refused because nobody agrees."""

DECISIONS: Final = (
    "holds confirm held-remote",
    f"holds reject {HELD} -o json",
    f"holds confirm {HELD} --stamp 1@nowhere",
    "holds confirm --all --only first-contact",
    "conflicts restore 1",
    "conflicts restore 1 --over 1@nowhere",
    "conflicts restore 9",
    "conflicts discard 1 -o json",
    "conflicts discard --by here",
    "conflicts discard --by nobody",
    "quarantine retry 1",
    "quarantine discard 1",
    "quarantine discard 9",
    "jobs take",
    "jobs take --tenant acme --accept-shrunken -o json",
    "jobs diff here there --fields",
    "jobs diff here",
    "jobs cancel 1",
    "jobs cancel 9",
    "pause",
    "pause --everywhere -o json",
    "resume",
    "resume --everywhere",
    "regions join --confirm",
    "regions leave",
    "regions leave --force",
    "regions forget there",
    "regions forget there --force -o json",
    "regions admit nowhere",
    "state rebuild --alone",
    "state rebuild --without there",
)


BESIDE: Final = {
    *("snapshot take", "snapshot diff"),  # they work on Spark themselves; 'syncer jobs' asks the daemon for the same
    *("snapshot sync", "snapshot cancel"),
    *(f"migration {verb}" for verb in ("start", "go", "pause", "resume", "abort", "rollback", "close", "report")),
}
"""These are asked of the region of this host alone."""
NO_QUESTION: Final = ("quarantine retry", "resume", "jobs")
"""What is asked of the daemon without a question before."""


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
        yield Copy(file, load(file), views, driver)


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
    monkeypatch.delenv("SYNCER_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    token = tmp_path / "token"
    token.write_text(made_tokens(rights_folder)["admin-values"])
    with ExitStack() as stack:
        here, there = (stack.enter_context(copied(template, tmp_path / name)) for name in ("one", "two"))
        inside = Inside(there.config, there.views)
        admission = Admission(gate=Gate(RightsReader(rights_folder / "tokens.json")), exposure=Exposure())
        address = stack.enter_context(served(create_app(Looking(inside), inside=inside, admitting=admission)))
        stack.enter_context(structlog.testing.capture_logs())  # the server's, who shares the process
        yield BothWays(here, there, address, token)


def test_what_is_looked_at_is_the_same(both: BothWays) -> None:
    for each in (both.here, both.there):
        each.views.ask("pause", {"everywhere": "true"}, "ann", "why")
    different: list[tuple[Any, ...]] = []
    for command in LOOKS:
        local, remote = both.locally(command), both.remotely(command)
        told, asked = both.lasting(local.output), both.lasting(remote.output)
        if (local.exit_code, told) != (remote.exit_code, asked):
            different.append((command, local.exit_code, told, remote.exit_code, asked, remote.exception))
    assert different == []


@pytest.mark.parametrize("command", DECISIONS)
def test_what_is_decided_is_the_same(command: str, both: BothWays) -> None:
    agreed = () if command.startswith(NO_QUESTION) else ("--yes",)
    with performing(both.here.driver), performing(both.there.driver):
        both.same(command, *agreed, "--reason", "TICKET-7")
    asked = both.there.views.operations(10)
    assert [each.kind for each in asked] == [each.kind for each in both.here.views.operations(10)]
    assert {(each.asked_by, each.reason) for each in asked} <= {("admin-values", "TICKET-7")}


def test_an_answer_that_does_not_come_leaves_with_4_and_the_request_stays(both: BothWays) -> None:
    local, remote = both.same("pause", "--yes", "--reason", "why", "--timeout", "0")
    assert local.exit_code == 4
    assert local.stderr == remote.stderr
    assert len(both.there.views.operations(10)) == 1


def test_a_change_wants_a_reason_and_a_credential(both: BothWays) -> None:
    result = both.remotely("pause", "--yes")
    assert (result.exit_code, "give --reason" in said(result)) == (2, True)
    both.token.write_text("syncer_0123_wrong")
    result = both.remotely("holds list")
    assert (result.exit_code, "error: " in result.stderr) == (6, True)
    assert "0123_wrong" not in result.output
    assert both.there.views.operations(10) == []


def test_holds_of_every_reason_are_not_decided_at_once(both: BothWays) -> None:
    result = both.remotely("holds confirm --all --yes --reason why")
    assert (result.exit_code, "give --only REASON" in said(result)) == (2, True)


def test_more_than_a_page_is_listed_by_pages(both: BothWays, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syncer.cli.reaching.remote.MAX_PAGE", 1)
    for command in ("holds list -o json", "holds list --limit 2 -o json", "parked list", "operations list"):
        both.same(command)


def test_a_region_that_is_not_there_is_a_verdict(both: BothWays) -> None:
    both.address = "http://127.0.0.1:1"
    result = both.remotely("status --check")
    assert (result.exit_code, result.stdout.startswith("unreachable: http://127.0.0.1:1")) == (4, True)
    assert both.remotely("status").exit_code == 4
    assert both.remotely("status --wait 0").exit_code == 4


def test_every_routed_command_is_compared_and_no_other_is_routed() -> None:
    assert set(test_same_answers.ROUTED) == ROUTED | BESIDE
    compared = [*LOOKS, *DECISIONS]
    assert [each for each in ROUTED if not any(line.startswith(each) for line in compared)] == []
