"""Attribution of messages to regions: a member with a key speaks for its own region, by a database of its own.

A message's signature shows the region that has made it (:mod:`syncer.bus.trust.region_keys`). A database shows its
region by its name; one that was named before names did so belongs to the region that first proved that it speaks by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from syncer.bus.trust.region_keys import Speaker
from syncer.bus.trust.signing import SIGNATURE
from syncer.bus.wire.messages import Ignored
from syncer.conflict.acts import Journal, Outcome
from syncer.errors import PayloadInvalid, SpeakerInvalid
from syncer.model import MetadataChangeEvent, Region, home_of
from syncer.replacing import replace
from syncer.replication.group.speakers import OF_ROW, Speakers
from syncer.replication.recovery import rebuild
from syncer.state.contract.peers import PeerRow
from syncer.state.contract.transaction import Transaction

if TYPE_CHECKING:
    from syncer.replication.inbound.arrived import Arrived
    from syncer.replication.inbound.part import Inbound


def believed(inbound: Inbound, tx: Transaction, arrived: Sequence[Arrived]) -> list[Arrived]:
    """The same messages; one by a database of another region than has signed it carries the reason for its refusal."""
    if inbound.group.keyring.regions.halves and inbound.group.speakers is None:
        inbound.group.speakers = Speakers.of(tx.peers())
    return [_believed(inbound, item) for item in arrived]


def _believed(inbound: Inbound, item: Arrived) -> Arrived:
    message, speaker, speakers = item.message, item.speaker, inbound.group.speakers
    if not isinstance(message, PayloadInvalid):
        inbound.telemetry.tally["believed", _why(inbound, item)] += 1
    if speaker is None or speakers is None or isinstance(message, PayloadInvalid | Ignored):
        return item
    speakers.keys[speaker.region] = speaker.key_id
    proved = _owner(inbound, speakers, message.sender, speaker.region)
    if proved == speaker.region:
        return item
    why = (
        f"the message is of database {message.sender}, which is known as one of region {proved!r}, and is signed with "
        f"key {speaker.key_id} of region {speaker.region!r}"
    )
    return replace(item, message=SpeakerInvalid(why), speaker=None)


def _why(inbound: Inbound, item: Arrived) -> str:
    """What a message is believed for."""
    if item.speaker is not None:
        return "region-key"
    return "group-key" if inbound.group.keyring.accepts and SIGNATURE in item.properties else "nothing"


def _owner(inbound: Inbound, speakers: Speakers, database: str, speaker: Region) -> Region:
    """The region that speaks by a database; whoever proves to be the first, where none is known."""
    if database == inbound.core.identity.database_id or rebuild.is_former(inbound.recovery, database):
        return inbound.core.identity.region
    if (known := owner(inbound, database)) is None:
        speakers.note(database, speaker)
    return known or speaker


def owner(inbound: Inbound, database: str) -> Region | None:
    """The other region that speaks by a database, as its name shows or a key has proved; ``None``: neither does."""
    if (home := home_of(database)) is not None or inbound.group.speakers is None:
        return home
    return inbound.group.speakers.owner(database, inbound.group.keyring.regions.halves)


def remembered(inbound: Inbound, row: PeerRow) -> PeerRow:
    """The row of a peer with what was proved of its databases."""
    several = inbound.group.speakers.databases.get(row.region) if inbound.group.speakers is not None else None
    return replace(row, document={**row.document, OF_ROW: list(several)}) if several else row


def teller(inbound: Inbound, item: Arrived, event: MetadataChangeEvent) -> Region | None:
    """The other region that tells an event, as its key proves, or else as its database was heard to say."""
    if item.speaker is None:
        return inbound.group.peers.region_of(event.sender)
    return item.speaker.region if item.speaker.region != inbound.core.identity.region else None


def attributed(
    outcome: Outcome, event: MetadataChangeEvent, told_by: Region | None, speaker: Speaker | None
) -> Outcome:
    """The outcome of an event; where another region than the author has told it, the journal says which."""
    if told_by is None or told_by == event.stamp.region:
        return outcome
    words = f"told by {told_by}" + (f", which signed it with key {speaker.key_id}" if speaker is not None else "")
    acts = tuple(
        replace(act, detail=f"{act.detail}; {words}" if act.detail else words) if isinstance(act, Journal) else act
        for act in outcome.acts
    )
    return replace(outcome, acts=acts)
