"""Review of a plan before it is performed: the guards of replication, and the rules of parents and deletes. Pure.

Every refusal is shown with its reason. Those that only an operator can weigh give way to one who names the
reason (``allow``); a child without its parent and a parent without its children's consent never do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from syncer.conflict.acts import Need
from syncer.conflict.guards import Danger, Facts, GuardRefusal, Proposal, Related, Topics, objections
from syncer.conflict.projection import Document, parse
from syncer.conflict.register import Register
from syncer.conflict.settings import Settings
from syncer.errors import ValueInvalid
from syncer.model import NOTHING_SEEN, MetaPath, Millis, Region, ResourceKind, Stamp, Version
from syncer.plan.diffing import readable
from syncer.plan.operations import Action, Operation, Plan
from syncer.replacing import replace


class Reason(StrEnum):
    """Why an operation is refused."""

    BUS_RESOURCE = "bus-resource"
    LEAVES_CLUSTER_OUT = "leaves-cluster-out"
    UNKNOWN_CLUSTER = "unknown-cluster"
    FEWER_PARTITIONS = "fewer-partitions"
    HAS_TOPICS = "has-topics"
    SCALABLE_TOPIC = "scalable-topic"
    UNREADABLE = "unreadable"
    UNREADABLE_TO_BROKERS = "unreadable-to-brokers"
    DELETE = "delete"
    PARENT_MISSING = "parent-missing"
    CHILDREN_ALIVE = "children-alive"
    OUT_OF_SCOPE = "out-of-scope"
    NOT_APPLIED = "not-applied"
    EXCLUDED_FIELD = "excluded-field"


ALLOWABLE: Final = frozenset(
    {
        Reason.BUS_RESOURCE,
        Reason.LEAVES_CLUSTER_OUT,
        Reason.UNKNOWN_CLUSTER,
        Reason.FEWER_PARTITIONS,
        Reason.HAS_TOPICS,
        Reason.SCALABLE_TOPIC,
        Reason.UNREADABLE,
        Reason.UNREADABLE_TO_BROKERS,
    }
)
"""Reasons that an operator may set aside one by one; deletes have an option of their own, the rest never gives way."""

_DANGERS: Final = (
    Danger.BUS_RESOURCE,
    Danger.UNREADABLE_TO_BROKERS,
    Danger.LEAVES_CLUSTER_OUT,
    Danger.UNKNOWN_CLUSTER,
    Danger.FEWER_PARTITIONS,
    Danger.SCALABLE_TOPIC,
    Danger.HAS_TOPICS,
)
"""Dangers that a plan may bring. The others come with changes of another region; an operator made the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One reason why an operation is not performed."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """What the target is like, as far as a plan depends on it.

    Args:
        settings: Its clusters and the paths of its bus.
        scope: Paths of the plan that take part in replication there.
        applied: Those of which it takes what other regions have.
        clusters: Names of clusters that its store knows.
        alive: Parents of the plan's paths that its store holds.
        children: Living children of the paths that the plan deletes.
        topics: Whether topics exist below a path, as far as it was asked.
        related: What stands at paths that count with one, as far as they were read: see :func:`to_be_read`.
    """

    settings: Settings
    scope: frozenset[MetaPath]
    applied: frozenset[MetaPath] = frozenset()
    clusters: frozenset[str] = frozenset()
    alive: frozenset[MetaPath] = frozenset()
    children: Mapping[MetaPath, frozenset[MetaPath]] = field(default_factory=dict)
    topics: Mapping[MetaPath, Topics] = field(default_factory=dict)
    related: Mapping[MetaPath, Related] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A plan with what of it is refused. The rest may be performed, in the order of the plan.

    Args:
        plan: It leaves fields that its region excludes as they are.
        refused: Why an operation is not performed.
        spared: Fields that an operation would have changed, but for that.
    """

    plan: Plan
    refused: Mapping[MetaPath, tuple[Refusal, ...]]
    spared: Mapping[MetaPath, tuple[str, ...]] = field(default_factory=dict)

    @property
    def accepted(self) -> tuple[Operation, ...]:
        """The operations that may be performed."""
        return tuple(each for each in self.plan.operations if each.path not in self.refused)


def review(plan: Plan, around: TargetFacts, *, allow: frozenset[Reason] = frozenset(), deletes: bool = False) -> Review:
    """Judge every operation.

    Args:
        plan: What is to be done.
        around: What the target is like.
        allow: Reasons that an operator has set aside; those outside :data:`ALLOWABLE` have no effect.
        deletes: Deletes may be performed.
    """
    plan, spared, vain = _sparing(plan, around.settings)
    known = around.clusters | _clusters_made(plan)
    refused: dict[MetaPath, tuple[Refusal, ...]] = {}
    family = _Family(around)
    halves = _halves(plan)
    for operation in plan.operations:
        found = [
            each
            for each in (
                *_refusals(operation, around, known, halves, plan.origin, vain.get(operation.path, ())),
                *family.refusals(operation),
            )
            if each.reason not in allow or each.reason not in ALLOWABLE
        ]
        if operation.action is Action.DELETE and not deletes:
            found.append(Refusal(reason=Reason.DELETE, detail="deletes are performed only when they are asked for"))
        if found:
            refused[operation.path] = tuple(found)
        else:
            family.take(operation)
    return Review(plan=plan, refused=refused, spared=spared)


def to_be_asked(plan: Plan, around: TargetFacts) -> tuple[MetaPath, ...]:
    """Paths for which a guard needs to know whether topics exist below them, in the order of the plan."""
    return _in_need(plan, around, Need.TOPICS, around.topics)


def to_be_read(plan: Plan, around: TargetFacts) -> tuple[MetaPath, ...]:
    """Paths for which a guard needs what stands at related ones, in the order of the plan."""
    return _in_need(plan, around, Need.RELATED, around.related)


def _in_need(plan: Plan, around: TargetFacts, need: Need, met: Collection[MetaPath]) -> tuple[MetaPath, ...]:
    known, halves = around.clusters | _clusters_made(plan), _halves(plan)
    return tuple(
        operation.path
        for operation in plan.operations
        if operation.path not in met
        and any(each.reason is None and each.need is need for each in _guarded(operation, around, known, halves))
    )


class _Family:
    """Parents and children as they stand after the operations that were accepted so far."""

    def __init__(self, around: TargetFacts) -> None:
        self._around = around
        self._made: set[MetaPath] = set()
        self._gone: set[MetaPath] = set()
        self._child: dict[MetaPath, MetaPath] = {}

    def take(self, operation: Operation) -> None:
        """The operation was accepted."""
        if operation.after is None:
            self._gone.add(operation.path)
            return
        self._made.add(operation.path)
        if (parent := operation.resource.parent) is not None:
            self._child.setdefault(parent, operation.path)

    def refusals(self, operation: Operation) -> Iterator[Refusal]:
        """A child needs its parent; a parent does not go before its children."""
        path, parent = operation.path, operation.resource.parent
        if operation.after is not None:
            if parent is not None and parent not in self._around.alive and parent not in self._made:
                yield Refusal(reason=Reason.PARENT_MISSING, detail=f"{parent} does not exist here")
            return
        living = sorted(self._around.children.get(path, frozenset()) - self._gone)
        if path in self._child:
            living.append(self._child[path])
        if living:
            more = f" and {len(living) - 1} more" if len(living) > 1 else ""
            yield Refusal(reason=Reason.CHILDREN_ALIVE, detail=f"{living[0]}{more} would outlive it")


def _refusals(
    operation: Operation,
    around: TargetFacts,
    clusters: frozenset[str],
    halves: _Halves,
    origin: Region | None,
    vain: tuple[str, ...],
) -> Iterator[Refusal]:
    if operation.path not in around.scope:
        yield Refusal(reason=Reason.OUT_OF_SCOPE, detail="no rule of this region's scope covers it")
    elif origin is not None and operation.path not in around.applied:
        detail = f"the plan is of what region {origin} holds, and this region publishes the path only"
        yield Refusal(reason=Reason.NOT_APPLIED, detail=detail)
    if vain:
        detail = f"{', '.join(vain)}: excluded in this region since the plan was made, and nothing else would change"
        yield Refusal(reason=Reason.EXCLUDED_FIELD, detail=detail)
    guarded = list(_guarded(operation, around, clusters, halves))
    grows = operation.after is not None and operation.resource.kind is ResourceKind.PARTITIONED_TOPIC
    if not grows and any(each.reason is None and each.need is Need.TOPICS for each in guarded):
        yield Refusal(reason=Reason.HAS_TOPICS, detail="it was not asked whether topics exist here")
    if any(each.reason is None and each.need is Need.RELATED for each in guarded):
        yield Refusal(reason=Reason.LEAVES_CLUSTER_OUT, detail="topic policies or their namespace were not read here")
    for refusal in guarded:
        if refusal.reason is not None:
            yield Refusal(reason=Reason(refusal.reason.value), detail=refusal.detail)
    if operation.after is not None:
        for which, value in (("the new value", operation.after), ("the value here", operation.before)):
            if not readable(value):
                yield Refusal(reason=Reason.UNREADABLE, detail=f"{which} is no JSON object")


def _sparing(
    plan: Plan, settings: Settings
) -> tuple[Plan, dict[MetaPath, tuple[str, ...]], dict[MetaPath, tuple[str, ...]]]:
    """The plan without what the region has excluded, what that is, and what of operations that change nothing else."""
    spared: dict[MetaPath, tuple[str, ...]] = {}
    vain: dict[MetaPath, tuple[str, ...]] = {}
    operations = list(plan.operations)
    for index, operation in enumerate(operations):
        if names := _excluded(operation, settings, plan.origin):
            rest = operation.sparing(names)
            if rest is None:
                vain[operation.path] = names
            else:
                operations[index], spared[operation.path] = rest, names
    return (replace(plan, operations=tuple(operations)) if spared else plan), spared, vain


def _excluded(operation: Operation, settings: Settings, origin: Region | None) -> tuple[str, ...]:
    """The excluded fields that an operation would change. What comes back to its own region comes back whole."""
    if operation.after is None or (operation.before is None and origin is None):
        return ()
    names = settings.excluded(operation.path)
    if not names or not (readable(operation.before) and readable(operation.after)):
        return ()
    return operation.changed_among(names)


def _guarded(
    operation: Operation, around: TargetFacts, clusters: frozenset[str], halves: _Halves
) -> Iterator[GuardRefusal]:
    topics = around.topics.get(operation.path, Topics.NOT_ASKED)
    found: set[GuardRefusal] = set()
    for related in _pictures(operation, around, halves):
        facts = Facts(now=Millis(0), clusters=clusters, topics=topics, scalable=Topics.NOT_ASKED, related=related)
        proposal = Proposal(
            register=Register(path=operation.path),
            known=_version(around.settings),
            kind=operation.resource.kind,
            present=_document(operation.before),
            proposed=_document(operation.after),
            facts=facts,
            settings=around.settings,
        )
        for refusal in objections(proposal, _DANGERS):
            if refusal not in found:
                found.add(refusal)
                yield refusal


_Halves: TypeAlias = Mapping[MetaPath, Mapping[MetaPath, Document | None]]
"""By namespace what a plan writes there, and as its topic policies."""


def _halves(plan: Plan) -> _Halves:
    found: defaultdict[MetaPath, dict[MetaPath, Document | None]] = defaultdict(dict)
    for each in plan.operations:
        if each.resource.kind is ResourceKind.NAMESPACE:
            found[each.path][each.path] = _document(each.after)
        elif each.resource.kind is ResourceKind.TOPIC_POLICY and each.resource.parent is not None:
            found[each.resource.parent][each.path] = _document(each.after)
    return found


def _pictures(operation: Operation, around: TargetFacts, halves: _Halves) -> Iterator[Related | None]:
    """Yield the related values before the other operations of a plan and after them: it may be performed in part."""
    related, path = around.related.get(operation.path), operation.path
    if related is None:
        yield None
        return
    namespace = path if operation.resource.kind is ResourceKind.NAMESPACE else operation.resource.parent
    written = halves.get(namespace, {}) if namespace is not None else {}
    made = {each: document for each, document in written.items() if each != path}
    if namespace == path or namespace not in made or related.documents.get(namespace) is not None:
        yield related
    if made:
        yield replace(
            related,
            documents={**related.documents, **made},
            untold={each: why for each, why in related.untold.items() if each not in made},
        )


def _version(settings: Settings) -> Version:
    """A stand-in: no guard that is asked here looks at the version."""
    stamp = Stamp(Millis(0), settings.region)
    return Version(stamp=stamp, by=settings.by, seen=NOTHING_SEEN, digest=None)


def _document(value: bytes | None) -> Document | None:
    """The parsed value; an unreadable one names nothing, but stands there."""
    if value is None:
        return None
    try:
        return parse(value)
    except ValueInvalid:
        return {}


def _clusters_made(plan: Plan) -> frozenset[str]:
    return frozenset(
        each.resource.name
        for each in plan.operations
        if each.resource.kind is ResourceKind.CLUSTER and each.after is not None
    )
