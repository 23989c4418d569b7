"""A write into a topic that cannot be read any more, its answer lost: the group goes on elsewhere, and then there.

a change ─▶ its message is under way ─▶ the answer is lost, and the topic answers nothing
         ─▶ changes elsewhere and there ─▶ at rest: all other paths are equal everywhere ─▶ the topic answers again
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncer.model import MetaPath
from syncer.system_topics.policies import namespace_of, path_of
from tests.simulation.history import Violation
from tests.simulation.topic_daemon import TopicDaemon
from tests.simulation.topic_store import POLICIES, Appending, TopicStore

if TYPE_CHECKING:
    from tests.simulation.topics import TopicWorld
    from tests.simulation.world import Site, World

CHANCE: Final = 0.6
"""How often a schedule ends with such a write."""
_ENDLESS: Final = 1 << 60


class Stranding:
    """One write whose outcome cannot be told, at the end of a schedule.

    Args:
        world: The world.
        topics: What it has more.
    """

    def __init__(self, world: World, topics: TopicWorld) -> None:
        self._world = world
        self._topics = topics
        self._site: Site | None = None
        self._namespace = ""
        self._late: Appending | None = None
        """It arrives after its topic was read again."""

    def keeps_under_way(self, site: Site, sent: Appending) -> bool:
        """Whether a message does not arrive by itself."""
        return sent is self._late or (site is self._site and sent.namespace == self._namespace)

    def concerns(self, site: Site, namespace: str | None) -> bool:
        """Whether a topic cannot be read for now."""
        return site is self._site and namespace == self._namespace

    def begin(self) -> bool:
        """Perhaps strand a write; whether there is one."""
        world, rng = self._world, self._world.rng
        if len(world.sites) < 2 or rng.random() > CHANCE:
            return False
        site, other = rng.sample(list(world.sites.values()), 2)
        path = rng.choice([each for each in POLICIES if each in world.paths])
        world.settle()  # whoever has yet to start does, and all arrives that is under way
        self._site, self._namespace = site, namespace_of(path) or ""
        store = self._store(site)
        world.put(other.region, path, world.value(path))
        world.settle()
        sent = next((each for each in store.under_way if not each.claim.restores), None)
        if sent is None:  # the change waits for something, or has lost
            self._site = None
            return False
        self._strand(site, sent)
        return True

    @staticmethod
    def _store(site: Site) -> TopicStore:
        assert isinstance(site.store, TopicStore)
        return site.store

    def _strand(self, site: Site, sent: Appending) -> None:
        world, rng, store = self._world, self._world.rng, self._store(site)
        world.met["stranded"] += 1
        fate = rng.choice(("arrived", "late", "later", "lost"))
        path = path_of(sent.key)
        assert path is not None
        world.story.tell(site.region, f"a write is stranded, and its message {fate}", path)
        if fate == "arrived":
            self._topics.arrive(store, sent)
        store.withheld_until[self._namespace] = _ENDLESS
        if rng.random() < 0.3:
            for daemon in list(site.daemons):
                daemon.crash()
        else:
            for daemon in site.daemons:
                assert isinstance(daemon, TopicDaemon)
                daemon.lose_message(sent)
        if fate == "lost":
            store.under_way.remove(sent)
        elif fate == "later":
            self._late = sent
        if rng.random() < 0.5:
            self._change(path)
        self._elsewhere()
        if fate == "late":
            self._topics.arrive(store, sent)

    def _change(self, path: MetaPath) -> None:
        """The path is changed once more, by brokers anywhere."""
        site = self._world.rng.choice(list(self._world.sites.values()))
        self._world.put(site.region, path, self._world.value(path))

    def _elsewhere(self) -> None:
        """Whatever is not in that topic is changed, and carried, while it cannot be read.

        Raises:
            Violation: It is not.
        """
        world = self._world
        others = [path for path in world.paths if namespace_of(path) != self._namespace]
        for path in others:
            for site in world.sites.values():
                if world.rng.random() < 0.5:
                    world.put(site.region, path, world.value(path))
        world.settle()
        for path in others:
            found = {site.store.content(path).digest for site in world.sites.values()}
            registers = {site.region: site.disk.tables.registers.get(path) for site in world.sites.values()}
            due = [region for region, register in registers.items() if register is not None and register.due]
            if len(found) != 1 or due:
                raise Violation("all waits", path, f"while one topic cannot be read, {due} are behind, of {found}")

    def end(self) -> None:
        """The topic answers again."""
        self._site = None

    def deliver(self) -> bool:
        """What was still under way arrives; whether there was such a message."""
        sent, self._late = self._late, None
        for site in self._world.sites.values():
            if sent in self._store(site).under_way:
                self._topics.arrive(self._store(site), sent)
                return True
        return False
