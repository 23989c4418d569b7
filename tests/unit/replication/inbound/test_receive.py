"""An event that has waited for its time finds no more room than others do, and waits on where there is none."""

from __future__ import annotations

from typing import Final

import pytest

from syncer.model import Millis
from syncer.replication import quotas
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.inbound.receive import ROOM_AGAIN_MS
from syncer.state.contract.conflicts import Amount
from tests.shell.on_bus import change
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import T0, Said, Site, path_of, value_of

NOW: Final = Millis(T0 + 1_000_000)
AHEAD: Final = Millis(NOW + 3_600_000)


def hear(site: Site, *messages: Said, now: Millis = NOW) -> None:
    site.driver.consume([Arrived(message=said, position=f"p{at}") for at, said in enumerate(messages)], now)


def said(edition: int, region: str, time_ms: int, number: int = 1) -> Said:
    return change(
        path_of(1), value_of(edition), region=region, sender=region[0] * 32, sequence=number, time_ms=Millis(time_ms)
    )


def test_what_has_waited_for_its_time_waits_for_room_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a flood of events a little ahead of all clocks would pass by the room of conflicts."""
    site = Site("east")
    hear(site, said(1, "west", NOW), said(2, "north", AHEAD))
    before = site.known(path_of(1))
    monkeypatch.setattr(quotas, "CONFLICTS", Amount(0, 1 << 20))
    site.driver.tick(AHEAD)
    assert not site.state.database.conflicts
    assert site.known(path_of(1)) == before, "nothing gives way to it"
    assert len(site.state.database.future) == 1, "and it is not lost: its number counts as consumed"
    assert parts_of(site.driver).telemetry.tally["refused", "conflicts-full"] == 1
    monkeypatch.undo()
    site.driver.tick(Millis(AHEAD + ROOM_AGAIN_MS))
    assert (len(site.state.database.conflicts), len(site.state.database.future)) == (1, 0)


def test_nor_does_it_pass_when_what_is_known_of_its_path_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site("east")
    hear(site, said(1, "west", NOW), said(2, "north", NOW + 40_000))
    assert len(site.state.database.future) == 1
    monkeypatch.setattr(quotas, "CONFLICTS", Amount(0, 1 << 20))
    later = Millis(NOW + 15_000)
    grown = change(path_of(1), value_of(1), region="west", sender="w" * 32, sequence=2, time_ms=Millis(NOW + 14_000))
    hear(site, grown, now=later)
    assert not site.state.database.conflicts
    assert len(site.state.database.future) == 1
