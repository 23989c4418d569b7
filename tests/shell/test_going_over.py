"""Another region's daemon is of the version before: the group works by its projections, and goes over with it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from syncer.conflict.changeover import ABLE, NEWEST
from syncer.conflict.projection import FORMERS, PROJECTIONS
from syncer.model import Digest, MetaPath, ResourceKind
from syncer.replication.local import going_over
from syncer.waiting import WAIT_S, until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import Bystander, changes_on, heartbeat
from tests.shell.region import Site, active, path_of, tenant

KIND: Final = ResourceKind.NAMESPACE
SPACE: Final = MetaPath("/admin/policies/acme/orders")
VALUE: Final = json.dumps(
    {"message_ttl_in_seconds": 60, "is_allow_auto_update_schema_with_replicator": True, "deleted": False}
).encode()
CAN: Final = tuple(sorted(ABLE))
BEFORE: Final = {**NEWEST.ids, "namespace": "namespace/1", "topic-policy": "topic-policy/1"}


def digest(site: Site, column: str = "s_digest") -> Digest | None:
    with closing(sqlite3.connect(site.folder / "state.db", timeout=WAIT_S)) as state:
        row = state.execute(f"SELECT {column} FROM registers WHERE path = ?", [SPACE]).fetchone()
    return None if row is None else row[0]


async def test_a_group_goes_over_once_every_member_can(
    make_site: MakeSite, bus_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(going_over, "RESTS_MS", 0)
    east = make_site("east", peers={"expected": ["west"]})
    east.writer.put(path_of("acme"), tenant("a"))
    east.writer.put(SPACE, VALUE)
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        await until(lambda: digest(east) == PROJECTIONS[KIND].digest(VALUE), "alone it works by the newest")
        scope = east.config().compiled_scope().fingerprint
        await west.say(heartbeat(projections=BEFORE, scope=scope))
        await until(lambda: digest(east) == FORMERS[KIND][-1].digest(VALUE), "it works as its member does")
        await until(lambda: east.report().get("disagreements") == [], "nothing waits for anybody")
        told = VALUE.replace(b"60", b"61")
        east.writer.put(SPACE, told)
        await until(lambda: digest(east, "k_digest") == FORMERS[KIND][-1].digest(told), "and publishes by that")
        await until(lambda: len(changes_on(bus_file)) == 3, "two of the beginning, one of now")
        await west.say(heartbeat(projections=BEFORE, able=CAN, ready=CAN, scope=scope))
        await until(lambda: digest(east) == PROJECTIONS[KIND].digest(told), "it goes over, since all can")
        await until(lambda: digest(east, "k_digest") == digest(east), "known and stored are one")
        await west.say(heartbeat(able=CAN, ready=CAN, scope=scope))
        await until(lambda: east.report().get("disagreements") == [], "and so does its member")
        assert len(changes_on(bus_file)) == 3, "that is no change of anybody's"
        assert east.status().counts.due == 0
