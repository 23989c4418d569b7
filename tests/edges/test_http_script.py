"""The script of the page that answers holds, run as it stands there against a real server and a real driver."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

from syncer.access.roles import AccessRole
from syncer.state.contract.operations import OperationState
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.docs.reading import DOCS, blocks
from tests.edges.test_http_doors import Door, House, authority, certificate, house
from tests.support.looking import LookingInside
from tests.support.region_database import LOCAL, QUIET, REMOTE, driver_of, performing, state, template
from tests.unit.registers import HERE

__all__ = ["authority", "certificate", "house", "state", "template"]

PAGE: Final = DOCS / "how-to" / "answer-holds-by-script.md"
TICKET: Final = "TICKET-7"


@pytest.fixture
def views(state: SqlState, tmp_path: Path) -> Iterator[Views]:
    del state
    with closing(Views.open(f"sqlite:///{tmp_path / 'state.db'}", HERE)) as opened:
        yield opened


@pytest.fixture
def served(house: House, views: Views) -> Iterator[Door]:
    """The region, at a port of its own."""
    with house.open(inside=LookingInside(views, SimpleNamespace(region="here")), tokens=house.tokens) as door:
        yield door


def run(door: Door, token: str, decisions: str, folder: Path) -> tuple[int, str]:
    """Exit status and output of the script."""
    (script,) = (block for block in blocks(PAGE.read_text(encoding="utf-8")) if block.language == "python")
    file = folder / "answer_holds.py"
    file.write_text("\n".join(script.lines), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", str(file), f"http://127.0.0.1:{door.port}", TICKET],
        input=decisions,
        env={**os.environ, "SYNCER_TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_it_answers_what_is_held_once(
    served: Door, house: House, state: SqlState, views: Views, tmp_path: Path
) -> None:
    token = house.token("tickets", AccessRole.OPERATE)
    with performing(driver_of(state)):
        status, told = run(served, token, f"confirm {REMOTE}\nreject {LOCAL}\n", tmp_path)
        assert (status, "first-contact" in told, "mass-delete" in told) == (0, True, True), told
        again, told = run(served, token, f"confirm {REMOTE}\n", tmp_path)
        assert (again, "not-found" in told) == (1, True), told
    assert views.holds(10) == []
    rows = views.operations(10)
    assert [(row.kind, row.state, row.reason) for row in rows] == [
        ("confirm", OperationState.DONE, TICKET),
        ("undo", OperationState.DONE, TICKET),
    ]
    assert {row.credential for row in rows} == {"token:tickets"}


def test_it_says_what_it_may_not_decide(served: Door, house: House, views: Views, tmp_path: Path) -> None:
    status, told = run(served, house.token("reader"), f"confirm {REMOTE}\n\nconfirm {QUIET}\n", tmp_path)
    assert (status, "forbidden" in told, f"nothing is held at {QUIET}" in told) == (1, True, True), told
    assert views.operations(10) == []
