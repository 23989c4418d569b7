"""Who belongs to the group: what is refused, what is told on about it, and what is cleared up."""

from __future__ import annotations

from syncer.bus.messages import Action, Control
from syncer.model import MetadataChangeEvent, Millis, Region
from tests.unit.test_antientropy import T0
from tests.unit.test_retelling import GONE, changed, pair_with


def forgotten(region: str, *senders: str) -> Control:
    """A third region has forgotten one."""
    return Control(
        region=Region("third"), sender="db-third", action=Action.FORGET, paths=(region, *senders), sent_at_ms=T0
    )


def test_a_forgotten_region_leaves_no_gap_behind() -> None:
    pair = pair_with()
    pair.beat(2)
    pair.loses = lambda said: isinstance(said, MetadataChangeEvent)
    changed(pair.west, GONE, None, 50)
    pair.beat(2)
    retelling = pair.east.driver.context.retelling
    assert retelling.gaps
    pair.east.hear([forgotten("west", "db-west")], Millis(pair.now))
    pair.beat(40)
    assert not retelling.gaps
    assert not retelling.conditions(Millis(pair.now), Millis(1))
