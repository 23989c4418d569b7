"""Only members count: a region with other rules is held until an operator decides, and a thousand hold up nobody."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.bus.wire.heartbeats import TOLD_CHARACTERS, check_heartbeat, told_characters, within_bounds
from syncer.bus.wire.messages import Control, ControlAction
from syncer.conflict.tombstones import Cause
from syncer.model import Millis, Region, ResourceKind, TieOrder
from syncer.replication.gc.state import TombstoneGc
from syncer.replication.group import newcomers, peers
from syncer.replication.inbound import receive
from syncer.state.contract.operations import OperationState
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import Site, path_of
from tests.unit.replication.gc.test_gap_fill import changed
from tests.unit.replication.group.test_hearsay import Told
from tests.unit.replication.membership.test_membership import beat_of, refused_by

WEST, MARS = Region("west"), Region("mars")
OTHER = {"tie_order": TieOrder.NATIVE}, {"projections": {str(ResourceKind.TENANT): "tenant/99"}}


def blocked(told: Told) -> bool:
    parts = parts_of(told.east.driver)
    return any(parts.group.peers.blocked(kind, parts.group.expected) for kind in ResourceKind)


def comes_to(told: Told, name: str, sender: str, sequence: int = 1) -> bool:
    """Whether a change of a database is folded, not kept aside."""
    other = Site("mars")
    event = changed(other, path_of(name), 3, 50)
    told.east.hear([replace(event, sender=sender, sequence=sequence)], told.now)
    return told.east.known(path_of(name)) is not None


@pytest.mark.parametrize("rules", OTHER)
def test_who_is_new_and_works_by_other_rules_stops_nothing(rules: dict[str, object]) -> None:
    told = Told()
    told.hear(told.west, beat_of(told.east, "mars", "db-mars", **rules))
    assert not blocked(told)
    assert told.members == ["liar", "west"]
    parts = parts_of(told.east.driver)
    assert "mars is not of the group" in dict(parts.group.newcomers.conditions())["region-held"]
    assert parts.group.newcomers.report()[0]["region"] == "mars"
    assert not comes_to(told, "kept-aside", "db-mars")
    with told.east.state.transaction() as tx:
        assert "db-mars" not in tx.senders()
        assert tx.unfolded() == 0
    control = Control(region=MARS, sender="db-mars", action=ControlAction.PAUSE, sent_at_ms=told.now)
    told.east.hear([control], told.now)
    assert parts.group.paused is None
    assert told.kept_by == {}


def test_a_newcomer_that_takes_our_rules_is_a_member() -> None:
    told = Told()
    told.hear(beat_of(told.east, "mars", "db-mars", tie_order=TieOrder.NATIVE))
    told.hear(beat_of(told.east, "mars", "db-mars"))
    assert told.members == ["liar", "mars", "west"]
    assert parts_of(told.east.driver).group.newcomers.conditions() == []
    assert comes_to(told, "taken", "db-mars")


def test_who_has_members_holds_a_newcomer_of_another_projection_and_who_has_none_takes_it_in() -> None:
    older = {"namespace": "namespace/1", "topic-policy": "topic-policy/1"}
    told = Told()
    ours = parts_of(told.east.driver).group.peers.ours.projections
    mars = beat_of(told.east, "mars", "db-mars", projections={**ours, **older}, able=(), ready=())
    told.hear(mars)
    assert told.members == ["liar", "west"], "a stranger stops nobody and leads nobody back"
    assert told.does("regions-admit", "mars").state is OperationState.DONE
    told.hear(mars)
    assert told.members == ["liar", "mars", "west"]
    held, theirs = newcomers.Newcomers(), parts_of(told.east.driver).group.peers.ours
    assert not held.judge(mars, theirs, alone=True)
    strange = beat_of(told.east, "venus", "db-venus", projections={**ours, "namespace": "namespace/99"}, able=())
    assert held.judge(strange, theirs, alone=True)


def test_an_operator_takes_a_newcomer_in_and_its_rules_count_then() -> None:
    told = Told()
    mars = beat_of(told.east, "mars", "db-mars", tie_order=TieOrder.NATIVE)
    told.hear(mars)
    assert told.does("regions-admit", "mars").state is OperationState.DONE
    told.hear(mars)
    assert told.members == ["liar", "mars", "west"]
    assert blocked(told)
    assert told.does("regions-forget", "mars", force="true").state is OperationState.DONE
    assert not blocked(told), "and forgetting it ends that"


def test_an_operator_refuses_a_newcomer_for_good() -> None:
    told = Told()
    mars = beat_of(told.east, "mars", "db-mars", tie_order=TieOrder.NATIVE)
    told.hear(mars)
    assert told.does("regions-forget", "mars").state is OperationState.DONE
    told.hear(mars)
    assert refused_by(told.east) == (("mars", "db-mars"),)
    assert parts_of(told.east.driver).group.newcomers.report() == []
    assert told.members == ["liar", "west"]


def test_a_member_that_works_by_other_rules_keeps_its_kind_waiting() -> None:
    told = Told()
    told.hear(replace(told.west, tie_order=TieOrder.NATIVE))
    assert blocked(told)
    parts_of(told.east.driver).group.expected = frozenset({Region("liar")})
    assert not blocked(told), "one that is not named does not count"
    parts_of(told.east.driver).group.expected = frozenset({WEST})
    assert blocked(told)


def test_who_is_named_is_a_member_whatever_its_rules_are() -> None:
    told = Told()
    parts_of(told.east.driver).group.expected = frozenset({MARS, WEST})
    told.hear(beat_of(told.east, "mars", "db-mars", tie_order=TieOrder.NATIVE))
    assert blocked(told)


def test_newcomers_are_not_remembered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newcomers, "KEPT", 3)
    told = Told()
    for number in range(10):
        told.hear(beat_of(told.east, f"mars{number}", f"db-{number}", tie_order=TieOrder.NATIVE))
    report = parts_of(told.east.driver).group.newcomers.report()
    assert [each["region"] for each in report] == ["mars7", "mars8", "mars9"]


def test_a_thousand_invented_regions_do_not_keep_an_honest_one_from_being_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peers, "PEERS_KEPT", 5)
    told = Told()
    told.hear(told.west, told.liar)
    told.now = Millis(told.now + peers.ESTABLISHED_MS)
    told.hear(told.west, told.liar)
    for number in range(20):
        told.hear(beat_of(told.east, f"invented{number}", f"db-{number}"))
    told.hear(beat_of(told.east, "north", "db-north"))
    assert told.members == ["invented18", "invented19", "liar", "north", "west"], "whoever was there for long stays"
    assert "too-many-regions" in told.codes
    told.east.begin()
    assert told.members == ["invented18", "invented19", "liar", "north", "west"]
    monkeypatch.setattr(peers, "ESTABLISHED_MS", 0)
    told.hear(beat_of(told.east, "south", "db-south"))
    assert "it is not heard" in told.codes["too-many-regions"]


def test_a_database_without_a_region_keeps_the_deletes_for_a_day_or_until_it_is_refused() -> None:
    for ends in ("time", "command"):
        told = Told()
        assert comes_to(told, "strange", "db-nameless")
        assert told.kept_by == {Region("east"): Cause.NAMELESS}
        told.now = Millis(told.now - 1_000)
        assert told.kept_by == {Region("east"): Cause.NAMELESS}, "a clock that is set back ends nothing"
        if ends == "time":
            told.now = Millis(told.now + TombstoneGc().nameless_ms)
        else:
            assert told.does("regions-forget", "db-nameless").state is OperationState.DONE
            assert not comes_to(told, "refused", "db-nameless", 2)
        assert Cause.NAMELESS not in told.kept_by.values()


def test_numbers_of_databases_without_a_region_take_bounded_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receive, "STRANGE_SENDERS", 3)
    told = Told()
    for number in range(6):
        assert comes_to(told, f"n{number}", f"db-{number}")
    for sequence in range(10, 200, 2):
        comes_to(told, "many", "db-0", sequence)
    with told.east.state.transaction() as tx:
        assert tx.senders() == {"db-0", "db-1", "db-2"}
        assert len(tx.consumed(["db-0"])["db-0"].ahead) == receive.STRANGE_RANGES
    assert "too-many-senders" in told.codes
    assert parts_of(told.east.driver).telemetry.tally["refused", "too-many-senders"] == 3


def test_what_regions_tell_of_others_takes_bounded_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "HEARTBEATS_BYTES", 4_000)
    told = Told()
    told.hear(told.west)
    fat = beat_of(told.east, "mars", "db-mars", consumed={f"{number:032x}": 1 for number in range(40)})
    told.hear(fat)
    assert "heartbeats-full" in dict(parts_of(told.east.driver).group.peers.conditions(1000))
    assert told.kept_by == {MARS: Cause.OUTDATED}
    assert parts_of(told.east.driver).telemetry.tally["refused", "heartbeats-full"] == 1
    row = told.east.state.database.peers[MARS]
    assert row.document["consumed"] == {}
    told.hear(replace(fat, consumed={}))
    assert told.kept_by == {}


def test_names_without_end_leave_room_in_what_a_region_tells() -> None:
    told = Told()
    for number in range(200):
        told.hear(beat_of(told.east, f"{number:03}".ljust(255, "r"), f"{number:03}".ljust(512, "s")))
    told.hear(told.west)
    beat = told.east.driver.heartbeat(told.now, "1")
    check_heartbeat(beat)
    assert told_characters(beat) > TOLD_CHARACTERS * 3 // 4, "no more is left out than has to be"
    assert told.west.sender in beat.reached
    assert "west" in beat.generations
    parts = parts_of(told.east.driver)
    assert "heartbeat-cut" in parts.telemetry.conditions
    database = "199".ljust(512, "s")
    assert database not in beat.reached
    parts.group.expected = frozenset({Region("199".ljust(255, "r"))})
    beat = told.east.driver.heartbeat(told.now, "1")
    check_heartbeat(beat)
    assert database in beat.reached


def test_what_is_refused_finds_room_by_its_length_too() -> None:
    told = Told()
    pairs = tuple((f"{number:03}".ljust(255, "r"), f"{number:03}".ljust(200, "d")) for number in range(511))
    short = ("mars", "db-mars")
    beat = replace(told.east.driver.heartbeat(told.now, "1"), refused=(*pairs, short))
    bounded = within_bounds(beat, lambda _: False)
    check_heartbeat(bounded)
    assert short in bounded.refused
    assert len(bounded.refused) > 50
    assert bounded.consumed == beat.consumed
    assert within_bounds(bounded, lambda _: False) is bounded


def test_room_for_all_names_is_room_again() -> None:
    told = Told()
    parts = parts_of(told.east.driver)
    parts.telemetry.conditions["heartbeat-cut"] = "before"
    told.east.driver.heartbeat(told.now, "1")
    assert "heartbeat-cut" not in parts.telemetry.conditions
