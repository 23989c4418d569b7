"""Guards against mass deletes, flapping, lost topics and the like: such changes wait for an operator.

Letters refer to the rules: (a) mass delete, (b) a cluster left out, (c) fewer partitions, (d) unknown cluster,
(e) first contact, (f) flipping, (g) topics still there, (h) the bus's own resources, (i) topics that became scalable,
(j) a cluster's name that is in dispute, (k) what brokers here cannot read. All but (a) stand in :data:`TABLE`, with a
cell for each kind of resource.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

from syncer.conflict.acts import Need
from syncer.conflict.cluster_names.disputes import ANY_NAME, Doubted
from syncer.conflict.cluster_names.left_out import allowed, deleted_by, may_newly_delete, served_by, topic_list
from syncer.conflict.cluster_names.places import LISTS, clusters_named
from syncer.conflict.fields import brokers
from syncer.conflict.projection import Document
from syncer.conflict.register import HoldReason, Register
from syncer.conflict.settings import Limits, Settings
from syncer.errors import InvariantBroken
from syncer.making import made_quickly
from syncer.model import MetaPath, Millis, ResourceKind, Version
from syncer.paths import classify, resource_at

UNTOLD_TOPICS: Final = "it cannot be asked here whether topics exist"
"""Detail of a hold that nobody needs to decide once somebody can tell about the topics."""
_ASKS_FOR_TOPICS: Final = frozenset({HoldReason.HAS_TOPICS, HoldReason.LEAVES_CLUSTER_OUT})
IN_DISPUTE: Final = "regions have yet to agree which cluster is meant"
"""Begins the detail of a hold that ends by itself once the regions agree."""
_TOPIC_POLICIES: Final = "topic policies here"
"""Begins the detail of a namespace's hold that depends on topic policies below it."""


class Topics(StrEnum):
    """Whether a namespace or partitioned topic has topics at the target, as far as it was asked."""

    NOT_ASKED = "not-asked"
    NONE = "none"
    SOME = "some"
    SCALABLE = "scalable"
    """A scalable topic has the name of the partitioned one."""
    CANNOT_ASK = "cannot-ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """Values at the paths that a guard judges together with the one that is written.

    Those are the namespace of a topic policy, and the topic policies of a namespace.

    Args:
        documents: What was read; ``None``: it is absent.
        untold: Paths of which the store did not tell, or whose value cannot be read, and why.
    """

    documents: Mapping[MetaPath, Document | None] = field(default_factory=dict)
    untold: Mapping[MetaPath, str] = field(default_factory=dict)


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
        related: What stands at related paths; ``None``: they were not read. They are read only when a guard needs it.
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
    related: Related | None = None


@dataclass(frozen=True, slots=True)
class GuardRefusal:
    """Why a write waits.

    ``reason is None``: it cannot be told before ``need`` is met: topics are asked for, or related paths are read.
    """

    reason: HoldReason | None
    detail: str = ""
    need: Need = Need.TOPICS


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


def unreadable_to_brokers(proposal: Proposal) -> GuardRefusal | None:
    """(k) A broker serves nothing of a resource whose stored value it cannot read."""
    if proposal.proposed is None:
        return None
    why = brokers.refusal(proposal.settings.brokers, proposal.kind, proposal.proposed)
    return GuardRefusal(HoldReason.UNREADABLE_TO_BROKERS, f"brokers here could not read it: {why}") if why else None


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
    if proposal.proposed is None:
        return None
    return _namespace_left_out(proposal) or _topic_policies_left_out(proposal) or _not_served(proposal)


def topic_leaves_cluster_out(proposal: Proposal) -> GuardRefusal | None:
    """(b) Brokers force-delete a topic whose own policies leave their cluster out, unless its namespace allows it."""
    here = proposal.settings.clusters
    if not may_newly_delete(proposal.present, proposal.proposed, here):
        return None
    namespace, related = resource_at(proposal.register.path).parent, proposal.facts.related
    if namespace is None or related is None or namespace not in related.documents.keys() | related.untold.keys():
        return GuardRefusal(None, need=Need.RELATED)
    if why := related.untold.get(namespace):
        return GuardRefusal(HoldReason.LEAVES_CLUSTER_OUT, f"its namespace could not be read here: {why}")
    policies = related.documents[namespace]
    newly = deleted_by(proposal.proposed, policies, here) - deleted_by(proposal.present, policies, here)
    if not newly:
        return None
    what = "its replication clusters and its namespace's allowed_clusters leave them out"
    return GuardRefusal(HoldReason.LEAVES_CLUSTER_OUT, f"brokers of {_names(newly)} would delete the topic: {what}")


def _namespace_left_out(proposal: Proposal) -> GuardRefusal | None:
    left_out = proposal.settings.clusters - named_clusters(proposal.kind, proposal.proposed)
    if not left_out:
        return None
    present = named_clusters(proposal.kind, proposal.present)
    if served := left_out & present:
        return GuardRefusal(HoldReason.LEAVES_CLUSTER_OUT, f"brokers of {_names(served)} would delete its topics")
    if not present:  # born here, or stored without any name: brokers keep the topics of such a namespace
        return _unless_empty(
            proposal,
            f"topics exist here, and brokers of {_names(left_out)} would delete them",
            HoldReason.LEAVES_CLUSTER_OUT,
        )
    return None


def _topic_policies_left_out(proposal: Proposal) -> GuardRefusal | None:
    """The other half of :func:`topic_leaves_cluster_out`: the namespace stops to allow a cluster."""
    dropped = proposal.settings.clusters - allowed(proposal.proposed)
    if proposal.present is not None:  # else it may come back to topics and policies that were left behind
        dropped &= allowed(proposal.present)
    if not dropped:
        return None
    related = proposal.facts.related
    if related is None:
        return GuardRefusal(None, need=Need.RELATED)
    reason = HoldReason.LEAVES_CLUSTER_OUT
    deleting = {
        path: left
        for path, policies in related.documents.items()
        if topic_list(policies) is not None and (left := deleted_by(policies, proposal.proposed, dropped))
    }
    if deleting:
        clusters = frozenset[str]().union(*deleting.values())
        detail = f"{_TOPIC_POLICIES} leave out {_names(clusters)}, and brokers would delete their topics"
        return GuardRefusal(reason, f"{detail}: {_first(deleting)}")
    if related.untold:
        path = min(related.untold)
        return GuardRefusal(
            reason, f"{_TOPIC_POLICIES} could not be read: {_first(related.untold)}: {related.untold[path]}"
        )
    return None


def _not_served(proposal: Proposal) -> GuardRefusal | None:
    """Its topics stay, and brokers here refuse whoever looks for them."""
    newly = (served_by(proposal.present) - served_by(proposal.proposed)) & proposal.settings.clusters
    detail = f"brokers of {_names(newly)} would not serve it: its allowed_clusters leave them out"
    return GuardRefusal(HoldReason.LEAVES_CLUSTER_OUT, detail) if newly else None


def unknown_cluster(proposal: Proposal) -> GuardRefusal | None:
    """(d) A policy must not newly name a cluster that the target does not know."""
    if proposal.proposed is None:
        return None
    unknown = named_clusters(proposal.kind, proposal.proposed) - proposal.facts.clusters - {"global"}
    if unknown:
        unknown -= named_clusters(proposal.kind, proposal.present)
    return GuardRefusal(HoldReason.UNKNOWN_CLUSTER, f"not known here: {_names(unknown)}") if unknown else None


def fewer_partitions(proposal: Proposal) -> GuardRefusal | None:
    """(c) A smaller partition count hides data."""
    if proposal.present is None or proposal.proposed is None:
        return None
    present, proposed = _partitions(proposal.present), _partitions(proposal.proposed)
    if proposed < present:
        return GuardRefusal(HoldReason.FEWER_PARTITIONS, f"{present} partitions here, {proposed} proposed")
    return None


def scalable_topic(proposal: Proposal) -> GuardRefusal | None:
    """(i) A partitioned topic that was made a scalable one here is neither grown nor deleted from afar.

    Where nobody can tell, it may grow: few clusters have such topics, and a partition more hides nothing.
    """
    if proposal.present is None:
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


class Danger(StrEnum):
    """A harm to data, or to the service, by the write of a change; the guards are asked in this order."""

    BUS_RESOURCE = "bus-resource"
    CLUSTER_IN_DISPUTE = "cluster-in-dispute"
    UNREADABLE_TO_BROKERS = "unreadable-to-brokers"
    FIRST_CONTACT = "first-contact"
    LEAVES_CLUSTER_OUT = "leaves-cluster-out"
    UNKNOWN_CLUSTER = "unknown-cluster"
    FEWER_PARTITIONS = "fewer-partitions"
    FLAPPING = "flipping"
    SCALABLE_TOPIC = "scalable-topic"
    HAS_TOPICS = "has-topics"


Cell: TypeAlias = Guard | str
"""The guard against a danger to one kind of resource, or why the danger does not exist there."""


def _every(guard: Guard) -> dict[ResourceKind, Cell]:
    """It looks at what is known of a path, or at each kind by itself."""
    return dict.fromkeys(ResourceKind, guard)


TABLE: Final[Mapping[Danger, Mapping[ResourceKind, Cell]]] = {
    Danger.BUS_RESOURCE: _every(bus_resource),
    Danger.CLUSTER_IN_DISPUTE: _every(cluster_in_dispute),
    Danger.UNREADABLE_TO_BROKERS: _every(unreadable_to_brokers),
    Danger.FIRST_CONTACT: _every(first_contact),
    Danger.LEAVES_CLUSTER_OUT: {
        ResourceKind.TENANT: "Brokers check a tenant's allowedClusters in requests alone, and delete nothing by them.",
        ResourceKind.NAMESPACE: leaves_cluster_out,
        ResourceKind.PARTITIONED_TOPIC: "A declaration names no cluster.",
        ResourceKind.CLUSTER: "Brokers know their own cluster by their settings, and delete nothing by declarations.",
        ResourceKind.RESOURCE_GROUP: "It names no cluster.",
        ResourceKind.ISOLATION_POLICY: "It moves namespaces between brokers, and no topic is deleted.",
        ResourceKind.TOPIC_POLICY: topic_leaves_cluster_out,
    },
    Danger.UNKNOWN_CLUSTER: {
        ResourceKind.TENANT: unknown_cluster,
        ResourceKind.NAMESPACE: unknown_cluster,
        ResourceKind.PARTITIONED_TOPIC: "A declaration names no cluster.",
        ResourceKind.CLUSTER: "Declarations may name peers before these are declared; brokers pass over unknown ones.",
        ResourceKind.RESOURCE_GROUP: "It names no cluster.",
        ResourceKind.ISOLATION_POLICY: "Its only cluster is in its path, and that declaration is its parent.",
        ResourceKind.TOPIC_POLICY: unknown_cluster,
    },
    Danger.FEWER_PARTITIONS: {
        ResourceKind.TENANT: "It has no partitions.",
        ResourceKind.NAMESPACE: "Its partitions by default are those of topics that are still to be made.",
        ResourceKind.PARTITIONED_TOPIC: fewer_partitions,
        ResourceKind.CLUSTER: "It has no partitions.",
        ResourceKind.RESOURCE_GROUP: "It has no partitions.",
        ResourceKind.ISOLATION_POLICY: "It has no partitions.",
        ResourceKind.TOPIC_POLICY: "A topic has as many partitions as its declaration says.",
    },
    Danger.FLAPPING: _every(flapping),
    Danger.SCALABLE_TOPIC: {
        ResourceKind.TENANT: "A scalable topic shares its name with a declaration alone.",
        ResourceKind.NAMESPACE: "A scalable topic shares its name with a declaration alone.",
        ResourceKind.PARTITIONED_TOPIC: scalable_topic,
        ResourceKind.CLUSTER: "A scalable topic shares its name with a declaration alone.",
        ResourceKind.RESOURCE_GROUP: "A scalable topic shares its name with a declaration alone.",
        ResourceKind.ISOLATION_POLICY: "A scalable topic shares its name with a declaration alone.",
        ResourceKind.TOPIC_POLICY: "Policies hide no segment, whichever topic has them.",
    },
    Danger.HAS_TOPICS: {
        ResourceKind.TENANT: "Topics belong to namespaces, and a tenant is not deleted before these.",
        ResourceKind.NAMESPACE: has_topics,
        ResourceKind.PARTITIONED_TOPIC: has_topics,
        ResourceKind.CLUSTER: "No topic belongs to a declaration of a cluster.",
        ResourceKind.RESOURCE_GROUP: "No topic belongs to it; namespaces without it have no limit.",
        ResourceKind.ISOLATION_POLICY: "No topic belongs to it; namespaces without it are served by any broker.",
        ResourceKind.TOPIC_POLICY: "The topic outlives its policies, and follows those of its namespace.",
    },
}
"""Each danger and each kind of resource."""


def objections(proposal: Proposal, dangers: Sequence[Danger] = tuple(Danger)) -> Iterator[GuardRefusal]:
    """Ask the guards of a kind against these dangers, in order, and yield what they object to."""
    for danger in dangers:
        cell = TABLE[danger][proposal.kind]
        if not isinstance(cell, str) and (refusal := cell(proposal)):
            yield refusal


def examine(proposal: Proposal) -> GuardRefusal | None:
    """Ask every guard; the first that objects is the answer. A stamp that an operator let pass is not asked again."""
    if proposal.register.allowed == proposal.known.stamp:
        return None
    return next(objections(proposal), None)


def wants_answer(register: Register) -> bool:
    """Whether a change is held only because nobody could tell about the topics below its path."""
    hold = register.hold
    return hold is not None and hold.reason in _ASKS_FOR_TOPICS and hold.detail == UNTOLD_TOPICS


def weighs_related(register: Register) -> bool:
    """Whether a change is held by what stands at related paths: once that is another, the hold may end by itself."""
    hold, resource = register.hold, classify(register.path)
    if hold is None or hold.reason is not HoldReason.LEAVES_CLUSTER_OUT or resource is None:
        return False
    return resource.kind is ResourceKind.TOPIC_POLICY or hold.detail.startswith(_TOPIC_POLICIES)


def named_clusters(kind: ResourceKind, document: Document | None) -> frozenset[str]:
    """Every cluster name that a document of a kind lists."""
    if document is None:
        return frozenset()
    members: list[Any] = [member for name in LISTS.get(kind, ()) for member in _list(document.get(name))]
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


def _first(paths: Mapping[MetaPath, object]) -> str:
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{min(paths)}{more}"


def _names(clusters: frozenset[str]) -> str:
    return ", ".join(sorted(clusters))
