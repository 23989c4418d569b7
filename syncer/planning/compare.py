"""Compare a live region with another side: fingerprints first, values only of what differs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from syncer.conflict.classes.pairs import class_of
from syncer.conflict.fields.own import localized
from syncer.conflict.projection import parse, stored
from syncer.conflict.settings import NOTHING
from syncer.errors import PreconditionFailed, ValueInvalid
from syncer.model import MetaPath, Millis
from syncer.paths import tenant_of
from syncer.plan.diffing import WholeSides, diff, differing
from syncer.plan.operations import Plan
from syncer.planning.first_form import FirstFormSeen
from syncer.planning.sources import Side
from syncer.replacing import replace


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSides:
    """What a comparison has found.

    Args:
        plan: What makes the region hold what the other side holds.
        compared: How many paths both sides cover, of those that flow from the other side to the region.
        held: How many of these the region holds.
        other_way: How many both cover that do not: what the other region has of these is not for this one.
        uncovered: How many the other side holds and the region's scope leaves out.
        unshared: These, and those that the region holds and the other side's scope leaves out.
        unknown: Sides whose values are not completed: newer fields that they lack were taken to be as on the other one.
        first_form: Names of sides, each with the namespaces of the first form that were met there; sides without any
            are left out.
    """

    plan: Plan
    compared: int
    held: int
    other_way: int
    uncovered: int
    unshared: int
    unknown: tuple[str, ...] = ()
    first_form: tuple[tuple[str, FirstFormSeen], ...] = ()


async def compare(
    here: Side,
    there: Side,
    *,
    now: Millis,
    deletes: bool = False,
    empty: bool = False,
    tenants: Collection[str] = (),
    only: Callable[[MetaPath], bool] = lambda _path: True,
) -> ComparedSides:
    """Find what makes ``here`` hold what ``there`` holds.

    A path counts only if both sides cover it, and if it flows from there to here: the other region publishes it, and
    this one applies it. Of a region's own values every path does. What differs between the two scans is read again
    before it counts, so that a change that was on its way meanwhile is no difference. A field that not every version of
    Pulsar knows, and that a side lacks whose values are not completed, is no difference either.

    Args:
        here: The region that the plan is for.
        there: What it should hold.
        now: The time of the plan.
        deletes: Delete what only ``here`` has.
        empty: Also where the other side holds nothing at all; for whoever says otherwise what may go.
        tenants: Look only at what belongs to these; at everything when not given.
        only: Look only at paths of which this holds.

    Raises:
        PreconditionFailed: Deletes are wanted, and the other side holds nothing at all of what both cover.
    """
    shared = class_of(here.scope, there.scope)
    origin = None if here.region == there.region else there.region

    def wished(path: MetaPath) -> bool:
        return (not tenants or tenant_of(path) in tenants) and only(path)

    def flows(path: MetaPath) -> bool:
        if origin is None:
            return shared.contains(path)
        return here.scope.direction(path).applies and there.scope.direction_of_resource(path).publishes

    def covers(path: MetaPath) -> bool:
        return wished(path) and flows(path)

    theirs = await there.picture()
    ours = await here.picture()
    if deletes and not empty and any(map(flows, ours)) and not any(map(flows, theirs)):
        raise PreconditionFailed(
            f"{there.name} holds nothing, and everything would be deleted: no plan was made",
            hint="Check that the other side is the right one, and that its scope is.",
        )
    paths = list(differing(ours, theirs, covers))
    held = await here.values(paths)
    own = await there.own(paths)  # before the values: what is told by then is the group's in these
    wanted = await there.values(paths)
    back = there.own_values and origin is None
    plan = diff(
        held,
        {
            path: _shared(value, held.get(path), here.excluded(path) | own.get(path, NOTHING), back=back)
            for path, value in wanted.items()
        },
        region=here.region,
        source=there.name,
        made_at_ms=now,
        deletes=deletes,
        whole=WholeSides(here=not here.trouble, there=not there.trouble),
    )
    both = [path for path in ours.keys() | theirs.keys() if wished(path) and shared.contains(path)]
    flowing = sum(map(flows, both))
    met = ((side.name, side.first_form) for side in (here, there))
    uncovered = sum(not here.scope.contains(path) for path in theirs)
    return ComparedSides(
        plan=replace(plan, origin=origin),
        compared=flowing,
        held=sum(map(covers, ours)),
        other_way=len(both) - flowing,
        uncovered=uncovered,
        unshared=uncovered + sum(not there.scope.contains(path) for path in ours),
        unknown=tuple(side.name for side in (here, there) if side.trouble),
        first_form=tuple((name, each) for name, each in met if each is not None and each.count),
    )


def _shared(value: bytes, present: bytes | None, own: frozenset[str], *, back: bool) -> bytes:
    """A value of the other side, as far as it says anything about this one.

    Args:
        value: As the other side has it.
        present: As it is here; ``None``: nothing stands here.
        own: Fields that this side has for itself, or of which the other side's value is its own: they are as here.
        back: The other side has this region's own values: what is gone comes back with them.
    """
    if not own or (present is None and back):
        return value
    try:
        return stored(localized(parse(value), None if present is None else parse(present), own))
    except ValueInvalid:
        return value
