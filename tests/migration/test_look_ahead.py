"""The look-ahead of Key_Shared subscriptions is off at both clusters while clients are moved, and then as it was."""

from __future__ import annotations

from typing import Final

import pytest

from syncer.migration.running.former import FormerValues
from syncer.migration.running.look_ahead import LEAST, LOOK_AHEAD, LookAhead
from tests.migration import rest
from tests.migration.clock import SimulatedClock
from tests.migration.controllers import Control, says_go
from tests.migration.flips import CountedCalls, Killed, MemoryJournal, calls_of, left_behind
from tests.migration.plays import NamespacePlay
from tests.migration.rest import AdminApi

pytestmark = pytest.mark.anyio
OWN: Final = {LOOK_AHEAD: "500"}


async def held(play: NamespacePlay, calls: CountedCalls, journal: MemoryJournal) -> None:
    look_ahead, former = look_ahead_of(play, calls, journal)
    await former.load()
    await look_ahead.hold()


def look_ahead_of(play: NamespacePlay, calls: CountedCalls, journal: MemoryJournal) -> tuple[LookAhead, FormerValues]:
    clock = SimulatedClock(play.timeline)
    former = FormerValues(calls, clock, journal, cluster="green")
    return LookAhead(calls, clock, former), former


@pytest.mark.parametrize("own", [{}, OWN])
async def test_it_is_held_off_and_then_as_it_was(own: dict[str, str]) -> None:
    play, journal = NamespacePlay(0), MemoryJournal()
    play.green.dynamic |= own
    look_ahead, _ = look_ahead_of(play, calls_of(play.green), journal)
    await look_ahead.hold()
    assert play.green.dynamic == {LOOK_AHEAD: LEAST}
    await look_ahead.hold()
    await look_ahead.release()
    assert play.green.dynamic == own
    assert journal.kept == {}


async def test_brokers_that_do_not_know_it_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "DYNAMIC", rest.DYNAMIC - {LOOK_AHEAD})
    play, calls, journal = NamespacePlay(0), calls_of(NamespacePlay(0).green), MemoryJournal()
    look_ahead, _ = look_ahead_of(play, calls, journal)
    await look_ahead.hold()
    await look_ahead.release()
    assert {method for method, _ in calls.made} == {"GET"}
    assert journal.kept == {}


async def test_whoever_is_killed_at_any_call_has_left_what_puts_it_back() -> None:
    kill_at, killed = 0, True
    while killed:
        kill_at += 1
        for after in (False, True):
            play, journal = NamespacePlay(0), MemoryJournal()
            play.green.dynamic |= OWN
            calls, killed = CountedCalls(AdminApi(play.green), kill_at, after=after), False
            try:
                await held(play, calls, journal)
            except* Killed:
                killed = True
            look_ahead, former = look_ahead_of(play, calls_of(play.green), journal)
            await former.load()
            await look_ahead.release()
            assert play.green.dynamic == OWN, kill_at
            assert journal.kept == {}


async def test_a_migration_holds_it_off_at_both_clusters_until_it_is_closed() -> None:
    control = Control(NamespacePlay(0))
    control.play.green.dynamic |= OWN
    seen: set[tuple[str | None, str | None]] = set()

    async def operator(controller: object, state: object) -> None:
        seen.add((control.play.blue.dynamic.get(LOOK_AHEAD), control.play.green.dynamic.get(LOOK_AHEAD)))
        await says_go(controller, state)  # type: ignore[arg-type] # as it was given

    control.operator = operator
    await control.begin(await control.plan()).run()
    assert (LEAST, LEAST) in seen
    assert left_behind(control.play) == {f"{LOOK_AHEAD} at green": OWN[LOOK_AHEAD]}
    (guarded,) = control.journal.noted("guarded")
    acts = guarded["acts"]
    assert isinstance(acts, list)
    assert [each["cluster"] for each in acts if each["subject"] == LOOK_AHEAD] == ["blue", "green"]
