"""When deletes may be forgotten: the two rounds of an epoch, one report at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from syncer.conflict.register import Hold, HoldReason, Intent, Parked, ParkReason, Wish
from syncer.conflict.tombstones import (
    COUNTED,
    Cause,
    Epoch,
    EpochPhase,
    Report,
    advance,
    close,
    gatherable_until,
    joined,
    waiting,
)
from syncer.model import Millis, Region
from tests.unit.registers import X, at, register, settled_on, stored, version

A, B, C = Region("a"), Region("b"), Region("c")
UNTIL = Millis(1000)


def reports(**changes: dict[str, Any]) -> dict[Region, Report]:
    """Three members that have consumed everything; changes by region."""
    last = {"da": 5, "db": 7, "dc": 9}
    found = {}
    for region in (A, B, C):
        facts: dict[str, Any] = {
            "sender": f"d{region}",
            "last_sequence": last[f"d{region}"],
            "consumed": last,
            "reached": last,
        }
        found[region] = Report(**{**facts, **changes.get(region, {})})
    return found


def carried(epoch: Epoch, *rounds: dict[Region, Report]) -> Epoch:
    """The epoch after these rounds of reports."""
    for told in rounds:
        after = advance(epoch, told)
        assert after is not None
        epoch = after
    return epoch


def test_it_is_over_after_two_rounds() -> None:
    epoch = close(reports(), UNTIL)
    assert epoch.phase is EpochPhase.SEATING
    epoch = carried(epoch, reports())
    assert epoch.phase is EpochPhase.CONSUMING
    assert epoch.second == {"da": 5, "db": 7, "dc": 9}
    assert carried(epoch, reports()).phase is EpochPhase.OVER


@pytest.mark.parametrize(
    ("changes", "cause", "reason"),
    [
        ({"consumed": {"da": 4, "db": 7}}, Cause.BEHIND, "has consumed 4 of the first 5 changes of database da"),
        ({"consumed": {"db": 7}}, Cause.BEHIND, "has consumed 0 of the first 5"),
        ({"unseated": 2, "oldest_ms": Millis(1000)}, Cause.UNSEATED, "has 2 deletes to seat"),
        ({"unseated": COUNTED, "oldest_ms": Millis(9)}, Cause.UNSEATED, "has 1000 or more deletes to seat"),
        ({"unfolded": 3}, Cause.UNFOLDED, "has 3 messages in quarantine"),
    ],
)
def test_a_member_that_may_lack_a_delete_holds_it_up(changes: dict[str, Any], cause: Cause, reason: str) -> None:
    told = reports(c=changes)
    epoch = carried(close(reports(), UNTIL), told, told)
    assert epoch.phase is EpochPhase.SEATING
    assert epoch.stored == {A, B}
    waits = waiting(epoch, told)
    assert list(waits) == [C]
    assert waits[C].cause is cause
    assert reason in waits[C].text
    assert carried(epoch, reports(), reports()).phase is EpochPhase.OVER


def test_a_younger_delete_holds_nothing_up() -> None:
    told = reports(c={"unseated": 2, "oldest_ms": Millis(1001)})
    assert carried(close(told, UNTIL), told, told).phase is EpochPhase.OVER


def test_what_was_given_out_or_met_before_a_report_must_be_consumed_by_all() -> None:
    """A member had a change on its way when it reported; another had met one that a third had not told of yet."""
    told = reports(b={"last_sequence": 8, "reached": {"da": 5, "dc": 11}})
    epoch = carried(close(reports(), UNTIL), told)
    assert epoch.second == {"da": 5, "db": 8, "dc": 11}
    epoch = carried(epoch, reports())
    assert epoch.phase is EpochPhase.CONSUMING
    assert set(waiting(epoch, reports())) == {A, B, C}
    done = {"da": 5, "db": 8, "dc": 11}
    assert (
        carried(epoch, {region: replace(each, consumed=done) for region, each in told.items()}).phase is EpochPhase.OVER
    )


def test_an_overtaken_report_takes_nothing_back() -> None:
    epoch = carried(close(reports(), UNTIL), reports(c={"consumed": {}}), reports(a={"consumed": {}}))
    assert epoch.phase is EpochPhase.CONSUMING


def test_quarantine_in_the_second_round_holds_it_up() -> None:
    told = reports(a={"unfolded": 1})
    epoch = carried(close(reports(), UNTIL), reports(), told)
    assert set(waiting(epoch, told)) == {A}
    assert waiting(carried(epoch, reports()), told) == {}


def test_other_members_or_another_database_begin_it_anew() -> None:
    epoch = close(reports(), UNTIL)
    fewer = reports()
    del fewer[C]
    assert advance(epoch, fewer) is None
    assert advance(epoch, reports(c={"sender": "new"})) is None


def test_only_what_no_unseated_delete_can_hold_up_is_gathered() -> None:
    assert gatherable_until(UNTIL, reports().values()) == UNTIL
    assert gatherable_until(UNTIL, reports(b={"unseated": 1, "oldest_ms": Millis(400)}).values()) == 399
    assert gatherable_until(UNTIL, reports(b={"unseated": 1, "oldest_ms": Millis(4000)}).values()) == UNTIL


def test_vectors_join_by_the_greater_number() -> None:
    assert joined({"x": 1, "y": 5}, {"x": 3}, {}) == {"x": 3, "y": 5}


def test_only_a_mere_tombstone_is_forgettable() -> None:
    dead = settled_on(None, at(0))
    assert dead.forgettable
    assert not register().forgettable
    assert not settled_on(X, at(0)).forgettable
    assert not register(known=version(None, at(1)), stored=stored(X, at(0))).forgettable
    assert not replace(dead, hold=Hold(reason=HoldReason.FLAPPING, stamp=at(0), since_ms=UNTIL, detail="")).forgettable
    assert not replace(dead, intent=Intent(batch="1", version=version(None, at(0)), expected=None)).forgettable
    assert not replace(dead, wish=Wish.REASSERT).forgettable
    assert not replace(dead, parked=Parked(reason=ParkReason.STORE_REFUSED, since_ms=UNTIL)).forgettable


# -- members that do not carry the paths


def apart(told: dict[Region, Report]) -> tuple[dict[Region, Report], dict[Region, Report]]:
    """The reports of those that carry the paths, and that of who does not."""
    return {region: told[region] for region in (A, B)}, {C: told[C]}


def test_who_does_not_carry_the_paths_is_waited_for_with_none_of_its_reports() -> None:
    carrying, beside = apart(reports(c={"consumed": {}, "unseated": 9, "oldest_ms": Millis(1)}))
    epoch = close(carrying, UNTIL, beside)
    for _ in range(2):
        after = advance(epoch, carrying, beside)
        assert after is not None
        epoch = after
    assert epoch.phase is EpochPhase.OVER


def test_what_it_may_have_said_of_them_before_is_waited_for() -> None:
    carrying, beside = apart(reports(b={"consumed": {"da": 5, "db": 7, "dc": 8}}))
    epoch = close(carrying, UNTIL, beside)
    assert epoch.first["dc"] == 9
    assert set(epoch.databases) == {"da", "db", "dc"}
    after = advance(epoch, carrying, beside)
    assert after is not None
    assert after.stored == {A}, "b has not consumed what c had given out"


def test_who_comes_to_carry_them_or_has_another_database_begins_the_epoch_anew() -> None:
    carrying, beside = apart(reports())
    epoch = close(carrying, UNTIL, beside)
    assert advance(epoch, reports()) is None
    assert advance(epoch, carrying) is None
    assert advance(epoch, carrying, {C: replace(beside[C], sender="another")}) is None
