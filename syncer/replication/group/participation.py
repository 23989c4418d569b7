"""Participation in the group: who its members are, what they say of one another, and this region's own place in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from syncer.bus.trust.signing import UNSIGNED, Keyring
from syncer.bus.wire.messages import LEFT
from syncer.conflict.classes.pairs import OneWayPath, ScopeClass, class_of, contradictions, one_way_paths
from syncer.conflict.cluster_names.disputes import Doubted, disputes, doubts, twice, unknown
from syncer.conflict.cluster_names.telling import NO_NAMES, RegionNames
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Direction
from syncer.model import MetaPath, Millis, Region
from syncer.replacing import replace
from syncer.replication.core import Core
from syncer.replication.group.evidence import Evidence
from syncer.replication.group.hearsay import Hearsay
from syncer.replication.group.newcomers import Newcomers
from syncer.replication.group.peers import Peers
from syncer.replication.group.speakers import Speakers
from syncer.state.contract.membership import JOINING
from syncer.state.contract.transaction import Transaction

CONTRADICTIONS_TOLD: Final = 5
NAMES_CONTRADICT: Final = "cluster-names-contradict"
NAMES_UNCLEAR: Final = "cluster-names-unclear"


def _one_way(scope: Scope) -> bool:
    """Whether anything flows in one direction alone."""
    return any(rule.direction in {Direction.APPLY, Direction.PUBLISH} for rule in scope.rules)


def _first_of(messages: Sequence[str]) -> str:
    """The first messages as one, with how many more there are."""
    more = f"; and {len(messages) - CONTRADICTIONS_TOLD} more" if len(messages) > CONTRADICTIONS_TOLD else ""
    return "; ".join(messages[:CONTRADICTIONS_TOLD]) + more


@dataclass(frozen=True, slots=True)
class ComparedNames:
    """Names of clusters, as the regions of the group have told them.

    Args:
        told: By region, this one included; empty where nobody maps names.
        doubted: By region, names by which it may mean another cluster than the group does.
        contradictions: What they contradict each other in, in words.
    """

    told: Mapping[Region, RegionNames] = field(default_factory=dict)
    doubted: Doubted = field(default_factory=dict)
    contradictions: tuple[str, ...] = ()

    @staticmethod
    def of(told: Mapping[Region, RegionNames]) -> ComparedNames:
        """Compare what regions have told."""
        found = disputes(told)
        return ComparedNames(told, doubts(told, found), tuple(each.text for each in found))


@dataclass(slots=True, kw_only=True)
class Participation:
    """The group as this region sees it, and whether the region takes part.

    Args:
        core: The region's own replica.
        peers: What other regions told of themselves.
        expected: Regions that may send; empty: any.
        keyring: What this region signs its messages with, and whose it believes.
        speakers: What keys of regions have proved of who speaks; ``None``: nothing was looked up yet.
        evidence: That this region hears the bus, and was heard on it.
        hearsay: What others say of regions and is not obeyed.
        newcomers: Regions that speak and do not belong to the group.
        paused: Why neither writes nor publications go out; ``None`` while they do.
        left_at: When this region has left the group; ``None`` while it belongs to it.
    """

    core: Core
    peers: Peers
    expected: frozenset[Region] = frozenset()
    keyring: Keyring = UNSIGNED
    speakers: Speakers | None = None
    evidence: Evidence = field(default_factory=Evidence)
    hearsay: Hearsay = field(default_factory=Hearsay)
    newcomers: Newcomers = field(default_factory=Newcomers)
    paused: str | None = None
    left_at: Millis | None = None
    _shared: dict[Region, ScopeClass] = field(default_factory=dict)
    _names: ComparedNames = field(default_factory=ComparedNames)
    _one_way_paths: dict[str, tuple[OneWayPath, ...]] = field(default_factory=dict)
    _contradicted: tuple[tuple[tuple[Region, str], ...], list[tuple[str, str]]] = field(default=((), []))

    @property
    def joining(self) -> bool:
        """Whether this region is new, and waits for an operator to let it take part."""
        return self.paused == JOINING

    def scope_of(self, region: Region) -> Scope | None:
        """The scope of another region, by its own word; ``None``: it is not known."""
        return self.core.scope if self.peers.same_scope(region) else self.peers.scope_told(region)

    def shared_with(self, region: Region) -> ScopeClass | None:
        """The paths that another region and this one both carry; ``None``: its scope is not known."""
        theirs = self.scope_of(region)
        if theirs is None:
            return None
        found = self._shared.get(region)
        if found is None or found.theirs is not theirs:
            found = self._shared[region] = class_of(self.core.scope, theirs)
        return found

    def shared_classes(self) -> dict[str, ScopeClass]:
        """By label, the classes of paths that this region shares with members of other scopes."""
        found = (self.shared_with(region) for region in sorted(self.peers.otherwise) if self.peers.counts(region))
        return {shared.label: shared for shared in found if shared is not None}

    def contradictions(self) -> list[tuple[str, str]]:
        """What this region and another one both carry, and neither answers for to the other: code and message."""
        known = {region: self.scope_of(region) for region in self.peers.regions if self.peers.counts(region)}
        key = tuple((region, each.fingerprint if each is not None else "") for region, each in known.items())
        if self._contradicted[0] != key:
            self._contradicted = key, self._contradictions(known)
        return self._contradicted[1]

    def _contradictions(self, known: Mapping[Region, Scope | None]) -> list[tuple[str, str]]:
        own, found = self.core.identity.region, list[str]()
        if None in known.values() or (not self.peers.otherwise and not _one_way(self.core.scope)):
            return []  # whose rules are not known may speak for all of it
        self._compare({each.fingerprint: each for each in known.values() if each is not None})
        for region, theirs in known.items():
            others = [each for name, each in known.items() if name != region and each is not None]
            paths = self._one_way_paths[theirs.fingerprint] if theirs is not None else ()
            for each in contradictions(paths, others):
                ends = "publish, and neither takes what the other one writes"
                if each.direction is Direction.APPLY:
                    ends = "apply, and nobody publishes"
                found.append(f"{own} ({each.ours}) and {region} ({each.theirs}) both only {ends}")
        return [("scopes-contradict", _first_of(found))] if found else []

    def _compare(self, scopes: Mapping[str, Scope]) -> None:
        """Compare this region's rules with those of others that are new, by fingerprint; forget what nobody has."""
        before = self._one_way_paths
        self._one_way_paths = {
            fingerprint: before[fingerprint] if fingerprint in before else one_way_paths(self.core.scope, theirs)
            for fingerprint, theirs in scopes.items()
        }

    @property
    def names(self) -> ComparedNames:
        """What the regions of the group call clusters, compared, as far as they have told."""
        ours, others = self.core.peculiar.names, self.peers.peculiar
        told = dict[Region, RegionNames]()
        if others or ours.maps:
            members = (each for each in others if self.peers.counts(each))
            told = {each: others[each].names for each in members if not self.expected or each in self.expected}
            compared = ours.maps or any(names != NO_NAMES for names in told.values())
            if self.core.renaming and compared:
                ours = replace(ours, unsettled=True)
            told[self.core.identity.region] = ours
            if not any(names.maps or names.unsettled for names in told.values()):
                told.clear()
        if told != self._names.told:
            self._names = ComparedNames.of(told)
        return self._names

    @property
    def names_untold(self) -> bool:
        """Whether nothing is published yet: what is stamped here must not come before what tells of its names."""
        if self.evidence.since_ms is not None:
            return False
        ours = self.names.told.get(self.core.identity.region, NO_NAMES)
        return ours.maps or ours.unsettled

    def naming_conditions(self, known: Collection[str]) -> list[tuple[str, str]]:
        """What of the names of clusters an operator should look at: code and message.

        Args:
            known: Clusters that the store knows; none: it was not asked yet.
        """
        names, own = self.names, self.core.identity.region
        vague = list[str]()
        if names.told and known:
            vague = [*twice(names.told[own], known), *unknown(own, names.told, known)]
        found = list[tuple[str, str]]()
        if names.contradictions:
            found.append((NAMES_CONTRADICT, _first_of(names.contradictions)))
        if vague:
            found.append((NAMES_UNCLEAR, _first_of(vague)))
        return found

    def carries(self, region: Region, path: MetaPath) -> bool:
        """Whether a region carries a path, as far as is known: whoever has not told its rules may carry any."""
        theirs = self.scope_of(region)
        return theirs is None or theirs.carries_resource(path)

    @property
    def compares(self) -> bool:
        """Whether it compares what it knows with others: it learns by that, before it takes part too."""
        return self.core.first_scan_done and not self.core.observing and (self.paused is None or self.joining)

    @property
    def mode(self) -> str:
        """What this daemon does with changes, in a word."""
        if self.left_at is not None:
            return LEFT
        return "observe" if self.core.observing else "active"

    def recall(self, tx: Transaction) -> None:
        """Take what the database keeps of the group: its regions, this one's place in it, and whether it is paused."""
        self.peers = Peers(self.peers.ours, tx.peers())
        self._recall_own(tx)

    def take_back(self, tx: Transaction) -> None:
        """The same, where no other regions have changed in memory than those that did since ``peers.begin``."""
        if changed := self.peers.changed:
            self.peers.take_back(tx.peers(changed))
        self._recall_own(tx)

    def _recall_own(self, tx: Transaction) -> None:
        self.core.identity = tx.identity()
        self.paused = self.core.identity.paused
        membership = tx.membership()
        self.core.floor, self.left_at = membership.floor, membership.left_at
