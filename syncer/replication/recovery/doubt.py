"""Doubts: what others say against this region's own database, and whose word has it rebuilt.

    a member has more of this database than it published, or knows its generation of another database
      ─▶ doubt: the member is asked for the change that proves it; a pair publishes nothing meanwhile
      ─▶ the change comes, as this region has sent it: own evidence          ─▶ begin anew
      ─▶ two members say so, or one whose own key proves who it is           ─▶ begin anew
      ─▶ neither within CHECK_MS                                             ─▶ publish again, and go on to show it

A rebuild throws away what only the database knew, so the word of one does not begin it. A true accusation can be
proved: every member keeps the last change of each other one in its original form (:mod:`.originals`), and sends it
back. Where this region has a key of its own, the change counts only with that signature. Where it has none, nothing
tells a true copy from a forged one. It counts all the same: else an old copy would never be found in such a pair, and
would use its numbers again. Each accuser is asked once in the life of a daemon, and publications are held back once for
all of them.
"""

from __future__ import annotations

from typing import Final

from syncer.bus.trust.region_keys import Speaker
from syncer.bus.wire.messages import Control, ControlAction
from syncer.model import MetadataChangeEvent, Millis, Region
from syncer.replication.group.peers import ESTABLISHED_MS
from syncer.replication.recovery.part import Recovery
from syncer.replication.recovery.progress import Accusation
from syncer.state.contract.transaction import Transaction

CHECK_MS: Final = 50_000
"""How long a pair publishes nothing while the proof is waited for: with what a tick takes, less than a minute."""
ASK_AGAIN_MS: Final = 5_000
ENOUGH: Final = 2
"""Members whose word together begins a rebuild."""
STRANGERS_KEPT: Final = 64
"""Accusers that are no members of old and are remembered; further ones are only shown."""


def published(recovery: Recovery, tx: Transaction) -> int:
    """The highest number of a change that this database may have published.

    While it is in doubt whether the database is an old copy, numbers that it has given out and not sent do not count:
    the copy may give out again what was sent before.
    """
    progress, doubts = recovery.progress, recovery.doubts
    if progress.unheard or (doubts.by and not doubts.over):
        return max(progress.published, progress.sent)
    return tx.identity().last_sequence


def convinces(recovery: Recovery, accusation: Accusation) -> bool:
    """Note an accusation; whether it begins a rebuild, with those of other members."""
    doubts, teller, now = recovery.doubts, accusation.teller, accusation.at_ms
    if teller not in doubts.by:
        weight = _weight(recovery, teller, now)
        if not weight and list(doubts.weights.values()).count(0) >= STRANGERS_KEPT:
            return False
        if recovery.group.peers.since(teller) == now and teller not in recovery.group.expected:
            doubts.strangers.add(teller)
        doubts.by[teller], doubts.weights[teller], doubts.asked_at_ms = accusation, weight, None
        if doubts.held_since_ms is None and _in_a_pair(recovery, teller, now):
            doubts.held_since_ms = now
    return sum(doubts.weights.values()) >= ENOUGH


def _weight(recovery: Recovery, teller: Region, now: Millis) -> int:
    """How much a member's word counts: two if its own key proves who it is, none if anybody may have made it up."""
    group = recovery.group
    if group.expected:
        return 2 if group.keyring.regions.required else 1
    return 1 if _established(recovery, teller, now) else 0


def _established(recovery: Recovery, region: Region, now: Millis) -> bool:
    """Whether a region belongs to the group for so long that nobody has made it up for this."""
    since = recovery.group.peers.since(region)
    return region in recovery.group.expected or (since is not None and now - since >= ESTABLISHED_MS)


def _in_a_pair(recovery: Recovery, teller: Region, now: Millis) -> bool:
    """Whether nobody but the accuser could tell what this database has published."""
    members = recovery.group.peers.members(recovery.group.expected)
    others = {each for each in members if _established(recovery, each, now)} - {recovery.core.identity.region}
    return others <= {teller}


def look_again(recovery: Recovery, now: Millis) -> None:
    """End the time in which nothing is published, once a proof should have come."""
    doubts = recovery.doubts
    if doubts.holds and not 0 <= now - (doubts.held_since_ms or 0) < CHECK_MS:
        doubts.over = True


def questions(recovery: Recovery, now: Millis) -> list[Control]:
    """Ask the accusers for the changes that would prove what they say; again as long as it is waited for."""
    doubts, asked_at = recovery.doubts, recovery.doubts.asked_at_ms
    if not doubts.by or recovery.begun_on_hearsay or recovery.core.observing:
        return []
    if asked_at is not None and 0 <= now - asked_at < ASK_AGAIN_MS:
        return []
    doubts.asked_at_ms = now
    return [
        Control(
            region=recovery.core.identity.region,
            sender=recovery.core.identity.database_id,
            action=ControlAction.PROVE,
            paths=(accusation.database,),
            number=accusation.above,
            reason=f"{accusation.teller} says that this database is {accusation.reason}",
            sent_at_ms=now,
            target=accusation.teller,
        )
        for accusation in doubts.by.values()
        if 0 <= now - accusation.at_ms < CHECK_MS
    ]


def is_own(recovery: Recovery, speaker: Speaker | None) -> bool:
    """Whether a change in this region's name is own evidence: its own key has signed it, where it has one."""
    region, keys = recovery.core.identity.region, recovery.group.keyring.regions
    if keys.own is None and region not in keys.halves:
        return True
    return speaker is not None and speaker.region == region


def proved(recovery: Recovery, event: MetadataChangeEvent, speaker: Speaker | None) -> Accusation | None:
    """The accusation that a change of another database of this region proves."""
    for accusation in recovery.doubts.by.values():
        if accusation.by is not None and (event.sender, event.by) == (accusation.database, accusation.by):
            return accusation if is_own(recovery, speaker) else None
    return None


def words(recovery: Recovery, accusation: Accusation) -> str:
    """What an operator should know of an accusation that begins nothing."""
    waits = "; nothing is published until it was waited for that" if recovery.doubts.holds else ""
    return (
        f"{accusation.teller} says that this database is {accusation.reason}. On the word of one it does not begin "
        f"anew: {accusation.teller} was asked for the change that proves it{waits}. If it is true, stop the daemon, "
        "move the database away, and start it again; if not, find out what that member is"
    )
