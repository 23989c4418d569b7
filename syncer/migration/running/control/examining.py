"""Examining brokers that a migration waits for: each is asked for its health, by its own address, for a while at most.

a call is not answered ─▶ all brokers of its cluster, unless they were asked just now ─▶ one is deadlocked: give up
a step stops           ─▶ the same, before the migration stops ─▶ the stop names them
one is not well        ─▶ the same again and again, until it is well
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

import anyio

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.errors import AdminError
from syncer.migration.broker_health import BrokerHealth, changed, deadlock_stop, health_of, is_due, since
from syncer.migration.course import MigrationStop
from syncer.migration.reading.at_once import all_of
from syncer.migration.running.clock import Clock
from syncer.model import Millis

ASK_S: Final = 8.0
"""For so long at most the list of brokers is waited for, and each of them: one that is deadlocked says so at once."""
_OK: Final = 200


class BrokerExamination:
    """Asks the brokers of one cluster how they are.

    Attributes:
        ill: Those that were not well when they were asked last, by their addresses.
    """

    def __init__(
        self, cluster: str, name: str, calls: AdminCalls, clock: Clock, tell: Callable[..., Awaitable[None]]
    ) -> None:
        """Make it; nobody is asked yet.

        Args:
            cluster: ``blue`` or ``green``.
            name: The cluster's own name.
            calls: Its API, of which nothing is recorded.
            clock: The time.
            tell: Notes that a broker has fallen ill, or is well again.
        """
        self.ill: Mapping[str, BrokerHealth] = {}
        self._cluster = cluster
        self._name = name
        self._calls = calls
        self._clock = clock
        self._tell = tell
        self._listed: tuple[str, ...] = ("",)
        self._looked_ms: Millis | None = None
        self._looking = anyio.Lock()

    async def look(self) -> tuple[BrokerHealth, ...]:
        """Ask every broker; answers those that are not well."""
        async with self._looking:
            await self._look()
        return tuple(self.ill.values())

    async def waited_in_vain(self) -> MigrationStop | None:
        """A call was not answered: ask every broker, unless it was just done.

        Returns:
            What the migration waits for, where no further try helps.
        """
        async with self._looking:
            if is_due(self._looked_ms, self._clock.now_ms()):
                await self._look()
        return deadlock_stop(tuple(self.ill.values()))

    async def follow(self) -> None:
        """See whether brokers that were not well are well again."""
        if self.ill:
            await self.waited_in_vain()

    async def _look(self) -> None:
        with anyio.move_on_after(ASK_S), suppress(AdminError):
            self._listed = tuple(await self._calls.brokers(self._name))
        found = await all_of(self._ask, self._listed)
        self._looked_ms = self._clock.now_ms()
        before, self.ill = self.ill, since(self.ill, found)
        for each in changed(before, self.ill):
            await self._tell(
                "broker-health", cluster=each.cluster, broker=each.broker, state=each.state.value, said=each.said
            )

    async def _ask(self, broker: str) -> BrokerHealth:
        """Ask one; as long as the cluster has never listed any, whoever answers for it."""
        calls = self._calls.at(broker) if broker else self._calls
        status, said = None, f"no answer within {ASK_S:g} s"
        with anyio.move_on_after(ASK_S):
            try:
                await calls.check_health()
                status, said = _OK, ""
            except AdminRefused as refused:
                status, said = refused.status, refused.reason
            except AdminError as error:
                said = error.message
        return health_of(self._cluster, broker or self._name, status, said)
