"""The guard: nothing moves by itself, every topic is loaded, and blue knows where it will send its clients.

A topic that is not loaded when its namespace is marked is stranded: so is one that moves afterwards. All of this may be
done again at any time; what was set for all brokers is put back at the end of the migration.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from syncer.admin.balancing_claim import CLAIM_NAMESPACE, claim_in
from syncer.admin.calls import AdminCalls
from syncer.admin.stillness import STILL
from syncer.errors import BalancingOwned, PreconditionFailed
from syncer.migration.evidence import ClusterUrls, StatsAnswer
from syncer.migration.reading import forms
from syncer.migration.reading.at_once import all_of
from syncer.migration.reading.topics import read_topic
from syncer.migration.running.clock import Clock
from syncer.migration.running.former import FormerValues, Setting
from syncer.migration.running.insisting import insist
from syncer.migration.running.looking import Looking


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What the guard has found and done.

    Attributes:
        frozen: Dynamic settings that it has set.
        loaded: Topics that it has loaded; the others were.
        unloaded: Topics that cannot be loaded, and how their statistics were answered.
    """

    frozen: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    unloaded: Mapping[str, StatsAnswer] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether every topic is loaded."""
        return not self.unloaded


class Guard:
    """Guards a cluster while namespaces of it are moved."""

    def __init__(self, blue: AdminCalls, clock: Clock, former: FormerValues) -> None:
        self._blue = blue
        self._clock = clock
        self._former = former
        self._looking = Looking(blue, clock)

    async def guard(self, cluster: str, target: ClusterUrls, namespaces: Collection[str]) -> Guarded:
        """Freeze balancing, say where clients will go, and load every topic.

        Args:
            cluster: Blue's own name.
            target: Green's addresses.
            namespaces: Whose topics are loaded.

        Raises:
            BalancingOwned: A run of moves holds the same settings, and would put them back in the middle.
            PreconditionFailed: The whole cluster is marked already.
            AdminError: A call was refused, or not answered.
        """
        frozen = await self._freeze(cluster)
        await self._point(cluster, target)
        loaded, unloaded = await self._load(cluster, namespaces)
        return Guarded(frozen=frozen, loaded=loaded, unloaded=unloaded)

    async def release(self) -> None:
        """Let the cluster balance as it did before."""
        await self._former.put_all_back((Setting.DYNAMIC,))

    async def _freeze(self, cluster: str) -> tuple[str, ...]:
        owner = claim_in(await insist(self._clock, lambda: self._blue.namespace(CLAIM_NAMESPACE)), cluster)
        if owner:
            raise BalancingOwned(f"the run of moves {owner} keeps {cluster} from balancing, and lets go when it ends")
        there = await insist(self._clock, self._blue.dynamic_settings)
        moving = [key for key, value in STILL.items() if there.get(key) != value]
        for key in moving:
            await self._former.set_dynamic(key, STILL[key], there.get(key))
        return tuple(moving)

    async def _point(self, cluster: str, target: ClusterUrls) -> None:
        told = await insist(self._clock, lambda: self._blue.migration_mark(cluster))
        mark = None if told is None else forms.mark(f"mark of {cluster}", told)
        if mark is not None and mark.migrated:
            raise PreconditionFailed(f"{cluster} is marked as a whole: its clients go to {mark.target.pulsar} already")
        if mark is None or mark.target != target:
            await insist(self._clock, lambda: self._blue.set_migration_mark(cluster, target.named, migrated=False))

    async def _load(
        self, cluster: str, namespaces: Collection[str]
    ) -> tuple[tuple[str, ...], Mapping[str, StatsAnswer]]:
        """Load what is not; a broker's list may be a minute old, so that the flip looks at each topic once more."""
        there: set[str] = set()
        for broker in await insist(self._clock, lambda: self._blue.brokers(cluster)):
            told = await insist(self._clock, self._blue.at(broker).loaded_topics)
            there |= forms.loaded_topics(f"topics of {broker}", told)
        wanted: list[str] = []
        for namespace in namespaces:
            wanted += [each for each in await self._looking.listed(namespace) if each not in there]
        answers = dict(zip(wanted, await all_of(self._answer, wanted), strict=True))
        away = {name: answer for name, answer in answers.items() if answer is not StatsAnswer.LOADED}
        return tuple(name for name in wanted if name not in away), away

    async def _answer(self, topic: str) -> StatsAnswer:
        return (await insist(self._clock, lambda: read_topic(self._blue, topic, load=True))).answer
