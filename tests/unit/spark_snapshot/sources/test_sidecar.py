"""Registers of a sidecar database, as a snapshot reads them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final

from spark_snapshot.sources.reach import Reach
from spark_snapshot.sources.sidecar import Database, read
from syncer.conflict.classes.moving import frozen, left
from syncer.conflict.register import Register
from syncer.conflict.scope import Scope
from syncer.model import MetaPath, Region, Revision
from syncer.state.sql.database import SqlState
from tests.unit.registers import HERE, at, version

TENANT: Final = MetaPath("/admin/policies/acme")


def standing(name: str) -> Register:
    known = version(b"{}", at(0))
    return Register(path=MetaPath(f"{TENANT}/{name}"), known=known).sit(known, Revision("1"))


def test_a_path_that_came_in_and_was_not_read_since_says_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    met, came_in, let_go = standing("met"), frozen(standing("came-in")), left(standing("let-go")).register
    with closing(SqlState.open(url, Region(HERE))) as state:
        state.activate()
        with state.transaction() as tx:
            tx.save([met, came_in, let_go])
    found = [row for page in read(Database(url=url), Reach(scope=Scope())) for row in page]
    assert [row.path for row in found] == [met.path]
    assert found[0].by == "here~1"
