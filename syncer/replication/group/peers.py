"""All regions that were heard: which of them count, whose databases speak for whom, and what is refused of them.

Digests mean the same only where projections, tie order and scope agree: these are compared before anything is
written. A database belongs to the region that it first spoke for: what another one says in its name is not taken.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from syncer.bus.wire.heartbeats import REFUSED_CHARACTERS, REFUSED_TOLD
from syncer.bus.wire.messages import Heartbeat
from syncer.conflict.changeover import GOES_OVER, Works
from syncer.conflict.scope import Scope
from syncer.conflict.tombstones import Report
from syncer.model import Millis, Region, ResourceKind
from syncer.replacing import replace
from syncer.replication.core import NO_PECULIARITIES, Peculiarities
from syncer.replication.group.peer import REFUSED_KEPT, WINDOW, Claims, Peer, Rules
from syncer.state.contract.peers import PeerRow

PEERS_KEPT: Final = 1_000
"""Regions that are remembered; beyond these, regions that were never heard are not refused on hearsay."""
HEARTBEATS_FULL: Final = "heartbeats-full"
HEARTBEATS_BYTES: Final = 32 * 1024 * 1024
"""What all regions together may tell of others: beyond, a region is heard without it, and keeps deletes."""
ENTRY_BYTES: Final = 100
"""What an entry of a list takes beside its name."""
UNTOLD: Final = "it has not told its rules: they are too long, or its version does not"
ESTABLISHED_MS: Final = 3_600_000
"""Whoever was first heard so long ago is not let go for others."""


class Peers:
    """All regions that were heard, without this one.

    Args:
        ours: The rules of this region.
        rows: What earlier daemons on this database have heard.
    """

    def __init__(self, ours: Rules, rows: Sequence[PeerRow] = ()) -> None:
        self.ours = ours
        self._peers: dict[Region, Peer] = {}
        self._owners: dict[str, Region] = {}
        self._disagreements: dict[Region, dict[ResourceKind, str]] = {}
        self._sizes: dict[Region, int] = {}
        self._changed = set[Region]()
        self._fingerprints = dict[Region, str]()
        self._peculiar = dict[Region, Peculiarities]()
        self.crowded: Region | None = None
        for row in rows:
            self._keep(row.region, Peer.of(row))

    # -- what is not stored, is not so

    def begin(self) -> None:
        """What changes from now on may have to be taken back."""
        self._changed.clear()

    @property
    def changed(self) -> frozenset[Region]:
        """Regions of which something has changed since then."""
        return frozenset(self._changed)

    def take_back(self, rows: Sequence[PeerRow]) -> None:
        """Nothing of what has changed since then was stored.

        Args:
            rows: What is kept of the regions that have changed, but for those of which nothing is.
        """
        for region in self._changed:
            self._drop(region)
        for row in rows:
            self._keep(row.region, Peer.of(row))
        self._changed.clear()

    def on_heartbeat(self, beat: Heartbeat, now: Millis) -> PeerRow:
        """Take a heartbeat of another region; what of it is to be kept in the database."""
        self._changed.add(beat.region)
        beat = self._within_room(beat)
        peer = self._peers.get(beat.region)
        if peer is None:
            peer = Peer(sender=beat.sender, rules=self.ours, heard_at_ms=now, sent_at_ms=beat.sent_at_ms, since_ms=now)
        if peer.unmet:
            peer.sender, peer.arrivals.newest_sent_ms = beat.sender, beat.sent_at_ms
        elif beat.sender != peer.sender:
            peer.doubled = beat.sender in peer.former
            if len(peer.former) == peer.former.maxlen:
                self._owners.pop(peer.former[0], None)
            peer.former.append(peer.sender)
            peer.sender, peer.arrivals.newest_sent_ms = beat.sender, beat.sent_at_ms
            peer.asked = 0
            peer.arrivals.delays.clear()
        elif len(peer.arrivals.delays) == WINDOW:
            peer.doubled = False  # the other one has not spoken for a whole window
        document = peer.told(beat, now)
        self._keep(beat.region, peer)
        return peer.row(beat.region, document)

    @property
    def full(self) -> bool:
        """Whether so many regions were heard that another one takes the place of one of them, if there is any."""
        return len(self._peers) >= PEERS_KEPT

    def remembers(self, region: Region) -> bool:
        """Whether anything is kept of a region: it was heard, or an operator has decided about it."""
        return region in self._peers

    def make_room(self, now: Millis) -> Region | None:
        """Let go of the region that was heard longest ago among those that have not been there for long.

        Members stay: who was heard for an hour, was decided about by an operator, or has anything refused of it.
        """
        passing = [
            (peer.heard_at_ms, region)
            for region, peer in self._peers.items()
            if 0 <= now - peer.since_ms < ESTABLISHED_MS and not (peer.gone or peer.refused or peer.kept or peer.unmet)
        ]
        if not passing:
            return None
        _, region = min(passing)
        self._changed.add(region)
        self._drop(region)
        return region

    def _within_room(self, beat: Heartbeat) -> Heartbeat:
        """The heartbeat, or, where all of them together take too much room, what of it is about its region alone."""
        lists = (beat.consumed, beat.reached, beat.generations, *beat.refused)
        size = sum(len(text) + ENTRY_BYTES for texts in lists for text in texts)
        others = sum(taken for region, taken in self._sizes.items() if region != beat.region)
        if others + size <= HEARTBEATS_BYTES:
            self._sizes[beat.region] = size
            return beat
        self._sizes.pop(beat.region, None)
        self.crowded = beat.region
        return replace(beat, consumed={}, reached={}, refused=(), generations={}, unfolded=None)

    # -- what they ask for

    def asked_anew(self, region: Region, sender: str, number: int) -> bool:
        """Whether a request of a database is later than all that were obeyed; one that comes again is not."""
        peer = self._peers.get(region)
        if peer is None:
            return True
        if sender != peer.sender:
            return sender not in peer.former
        return number > peer.asked or number == peer.asked == 0

    def note_asked(self, region: Region, sender: str, number: int) -> None:
        """Remember a request that was obeyed."""
        peer = self._peers[region]
        self._changed.add(region)
        if peer.sender == sender:
            peer.asked = max(peer.asked, number)

    # -- who belongs to the group

    def members(self, expected: Collection[Region]) -> dict[Region, Report | None]:
        """The other regions that count, with what each told last.

        Args:
            expected: Who is expected; empty: everybody who was ever heard.
        """
        met = {region for region, peer in self._peers.items() if not peer.unmet}
        gone = {region for region, peer in self._peers.items() if peer.gone}
        counted = sorted((set(expected) or met) - gone)
        return {region: self._peers[region].report if region in self._peers else None for region in counted}

    def works(self, kind: ResourceKind, expected: Collection[Region]) -> dict[Region, Works | None]:
        """By which projections of a kind each other member works; ``None``: it was not heard yet."""
        found: dict[Region, Works | None] = {}
        for region in self.members(expected):
            peer = self._peers.get(region)
            found[region] = None if peer is None or peer.unmet else peer.rules.works(kind)
        return found

    def work_by(self, ours: Rules) -> None:
        """This region works by other rules from now on."""
        self.ours = ours
        for region, peer in self._peers.items():
            self._judge(region, peer)

    def heard_at(self, region: Region) -> Millis | None:
        """When a region was last heard."""
        peer = self._peers.get(region)
        return None if peer is None or peer.unmet else peer.heard_at_ms

    def since(self, region: Region) -> Millis | None:
        """When a region was first heard; ``None``: it never was, or a version before this one has not kept it."""
        peer = self._peers.get(region)
        return None if peer is None or peer.unmet else peer.since_ms

    def alike(self, region: Region) -> bool:
        """Whether a region treats the paths that it carries as this one does."""
        return region in self._peers and not self._disagreements[region]

    def same_scope(self, region: Region) -> bool:
        """Whether a region was heard, and has just the scope of this one."""
        peer = self._peers.get(region)
        return peer is not None and not peer.unmet and peer.rules.scope == self.ours.scope

    @property
    def otherwise(self) -> Collection[Region]:
        """Regions of another scope than this one's, but for those that are gone."""
        return self._fingerprints.keys()

    @property
    def fingerprints(self) -> Mapping[Region, str]:
        """The fingerprints of their scopes."""
        return self._fingerprints

    def scope_told(self, region: Region) -> Scope | None:
        """The scope that a region has told of itself; ``None``: it has not, or nobody can read it."""
        peer = self._peers.get(region)
        return None if peer is None or peer.unmet else peer.rules.told.scope

    @property
    def peculiar(self) -> Mapping[Region, Peculiarities]:
        """In what regions differ from others by their configuration; only of those that have told it."""
        return self._peculiar

    @property
    def offloaded(self) -> dict[Region, tuple[str, ...]]:
        """The namespaces that regions say to offload; of those that have said so lately and count."""
        return {
            region: peer.rules.offloaded
            for region, peer in self._peers.items()
            if peer.rules.offloaded and self.counts(region)
        }

    def untold(self, region: Region) -> str | None:
        """Why the scope of a region is not known; ``None``: it is."""
        peer = self._peers.get(region)
        if peer is None or peer.rules.told.scope is not None:
            return None
        return peer.rules.told.fault or UNTOLD

    def counts(self, region: Region) -> bool:
        """Whether a region is one that is waited for."""
        peer = self._peers.get(region)
        return peer is not None and peer.counts

    def region_of(self, database: str) -> Region | None:
        """The region that a database first spoke for; ``None``: it never spoke here."""
        return self._owners.get(database)

    def spoke_at(self, database: str) -> Millis | None:
        """When a database was last heard; ``None``: it does not speak for any region now."""
        owner = self._owners.get(database)
        peer = self._peers[owner] if owner is not None else None
        return peer.heard_at_ms if peer is not None and peer.sender == database else None

    def knows(self, sender: str) -> bool:
        """Whether a database speaks, or once spoke, for a region that was heard."""
        return any(sender in peer.databases or sender in peer.refused for peer in self._peers.values())

    @property
    def generations(self) -> dict[str, tuple[int, str]]:
        """By region, the highest generation of any database that was heard, and the one that first had it."""
        return {region: peer.highest for region, peer in self._peers.items() if peer.highest[0]}

    # -- who is gone, and what is refused

    def is_gone(self, region: Region) -> bool:
        """Whether a region has left the group for good, or was forgotten: its id is not used again."""
        peer = self._peers.get(region)
        return peer is not None and peer.gone

    def leaving(self) -> list[tuple[Region, str, Millis]]:
        """Regions that say that they leave, which is not final yet: their database, and since when they say it."""
        leaving = ((region, peer) for region, peer in sorted(self._peers.items()) if peer.left and not peer.gone)
        return [(region, peer.sender, peer.left_at_ms) for region, peer in leaving]

    def refuses(self, sender: str) -> Region | None:
        """The region whose former database this is, if it has left the group or was forgotten."""
        return next((region for region, peer in self._peers.items() if sender in peer.refused), None)

    def refused_of(self, region: Region) -> tuple[str, ...]:
        """Databases of a region that are refused."""
        return self._peers[region].refused if region in self._peers else ()

    @property
    def refused(self) -> frozenset[str]:
        """Every database that is refused."""
        return frozenset(database for peer in self._peers.values() for database in peer.refused)

    @property
    def refusals(self) -> tuple[tuple[str, str], ...]:
        """Every database that is refused, after its region, for the other regions."""
        found = [
            (str(region), sender)
            for region, peer in sorted(self._peers.items())
            for sender in peer.refused
            if len(sender) <= REFUSED_CHARACTERS  # else nobody would take our heartbeats
        ]
        return tuple(found[:REFUSED_TOLD])

    def claims(self, expected: Collection[Region]) -> dict[tuple[Region, str], frozenset[Region]]:
        """Databases that members refuse, each after the region that it is said to be of, and who says so."""
        found: dict[tuple[Region, str], frozenset[Region]] = {}
        for member in self.members(expected):
            for claim in self._peers[member].refuses if member in self._peers else ():
                found[claim] = found.get(claim, frozenset()) | {member}
        return found

    def refused_by(self, expected: Collection[Region]) -> dict[Region, frozenset[str]]:
        """What each member that was heard refuses; none that has more to refuse than it can tell."""
        told = {member: self._peers[member].refuses for member in self.members(expected) if member in self._peers}
        return {
            member: frozenset(database for _, database in theirs)
            for member, theirs in told.items()
            if len(theirs) < REFUSED_TOLD
        }

    def keeps(self, region: Region, database: str) -> bool:
        """Whether an operator has decided that a database is not refused, whoever does."""
        return region in self._peers and database in self._peers[region].kept

    def note_claims(self, teller: Region, claims: Claims) -> None:
        """A member refuses these too; its next heartbeat says whether it still does."""
        if teller in self._peers:
            self._changed.add(teller)
            self._peers[teller].refuses |= claims

    def refuse(self, region: Region, senders: Sequence[str], row: PeerRow | None, now: Millis) -> PeerRow | None:
        """Take no message of these databases any more, whether their region was ever heard or not.

        The region counts no longer if the database that speaks for it is one of them.

        Args:
            region: Whose databases they are.
            senders: The databases; there is at least one.
            row: The region's row as kept; ``None``: there is none.
            now: Our clock.

        Returns:
            The row as it is to be kept; ``None``: there is no room for databases that never spoke here.
        """
        peer = self._peers.get(region)
        if not set(senders) <= set(peer.databases if peer is not None else ()) and not self._has_room(peer, senders):
            return None
        peer, document = self._kept(region, row, now)
        peer.refuse(senders)
        return peer.row(region, document)

    def forget(self, region: Region, databases: Collection[str], row: PeerRow | None, now: Millis) -> PeerRow:
        """Wait no longer for a region, and take no message any more of what spoke for it, and of these databases."""
        peer, document = self._kept(region, row, now)
        peer.refuse((*peer.databases, *databases))
        peer.forgotten = True
        return peer.row(region, document)

    def admit(self, region: Region, databases: Collection[str], row: PeerRow | None, now: Millis) -> PeerRow:
        """Take a region for one of the group, whoever refuses it: these databases, and what is refused of it here."""
        peer, document = self._kept(region, row, now)
        peer.admit(databases)
        return peer.row(region, document)

    def _kept(self, region: Region, row: PeerRow | None, now: Millis) -> tuple[Peer, Mapping[str, object]]:
        """A region, and its heartbeat as kept; one that never spoke here is remembered from now on."""
        self._changed.add(region)
        peer = self._peers.get(region)
        if peer is not None and row is not None:
            return peer, row.document
        peer = Peer(sender="", rules=self.ours, heard_at_ms=now, sent_at_ms=now, unmet=True)
        self._keep(region, peer)
        ours = {"projections": dict(self.ours.projections), "scope": self.ours.scope, "tie_order": str(self.ours.ties)}
        return peer, ours

    def _has_room(self, peer: Peer | None, senders: Sequence[str]) -> bool:
        """Whether databases that never spoke here can be refused without letting go of others."""
        if peer is None:
            return len(self._peers) < PEERS_KEPT and len(senders) <= REFUSED_KEPT
        return len({*peer.refused, *senders}) <= REFUSED_KEPT

    def last_of_left(self, sender: str) -> int | None:
        """The last number of a database whose region has left by itself; ``None``: it has not, or was forgotten."""
        region = self._owners.get(sender)
        peer = self._peers[region] if region is not None else None
        if peer is None or not peer.left or peer.forgotten or peer.sender != sender or peer.report is None:
            return None
        return peer.report.last_sequence

    def has_left(self, region: Region) -> bool:
        """Whether a region has said that it leaves."""
        return region in self._peers and self._peers[region].left

    @property
    def regions(self) -> list[Region]:
        """Every region that was heard, in order."""
        return sorted(region for region, peer in self._peers.items() if not peer.unmet)

    def blocked(self, kind: ResourceKind, expected: Collection[Region]) -> bool:
        """Whether changes of this kind wait because some member treats them in another way."""
        return any(
            kind in reasons and self._is_member(region, expected) for region, reasons in self._disagreements.items()
        )

    def _is_member(self, region: Region, expected: Collection[Region]) -> bool:
        return self._peers[region].counts and (not expected or region in expected)

    def disagreements(self, expected: Collection[Region]) -> list[dict[str, object]]:
        """What waits because of which member, as JSON."""
        return [
            {"peer": region, "kind": str(kind), "message": reason, "passes": GOES_OVER in reason}
            for region, reasons in sorted(self._disagreements.items())
            if self._is_member(region, expected)
            for kind, reason in sorted(reasons.items())
        ]

    def conditions(self, max_skew_ms: int) -> list[tuple[str, str]]:
        """What a person should look at: code and message, by region."""
        found: list[tuple[str, str]] = []
        if self.crowded is not None:
            message = (
                f"what regions tell of others takes more than {HEARTBEATS_BYTES >> 20} MiB: {self.crowded} is heard "
                "without it, so no delete is forgotten; forget who tells so much, or name who counts in peers.expected"
            )
            found.append((HEARTBEATS_FULL, message))
        for region, peer in sorted(self._peers.items()):
            if peer.rules.scope != self.ours.scope and peer.rules.told.scope is None and not peer.unmet:
                message = (
                    f"{region} replicates other paths than this region (scope {peer.rules.scope}, here "
                    f"{self.ours.scope}), and {peer.rules.told.fault or UNTOLD}: so which paths both carry is not known"
                )
                found.append(("scope-differs", message))
            if peer.doubled:
                message = f"two databases send heartbeats as {region}: {peer.sender}, {peer.former[-1]}"
                found.append(("region-id-in-use", message))
            if peer.skew_ms is not None and peer.skew_ms > max_skew_ms:
                message = (
                    f"the clock of {region} is at least {peer.skew_ms / 1000:.1f} s ahead of this region's: what it "
                    f"stamps more than {max_skew_ms / 1000:g} s ahead is held until that time"
                )
                found.append(("clock-skew", message))
        return found

    def report(self) -> list[dict[str, object]]:
        """Every peer as JSON, for the status."""
        return [
            {
                "region": region,
                "heard_at_ms": peer.heard_at_ms,
                "sent_at_ms": peer.sent_at_ms,
                "skew_ms": peer.skew_ms,
                "lag_ms": peer.lag_ms,
                "same_scope": peer.rules.scope == self.ours.scope,
                "member": peer.counts,
            }
            for region, peer in sorted(self._peers.items())
            if not peer.unmet
        ]

    def _drop(self, region: Region) -> None:
        peer = self._peers.pop(region, None)
        self._sizes.pop(region, None)
        self._disagreements.pop(region, None)
        self._fingerprints.pop(region, None)
        self._peculiar.pop(region, None)
        for database in peer.databases if peer is not None else ():
            if self._owners.get(database) == region:
                del self._owners[database]

    def _keep(self, region: Region, peer: Peer) -> None:
        self._peers[region] = peer
        for database in peer.databases:
            if not peer.gone or database in peer.refused:
                self._owners.setdefault(database, region)
        self._judge(region, peer)

    def _judge(self, region: Region, peer: Peer) -> None:
        self._disagreements[region] = {} if peer.unmet else peer.rules.against(region, self.ours)
        self._fingerprints.pop(region, None)
        self._peculiar.pop(region, None)
        if peer.unmet or peer.gone:
            return
        if peer.rules.scope != self.ours.scope:
            self._fingerprints[region] = peer.rules.scope
        if peer.rules.peculiar != NO_PECULIARITIES:
            self._peculiar[region] = peer.rules.peculiar
