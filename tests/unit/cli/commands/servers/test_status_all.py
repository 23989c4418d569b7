"""``syncer status --all``: regions that are well, that need somebody, that refuse, hang or lie, in one table."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from api.app import create_app
from syncer.cli.main import app
from syncer.cli.reaching.contexts import KeptContexts, RegionContext, contexts_file, write_contexts
from syncer.documents.reached.contexts import ReachedRegionList
from syncer.waiting import starvation
from tests.api.test_app import STATUS, Daemon
from tests.support.served_api import served
from tests.support.webhook_server import answering, hanging, receiving

UNAUTHORIZED = json.dumps({"status": 401, "code": "unauthorized", "detail": "no credential", "hint": "Send one."})


class Standing(Daemon):
    """A daemon whose status is of the test's choice."""

    def __init__(self, **changes: object) -> None:
        super().__init__()
        self.changes = changes

    async def status(self) -> Mapping[str, object]:
        return {**STATUS.model_dump(), **self.changes}


@pytest.fixture
def reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], None]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("SYNCER_CONFIG", raising=False)

    def keep(servers: Mapping[str, str]) -> None:
        contexts = {name: RegionContext(server=address) for name, address in servers.items()}
        write_contexts(contexts_file(), KeptContexts(contexts=contexts))

    return keep


def status_all(*words: str) -> Result:
    return CliRunner().invoke(app, ["status", "--all", *words])


WELL = {"region": "well-there", "daemon": "running", "reported_age_s": 1.0, "baseline_done": True}


def test_every_region_has_a_row_and_the_worst_is_the_exit_status(
    reached: Callable[[Mapping[str, str]], None],
) -> None:
    waiting = {**STATUS.waiting.model_dump(), "holds": 2, "quarantine": 0, "future_events": 0}
    quiet = {**waiting, "holds": 0}
    with ExitStack() as stack:
        well = stack.enter_context(served(create_app(Standing(**WELL, waiting=quiet, conditions=[], peers=[]))))
        held = stack.enter_context(served(create_app(Standing(**WELL, waiting=waiting, conditions=[], peers=[]))))
        hung = stack.enter_context(receiving(hanging())).url.removesuffix("/hook")
        lies = stack.enter_context(receiving(answering(200, b"<html>"))).url.removesuffix("/hook")
        closed = stack.enter_context(receiving(answering(401, UNAUTHORIZED.encode()))).url.removesuffix("/hook")
        reached({"a-well": well})
        alone = status_all("--check")
        assert (alone.exit_code, "well" in alone.stdout) == (0, True), alone.output
        reached({"a-well": well, "b-held": held})
        assert status_all().exit_code == 1
        reached({"a-well": well, "b-held": held, "c-hung": hung, "d-lies": lies})
        began = time.monotonic()
        found = ReachedRegionList.model_validate_json(status_all("--timeout", "3", "-o", "json").stdout)
        assert time.monotonic() - began < 10 * starvation.patience()
        reached({"a-well": well, "b-held": held, "c-hung": hung, "e-closed": closed})
        table = status_all("--timeout", "3")
        judged = status_all("--timeout", "3", "--check", "-o", "json")
    assert [(each.context, each.verdict, each.exit_status, each.region) for each in found.items] == [
        ("a-well", "well", 0, "well-there"),
        ("b-held", "operator-needed", 1, "well-there"),
        ("c-hung", "unreachable", 4, ""),
        ("d-lies", "unreachable", 4, ""),
    ]
    assert found.exit_status == 4
    assert found.items[1].command == "syncer holds list --context b-held"
    assert found.items[1].status is not None
    assert "has not answered within 3 s" in found.items[2].message
    assert "no StatusDocument" in found.items[3].message
    assert table.exit_code == 6
    assert [line.split()[0] for line in table.stdout.splitlines()] == [
        "CONTEXT",
        "a-well",
        "b-held",
        "c-hung",
        "e-closed",
    ]
    assert "next for b-held: syncer holds list --context b-held" in table.stderr
    assert judged.exit_code == 6
    assert all(each.status is None for each in ReachedRegionList.model_validate_json(judged.stdout).items)


def test_a_context_whose_files_are_gone_is_a_row(reached: Callable[[Mapping[str, str]], None], tmp_path: Path) -> None:
    del reached
    context = RegionContext(server="https://127.0.0.1:1", token_file=tmp_path / "missing")
    write_contexts(contexts_file(), KeptContexts(contexts={"east": context}))
    result = status_all()
    assert (result.exit_code, "missing cannot be read" in result.stdout) == (4, True), result.output
