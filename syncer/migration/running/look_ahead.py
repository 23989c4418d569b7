"""The look-ahead of Key_Shared subscriptions, held off while consumers come: it can keep messages from all of them.

Where a consumer joins, messages of keys that become its own wait until their former owner has acknowledged. What comes
meanwhile is put aside, and the broker looks ahead for other keys. Where it finds the same keys again, it puts these
aside too and looks ahead once more, instead of delivering what it has put aside: until 2,000 entries of each consumer
were put aside, or, where nobody publishes any more, for ever. A migration has all consumers of a cluster join within
seconds, while their producers publish already. With room for one entry the broker delivers first what it has put aside.

Source: ``PersistentStickyKeyDispatcherMultipleConsumers`` (``skipNextReplayToTriggerLookAhead``), Pulsar 4.0.8, where
it was seen; Pulsar issue 21554, PR 26236.
"""

from __future__ import annotations

from typing import Final

from syncer.admin.calls import AdminCalls
from syncer.migration.running.clock import Clock
from syncer.migration.running.former import ChangedSetting, FormerValues, Setting
from syncer.migration.running.insisting import insist

LOOK_AHEAD: Final = "keySharedLookAheadMsgInReplayThresholdPerSubscription"
"""Dynamic setting: entries that may be put aside for a subscription; brokers before 4.0 do not know it."""
LEAST: Final = "1"
"""With 0 there is no limit."""


class LookAhead:
    """Holds the look-ahead of a cluster off, and puts it back as it was."""

    def __init__(self, calls: AdminCalls, clock: Clock, former: FormerValues) -> None:
        self._calls = calls
        self._clock = clock
        self._former = former

    async def hold(self) -> None:
        """Hold it off, where brokers know it; this may be done again.

        Raises:
            AdminError: A call was refused or not answered.
        """
        if LOOK_AHEAD not in await insist(self._clock, self._calls.dynamic_names):
            return
        there = await insist(self._clock, self._calls.dynamic_settings)
        if there.get(LOOK_AHEAD) != LEAST:
            await self._former.set_dynamic(LOOK_AHEAD, LEAST, there.get(LOOK_AHEAD))

    async def release(self) -> None:
        """Put it back as it was.

        Raises:
            AdminError: The call was refused, or not answered.
        """
        await self._former.put_back(ChangedSetting(Setting.DYNAMIC, LOOK_AHEAD))
