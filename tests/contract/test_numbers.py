"""Numbers of rows, on SQLite and on a real PostgreSQL server: known even where all rows are dropped."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import delete

from syncer.conflict.acts import Decision, Journal
from syncer.model import MetaPath, Millis
from syncer.state.contract.jobs import JobKind, JobRow
from syncer.state.sql import tables
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.unit.registers import HERE, at


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return (
        str(request.getfixturevalue("postgres_url")) if request.param == "postgresql" else f"sqlite:///{tmp_path}/s.db"
    )


def test_the_last_number_is_known_of_a_list_from_which_all_was_dropped(url: str) -> None:
    wish = JobRow(id=0, kind=JobKind.TAKE, arguments={}, asked_by="ann", reason="why", asked_at_ms=Millis(1))
    row = Journal(path=MetaPath("/admin/policies/a"), decision=Decision.PUBLISHED, stamp=at(1))
    with closing(SqlState.open(url, HERE)) as state, closing(Views.open(url, HERE)) as views:
        state.activate()
        assert (views.journal_start(), views.journal_end(), views.latest_operation(), views.latest_job()) == (
            1,
            0,
            0,
            0,
        )
        with state.transaction() as tx:
            tx.journal([row] * 3, Millis(1))
            job = tx.ask_job(wish)
        asked = [views.ask("pause", {}, "ann", "why") for _ in range(2)]
        assert (views.journal_start(), views.journal_end()) == (1, 3)
        assert (views.latest_operation(), views.pending_numbers()) == (asked[-1], asked)
        assert [each.id for each in views.operations_at([asked[1], 999])] == [asked[1]]
        assert (views.latest_job(), [each.id for each in views.open_jobs()]) == (job, [job])
        assert views.jobs_at([job]) == views.jobs_after(0, 10) == [views.job(job)]
        with state.engine.begin() as connection:
            for table in (tables.journal, tables.operations, tables.jobs):
                connection.execute(delete(table))
        assert (views.journal_start(), views.journal_end()) == (4, 3)
        assert (views.latest_operation(), views.latest_job()) == (asked[-1], job)
        with state.transaction() as tx:
            tx.journal([row], Millis(1))
        assert (views.journal_start(), views.journal_end()) == (4, 4)
