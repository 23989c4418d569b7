"""One peer: what its own heartbeats have told, what is believed of it, and how that is kept in the database.

Units: milliseconds. ``sent`` is the peer's clock, ``heard`` is ours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from syncer.bus.wire.messages import LEFT, Heartbeat
from syncer.conflict.changeover import GOES_OVER, ProjectionsInUse, Works, able_ids, preferred_ids
from syncer.conflict.classes.telling import scope_told
from syncer.conflict.cluster_names.telling import NO_NAMES, RegionNames
from syncer.conflict.exclusion.rules import Exclusion
from syncer.conflict.exclusion.telling import told_exclusions
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.scope import Scope
from syncer.conflict.tombstones import Report
from syncer.errors import PayloadInvalid
from syncer.model import Millis, Region, ResourceKind, TieOrder
from syncer.replacing import replace
from syncer.replication.core import NO_PECULIARITIES, Peculiarities
from syncer.state.contract.peers import PeerRow

WINDOW: Final = 60
"""Heartbeats that an estimate of a peer's clock looks back on."""

FORMER_KEPT: Final = 8
"""Former databases of a region that are remembered, to see one of them speak again."""

GENERATIONS_AHEAD: Final = 1_000
"""How far beyond the time of its birth, in seconds, the generation of a database can be that is believed."""

BROKERS_KEPT: Final = 8
BROKER_VERSION_CHARACTERS: Final = 40
"""What is kept of the versions that a region tells of its brokers."""

REFUSED_KEPT: Final = 64
"""Databases of a region that are refused; beyond these the oldest is forgotten, whose messages are long gone."""

Claims = frozenset[tuple[Region, str]]
"""Databases that somebody refuses, each after the region that it is said to be of."""


@dataclass(frozen=True, slots=True)
class ToldScope:
    """The rules of a scope, as a region has told them last.

    Args:
        scope: The paths that it carries; ``None``: it has not told, or nobody can read it.
        text: As it was told; empty: it was not, or nobody can read it.
        fault: Why nobody can read it; empty: it was not told, or can be read.
    """

    scope: Scope | None = None
    text: str = ""
    fault: str = ""

    @staticmethod
    def of(text: str, fingerprint: str) -> ToldScope:
        """What a text tells, beside the fingerprint of the scope that it is of."""
        if not text:
            return ToldScope()
        try:
            return ToldScope(scope_told(text, fingerprint), text)
        except PayloadInvalid as exc:
            return ToldScope(fault=f"nobody can read the rules that it tells: {exc.message}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """By which rules a region works; all of them must be the same everywhere.

    Args:
        projections: Id of the projection in use, by kind.
        scope: Fingerprint of its rules.
        ties: Who wins at equal times.
        able: Ids of all projections that it can work by.
        ready: Those that all members can work by, as far as it sees.
        told: The rules of its scope, as far as it has told them.
        peculiar: In what it differs from others by its configuration, as far as it has told that.
        offloaded: Namespaces that it says to offload.
    """

    projections: Mapping[str, str]
    scope: str
    ties: TieOrder
    able: frozenset[str] = frozenset()
    ready: frozenset[str] = frozenset()
    told: ToldScope = ToldScope()
    peculiar: Peculiarities = NO_PECULIARITIES
    offloaded: tuple[str, ...] = ()

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
            and (theirs != own or GOES_OVER in own)
        }

    def apart(self, region: Region, ours: Rules) -> dict[ResourceKind, str]:
        """Those of :meth:`against` that no changeover of either region ends."""
        found = self.against(region, ours)
        if self.ties is not ours.ties:
            return found
        return {kind: why for kind, why in found.items() if not self.able_by(kind) & ours.able_by(kind)}

    def able_by(self, kind: ResourceKind) -> frozenset[str]:
        """The projections of a kind that it can work by, of those that this program knows; untold: all of them."""
        known = frozenset(preferred_ids(kind))
        return known & self.able if kind in self.projections else frozenset(able_ids(kind))

    def works(self, kind: ResourceKind) -> Works:
        """By which projections of a kind it works."""
        in_use = self.projections.get(kind, PROJECTIONS[kind].id).rpartition(GOES_OVER)[2]
        return Works(in_use, self.able_by(kind), self.ready if kind in self.projections else frozenset(able_ids(kind)))


def own_rules(projections: ProjectionsInUse, scope: str, ties: TieOrder) -> Rules:
    """The rules of this region."""
    return Rules(projections=projections.ids, scope=scope, ties=ties, able=projections.able)


def rules_of(beat: Heartbeat) -> Rules:
    """The rules that a heartbeat tells, of the kinds of resource that there are."""
    known = {kind: told for kind in map(str, ResourceKind) if (told := beat.projections.get(kind)) is not None}
    return Rules(
        projections=known,
        scope=beat.scope,
        ties=beat.tie_order,
        able=frozenset((*known.values(), *beat.able)),
        ready=frozenset(beat.ready or known.values()),
        peculiar=_peculiar_by(beat),
        offloaded=beat.offloaded,
    )


RULES_STAND_MS: Final = 600_000
"""How long the rules of a heartbeat stand against one that was sent before it: after that its clock was set back."""


@dataclass(slots=True)
class Arrivals:
    """Heartbeats of a region that were heard since this daemon became active.

    Args:
        newest_sent_ms: When the newest of them was sent, by the region's clock.
        newest_heard_ms: When that one was heard.
        delays: Arrival minus sending of the last ones, newest last.
    """

    newest_sent_ms: Millis
    newest_heard_ms: Millis
    delays: deque[int] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def take(self, sent_at_ms: Millis, now: Millis) -> bool:
        """Take a heartbeat; whether it is the newest one, and not one that the bus has delivered again."""
        self.delays.append(now - sent_at_ms)
        newest = sent_at_ms >= self.newest_sent_ms or now - self.newest_heard_ms >= RULES_STAND_MS
        if newest:
            self.newest_sent_ms, self.newest_heard_ms = sent_at_ms, now
        return newest


@dataclass(slots=True)
class Peer:
    """One region, as its heartbeats show it.

    Args:
        sender: Its sidecar database.
        rules: By which it works.
        former: Databases that spoke for the region before.
        doubled: Two databases speak for the region in turns.
        report: What it told last of its sequence numbers and its deletes; ``None``: nothing that can be used.
        left: It says that it leaves the group.
        left_at_ms: Since when it has said nothing else; that is final once its database is refused.
        forgotten: An operator has said that it is not to be waited for any more: here, or elsewhere while it was silent
            here.
        unmet: It never spoke here: all that is known of it is hearsay, or was decided by an operator.
        refused: Databases whose messages are not taken any more, newest last.
        kept: Databases that an operator has decided to keep, whoever refuses them.
        refuses: Databases that it says to refuse.
        highest: The highest generation of any of its databases, and the one that first had it.
        asked: Number of the last request of its database that was obeyed; 0: none, or none with a number.
        since_ms: When it was first heard; 0: by a version that did not note it.
        sent_at_ms: When the last heartbeat was sent, by its clock; of those with other rules, the last one that counts.
        arrivals: Its heartbeats since this daemon became active.
    """

    sender: str
    rules: Rules
    heard_at_ms: Millis
    sent_at_ms: Millis
    former: deque[str] = field(default_factory=lambda: deque(maxlen=FORMER_KEPT))
    doubled: bool = False
    report: Report | None = None
    left: bool = False
    left_at_ms: Millis = Millis(0)
    forgotten: bool = False
    unmet: bool = False
    refused: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()
    refuses: Claims = frozenset()
    highest: tuple[int, str] = (0, "")
    asked: int = 0
    since_ms: Millis = Millis(0)
    arrivals: Arrivals = field(init=False)

    def __post_init__(self) -> None:
        """Whatever was heard last was the newest one, as far as is known."""
        self.arrivals = Arrivals(self.sent_at_ms, self.heard_at_ms)

    @property
    def gone(self) -> bool:
        """It has left the group for good, or was forgotten: nobody waits for it, and its id is not used again."""
        return self.forgotten or (self.left and self.sender in self.refused)

    @property
    def counts(self) -> bool:
        """Whether it is a region of the group that is waited for."""
        return not (self.gone or self.unmet)

    @property
    def skew_ms(self) -> int | None:
        """Its clock minus ours, at least: as the fastest heartbeat of the window shows it, delivered in no time."""
        return -min(self.arrivals.delays) if self.arrivals.delays else None

    @property
    def lag_ms(self) -> int | None:
        """How much longer the last heartbeat was under way than the fastest one of the window."""
        return self.arrivals.delays[-1] - min(self.arrivals.delays) if self.arrivals.delays else None

    @property
    def databases(self) -> tuple[str, ...]:
        """Every database that is remembered to have spoken for it, the one that speaks now last."""
        return () if self.unmet else (*self.former, self.sender)

    def refuse(self, senders: Sequence[str]) -> None:
        """Refuse these databases; a region that speaks by one of them is forgotten, with all that spoke for it."""
        forgotten = self.sender in senders and not (self.unmet or self.left)
        refused = (*self.databases, *senders) if forgotten else senders
        self.refused = tuple(dict.fromkeys((*self.refused, *refused)))[-REFUSED_KEPT:]
        self.kept -= set(refused)
        self.forgotten |= forgotten

    def admit(self, databases: Collection[str]) -> None:
        """Take it for a region of the group, whoever refuses these databases, or those that are refused now."""
        self.kept = frozenset(sorted({*self.kept, *self.refused, *databases})[:REFUSED_KEPT])
        self.refused, self.forgotten, self.left = (), False, False

    # -- as kept

    def told(self, beat: Heartbeat, now: Millis) -> dict[str, object]:
        """Take what a heartbeat tells of its own region; the heartbeat as it is kept.

        The bus may deliver a heartbeat again after later ones. Rules of it that are others are outdated: they are not
        taken.
        """
        self.unmet = False
        told = self.rules.told if self.rules.scope == beat.scope else ToldScope()
        if beat.rules and beat.rules != told.text:
            told = ToldScope.of(beat.rules, beat.scope)
        rules = replace(rules_of(beat), told=told)
        if self.arrivals.take(beat.sent_at_ms, now) or replace(rules, ready=self.rules.ready) == self.rules:
            self.rules, self.sent_at_ms = rules, beat.sent_at_ms
        else:
            self.sent_at_ms = self.arrivals.newest_sent_ms
        self.heard_at_ms = now
        document = _document(beat, self.rules)
        self.report, self.forgotten = report_of(beat.sender, document), False
        if beat.mode == LEFT and not self.left:
            self.left_at_ms = now
        self.left = beat.mode == LEFT
        self.refuses = frozenset((Region(region), database) for region, database in beat.refused)
        if beat.generation > self.highest[0] and beat.generation <= now // 1_000 + GENERATIONS_AHEAD:
            self.highest = (beat.generation, beat.sender)
        return document

    def row(self, region: Region, document: Mapping[str, object]) -> PeerRow:
        """As it is to be kept beside what its last heartbeat has told."""
        return PeerRow(
            region=region,
            sender=self.sender,
            heard_at_ms=self.heard_at_ms,
            sent_at_ms=self.sent_at_ms,
            document={
                **document,
                "former": list(self.former),
                "left": self.left,
                "left_at": self.left_at_ms,
                "forgotten": self.forgotten,
                "unmet": self.unmet,
                "gone": self.gone,
                "refused": list(self.refused),
                "kept": sorted(self.kept),
                "refuses": [list(each) for each in sorted(self.refuses)],
                "highest": list(self.highest),
                "asked": self.asked,
                "since": self.since_ms,
                **({"rules": self.rules.told.text} if self.rules.told.text else {}),
            },
        )

    @staticmethod
    def of(row: PeerRow) -> Peer:
        """As kept by this version, or one before it."""
        told: Mapping[str, Any] = row.document
        projections: Mapping[str, str] = told["projections"]
        rules = Rules(
            projections=projections,
            scope=told["scope"],
            ties=TieOrder(told["tie_order"]),
            able=frozenset((*projections.values(), *told.get("able", ()))),
            ready=frozenset(told.get("ready") or projections.values()),
            told=ToldScope.of(told.get("rules", ""), told["scope"]),
            peculiar=_peculiar(told.get("peculiar", {})),
        )
        return Peer(
            sender=row.sender,
            rules=rules,
            heard_at_ms=row.heard_at_ms,
            sent_at_ms=row.sent_at_ms,
            report=report_of(row.sender, told),
            left=bool(told.get("left", told.get("mode") == LEFT)),
            left_at_ms=Millis(told.get("left_at", row.heard_at_ms)),
            forgotten=bool(told.get("forgotten")),
            unmet=bool(told.get("unmet")),
            refused=tuple(told.get("refused", ())),
            kept=frozenset(told.get("kept", ())),
            refuses=frozenset((Region(region), database) for region, database in told.get("refuses", ())),
            former=deque(told.get("former", ()), maxlen=FORMER_KEPT),
            highest=_highest(row.sender, told),
            asked=int(told.get("asked", 0)),
            since_ms=Millis(told.get("since", 0)),
        )


def _highest(sender: str, told: Mapping[str, Any]) -> tuple[int, str]:
    """The highest generation as kept; versions before this one kept only the latest."""
    generation, first = told.get("highest", (told.get("generation", 0), sender))
    return generation, first


def report_of(sender: str, told: Mapping[str, Any]) -> Report | None:
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


def _peculiar_by(beat: Heartbeat) -> Peculiarities:
    """In what a region differs, by its heartbeat; nothing of what is more than this version tells."""
    names = RegionNames(own=beat.clusters, table=beat.names, unsettled=beat.renaming)
    excluded = told_exclusions([Exclusion(pattern, fields) for pattern, fields in beat.excluded.items()])
    return Peculiarities(names if names.tellable else NO_NAMES, excluded)


def _peculiar(kept: Mapping[str, Any]) -> Peculiarities:
    """What was kept of :func:`_kept_of`."""
    own = tuple(kept.get("clusters", ()))
    names = RegionNames(own=own, table=kept.get("names", {}), unsettled=kept.get("renaming", False))
    return Peculiarities(names, {pattern: tuple(fields) for pattern, fields in kept.get("excluded", {}).items()})


def _kept_of(peculiar: Peculiarities) -> dict[str, object]:
    """What a region differs in, as it is kept; nothing where it has told none."""
    if peculiar == NO_PECULIARITIES:
        return {}
    excluded = {pattern: list(fields) for pattern, fields in peculiar.excluded.items()}
    names = peculiar.names
    told = {"clusters": list(names.own), "names": dict(names.table), "renaming": names.unsettled, "excluded": excluded}
    return {"peculiar": told}


def _document(beat: Heartbeat, rules: Rules) -> dict[str, object]:
    return {
        "generation": beat.generation,
        "last_sequence": beat.last_sequence,
        "consumed": dict(beat.consumed),
        "watermark": beat.watermark,
        "projections": dict(rules.projections),
        "able": sorted(rules.able),
        "ready": sorted(rules.ready),
        "scope": rules.scope,
        "tie_order": str(rules.ties),
        "mode": beat.mode,
        "version": beat.version,
        "reached": dict(beat.reached),
        "unseated_deletes": beat.unseated_deletes,
        "oldest_unseated_ms": beat.oldest_unseated_ms,
        "unfolded": beat.unfolded,
        "brokers": [text[:BROKER_VERSION_CHARACTERS] for text in beat.brokers[:BROKERS_KEPT]],
        **_kept_of(rules.peculiar),
    }
