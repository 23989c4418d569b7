"""Kept fields as they are read beside the daemon: of what its store lacks, and of nothing else."""

from __future__ import annotations

from dataclasses import replace

from syncer.conflict.fields.kept import KeptFields
from syncer.model import MetaPath
from syncer.state.sql.database import SqlState
from syncer.state.views.kept import PATHS_OF_ONE_QUERY
from syncer.state.views.region import Views
from tests.unit.state.test_contract import living

GONE = KeptFields({"there": 1}, {"gone": {"deep": [1, 2**70]}})


def test_only_what_the_store_lacks_is_read_in_pages(state: SqlState, views: Views) -> None:
    assert views.kept_fields(10) == views.kept_at([MetaPath("/a")]) == {}
    with state.transaction() as work:
        work.save([replace(living(f"/p{number}"), kept=GONE) for number in range(3)])
        work.save([living("/plain"), replace(living("/whole"), kept=KeptFields({"there": 1}))])
    assert views.kept_fields(2) == {MetaPath("/p0"): GONE, MetaPath("/p1"): GONE}
    assert views.kept_fields(2, MetaPath("/p1")) == {MetaPath("/p2"): GONE}
    assert views.kept_fields(2, MetaPath("/p2")) == {}


def test_paths_are_asked_for_however_many_they_are(state: SqlState, views: Views) -> None:
    with state.transaction() as work:
        work.save([replace(living("/p1"), kept=GONE), replace(living("/z"), kept=GONE), living("/whole")])
    many = [MetaPath(f"/p{number}") for number in range(PATHS_OF_ONE_QUERY + 1)]
    assert views.kept_at([*many, MetaPath("/whole"), MetaPath("/z")]).keys() == {"/p1", "/z"}
    assert views.kept_at([]) == {}
