"""The service by which a cluster's brokers keep topic policies, asked now and then."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from syncer.errors import TopicPoliciesWithheld
from syncer.system_topics.contract import TopicLogs

_TOLD_S: Final = 30.0
_RETRY_S: Final = 2.0
"""How long the brokers' word on it counts, and how soon they are asked again whose word lets nothing be read."""


class BrokersService:
    """What the brokers have told of it last.

    Args:
        logs: Who asks them.
    """

    def __init__(self, logs: TopicLogs) -> None:
        self._logs = logs
        self._trouble: TopicPoliciesWithheld | None = None
        self._asked_at = float("-inf")
        self._asking = asyncio.Lock()
        self.elsewhere = False
        """Where a namespace has no topic of policies, they are in the metadata store."""

    async def trouble(self) -> TopicPoliciesWithheld | None:
        """Why nothing can be read by it; ``None``: it keeps them in system topics."""
        async with self._asking:
            if time.monotonic() - self._asked_at >= (_TOLD_S if self._trouble is None else _RETRY_S):
                try:
                    self.elsewhere = await self._logs.check_service()
                    self._trouble = None
                except TopicPoliciesWithheld as exc:
                    self._trouble = exc
                self._asked_at = time.monotonic()
            return self._trouble
