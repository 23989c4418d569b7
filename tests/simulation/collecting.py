"""Brokers that collect unused topics: they delete declarations by themselves, and no region but theirs may follow.

A broker with ``brokerDeleteInactivePartitionedTopicMetadataEnabled`` deletes the declaration of a partitioned topic
that nobody uses, unless the policies of its namespace keep it. In the store that looks like an operator's delete.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Final

from syncer.conflict.deletes.collected import BrokerCollection, CollectionTold, DeletedBy, deleted_by
from syncer.model import MetadataChangeEvent, MetaPath, ResourceKind, Stamp
from syncer.paths import classify, resource_at
from syncer.replication.local.deletes import questions
from syncer.replication.local.deletes.questions import Asked
from tests.simulation.history import History, Violation
from tests.simulation.incomplete import Patches
from tests.support.parts import parts_of

if TYPE_CHECKING:
    from tests.simulation.region import Daemon
    from tests.simulation.world import Site, World

SILENCES_MS: Final = (2_000, 20_000, 60_000)


@dataclass(eq=False, slots=True)
class Collectors:
    """The brokers of one region.

    Args:
        on: Whether one of them deletes declarations.
        silent_until: They answer no question until then.
    """

    on: bool
    silent_until: int = 0

    @classmethod
    def drawn(cls, rng: Random) -> Collectors:
        """In most regions they do."""
        return cls(rng.random() < 0.7)


class CollectionQuestions:
    """What one daemon asks the brokers of its region, as its pump does: answered late, and by nobody for a while.

    Args:
        daemon: The daemon.
        collectors: The brokers.
    """

    def __init__(self, daemon: Daemon, collectors: Collectors) -> None:
        self._daemon = daemon
        self._collectors = collectors
        self._open: Asked | None = None
        self._told = CollectionTold()

    def moves(self) -> list[Callable[[], None]]:
        """What can be done now; a question that nothing waits for changes nothing."""
        if self._open is not None:
            return [self._answer]
        return [self._ask] if parts_of(self._daemon.driver).local.versions.deletes.waiting and self._due() else []

    def _due(self) -> Asked | None:
        return self._daemon.driver.collection_question(self._daemon.now)

    def _ask(self) -> None:
        """The brokers are asked, and tell how they are set now."""
        self._open, collectors = self._due(), self._collectors
        self._told = CollectionTold(trouble="a broker does not answer")
        if collectors.silent_until <= self._daemon.world.story.now:
            self._told = CollectionTold(brokers={"b0": BrokerCollection(deletes_declarations=collectors.on)})

    def _answer(self) -> None:
        """The answer arrives, or nothing does."""
        asked, self._open, daemon = self._open or {}, None, self._daemon
        store, told = daemon.site.store, self._told
        namespaces = {each: store.entry(each) for each in questions.namespaces_of(asked)}
        daemon.tell("is told what brokers collect", None, told.trouble or bool(told.deleting), *asked)
        daemon.call(lambda: daemon.driver.answer_collection(asked, told, namespaces, daemon.now))


def collect(world: World, site: Site) -> bool:
    """A broker deletes the declaration of a topic that nobody uses; ``False``: there is none, or it deletes none.

    It has loaded no topic of a namespace that is not there.
    """
    if site.collectors is None or not site.collectors.on:
        return False
    topics = [path for path in site.store.nodes if _is_topic(path) and resource_at(path).parent in site.store.nodes]
    if not topics:
        return False
    content = world.delete(site.region, world.rng.choice(sorted(topics)))
    if content is None:
        return False
    content.collected = True
    world.story.tell(site.region, "that was a broker, which collects it", content.path)
    return True


def turn(world: World, site: Site) -> bool:
    """Somebody changes the setting, or the brokers fall silent for a while.

    It is turned off only where every delete of a broker was decided: nobody can tell of one that comes to light later.
    """
    collectors = site.collectors
    if collectors is None:
        return False
    if world.rng.random() < 0.5:
        collectors.silent_until = world.story.now + world.rng.choice(SILENCES_MS)
        world.story.tell(site.region, "its brokers answer nothing for a while")
        return True
    undecided = any(
        each.collected and each.stamp is None and each.region == site.region for each in world.history.contents
    )
    if collectors.on and undecided:
        return False
    collectors.on = not collectors.on
    world.story.tell(site.region, f"its brokers {'begin' if collectors.on else 'cease'} to collect topics")
    return True


def parent_goes(history: History, site: Site, path: MetaPath) -> None:
    """A namespace was deleted: what brokers had collected in it goes by that, and not by them."""
    for each in history.contents:
        if each.collected and each.region == site.region and resource_at(each.path).parent == path:
            each.collected = False


def went_rightly(
    history: History, path: MetaPath, stamp: Stamp, published: Collection[MetadataChangeEvent], *, confirmed: bool
) -> None:
    """What a broker has collected leaves its region only if a person says so there, or has deleted it elsewhere.

    Args:
        history: What has happened.
        path: Where.
        stamp: Of what is published, or written in another region.
        published: What is on the bus.
        confirmed: A person of its region has let it pass.

    Raises:
        Violation: It does.
    """
    content = history.named.get((path, stamp))
    if content is None or not content.collected or content.region != stamp.region or confirmed:
        return
    for other in published:
        if other.path != path or other.value is not None or other.stamp.region == stamp.region:
            continue
        deleted = history.named.get((other.path, other.stamp))
        if deleted is not None and deleted not in content.past:
            return
    raise Violation("collected", path, f"{stamp} leaves its region, and a broker has collected it")


def _is_topic(path: MetaPath) -> bool:
    resource = classify(path)
    return resource is not None and resource.kind is ResourceKind.PARTITIONED_TOPIC


def what_brokers_collect_is_carried() -> Patches:
    """Every delete of a declaration is an operator's."""
    return [(questions, "deleted_by", lambda *_: DeletedBy.OPERATOR)]


def no_answer_is_none() -> Patches:
    """Brokers that do not answer collect nothing."""
    decide = deleted_by

    def told(answer: CollectionTold, policy: Any) -> DeletedBy:
        return decide(answer, policy) or DeletedBy.OPERATOR

    return [(questions, "deleted_by", told)]


BREAKS: Final[tuple[tuple[str, tuple[str, ...], Callable[[], Patches]], ...]] = (
    ("what brokers collect is carried", ("collected",), what_brokers_collect_is_carried),
    ("brokers that do not answer collect nothing", ("collected",), no_answer_is_none),
)
"""Each break, the modes that find it, and what it patches."""
