"""The rules of a region by its heartbeats: those of a heartbeat that comes again after later ones do not count."""

from __future__ import annotations

from typing import Any

from syncer.bus.wire.messages import Heartbeat
from syncer.conflict.changeover import NEWEST
from syncer.model import Millis, Region, TieOrder
from syncer.replication.group.peer import RULES_STAND_MS, own_rules
from syncer.replication.group.peers import Peers

WEST = Region("west")
NOW = Millis(1_790_000_000_000)


def beat(sent_at_ms: int, **told: Any) -> Heartbeat:
    return Heartbeat(
        region=WEST,
        sender=told.pop("sender", "db-west"),
        generation=1,
        sent_at_ms=Millis(sent_at_ms),
        last_sequence=told.pop("last_sequence", 0),
        watermark=Millis(sent_at_ms),
        scope=told.pop("scope", "scope"),
        tie_order=TieOrder.SMALLER_REGION,
        mode="active",
        version="1",
        **told,
    )


def own(peers: Peers) -> tuple[str, ...]:
    """The clusters that the other region has told to be its own."""
    return peers.peculiar[WEST].names.own if WEST in peers.peculiar else ()


def heard(*beats: Heartbeat, every_ms: int = 1_000) -> Peers:
    peers = Peers(own_rules(NEWEST, "scope", TieOrder.SMALLER_REGION))
    for number, each in enumerate(beats):
        peers.on_heartbeat(each, Millis(NOW + number * every_ms))
    return peers


def test_a_heartbeat_that_comes_again_after_a_later_one_takes_back_no_rules() -> None:
    former, latest = beat(NOW, clusters=("west",)), beat(NOW + 5, clusters=("east",), scope="another")
    peers = heard(former, latest)
    row = peers.on_heartbeat(former, Millis(NOW + 2_000))
    assert (own(peers), peers.same_scope(WEST)) == (("east",), False)
    assert (row.heard_at_ms, row.sent_at_ms) == (NOW + 2_000, NOW + 5), "it was heard, and is no later one"
    again = Peers(peers.ours, [row])
    assert (own(again), again.same_scope(WEST)) == (("east",), False), "so it is kept"
    again.on_heartbeat(former, Millis(NOW + 3_000))
    assert own(again) == ("east",)


def test_the_rules_of_a_region_whose_clock_was_set_back_count_after_a_while() -> None:
    ahead = beat(NOW + 3_600_000, clusters=("west",))
    back = [beat(NOW + number, clusters=("east",)) for number in range(3)]
    assert own(heard(ahead, *back, every_ms=RULES_STAND_MS // 4)) == ("west",)
    peers = heard(ahead, *back, every_ms=RULES_STAND_MS // 3)
    assert own(peers) == ("east",)
    peers.on_heartbeat(beat(NOW + 3, clusters=("north",)), Millis(NOW + RULES_STAND_MS + 1))
    assert own(peers) == ("north",), "from then on by its clock of now"


def test_another_database_of_the_region_tells_its_rules_whatever_its_clock_says() -> None:
    first = beat(NOW, clusters=("west",))
    assert own(heard(first, beat(NOW - 5, clusters=("east",), sender="db-new"))) == ("east",)
