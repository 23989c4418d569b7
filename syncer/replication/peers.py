"""What other regions told in their heartbeats: who they are, by which rules they work, how their clocks run.

Digests mean the same only where projections, tie order and scope agree: these are compared before anything is
written.
Units: milliseconds. ``sent`` is the peer's clock, ``heard`` is ours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from syncer.bus.heartbeats import REFUSED_TOLD
from syncer.bus.messages import LEFT, Heartbeat
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.tombstones import Report
from syncer.model import Millis, Region, ResourceKind, TieOrder
from syncer.replacing import replace
from syncer.state.contract import PeerRow

WINDOW: Final = 60
"""Heartbeats that an estimate of a peer's clock looks back on."""

FORMER_KEPT: Final = 8
"""Former databases of a region that are remembered, to see one of them speak again."""

REFUSED_KEPT: Final = 64
"""Databases of a region that are refused; beyond these the oldest is forgotten, whose messages are long gone."""

PEERS_KEPT: Final = 1_000
"""Regions that are remembered; beyond these, regions that were never heard are not refused on hearsay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """By which rules a region works; all of them must be the same everywhere."""

    projections: Mapping[str, str]
    scope: str
    ties: TieOrder

    def against(self, region: Region, ours: Rules) -> dict[ResourceKind, str]:
        """Kinds of resource that cannot be replicated with a region of these rules, and why."""
        if self.ties is not ours.ties:
            reason = f"{region} breaks ties by {self.ties!s}, this region by {ours.ties!s}"
            return dict.fromkeys(ResourceKind, reason)
        return {
            kind: f"{region} projects it by {theirs}, this region by {own}"
            for kind in ResourceKind
            if (own := ours.projections.get(kind)) is not None
            and (theirs := self.projections.get(kind)) is not None
            and theirs != own
        }


def own_rules(scope: str, ties: TieOrder) -> Rules:
    """The rules of this region."""
    return Rules(
        projections={str(kind): projection.id for kind, projection in PROJECTIONS.items()}, scope=scope, ties=ties
    )


@dataclass(slots=True)
class Peer:
    """One region, as its heartbeats show it.

    Args:
        sender: Its sidecar database.
        rules: By which it works.
        former: Databases that spoke for the region before.
        doubled: Two databases speak for the region in turns.
        report: What it told last of its sequence numbers and its deletes; ``None``: nothing that can be used.
        left: It has said that it leaves the group.
        forgotten: A person has said that it is not to be waited for any more.
        refused: Databases whose messages are not taken any more, newest last.
        highest: The highest generation of any of its databases, and the one that first had it.
        asked: Number of the last request of its database that was obeyed; 0: none, or none with a number.
        delays: Arrival minus sending of the last heartbeats heard since this daemon became active, newest last.
    """

    sender: str
    rules: Rules
    heard_at_ms: Millis
    sent_at_ms: Millis
    former: deque[str] = field(default_factory=lambda: deque(maxlen=FORMER_KEPT))
    doubled: bool = False
    report: Report | None = None
    left: bool = False
    forgotten: bool = False
    refused: tuple[str, ...] = ()
    highest: tuple[int, str] = (0, "")
    asked: int = 0
    delays: deque[int] = field(default_factory=lambda: deque(maxlen=WINDOW))

    @property
    def gone(self) -> bool:
        """It has left the group, or was forgotten: nobody waits for it, and its id is not used again."""
        return self.left or self.forgotten

    @property
    def skew_ms(self) -> int | None:
        """Its clock minus ours, at least: as the fastest heartbeat of the window shows it, delivered in no time."""
        return -min(self.delays) if self.delays else None

    @property
    def lag_ms(self) -> int | None:
        """How much longer the last heartbeat was under way than the fastest one of the window."""
        return self.delays[-1] - min(self.delays) if self.delays else None


class Peers:
    """All regions that were heard, without this one.

    Args:
        ours: The rules of this region.
        rows: What earlier daemons on this database have heard.
    """

    def __init__(self, ours: Rules, rows: Sequence[PeerRow] = ()) -> None:
        self.ours = ours
        self._peers: dict[Region, Peer] = {}
        self._senders: dict[str, Region] = {}
        self._disagreements: dict[Region, dict[ResourceKind, str]] = {}
        for row in rows:
            told: Mapping[str, Any] = row.document
            rules = Rules(projections=told["projections"], scope=told["scope"], ties=TieOrder(told["tie_order"]))
            self._keep(
                row.region,
                Peer(
                    sender=row.sender,
                    rules=rules,
                    heard_at_ms=row.heard_at_ms,
                    sent_at_ms=row.sent_at_ms,
                    report=_report(row.sender, told),
                    left=told.get("mode") == LEFT,
                    forgotten=bool(told.get("forgotten")),
                    refused=tuple(told.get("refused", ())),
                    former=deque(told.get("former", ()), maxlen=FORMER_KEPT),
                    highest=_highest(row.sender, told),
                    asked=int(told.get("asked", 0)),
                ),
            )

    def hear(self, beat: Heartbeat, now: Millis) -> PeerRow:
        """Take a heartbeat of another region; what of it is to be kept in the database."""
        rules = Rules(projections=dict(beat.projections), scope=beat.scope, ties=beat.tie_order)
        peer = self._peers.get(beat.region)
        if peer is None:
            peer = Peer(sender=beat.sender, rules=rules, heard_at_ms=now, sent_at_ms=beat.sent_at_ms)
        if beat.sender != peer.sender:
            peer.doubled = beat.sender in peer.former
            peer.former.append(peer.sender)
            peer.sender = beat.sender
            peer.asked = 0
            peer.delays.clear()
        elif len(peer.delays) == WINDOW:
            peer.doubled = False  # the other one has not spoken for a whole window
        peer.rules, peer.heard_at_ms, peer.sent_at_ms = rules, now, beat.sent_at_ms
        document = _document(beat)
        peer.report, peer.left, peer.forgotten = _report(beat.sender, document), beat.mode == LEFT, False
        if peer.left:
            peer.refused = _with(peer.refused, beat.sender)
        if beat.generation > peer.highest[0]:
            peer.highest = (beat.generation, beat.sender)
        peer.delays.append(now - beat.sent_at_ms)
        self._keep(beat.region, peer)
        return PeerRow(
            region=beat.region,
            sender=beat.sender,
            heard_at_ms=now,
            sent_at_ms=beat.sent_at_ms,
            document={
                **document,
                "former": list(peer.former),
                "refused": list(peer.refused),
                "highest": list(peer.highest),
                "asked": peer.asked,
            },
        )

    @property
    def full(self) -> bool:
        """Whether so many regions were heard that no other one is remembered."""
        return len(self._peers) >= PEERS_KEPT

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
        if peer.sender == sender:
            peer.asked = max(peer.asked, number)

    # -- who belongs to the group

    def members(self, expected: Collection[Region]) -> dict[Region, Report | None]:
        """The other regions that count, with what each told last.

        Args:
            expected: Who is expected; empty: everybody who was ever heard.
        """
        gone = {region for region, peer in self._peers.items() if peer.gone}
        counted = sorted((set(expected) or set(self._peers)) - gone)
        return {region: self._peers[region].report if region in self._peers else None for region in counted}

    def heard_at(self, region: Region) -> Millis | None:
        """When a region was last heard."""
        return self._peers[region].heard_at_ms if region in self._peers else None

    def alike(self, region: Region) -> bool:
        """Whether a region treats all paths as this one does."""
        peer = self._peers.get(region)
        return peer is not None and peer.rules.scope == self.ours.scope and not self._disagreements[region]

    def refuses(self, sender: str) -> Region | None:
        """The region whose former database this is, if it has left the group or was forgotten."""
        return next((region for region, peer in self._peers.items() if sender in peer.refused), None)

    def refused_of(self, region: Region) -> tuple[str, ...]:
        """Databases of a region that are refused."""
        return self._peers[region].refused

    @property
    def refusals(self) -> tuple[tuple[str, str], ...]:
        """Every database that is refused, after its region, for the other regions."""
        found = [(str(region), sender) for region, peer in sorted(self._peers.items()) for sender in peer.refused]
        return tuple(found[:REFUSED_TOLD])

    @property
    def generations(self) -> dict[str, tuple[int, str]]:
        """By region, the highest generation of any database that was heard, and the one that first had it."""
        return {region: peer.highest for region, peer in self._peers.items() if peer.highest[0]}

    def is_gone(self, region: Region) -> bool:
        """Whether a region has left the group, or was forgotten: its id is not used again."""
        peer = self._peers.get(region)
        return peer is not None and peer.gone

    def lacks(self, region: Region, senders: Collection[str]) -> bool:
        """Whether any of a region's databases is not refused yet, though it should be."""
        peer = self._peers.get(region)
        return not set(senders) <= set(peer.refused if peer is not None else ())

    def refuse(self, region: Region, senders: Sequence[str], row: PeerRow | None, now: Millis) -> PeerRow | None:
        """Take no message of these databases any more, whether their region was ever heard or not.

        The region counts no longer if the database that speaks for it is one of them.

        Args:
            region: Whose databases they are.
            senders: The databases; there is at least one.
            row: The region's row as kept; ``None``: it was never heard.
            now: Our clock.

        Returns:
            The row as it is to be kept; ``None``: there are too many regions.
        """
        peer = self._peers.get(region)
        if peer is None or row is None:
            if len(self._peers) >= PEERS_KEPT:
                return None
            peer = Peer(sender=senders[-1], rules=self.ours, heard_at_ms=now, sent_at_ms=now)
            rules: dict[str, object] = {
                "projections": dict(self.ours.projections),
                "scope": self.ours.scope,
                "tie_order": str(self.ours.ties),
            }
            row = PeerRow(region=region, sender=peer.sender, heard_at_ms=now, sent_at_ms=now, document=rules)
            self._keep(region, peer)
        return _refuse(peer, senders, row)

    def last_of_left(self, sender: str) -> int | None:
        """The last number of a database whose region has left by itself; ``None``: it has not, or was forgotten."""
        region = self._senders.get(sender)
        peer = self._peers[region] if region is not None else None
        if peer is None or not peer.left or peer.forgotten or peer.sender != sender or peer.report is None:
            return None
        return peer.report.last_sequence

    def has_left(self, region: Region) -> bool:
        """Whether a region has said that it leaves."""
        return region in self._peers and self._peers[region].left

    def forget(self, region: Region, row: PeerRow) -> PeerRow:
        """Wait no longer for a region, and take no message any more of the databases that spoke for it."""
        peer = self._peers[region]
        return _refuse(peer, (*peer.former, peer.sender), row)

    def knows(self, sender: str) -> bool:
        """Whether a database speaks, or once spoke, for a region that was heard."""
        return any(sender == peer.sender or sender in (*peer.former, *peer.refused) for peer in self._peers.values())

    def region_of(self, sender: str) -> Region | None:
        """The region that a database speaks for, if it was ever heard."""
        return self._senders.get(sender)

    @property
    def regions(self) -> list[Region]:
        """Every region that was heard, in order."""
        return sorted(self._peers)

    def blocked(self, kind: ResourceKind) -> bool:
        """Whether changes of this kind wait because some peer treats them in another way."""
        return any(kind in reasons for reasons in self._disagreements.values())

    def disagreements(self) -> list[dict[str, object]]:
        """What waits because of which peer, as JSON."""
        return [
            {"peer": region, "kind": str(kind), "message": reason}
            for region, reasons in sorted(self._disagreements.items())
            for kind, reason in sorted(reasons.items())
        ]

    def conditions(self, max_skew_ms: int) -> list[tuple[str, str]]:
        """What a person should look at: code and message, by region."""
        found: list[tuple[str, str]] = []
        for region, peer in sorted(self._peers.items()):
            if peer.rules.scope != self.ours.scope:
                message = (
                    f"{region} replicates other paths than this region (scope {peer.rules.scope}, here "
                    f"{self.ours.scope}): paths that only one of them carries are not the same in both"
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
                "member": not peer.gone,
            }
            for region, peer in sorted(self._peers.items())
        ]

    def _keep(self, region: Region, peer: Peer) -> None:
        self._peers[region] = peer
        self._senders[peer.sender] = region
        self._disagreements[region] = peer.rules.against(region, self.ours)


def _refuse(peer: Peer, senders: Sequence[str], row: PeerRow) -> PeerRow:
    """Refuse these databases; who speaks by one of them is forgotten. The row as it is to be kept."""
    peer.refused = _with(peer.refused, *senders)
    peer.forgotten |= peer.sender in senders
    return replace(row, document={**row.document, "forgotten": peer.forgotten, "refused": list(peer.refused)})


def _with(refused: Sequence[str], *senders: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*refused, *senders)))[-REFUSED_KEPT:]


def _highest(sender: str, told: Mapping[str, Any]) -> tuple[int, str]:
    """The highest generation as kept; versions before this one kept only the latest."""
    generation, first = told.get("highest", (told.get("generation", 0), sender))
    return generation, first


def _report(sender: str, told: Mapping[str, Any]) -> Report | None:
    """What a heartbeat tells for the dropping of tombstones; ``None`` when an older version has sent it."""
    if told.get("unfolded") is None:
        return None
    return Report(
        sender=sender,
        last_sequence=told["last_sequence"],
        consumed=told["consumed"],
        reached=told["reached"],
        unseated=told["unseated_deletes"],
        oldest_ms=told["oldest_unseated_ms"],
        unfolded=told["unfolded"],
    )


def _document(beat: Heartbeat) -> dict[str, object]:
    return {
        "generation": beat.generation,
        "last_sequence": beat.last_sequence,
        "consumed": dict(beat.consumed),
        "watermark": beat.watermark,
        "projections": dict(beat.projections),
        "scope": beat.scope,
        "tie_order": str(beat.tie_order),
        "mode": beat.mode,
        "version": beat.version,
        "reached": dict(beat.reached),
        "unseated_deletes": beat.unseated_deletes,
        "oldest_unseated_ms": beat.oldest_unseated_ms,
        "unfolded": beat.unfolded,
    }
