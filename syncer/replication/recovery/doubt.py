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
all of them. The word of a region that has a key, and has not signed with it, counts for nobody's.

A generation that another database had is left for the next one, but not before it was checked: then no peer would say
so any more, neither the second member nor the first one after a crash.
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
DOUBTED: Final = "database-doubted"
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
    before = doubts.by.get(teller)
    if before is None or (accusation.signed and not before.signed):
        weight = _weight(recovery, accusation)
        if not weight and list(doubts.weights.values()).count(0) >= STRANGERS_KEPT:
            return False
        if recovery.group.peers.since(teller) == now and teller not in recovery.group.expected:
            doubts.strangers.add(teller)
        doubts.by[teller], doubts.weights[teller] = accusation, weight
        doubts.asked_at_ms.pop(teller, None)
        if doubts.held_since_ms is None and _in_a_pair(recovery, teller, now):
            doubts.held_since_ms = now
    return sum(doubts.weights.values()) >= ENOUGH


def _weight(recovery: Recovery, accusation: Accusation) -> int:
    """How much a member's word counts: two if its own key proves who it is, none if anybody may have made it up."""
    group, teller, keys = recovery.group, accusation.teller, recovery.group.keyring.regions
    if teller in keys.halves and not (accusation.signed or keys.required):
        return 0
    if group.expected:
        return 2 if keys.required else 1
    return 1 if is_established(recovery, teller, accusation.at_ms) else 0


def is_established(recovery: Recovery, region: Region, now: Millis) -> bool:
    """Whether a region belongs to the group for so long that nobody has made it up for this."""
    since = recovery.group.peers.since(region)
    return region in recovery.group.expected or (since is not None and now - since >= ESTABLISHED_MS)


def _in_a_pair(recovery: Recovery, teller: Region, now: Millis) -> bool:
    """Whether nobody but the accuser could tell what this database has published."""
    members = recovery.group.peers.members(recovery.group.expected)
    others = {each for each in members if is_established(recovery, each, now)} - {recovery.core.identity.region}
    return others <= {teller}


def look_again(recovery: Recovery, now: Millis) -> None:
    """End the time in which nothing is published, once a proof should have come."""
    doubts = recovery.doubts
    if doubts.holds and not 0 <= now - (doubts.held_since_ms or 0) < CHECK_MS:
        doubts.over = True
        if doubts.by and not recovery.begun_on_hearsay:
            recovery.telemetry.conditions[DOUBTED] = words(recovery, next(iter(doubts.by.values())))


def is_checking(recovery: Recovery, now: Millis) -> bool:
    """Whether it is still asked for a change that another database has stamped under this one's generation."""
    by = recovery.core.replica.settings.by
    return any(each.by == by and 0 <= now - each.at_ms < CHECK_MS for each in recovery.doubts.by.values())


def questions(recovery: Recovery, now: Millis) -> list[Control]:
    """Ask the accusers for the changes that would prove what they say; again as long as it is waited for."""
    doubts = recovery.doubts
    if not doubts.by or recovery.begun_on_hearsay or recovery.core.observing:
        return []
    due = [each for each in doubts.by.values() if _is_due(doubts.asked_at_ms.get(each.teller), each, now)]
    doubts.asked_at_ms.update((each.teller, now) for each in due)
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
        for accusation in due
    ]


def _is_due(asked_at: Millis | None, accusation: Accusation, now: Millis) -> bool:
    """Whether an accuser is to be asked now."""
    if not 0 <= now - accusation.at_ms < CHECK_MS:
        return False
    return asked_at is None or not 0 <= now - asked_at < ASK_AGAIN_MS


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
    """Describe an accusation that begins nothing, for an operator."""
    waits = "; nothing is published for up to a minute meanwhile" if recovery.doubts.holds else ""
    return (
        f"{accusation.teller} says that this database is {accusation.reason}. On the word of one it does not begin "
        f"anew: {accusation.teller} was asked for the change that proves it{waits}. If it is true, stop the daemon, "
        "move the database away, and start it again; if not, find out what that member is"
    )
