"""The suite of every sidecar database, on a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.unit.migration.running.test_in_state import *  # noqa: F403 - and the journal that stands on them
from tests.unit.state.contract.test_jobs import *  # noqa: F403 - and these
from tests.unit.state.contract.test_migrations import *  # noqa: F403 - and these
from tests.unit.state.contract.work.test_ledger_audits import *  # noqa: F403 - and these
from tests.unit.state.test_contract import *  # noqa: F403 - each test of the suite runs here too, on the subject below
from tests.unit.state.test_contract import EAST, Subject


@pytest.fixture  # type: ignore[no-redef]  # in the place of the suite's own
def subject(postgres_url: str) -> Iterator[Subject]:
    with closing(SqlState.open(postgres_url, EAST)) as state:
        state.activate()
        with closing(Views.open(postgres_url, EAST)) as views:
            yield Subject(state, views.ask)


def test_the_suite_is_run_on_the_server(subject: Subject) -> None:
    """A fixture of another name would leave the suite's own in place, and nothing here would meet the server."""
    assert isinstance(subject.state, SqlState)
    assert subject.state.engine.dialect.name == "postgresql"
