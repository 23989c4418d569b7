"""The warm-up: a scratch topic on each broker is migrated first, so that the window of real ones is short.

The first ledger that a broker process closes for a migration takes it up to a second and a half, later ones some tens
of milliseconds. Nobody uses the scratch namespace, and it is deleted again, at green too if blue has made it there.

A topic cannot be put on a broker by the admin API alone: its bundle goes where balancing sends it. So topics are made
until each broker has one, or so many that the rest is not to be had; which brokers stay cold is reported.
Source: measured; ``ManagedLedgerImpl.asyncMigrate``, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.migration.reading.namespaces import is_of_clients
from syncer.migration.running.clock import Clock
from syncer.migration.running.insisting import MANY_ATTEMPTS, insist
from syncer.migration.running.journal import MigrationJournal
from syncer.migration.running.marking import Marking

_TRIES: Final = 8
"""Topics that are made for each broker, at most."""
SCRATCH: Final = "migration-warm-up"
"""Namespace in which topics are migrated for warmth; its tenant is one of the migration's."""
_KEY: Final = "scratch/"
_GONE: Final = 404
_EXISTS: Final = 409


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmedUp:
    """What a warm-up has done.

    Attributes:
        topics: Broker → the topic of it that was migrated.
        cold: Brokers that got none, or have not migrated it.
        took_s: From the mark until the last topic was migrated: check period and window together.
    """

    topics: Mapping[str, str]
    cold: tuple[str, ...]
    took_s: float


class WarmUp:
    """Migrates a scratch topic of every broker of blue."""

    def __init__(
        self, blue: AdminCalls, green: AdminCalls, clock: Clock, journal: MigrationJournal, marking: Marking
    ) -> None:
        self._blue = blue
        self._green = green
        self._clock = clock
        self._journal = journal
        self._marking = marking

    async def run(self, cluster: str, tenant: str) -> WarmedUp:
        """Migrate a scratch topic of every broker; blue has to know where its clients go.

        Args:
            cluster: Blue's own name.
            tenant: In which the scratch namespace is made.

        Raises:
            AdminError: A call was refused or not answered; what was made is deleted all the same, if it can be.
        """
        namespace = f"{tenant}/{SCRATCH}"
        await self.clean(namespace)
        brokers = await insist(self._clock, lambda: self._blue.brokers(cluster))
        at_green = await insist(self._clock, lambda: self._green.namespace(namespace)) is not None
        await self._journal.remember(f"{_KEY}{namespace}", {"green_too": not at_green})
        try:
            topics = await self._make(namespace, brokers)
            began = self._clock.now_ms()
            await insist(self._clock, lambda: self._blue.mark_namespace(namespace, migrated=True))
            late = await self._marking.let_go(tuple(topics.values()))
            took_s = (self._clock.now_ms() - began) / 1000
        finally:
            await self.clean(namespace)
        warm = {broker: name for broker, name in topics.items() if name not in late}
        return WarmedUp(topics=warm, cold=tuple(each for each in brokers if each not in warm), took_s=took_s)

    async def clean(self, namespace: str) -> None:
        """Delete what a warm-up has made, if the journal knows of one."""
        key = f"{_KEY}{namespace}"
        made = (await self._journal.recall(key)).get(key)
        if not isinstance(made, Mapping):
            return
        if await self._there(self._blue, namespace):
            await self._marking.unmark(namespace)
        for calls in (self._blue, self._green) if made["green_too"] else (self._blue,):
            if await self._there(calls, namespace):
                await self._delete(calls, namespace)
        await self._journal.forget(key)

    async def _make(self, namespace: str, brokers: Sequence[str]) -> dict[str, str]:
        bundles = {"bundles": {"numBundles": _TRIES * max(1, len(brokers))}}
        await self._unless(_EXISTS, lambda: self._blue.create_namespace(namespace, bundles))
        found: dict[str, str] = {}
        for number in range(_TRIES * len(brokers)):
            if found.keys() >= set(brokers):
                break
            name = f"persistent://{namespace}/scratch-{number}"
            await self._unless(_EXISTS, partial(self._blue.create_topic, name))
            told = await insist(self._clock, partial(self._blue.stats, name))
            owner = None if told is None else told.get("ownerBroker")
            if isinstance(owner, str):
                found.setdefault(owner, name)
        return found

    async def _delete(self, calls: AdminCalls, namespace: str) -> None:
        for name in await insist(self._clock, lambda: calls.topics(namespace)):
            if is_of_clients(name):
                await self._unless(_GONE, partial(calls.delete_topic, name, force=True))
        await self._unless(_GONE, lambda: calls.delete_namespace(namespace))

    async def _there(self, calls: AdminCalls, namespace: str) -> bool:
        return await insist(self._clock, lambda: calls.namespace(namespace)) is not None

    async def _unless(self, status: int, call: Callable[[], Awaitable[None]]) -> None:
        """Insist on a call of which one refusal says that it was carried out before."""
        try:
            await insist(self._clock, call, MANY_ATTEMPTS)
        except AdminRefused as refused:
            if refused.status != status:
                raise
