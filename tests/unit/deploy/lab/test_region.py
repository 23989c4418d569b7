"""A region of the lab is compared by what its store holds and what its daemon keeps."""

from __future__ import annotations

import contextlib
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from deploy.lab.region import LabRegion, differing
from syncer.conflict.fields.kept import KeptFields
from syncer.model import MetaPath, Region
from syncer.state.sql.database import SqlState
from syncer.stores.sqlite import OutsideWriter
from tests.support.planning import value
from tests.unit.state.test_contract import living

SPACE = MetaPath("/admin/policies/acme/orders")
NEWER = {"is_allow_auto_update_schema_with_replicator": False}


def region(folder: Path, name: str, stored: bytes) -> LabRegion:
    store = folder / f"{name}.db"
    with contextlib.closing(OutsideWriter(store)) as writer:
        writer.put(SPACE, stored)
    tables = {
        "store": {"kind": "sqlite", "path": str(store)},
        "bus": {"kind": "embedded", "path": str(folder / "bus.db")},
    }
    return LabRegion(folder / name, name=name, clusters=(name,), tables=tables)


def test_two_stores_are_alike_with_what_a_daemon_keeps(tmp_path: Path) -> None:
    east = region(tmp_path, "east", value(message_ttl_in_seconds=60, **NEWER))
    west = region(tmp_path, "west", value(message_ttl_in_seconds=60))
    assert (west.kept_fields(), differing((east, west))) == ({}, {SPACE}), "no daemon has ever run"
    with closing(SqlState.open(west.config.database_url(), Region("west"))) as state:
        state.activate()
        with state.transaction() as work:
            work.save([replace(living(SPACE), kept=KeptFields(gone=NEWER))])
    assert west.kept_fields().keys() == {SPACE}
    assert differing((east, west)) == set()
    assert json.loads(west.entries()[SPACE]) == {"message_ttl_in_seconds": 60}, "a store is read as it is"
