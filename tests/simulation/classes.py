"""Regions of different scopes: what may travel between two of them, and breaks of what is shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from syncer.bus.wire.messages import Control, Message, TreeMessage
from syncer.bus.wire.tree_bodies import TreeStep, listing_of
from syncer.conflict.classes.pairs import ScopeClass
from syncer.model import MetaPath, Region
from syncer.replication.antientropy import tree_state
from syncer.replication.antientropy.class_sums import ClassSums, joined_row
from syncer.replication.group.participation import Participation
from syncer.replication.recovery import rescoping
from tests.simulation.history import Violation
from tests.simulation.incomplete import Patches

if TYPE_CHECKING:
    from tests.simulation.world import Site


def travels_rightly(message: Message, sites: Mapping[Region, Site]) -> None:
    """What one region lists for another one, or asks it for, both carry.

    Raises:
        Violation: It does not.
    """
    if isinstance(message, TreeMessage) and message.step in {TreeStep.LISTING, TreeStep.REMAINDER}:
        paths = tuple(entry.path for entry in listing_of(message.body).entries)
    elif isinstance(message, Control) and message.target and message.reason == "a comparison":
        paths = tuple(MetaPath(path) for path in message.paths)
    else:
        return
    for region in (message.region, Region(message.target)):
        site = sites.get(region)
        for path in paths if site is not None and site.scope is not None else ():
            assert site is not None
            assert site.scope is not None
            if not site.scope.contains(path):
                raise Violation("out of scope", path, f"{message.region} tells {message.target}: not in {region}")


def all_that_we_carry() -> Patches:
    """A class is summed over all that this region carries."""
    return [(ScopeClass, "contains", lambda shared, path: shared.ours.contains(path))]


def nobody_carries() -> Patches:
    """Whoever has another scope is waited for with no delete."""

    def carries(group: Participation, region: Region, path: MetaPath) -> bool:
        return group.peers.same_scope(region)

    return [(Participation, "carries", carries)]


def classes_stand_still() -> Patches:
    """The trees of classes do not follow the registers."""
    return [(ClassSums, "changes_of", lambda *_: {})]


def the_log_lacks_classes() -> Patches:
    """What is logged tells of the tree over all alone."""

    def own_alone(changes: bytes, of_classes: Any) -> bytes:
        return joined_row(changes, [b"" for _ in of_classes])

    return [(tree_state, "joined_row", own_alone)]


def what_comes_in_is_as_it_was() -> Patches:
    """What a path was before it left the scope counts again when it comes back."""
    return [(rescoping, "comes_in", lambda *_: False)]


BREAKS: Final[tuple[tuple[str, tuple[str, ...], Callable[[], Patches]], ...]] = (
    ("a class is all that a region carries", ("classes",), all_that_we_carry),
    ("deletes wait for nobody of another scope", ("classes",), nobody_carries),
    ("the sums of classes stand still", ("classes",), classes_stand_still),
    ("the log lacks the classes", ("classes",), the_log_lacks_classes),
    ("what comes into the scope is as it was", ("opting",), what_comes_in_is_as_it_was),
)
"""Each break, the modes that find it, and what it patches."""
