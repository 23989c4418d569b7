"""A plan: reversible operations on the store of one region, in an order that respects parents.

Invariants: an operation names the whole value that it expects and the whole value that it leaves, so its reverse is the
same two values the other way round, and reversing twice changes nothing. A path has at most one operation. Creates and
updates come parents first, deletes after them, children first.

An operation expects a *value*, not a revision: a value that was rewritten as it was is no change, in another order of
its fields either, and the reverse of a write that is still to come could not name the revision that the store will give
it. The executor turns the value into the revision that it has just read, so that every write is still conditional.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from syncer.conflict.fields.own import localized, part_of
from syncer.conflict.projection import PROJECTIONS, WITHHELD, canonical, parse, stored
from syncer.conflict.withholding import carried_value, group_value, withholds
from syncer.errors import InvariantBroken, PlanStale, ValueInvalid
from syncer.model import MetaPath, Millis, Region, ResourceKind
from syncer.paths import Resource, resource_at


class Action(StrEnum):
    """What an operation does to its path."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


class Standing(StrEnum):
    """How an operation stands to what the store holds now."""

    READY = "ready"
    ALREADY = "already"
    STALE = "stale"


_GENERATION: Final = {
    ResourceKind.CLUSTER: 0,
    ResourceKind.RESOURCE_GROUP: 0,
    ResourceKind.ISOLATION_POLICY: 1,
    ResourceKind.TENANT: 1,
    ResourceKind.NAMESPACE: 2,
    ResourceKind.PARTITIONED_TOPIC: 3,
    ResourceKind.TOPIC_POLICY: 4,
}
"""Parents have a smaller number than their children; what policies refer to (clusters, groups) comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One path from the value ``before`` to the value ``after``, as whole stored bytes; ``None``: absent.

    Of a kind with secrets: what may leave the store. What stays there stays as it is, and is gone with a delete.

    Raises:
        InvariantBroken: It changes nothing, or the path is no resource.
    """

    path: MetaPath
    before: bytes | None = field(repr=False)
    after: bytes | None = field(repr=False)

    def __post_init__(self) -> None:
        if self.before == self.after:
            raise InvariantBroken(f"an operation that changes nothing: {self.path}")
        resource_at(self.path)

    @property
    def action(self) -> Action:
        """What it does."""
        if self.before is None:
            return Action.CREATE
        return Action.DELETE if self.after is None else Action.UPDATE

    @property
    def resource(self) -> Resource:
        """What the path means."""
        return resource_at(self.path)

    def standing(self, present: bytes | None) -> Standing:
        """Whether it can be performed on what the store holds now, has been performed, or no longer fits."""
        present, before, after = (_comparable(self.path, each) for each in (present, self.before, self.after))
        if present == before:
            return Standing.READY
        return Standing.ALREADY if present == after else Standing.STALE

    def written(self, present: bytes | None) -> bytes | None:
        """What the store is to hold, over what it holds now: a plan has no secrets, and what stays there has them.

        Raises:
            ValueInvalid: What cannot be read was left out of the plan.
        """
        projection = PROJECTIONS[self.resource.kind]
        if not withholds(self.path):
            return projection.with_own_withheld(self.after, present)
        if self.after is None:
            return None
        base = present if present is not None and carried_value(self.path, present) != WITHHELD else None
        return projection.overlay(self.after, base)

    def changed_among(self, names: Collection[str]) -> tuple[str, ...]:
        """Which of some fields it would change, in order.

        Raises:
            ValueInvalid: A value cannot be read.
        """
        before, after = (_fields(value, names) for value in (self.before, self.after))
        return tuple(name for name in sorted(names) if before.get(name) != after.get(name))

    def sparing(self, names: Collection[str]) -> Operation | None:
        """A create or an update but for some fields, which stay as they are; ``None``: it would change nothing else.

        Raises:
            ValueInvalid: A value cannot be read.
        """
        present = None if self.before is None else parse(self.before)
        after = localized(parse(self.after or b""), present, names)
        if present is not None and canonical(after) == canonical(present):
            return None
        return Operation(path=self.path, before=self.before, after=stored(after))

    def reversed(self) -> Operation:
        """The operation that takes this one back."""
        return Operation(path=self.path, before=self.after, after=self.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done to the store of ``region``; made by :func:`planned`.

    Args:
        region: Whose store it is for.
        source: What that store will hold after it, for people.
        made_at_ms: When it was made.
        operations: In the order in which they are performed.
        left: Paths that only the store has and that the plan leaves alone.
        origin: The other region whose values these are; ``None``: they are this region's own, or nobody has noted it.
    """

    region: Region
    source: str
    made_at_ms: Millis
    operations: tuple[Operation, ...]
    left: tuple[MetaPath, ...] = ()
    origin: Region | None = None

    def reversed(self, *, only: Iterable[MetaPath] | None = None) -> Plan:
        """The plan that brings back exactly what was there, local fields included.

        Args:
            only: Take back the operations on these paths alone; all when not given.
        """
        wanted = None if only is None else frozenset(only)
        return planned(
            region=self.region,
            source=f"before: {self.source}",
            made_at_ms=self.made_at_ms,
            operations=(each.reversed() for each in self.operations if wanted is None or each.path in wanted),
        )

    def apply_to(self, held: Mapping[MetaPath, bytes]) -> dict[MetaPath, bytes]:
        """What a store that holds these values holds after the plan. What has been performed already stays.

        Raises:
            PlanStale: A path holds neither what its operation expects nor what it leaves.
        """
        values = dict(held)
        stale = [each for each in self.operations if each.standing(values.get(each.path)) is Standing.STALE]
        if stale:
            raise stale_at([each.path for each in stale])
        for each in self.operations:
            written = each.written(values.get(each.path))
            if written is None:
                values.pop(each.path, None)
            else:
                values[each.path] = written
        return values


def planned(
    *,
    region: Region,
    source: str,
    made_at_ms: Millis,
    operations: Iterable[Operation],
    left: Iterable[MetaPath] = (),
    origin: Region | None = None,
) -> Plan:
    """Put operations into their order.

    Raises:
        InvariantBroken: Two operations on one path.
    """
    ordered = tuple(sorted(operations, key=_rank))
    if len({each.path for each in ordered}) != len(ordered):
        raise InvariantBroken("a plan with two operations on one path")
    return Plan(
        region=region,
        source=source,
        made_at_ms=made_at_ms,
        operations=ordered,
        left=tuple(sorted(left)),
        origin=origin,
    )


def stale_at(paths: list[MetaPath], why: str = "changed since the plan was made") -> PlanStale:
    """The error that names what no longer fits."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return PlanStale(f"{paths[0]}{more}: {why}")


def _comparable(path: MetaPath, value: bytes | None) -> bytes | None:
    """What may leave the store, in a form that has no order of fields; bytes as they are where they are no document."""
    carried = group_value(path, value)
    if carried is None:
        return None
    try:
        return canonical(parse(carried))
    except ValueInvalid:
        return carried


def _fields(value: bytes | None, names: Collection[str]) -> dict[str, bytes]:
    """Some fields of a value, as they are written."""
    document = {} if value is None else parse(value)
    return {name: canonical({name: node}) for name, node in part_of(document, names).items()}


def _rank(operation: Operation) -> tuple[bool, int, str]:
    generation = _GENERATION[operation.resource.kind]
    if operation.action is Action.DELETE:
        return True, -generation, operation.path
    return False, generation, operation.path
