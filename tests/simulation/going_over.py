"""Breaks of a changeover between projections: digests that stay as they were, and regions that do not wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from syncer.conflict import folding, observing
from syncer.conflict.acts import Act
from syncer.conflict.changeover import able_ids
from syncer.conflict.register import Register
from syncer.model import ResourceKind
from syncer.replication.local import going_over
from tests.simulation.incomplete import Patches


def digests_stay() -> Patches:
    """What was known by the former projection is compared with what is made by the new one."""

    def stays(projections: Any, register: Register, values: Any, **_: Any) -> tuple[Register, tuple[Act, ...]]:
        return register, ()

    return [(module, "made_anew", stays) for module in (observing, folding, going_over)]


def nobody_waits() -> Patches:
    """A region goes over to the newest projection at once, whoever cannot."""

    def at_once(kind: ResourceKind, ours: Any, members: Any) -> str:
        return next(each for each in able_ids(kind) if each in ours.able)

    return [(going_over, "chosen", at_once)]


def the_store_is_not_read_again() -> Patches:
    """It counts as done once what is due was looked through."""
    use = going_over._use

    def hasty(local: Any, projections: Any) -> None:
        use(local, projections.arrived)

    return [(going_over, "_use", hasty)]


BREAKS: Final[tuple[tuple[str, tuple[str, ...], Callable[[], Patches]], ...]] = (
    ("digests are not made anew", ("projections",), digests_stay),
    ("a region projects by the newest at once", ("projections",), nobody_waits),
    ("a changeover reads no store", ("projections",), the_store_is_not_read_again),
)
"""Each break, the modes that find it, and what it patches."""
