"""Namespaces that another region offloads and this one does not: what is told, what is looked at, what is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

import pytest

from syncer.model import MetaPath, Millis, Region, Revision
from syncer.replication import offloaded_elsewhere
from syncer.replication.offloaded_elsewhere import (
    ELSEWHERE,
    NAMES_CHARACTERS,
    NAMES_TOLD,
    OffloadedHere,
    in_words,
    missing_here,
    named_by,
)
from syncer.stores.contract import Entry
from tests.support.parts import parts_of
from tests.unit.replication.local.test_broker_versions import PATH
from tests.unit.replication.local.test_going_over import GoingRegion

EAST, WEST = Region("east"), Region("west")
DRIVER: Final = {"managedLedgerOffloadDriver": "aws-s3", "s3ManagedLedgerOffloadCredentialSecret": "Geheimnis"}


def path(number: int) -> MetaPath:
    return MetaPath(f"/admin/policies/acme/n{number:03}")


def entry(at: MetaPath, policies: Any = DRIVER) -> Entry:
    value = json.dumps({"offload_policies": policies}).encode()
    return Entry(path=at, value=value, revision=Revision("1"), modified_at_ms=None)


def test_what_was_read_last_counts() -> None:
    here = OffloadedHere()
    here.look_at(path(1), entry(path(1)))
    here.look_at(path(2), entry(path(2)))
    here.look_at(MetaPath("/admin/clusters/x"), entry(path(3)))
    assert here.told(lambda _: True) == ("acme/n001", "acme/n002")
    assert here.told(lambda at: at == path(2)) == ("acme/n002",)
    here.look_at(path(1), entry(path(1), {}))
    here.look_at(path(2), None)
    assert here.told(lambda _: True) == ()


def test_as_much_is_told_and_taken_as_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    here = OffloadedHere()
    for number in range(NAMES_TOLD + 5):
        here.look_at(path(number), entry(path(number)))
    assert len(here.told(lambda _: True)) == NAMES_TOLD
    many = {EAST: [f"a/{number}" for number in range(400)], WEST: ["b/1"]}
    assert len(named_by(many)) == NAMES_TOLD
    assert list(named_by({EAST: ["a" * NAMES_CHARACTERS, "b"]}).values()) == [EAST]
    monkeypatch.setattr(offloaded_elsewhere, "MOST", 2)
    few = OffloadedHere()
    for number in (1, 2, 2, 3):
        few.look_at(path(number), entry(path(number)))
    assert few.crowded
    assert missing_here(few, {WEST: ["acme/n009"]}, [path(9)]) == {}, "it may be one of those that were not kept"


def test_only_what_stands_here_and_has_no_driver_is_missing() -> None:
    here = OffloadedHere()
    here.look_at(path(1), entry(path(1)))
    others = {WEST: ["acme/n001", "acme/n002", "acme/n003"], EAST: ["acme/n003", "acme/n004"]}
    found = missing_here(here, others, [path(4), path(3), path(1), path(9)])
    assert found == {path(3): EAST, path(4): EAST}
    assert in_words(found).startswith(
        "2 namespaces are offloaded in another region, and have no driver here: 'acme/n003'"
    )
    assert " …" in in_words({path(number): WEST for number in range(9)})


def test_a_region_tells_and_shows_it() -> None:
    region = GoingRegion()
    region.stands({"message_ttl_in_seconds": 1})
    region.scan()
    conditions = parts_of(region.driver).telemetry.conditions
    name = PATH.removeprefix("/admin/policies/")
    assert region.driver.heartbeat(Millis(region.now), "1").offloaded == ()
    region.hears(offloaded=(name, "acme/elsewhere"))
    beat = region.driver.heartbeat(Millis(region.now), "1")
    assert beat.offloaded == ()
    assert conditions[ELSEWHERE].startswith(
        f"1 namespaces are offloaded in another region, and have no driver here: '{name}' (there)"
    )
    region.edit({"message_ttl_in_seconds": 1, "offload_policies": DRIVER})
    region.scan()
    beat = region.driver.heartbeat(Millis(region.now), "1")
    assert beat.offloaded == (name,)
    assert ELSEWHERE not in conditions
    assert "Geheimnis" not in repr(replace(beat))
