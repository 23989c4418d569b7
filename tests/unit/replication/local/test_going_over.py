"""Going over to another projection, step by step: what is due, what stands, and a daemon that ends in between."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from syncer.conflict.changeover import ABLE_TO_CARRY, NEWEST, ProjectionsInUse
from syncer.conflict.projection import CARRYING, FORMERS, PROJECTIONS
from syncer.conflict.register import Hold, HoldReason, Register
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.model import MetaPath, Millis, Region, ResourceKind, Stamp, Version, counter_of
from syncer.replication.driver import Driver
from syncer.replication.local import going_over
from syncer.replication.local.full_scan import Scan
from syncer.stores.contract import Written
from tests.support.driven_region import CAPABILITIES, T0
from tests.support.parts import parts_of
from tests.unit.replication.local.test_broker_versions import HERE, PATH, PROOF, VersionedRegion

KIND: Final = ResourceKind.NAMESPACE
FORMERLY: Final = ProjectionsInUse({**PROJECTIONS, **{kind: formers[-1] for kind, formers in FORMERS.items()}})
OLD_IDS: Final = {**NEWEST.ids, "namespace": "namespace/1", "topic-policy": "topic-policy/1"}
CAN: Final = tuple(sorted(NEWEST.able))
THERE: Final = Region("there")
BY_NAME: Final = {"message_ttl_in_seconds": 1, PROOF: True}
HELD: Final = MetaPath("/admin/policies/acme/held")
VALUE: Final = json.dumps(BY_NAME).encode()


class GoingRegion(VersionedRegion):
    """A region whose group worked by the former projections."""

    def __init__(self, projections: ProjectionsInUse = FORMERLY) -> None:
        super().__init__(settings=Settings(region=HERE, projections=projections))

    @property
    def ids(self) -> Mapping[str, str]:
        return self.driver.heartbeat(Millis(self.now), "1").projections

    def hears(self, region: str = "there", **changes: Any) -> None:
        """A member's heartbeat comes, and a second passes."""
        beat = replace(self.driver.heartbeat(Millis(self.now), "1"), region=Region(region), sender=f"db-{region}")
        beat = replace(beat, **changes)
        self.now += 1_000
        inbound = parts_of(self.driver).inbound
        with self.state.transaction() as tx:
            tx.save_peer(inbound.group.peers.on_heartbeat(beat, Millis(self.now)))
        self.driver.tick(Millis(self.now))

    def known(self, path: MetaPath = PATH) -> Register:
        with self.state.transaction() as tx:
            return tx.registers([path])[path]


def digests(register: Register) -> set[Any]:
    return {register.stored_digest, register.known.digest if register.known is not None else None}


def stands_by(region: GoingRegion, projections: ProjectionsInUse) -> None:
    """A namespace stands, with a default by name."""
    region.stands(BY_NAME)
    register, digest = region.known(), projections.by_kind[KIND].digest(VALUE)
    assert register.known is not None
    known = replace(register.known, digest=digest)
    with region.state.transaction() as tx:
        tx.save([replace(register, known=known).sit(known, region.entries[PATH].revision)])


def restarted(region: GoingRegion) -> GoingRegion:
    """The same, with the next daemon of the same program on its database."""
    region.state.activate()
    raised = region.entries[region.local.core.fence_path]
    region.driver = Driver(Replica(region.settings), Scope(), region.state, CAPABILITIES)
    fence = region.driver.raise_fence(raised, "store", Millis(region.now))
    revision = region.put(fence.path, json.loads(fence.value))
    region.driver.activated(fence, Written(path=fence.path, revision=revision), Millis(region.now))
    return region


def test_it_waits_for_the_member_that_cannot() -> None:
    region = GoingRegion()
    stands_by(region, FORMERLY)
    region.hears(projections=OLD_IDS, able=(), ready=())
    assert region.ids == OLD_IDS
    assert region.local.core.going_over.wants_scan is False
    region.hears(projections=OLD_IDS, able=CAN, ready=CAN)
    assert region.ids["namespace"] == "namespace/1>namespace/3"
    assert region.driver.rescan_due
    assert parts_of(region.driver).group.peers.blocked(KIND, []), "nothing is written meanwhile"
    region.driver.tick(Millis(region.now))
    region.scan()
    assert region.ids == NEWEST.ids
    assert digests(region.known()) == {PROJECTIONS[KIND].digest(VALUE)}
    assert region.published == []
    region.hears()
    assert not parts_of(region.driver).group.peers.blocked(KIND, [])


def test_a_scan_that_was_under_way_does_not_count() -> None:
    region = GoingRegion()
    stands_by(region, FORMERLY)
    scan: Scan = region.driver.armed()
    region.hears(projections=OLD_IDS, able=CAN, ready=CAN)
    region.driver.tick(Millis(region.now))
    region.scan(scan)
    assert region.ids["namespace"] == "namespace/1>namespace/3"
    region.scan()
    assert region.ids == NEWEST.ids


def test_what_is_held_and_nowhere_stands_is_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(going_over, "_PAGE", 1)
    monkeypatch.setattr(going_over, "_PAGES", 1)
    region = GoingRegion()
    stands_by(region, FORMERLY)
    by = counter_of(THERE, 1)
    stamp = Stamp(T0, THERE)
    known = Version(stamp=stamp, by=by, seen={by: T0}, digest=FORMERS[KIND][-1].digest(VALUE), value=VALUE)
    hold = Hold(reason=HoldReason.UNKNOWN_CLUSTER, stamp=stamp, since_ms=T0, detail="")
    with region.state.transaction() as tx:
        tx.save([Register(path=HELD, known=known, own=T0, hold=hold)])
    region.hears(projections=OLD_IDS, able=CAN, ready=CAN)
    region.scan()
    assert region.ids["namespace"] == "namespace/1>namespace/3", "what is due was not looked through yet"
    for _ in range(3):
        region.driver.tick(Millis(region.now))
    assert region.ids == NEWEST.ids
    assert digests(region.known(HELD)) == {None, PROJECTIONS[KIND].digest(VALUE)}
    assert region.known(HELD).hold == hold


def test_a_daemon_that_ends_meanwhile_goes_on_with_it() -> None:
    region = GoingRegion()
    stands_by(region, FORMERLY)
    region.hears(projections=OLD_IDS, able=CAN, ready=CAN)
    again = restarted(region)
    assert again.ids["namespace"] == "namespace/1>namespace/3"
    again.scan()
    again.driver.tick(Millis(again.now))
    assert again.ids == NEWEST.ids
    assert digests(again.known()) == {PROJECTIONS[KIND].digest(VALUE)}
    assert restarted(again).ids == NEWEST.ids


def test_a_group_that_takes_an_older_member_in_goes_back() -> None:
    region = GoingRegion(NEWEST)
    stands_by(region, NEWEST)
    region.hears(projections=OLD_IDS, able=(), ready=())
    assert region.ids["namespace"] == "namespace/3>namespace/1"
    region.driver.tick(Millis(region.now))
    region.scan()
    assert region.ids == OLD_IDS
    assert digests(region.known()) == {FORMERS[KIND][-1].digest(VALUE)}
    assert region.published == []


def test_it_rests_between_two_times_and_each_time_for_longer() -> None:
    region = GoingRegion(NEWEST)
    stands_by(region, NEWEST)
    older: dict[str, Any] = {"projections": OLD_IDS, "able": (), "ready": ()}
    newer: dict[str, Any] = {"projections": OLD_IDS, "able": CAN, "ready": CAN}
    for rest_ms in (going_over.RESTS_MS, 2 * going_over.RESTS_MS):
        for told in (older, newer) if rest_ms == going_over.RESTS_MS else (older,):
            region.hears(**told)
            began = region.now
            region.driver.tick(Millis(region.now))
            region.scan()
            if told is older:
                region.hears(**newer)
                assert region.ids == OLD_IDS, "not at once again"
                region.now = began + rest_ms - 2_000
                region.hears(**newer)
                assert region.ids == OLD_IDS
            region.now += going_over.LONGEST_REST_MS


def test_the_status_says_for_whom_it_waits_and_that_it_goes_over() -> None:
    region = GoingRegion()
    stands_by(region, FORMERLY)
    conditions = region.local.telemetry.conditions
    region.hears(projections=OLD_IDS, able=(), ready=())
    region.driver.tick(Millis(region.now))
    assert conditions[going_over.OLDER].endswith("compared by topic-policy/1, not topic-policy/3: there (cannot)")
    region.hears(projections=OLD_IDS, able=CAN, ready=("namespace/1", "topic-policy/1"))
    region.driver.tick(Millis(region.now))
    assert conditions[going_over.OLDER].endswith("there (waits itself)")
    region.hears(projections=OLD_IDS, able=CAN, ready=CAN)
    region.driver.tick(Millis(region.now))
    assert "namespace/1>namespace/3, topic-policy/1>topic-policy/3" in conditions[going_over.CHANGE]
    assert going_over.OLDER not in conditions
    region.scan()
    region.driver.tick(Millis(region.now))
    assert conditions.keys().isdisjoint({going_over.OLDER, going_over.CHANGE})


# -- a part of the policies of offloading

CARRIES: Final = replace(NEWEST, able=ABLE_TO_CARRY)
CAN_CARRY: Final = tuple(sorted(ABLE_TO_CARRY))
CARRIED_IDS: Final = {**NEWEST.ids, **{str(kind): each.id for kind, each in CARRYING.items()}}
GOING_IDS: Final = {
    **NEWEST.ids,
    **{str(kind): f"{PROJECTIONS[kind].id}>{each.id}" for kind, each in CARRYING.items()},
}
PART: Final = {"managedLedgerOffloadThresholdInBytes": 5}
OFFLOADED: Final = {"message_ttl_in_seconds": 1, "offload_policies": {**PART, "managedLedgerOffloadBucket": "here"}}


def published(region: GoingRegion) -> list[Any]:
    return [json.loads(event.value) for event in region.published if event.value is not None]


def waits_for_all() -> GoingRegion:
    """A region that is set to carry, whose only peer is so too, and has read all of its store."""
    region = GoingRegion(CARRIES)
    region.stands(OFFLOADED)
    region.hears(able=CAN_CARRY, ready=CAN_CARRY, projections=NEWEST.ids)
    assert region.ids == GOING_IDS
    region.driver.tick(Millis(region.now))
    region.scan()
    assert region.ids == GOING_IDS, "the peer has not begun yet"
    assert published(region) == []
    return region


def conditions(region: GoingRegion) -> Mapping[str, str]:
    return parts_of(region.driver).telemetry.conditions


def test_nothing_is_carried_while_one_is_not_set_to() -> None:
    region = GoingRegion(CARRIES)
    region.stands(OFFLOADED)
    region.hears(able=CAN, ready=CAN, projections=NEWEST.ids)
    region.scan()
    assert region.ids == NEWEST.ids
    assert "there (is not set to)" in conditions(region)[going_over.NOT_CARRIED]
    assert published(region) == []


def test_what_stands_is_shared_once_all_are_there() -> None:
    region = waits_for_all()
    assert going_over.NOT_CARRIED not in conditions(region)
    region.hears(able=CAN_CARRY, ready=CAN_CARRY, projections=GOING_IDS)
    assert region.ids == CARRIED_IDS
    assert region.driver.rescan_due
    assert parts_of(region.driver).group.peers.blocked(KIND, []), "the peer has not arrived yet"
    region.scan()
    assert published(region) == [{"message_ttl_in_seconds": 1, "offload_policies": PART}]
    region.hears(able=CAN_CARRY, ready=CAN_CARRY, projections=CARRIED_IDS)
    assert not parts_of(region.driver).group.peers.blocked(KIND, [])


def test_it_goes_back_where_one_is_set_otherwise_meanwhile() -> None:
    region = waits_for_all()
    region.hears(able=CAN, ready=CAN, projections=NEWEST.ids)
    assert region.ids["namespace"] == "namespace/3+offload>namespace/3"
    region.scan()
    region.driver.tick(Millis(region.now))
    assert region.ids == NEWEST.ids
    assert published(region) == []
    assert digests(region.known()) == {PROJECTIONS[KIND].digest(json.dumps(OFFLOADED).encode())}
