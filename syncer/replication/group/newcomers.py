"""Regions that speak and do not belong to the group: they are held, and what they send is kept aside.

All members work by the same rules (projections, tie order), else their values cannot be compared. A member that works
by others, after an upgrade, keeps that kind of resource waiting until all do. But anybody who may publish can say that
he is a region and works by other rules. So only members count: the regions of `peers.expected`; where none are named,
whoever was first heard with the rules of this region, or was admitted by an operator. Who has met no member yet takes
the first ones whose rules it can take, too. Anybody else is a newcomer. It is
not obeyed, and nobody waits for it: the status names it and why, its changes go to the quarantine without their numbers
being counted, so that anti-entropy brings them once `syncer regions admit` has made it a member, or once it works by
the rules of this region. `syncer regions forget` refuses it for good. Memory only: heartbeats repeat it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from syncer.bus.wire.messages import Heartbeat
from syncer.model import Region
from syncer.replication.group.peer import Rules, rules_of

KEPT: Final = 1_000
"""Newcomers that are remembered; beyond, the one that was heard longest ago is let go."""
_WHY_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A region that is held: the database by which it speaks, and why."""

    sender: str
    why: str


class Newcomers:
    """All that are held, the one that was heard last at the end."""

    def __init__(self) -> None:
        self._held: OrderedDict[Region, Newcomer] = OrderedDict()

    def judge(self, beat: Heartbeat, ours: Rules, *, alone: bool) -> bool:
        """Hold a region that was not heard before, if it works by other rules; whether it is held.

        Args:
            beat: Its heartbeat.
            ours: The rules of this region.
            alone: This region has no other member yet: then it takes in who works by others that a changeover mends.
        """
        theirs = rules_of(beat)
        against = theirs.apart(beat.region, ours) if alone else theirs.against(beat.region, ours)
        if not against:
            self.let_go(beat.region)
            return False
        why = next(iter(against.values()))[:_WHY_CHARACTERS]
        self._held[beat.region] = Newcomer(beat.sender, why)
        self._held.move_to_end(beat.region)
        while len(self._held) > KEPT:
            self._held.popitem(last=False)
        return True

    def let_go(self, region: Region) -> None:
        """It is held no longer."""
        self._held.pop(region, None)

    def of(self, region: Region) -> Newcomer | None:
        """What is known of a region that is held."""
        return self._held.get(region)

    def speaks_for(self, sender: str) -> Region | None:
        """The region that is held and speaks by a database."""
        return next((region for region, held in self._held.items() if held.sender == sender), None)

    def conditions(self) -> list[tuple[str, str]]:
        """What an operator should look at: one line, however many there are."""
        if not self._held:
            return []
        region, newcomer = next(reversed(self._held.items()))
        others = f" {len(self._held) - 1} more are held likewise." if len(self._held) > 1 else ""
        message = (
            f"{region} is not of the group and works by other rules: {newcomer.why}. What it sends is kept aside, and "
            f"nothing waits for it.{others} 'syncer regions admit {region}' takes it in, 'syncer regions forget "
            f"{region}' refuses it"
        )
        return [("region-held", message)]

    def report(self) -> list[dict[str, object]]:
        """Who is held and why, as JSON."""
        return [{"region": region, "reason": held.why} for region, held in sorted(self._held.items())]
