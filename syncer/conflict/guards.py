"""Guards against mass deletes, flapping, lost topics and the like: such changes wait for an operator.

Letters refer to the rules: (a) mass delete, (b) a cluster left out, (c) fewer partitions, (d) unknown cluster,
(e) first contact, (f) flipping, (g) topics still there, (h) the bus's own resources, (i) topics that became scalable,
(j) a cluster's name that is in dispute.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from syncer.conflict.cluster_names.disputes import ANY_NAME, Doubted
from syncer.conflict.cluster_names.places import clusters_named
from syncer.conflict.projection import Document
from syncer.conflict.register import HoldReason, Register
from syncer.conflict.settings import Limits, Settings
from syncer.errors import InvariantBroken
from syncer.making import made_quickly
from syncer.model import Millis, ResourceKind, Version

UNTOLD_TOPICS: Final = "it cannot be asked here whether topics exist"
"""Detail of a hold that nobody needs to decide once somebody can tell about the topics."""
_ASKS_FOR_TOPICS: Final = frozenset({HoldReason.HAS_TOPICS, HoldReason.LEAVES_CLUSTER_OUT})
IN_DISPUTE: Final = "regions have yet to agree which cluster is meant"
"""Begins the detail of a hold that ends by itself once the regions agree."""
CLUSTER_FIELDS: Final = ("replication_clusters", "allowed_clusters", "allowedClusters")


class Topics(StrEnum):
    """Whether a namespace or partitioned topic has topics at the target, as far as it was asked."""

    NOT_ASKED = "not-asked"
    NONE = "none"
    SOME = "some"
    SCALABLE = "scalable"
    """A scalable topic has the name of the partitioned one."""
    CANNOT_ASK = "cannot-ask"


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the target is like, as far as a write to one path depends on it.

    Args:
        now: The daemon's clock.
        parent_alive: The parent's stored value is alive, or there is no parent in scope.
        child_alive: Some child's stored value is alive.
        outbox_open: A local change of the path is not yet acknowledged by the bus.
        clusters: Cluster names that the target's store knows.
        doubted: By region, names of clusters that it may have for other ones than the group does; ``None``: none are.
        topics: Whether topics exist below; asked only when a guard needs it.
        scalable: Whether a scalable topic has the name; ``SOME`` or ``NONE`` where it is known without being asked.
        applies: The path's scope lets remote changes be written.
        publishes: The path's scope lets changes of this region leave it.
    """

    now: Millis
    parent_alive: bool = True
    child_alive: bool = False
    outbox_open: bool = False
    clusters: frozenset[str] = frozenset()
    doubted: Doubted | None = None
    topics: Topics = Topics.NOT_ASKED
    scalable: Topics = Topics.NONE
    applies: bool = True
    publishes: bool = True


@dataclass(frozen=True, slots=True)
class GuardRefusal:
    """Why a write waits. ``reason is None``: it cannot be told before the topics below the path are asked for."""

    reason: HoldReason | None
    detail: str = ""


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A write that is about to be made: ``present`` and ``proposed`` are parsed values, ``None`` when absent."""

    register: Register
    known: Version
    kind: ResourceKind
    present: Document | None
    proposed: Document | None
    facts: Facts
    settings: Settings


Guard = Callable[[Proposal], GuardRefusal | None]


def bus_resource(proposal: Proposal) -> GuardRefusal | None:
    """(h) The bus's own tenant, namespace and topic are never changed from afar."""
    if proposal.register.path in proposal.settings.bus_paths:
        return GuardRefusal(HoldReason.BUS_RESOURCE, "the bus itself depends on this resource")
    return None


def cluster_in_dispute(proposal: Proposal) -> GuardRefusal | None:
    """(j) What names a cluster waits while its author, or this region, may mean another one by that name.

    What names none of these waits for nothing, although what stands does: a table only gives the names that it moves to
    one another, so a document without them is the same by every table.
    """
    doubted = proposal.facts.doubted
    if not doubted:
        return None
    nothing = frozenset[str]()
    names = doubted.get(proposal.known.stamp.region, nothing) | doubted.get(proposal.settings.region, nothing)
    found = clusters_named(proposal.register.path, proposal.kind, proposal.proposed)
    if ANY_NAME not in names:
        found &= names
    return GuardRefusal(HoldReason.UNKNOWN_CLUSTER, f"{IN_DISPUTE}: {_names(found)}") if found else None


def first_contact(proposal: Proposal) -> GuardRefusal | None:
    """(e) A value found at first contact is not replaced by a differing one before an operator has seen both."""
    stored = proposal.register.stored
    if stored is None or not stored.alive or not stored.stamp.is_baseline or not stored.stamp.updated_at_ms:
        return None
    if proposal.known.seen.get(stored.by, -1) >= stored.stamp.updated_at_ms:
        return None
    what = "another value" if proposal.known.alive else "a delete"
    return GuardRefusal(
        HoldReason.FIRST_CONTACT, f"found here at first contact; {proposal.known.stamp.region} has {what}"
    )


def leaves_cluster_out(proposal: Proposal) -> GuardRefusal | None:
    """(b) Brokers force-delete the topics of a namespace whose policies do not name their own cluster."""
    if proposal.kind is not ResourceKind.NAMESPACE or proposal.proposed is None:
        return None
    left_out = proposal.settings.clusters - named_clusters(proposal.proposed)
    if not left_out:
        return None
    present = named_clusters(proposal.present)
    if served := left_out & present:
        return GuardRefusal(HoldReason.LEAVES_CLUSTER_OUT, f"brokers of {_names(served)} would delete its topics")
    if not present:  # born here, or stored without any name: brokers keep the topics of such a namespace
        return _unless_empty(
            proposal,
            f"topics exist here, and brokers of {_names(left_out)} would delete them",
            HoldReason.LEAVES_CLUSTER_OUT,
        )
    return None


def unknown_cluster(proposal: Proposal) -> GuardRefusal | None:
    """(d) A policy must not newly name a cluster that the target does not know."""
    if proposal.proposed is None or proposal.kind not in {ResourceKind.NAMESPACE, ResourceKind.TENANT}:
        return None
    unknown = named_clusters(proposal.proposed) - proposal.facts.clusters - {"global"}
    if unknown:
        unknown -= named_clusters(proposal.present)
    return GuardRefusal(HoldReason.UNKNOWN_CLUSTER, f"not known here: {_names(unknown)}") if unknown else None


def fewer_partitions(proposal: Proposal) -> GuardRefusal | None:
    """(c) A smaller partition count hides data."""
    if proposal.kind is not ResourceKind.PARTITIONED_TOPIC or proposal.present is None or proposal.proposed is None:
        return None
    present, proposed = _partitions(proposal.present), _partitions(proposal.proposed)
    if proposed < present:
        return GuardRefusal(HoldReason.FEWER_PARTITIONS, f"{present} partitions here, {proposed} proposed")
    return None


def scalable_topic(proposal: Proposal) -> GuardRefusal | None:
    """(i) A partitioned topic that was made a scalable one here is neither grown nor deleted from afar.

    Where nobody can tell, it may grow: few clusters have such topics, and a partition more hides nothing.
    """
    if proposal.kind is not ResourceKind.PARTITIONED_TOPIC or proposal.present is None:
        return None
    if proposal.proposed is not None and _partitions(proposal.proposed) <= _partitions(proposal.present):
        return None
    facts = proposal.facts
    if Topics.SCALABLE in {facts.topics, facts.scalable} or facts.scalable is Topics.SOME:
        return GuardRefusal(HoldReason.SCALABLE_TOPIC, "a scalable topic (topic://) has this name here")
    return GuardRefusal(None) if Topics.NOT_ASKED is facts.scalable is facts.topics else None


def has_topics(proposal: Proposal) -> GuardRefusal | None:
    """(g) A namespace or partitioned topic that still has topics is not deleted from under them."""
    if proposal.proposed is not None or proposal.present is None:
        return None
    if proposal.kind not in {ResourceKind.NAMESPACE, ResourceKind.PARTITIONED_TOPIC}:
        return None
    return _unless_empty(proposal, "topics still exist here", HoldReason.HAS_TOPICS)


def flapping(proposal: Proposal) -> GuardRefusal | None:
    """(f) A path that keeps returning to what it just left is being rewritten by two parties."""
    limits = proposal.settings.limits
    recent = recent_flips(proposal.register.flips, proposal.facts.now, limits)
    if len(recent) > limits.max_flips:
        minutes = limits.flip_window_ms // 60_000
        return GuardRefusal(
            HoldReason.FLAPPING, f"flipped {len(recent)} times within {minutes} minutes between the same values"
        )
    return None


GUARDS: Final[tuple[Guard, ...]] = (
    bus_resource,
    cluster_in_dispute,
    first_contact,
    leaves_cluster_out,
    unknown_cluster,
    fewer_partitions,
    flapping,
    scalable_topic,
    has_topics,
)


def examine(proposal: Proposal) -> GuardRefusal | None:
    """Ask every guard; the first that objects is the answer. A stamp that an operator let pass is not asked again."""
    if proposal.register.allowed == proposal.known.stamp:
        return None
    for guard in GUARDS:
        if refusal := guard(proposal):
            return refusal
    return None


def wants_answer(register: Register) -> bool:
    """Whether a change is held only because nobody could tell about the topics below its path."""
    hold = register.hold
    return hold is not None and hold.reason in _ASKS_FOR_TOPICS and hold.detail == UNTOLD_TOPICS


def named_clusters(document: Document | None) -> frozenset[str]:
    """Every cluster name that a tenant's or namespace's document refers to."""
    if document is None:
        return frozenset()
    members: list[Any] = [member for name in CLUSTER_FIELDS for member in _list(document.get(name))]
    return frozenset(member for member in members if isinstance(member, str))


def recent_flips(flips: tuple[Millis, ...], now: Millis, limits: Limits) -> tuple[Millis, ...]:
    """The flips that still count, newest last; never more than one above the limit."""
    return tuple(at for at in flips if at > now - limits.flip_window_ms)[-(limits.max_flips + 1) :]


class DeleteWindow:
    """(a) Counts local deletes within a moving window and says when they are too many.

    The window is the region's, not the daemon's: one that becomes active begins with what its database says has passed
    of late (:meth:`begin`). So a standby that takes over, or a daemon that is started again and again, lets no more
    pass than one that runs on.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._passed: deque[Millis] | None = None

    @property
    def begun(self) -> bool:
        """Whether it is known what has passed before."""
        return self._passed is not None

    @property
    def kept(self) -> int:
        """How many of the latest deletes tell as much as all of them: once so many have passed, no other one does."""
        return self._limits.max_deletes

    def since(self, now: Millis) -> Millis:
        """What has passed at that moment or before counts no more."""
        return Millis(now - self._limits.delete_window_ms)

    def begin(self, passed: Sequence[Millis]) -> None:
        """Take when the latest deletes have passed, the oldest first."""
        self._passed = deque(passed)

    def permits(self, deletes: int, alive: int, now: Millis) -> bool:
        """Whether this many more deletes pass, of ``alive`` paths in scope before them.

        Raises:
            InvariantBroken: It was not begun (a bug of the caller).
        """
        if self._passed is None:
            raise InvariantBroken("nobody has said which deletes have passed of late")
        since = self.since(now)
        while self._passed and self._passed[0] <= since:
            self._passed.popleft()
        earlier = len(self._passed)
        total = earlier + deletes
        share = self._limits.max_delete_fraction * (alive + earlier)
        return total <= self._limits.max_deletes and (total <= self._limits.min_deletes or total <= share)

    def passed(self, deletes: int, now: Millis) -> None:
        """So many deletes have passed; one that knows nothing yet learns of them with all others."""
        if self._passed is not None:
            self._passed.extend([now] * deletes)


def _unless_empty(proposal: Proposal, detail: str, reason: HoldReason) -> GuardRefusal | None:
    match proposal.facts.topics:
        case Topics.NONE:
            return None
        case Topics.NOT_ASKED:
            return GuardRefusal(None)
        case Topics.CANNOT_ASK:
            return GuardRefusal(reason, UNTOLD_TOPICS)
    return GuardRefusal(reason, detail)


def _partitions(document: Document) -> int:
    count = document.get("partitions", 0)
    return count if isinstance(count, int) else 0


def _list(node: object) -> list[Any]:
    return node if isinstance(node, list) else []


def _names(clusters: frozenset[str]) -> str:
    return ", ".join(sorted(clusters))
