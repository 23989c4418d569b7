"""Reading of each broker's runtime configuration, which tells whether they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import anyio

from syncer.balancer.picture import FigureOrigin, Known, LoadSource
from syncer.balancer.reading.brokers import AT_ONCE, BROKER_S
from syncer.errors import AdminError

if TYPE_CHECKING:
    from syncer.admin.calls import AdminCalls
    from syncer.balancer.settings import Properties


async def read_properties(
    calls: AdminCalls, brokers: Iterable[str], now_ms: int, *, broker_s: float = BROKER_S
) -> Mapping[str, Known[Properties]]:
    """Ask each broker for its runtime configuration; one that refuses or hangs is left out.

    Args:
        calls: The cluster's admin API.
        brokers: Their ids.
        now_ms: The time.
        broker_s: How long one broker is waited for.
    """
    asked, limit = tuple(brokers), anyio.CapacityLimiter(AT_ONCE)
    answers: dict[str, Known[Properties]] = {}

    async def ask(broker: str) -> None:
        async with limit:
            with anyio.move_on_after(broker_s):
                try:
                    told = await calls.at(broker).configuration()
                except AdminError:
                    return
                origin = FigureOrigin(LoadSource.REST, f"{broker} configuration/runtime", now_ms)
                answers[broker] = Known(told, origin)

    async with anyio.create_task_group() as tasks:
        for broker in asked:
            tasks.start_soon(ask, broker)
    return {broker: answers[broker] for broker in asked if broker in answers}
