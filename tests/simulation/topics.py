"""A world whose regions keep topic policies in topics: no compare-and-set, brokers that edit meanwhile, a judge."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final, TypeVar

from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import MetaPath
from syncer.system_topics import late_readings, namespace, service, source, writing
from syncer.system_topics.log import WriterClaim
from syncer.system_topics.policies import path_of
from tests.simulation.history import Violation
from tests.simulation.stranding import Stranding
from tests.simulation.topic_daemon import TopicDaemon
from tests.simulation.topic_store import BASE, NAMESPACES, POLICIES, TENANT, Overtaken, TopicStore

if TYPE_CHECKING:
    from tests.simulation.world import Site, World

_Answer = TypeVar("_Answer")

SCOPE: Final = Scope((Rule(f"{BASE}/t/*/**", Direction.BOTH), *DEFAULT_RULES))
_EQUAL: Final = 900
_LISTED_MS: Final = 3_000
"""So old no listing counts any more."""
_AT_ONCE: Final = 0.35
"""How often a broker edits just what a daemon writes, before its message arrives, or right after."""
_WITH_AN_ANSWER: Final = 0.7
"""How often a topic that cannot be read any more is one of which an answer is awaited."""
_FORGED: Final = 0.05
"""How often an edit claims to be a daemon's."""


class _Loop(asyncio.SelectorEventLoop):
    """An event loop in the time of the world, which never waits."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def time(self) -> float:
        return self._world.story.now / 1000

    @property
    def rests(self) -> bool:
        return not self._ready  # type: ignore[attr-defined] # asyncio's own


class _Quiet:
    """Takes the place of what tells the time, and of what tells operators."""

    def __init__(self, world: World) -> None:
        self._world = world

    def monotonic(self) -> float:
        return self._world.story.now / 1000

    def info(self, *_: object, **__: object) -> None:
        """Nobody reads it."""

    debug = warning = info

    def exception(self, *_: object, **__: object) -> None:
        """What a daemon gets over by itself is a fault here."""
        raise  # noqa: PLE0704 - the one that is handled


class TopicWorld:
    """What a world has more whose topic policies are in topics.

    Args:
        world: The world.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._loop = _Loop(world)
        self._quiet = _Quiet(world)
        self.stranding = Stranding(world, self)

    # -- the loop

    def create_task(self, work: Coroutine[Any, Any, _Answer], context: Context) -> asyncio.Task[_Answer]:
        """Begin a task of a daemon."""
        return self._loop.create_task(work, context=context)

    def run(self) -> None:
        """Run all tasks as far as they come without an exchange."""
        loop, quiet = self._loop, self._quiet
        places: tuple[tuple[Any, str], ...] = (
            (source, "time"),
            (namespace, "time"),
            (service, "time"),
            (source, "log"),
            (writing, "log"),
            (late_readings, "log"),
        )
        kept = [(module, name, getattr(module, name)) for module, name in places]
        for module, name in places:
            setattr(module, name, quiet)
        try:
            while True:
                loop.call_soon(loop.stop)
                loop.run_forever()
                if loop.rests:
                    return
        finally:
            for module, name, value in kept:
                setattr(module, name, value)

    def close(self) -> None:
        """End all."""
        for site in self._world.everywhere:
            for daemon in list(site.daemons):
                daemon.end()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    # -- what happens

    def found(self) -> None:
        """The namespaces are there, everywhere, and stay."""
        world = self._world
        for region in world.sites:
            for path in (TENANT, *NAMESPACES):
                world.put(region, path, world.value(path, tag=_EQUAL))

    def forged(self, site: Site) -> WriterClaim | None:
        """A claim that somebody makes up who writes past the brokers; ``None``: he does not."""
        world = self._world
        if site.writer is None or world.rng.random() > _FORGED:
            return None
        world.met["forged"] += 1
        expected = (
            f"0:{site.store.number}" if isinstance(site.store, TopicStore) and world.rng.random() < 0.5 else "0:0"
        )
        return WriterClaim(
            region=site.region,
            store_id=f"store-{site.region}",
            fence=10**12,
            database="",
            batch="",
            expected=expected,
            restores=world.rng.random() < 0.5,
        )

    def move(self, site: Site) -> bool:
        """Perhaps a message of a daemon arrives, or never does."""
        store, rng = site.store, self._world.rng
        assert isinstance(store, TopicStore)
        if not store.under_way or rng.random() < 0.5:
            return False
        sent = rng.choice(store.under_way)
        if sent.forsaken and rng.random() < 0.3:
            store.under_way.remove(sent)
            return True
        path = self._path_of(sent.key)
        if rng.random() < _AT_ONCE:
            self._edit(site, path)
        self.arrive(store, sent)
        while rng.random() < _AT_ONCE:
            self._edit(site, path)
        return True

    @staticmethod
    def _path_of(key: str) -> MetaPath:
        found = path_of(key)
        assert found is not None
        return found

    def _edit(self, site: Site, path: MetaPath) -> None:
        world, rng = self._world, self._world.rng
        world.met["edited at once"] += 1
        if rng.random() < 0.25 and world.delete(site.region, path) is not None:
            return
        world.put(site.region, path, world.value(path, tag=rng.choice((None, None, _EQUAL))))

    def arrive(self, store: TopicStore, sent: Any) -> None:
        """A message of a daemon arrives."""
        counts = store.arrive(sent)
        what = "puts back" if sent.claim.restores else "writes"
        self._world.story.tell(
            store.region,
            f"a daemon {what}{'' if counts else ', in vain'}",
            self._path_of(sent.key),
            sent.id,
            sent.claim,
        )
        self._world.met["void"] += not counts
        self._world.met["put back"] += counts and sent.claim.restores

    def arrive_all(self, site: Site) -> bool:
        """All that is under way to the topics of a region arrives."""
        store, came = site.store, False
        assert isinstance(store, TopicStore)
        for sent in list(store.under_way):
            if not self.stranding.keeps_under_way(site, sent):
                self.arrive(store, sent)
                came = True
        return came

    def withhold(self, site: Site) -> bool:
        """A topic of a region cannot be read or written for a while."""
        store, rng = site.store, self._world.rng
        assert isinstance(store, TopicStore)
        name = rng.choice(("t/n", "t/m"))
        if store.under_way and rng.random() < _WITH_AN_ANSWER:
            sent = rng.choice(store.under_way)
            name = sent.namespace
            for daemon in site.daemons:
                assert isinstance(daemon, TopicDaemon)
                daemon.lose_message(sent)
        store.withheld_until[name] = self._world.story.now + rng.choice((1_000, 5_000, 30_000))
        self._world.story.tell(site.region, f"the topic of {name} cannot be read for a while")
        return True

    def compact(self, site: Site) -> bool:
        """The topics of a region are compacted, but not while something is under way (``limits.md``)."""
        store = site.store
        assert isinstance(store, TopicStore)
        under_way = writing.record_path(site.region) in store.nodes
        if under_way or any(daemon.sleeps_until for daemon in site.daemons) or self._unkept(site):
            return False
        return store.compact_topics()

    def delete_topic(self, site: Site) -> bool:
        """A topic of a region is deleted, where another region has its policies, or is made again."""
        store, world = self._store(site), self._world
        others = [self._store(each) for each in world.sites.values() if each is not site]

        def may_go(path: MetaPath) -> bool:
            return (
                path in store.nodes
                and not any(path in each.gone for each in others)
                and any(each.content(path).digest == store.content(path).digest for each in others)
            )

        found = [path for path in POLICIES if path in store.gone or may_go(path)]
        if not found:
            return False
        path = world.rng.choice(found)
        if path in store.gone:
            store.gone.remove(path)
            world.story.tell(site.region, "a topic is made again", path)
            return True
        store.delete_topic(path)
        world.story.tell(site.region, "a topic is deleted, its policies with it", path)
        return True

    @staticmethod
    def _store(site: Site) -> TopicStore:
        assert isinstance(site.store, TopicStore)
        return site.store

    def calm(self) -> None:
        """All topics are there and can be read, after perhaps a write was stranded in one of them."""
        for site in self._world.sites.values():
            self._store(site).gone.clear()
        self._world.advance(_LISTED_MS)
        self._open_all()
        if self.stranding.begin():
            self._open_all()
        self.stranding.end()

    def _open_all(self) -> None:
        for site in self._world.sites.values():
            assert isinstance(site.store, TopicStore)
            site.store.withheld_until.clear()

    @property
    def busy(self) -> bool:
        """Whether a daemon has yet to try a topic again."""
        return any(
            topic.trouble is not None
            for site in self._world.sites.values()
            for daemon in site.daemons
            if isinstance(daemon, TopicDaemon)
            for topic in daemon.source._topics.values()
            if not self.stranding.concerns(site, topic.namespace)
        )

    def written(self) -> list[int]:
        """How many messages each topic has taken."""
        return [site.store.number for site in self._world.sites.values() if isinstance(site.store, TopicStore)]

    # -- the referee

    def judge(self) -> None:
        """Brokers answer by what counts, and every edit that was overtaken is kept.

        Raises:
            Violation: One is lost.
        """
        for site in self._world.sites.values():
            assert isinstance(site.store, TopicStore)
            owing = site.store.owing()
            if owing is not None:
                raise Violation("not put back", owing, f"brokers of {site.region} answer by what does not count")
            for each in self._unkept(site):
                detail = f"{each.lost} of {site.region} was overtaken by {each.by} and kept nowhere"
                raise Violation("silent loss", each.path, detail)

    def _unkept(self, site: Site) -> list[Overtaken]:
        assert isinstance(site.store, TopicStore)
        return [each for each in site.store.overtaken if not self._kept(site, each)]

    def _kept(self, site: Site, each: Overtaken) -> bool:
        """Whether what was overtaken is in a conflict, or the group knows it anyway."""
        rows = (*site.disk.conflicts(each.path), *(row for row in site.disk.lost if row.path == each.path))
        if any(
            row.loser_digest == each.lost.digest and (row.value is not None or row.loser_digest is None) for row in rows
        ):
            return True
        history = self._world.history
        return any(
            content.path == each.path and content.stamp is not None and content.digest == each.lost.digest
            for content in history.contents
        )
