"""The pace of attempts at a wave: clients who make topics at a steady one must not meet each of them.

A topic that is made between the list of a wave and its mark takes the attempt back: nobody has kept it still. Attempts
that are all begun as soon as they can be may come back in the very rhythm of those topics. So after two that were in
vain the next one is begun when a topic was just made: then there is most time until the one after it. Where that is not
enough either, each is begun somewhat later than the one before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from syncer.migration.reading.at_once import all_of
from syncer.migration.running.clock import Clock
from syncer.migration.running.looking import Looking

_ALIKE: Final = 2
"""So many attempts are begun as soon as they can be."""
_NEXT_MS: Final = 15_000
"""For so long it is waited for the next topic."""
_POLL_S: Final = 0.25
_LATER_S: Final = 1.7
_LATEST_S: Final = 5.0


class AttemptPace:
    """Begins the attempts at one wave.

    Attributes:
        in_vain: Attempts that were taken back since a topic was made meanwhile.
    """

    def __init__(self, here: Looking, clock: Clock) -> None:
        self.in_vain = 0
        self._here = here
        self._clock = clock
        self._waited_for = 0

    async def begin(self, namespaces: Iterable[str]) -> None:
        """Wait until the next attempt may begin; where it is given up before anything was set, it may be begun at once.

        Raises:
            AdminError: A call was refused or not answered.
        """
        if self.in_vain < _ALIKE or self.in_vain == self._waited_for:
            return
        self._waited_for = self.in_vain
        if self.in_vain > _ALIKE:
            await self._clock.sleep((self.in_vain - _ALIKE) * _LATER_S % _LATEST_S)
            return
        names = tuple(namespaces)
        known = await self._listed(names)
        ends_ms = self._clock.now_ms() + _NEXT_MS
        while self._clock.now_ms() < ends_ms:
            if await self._listed(names) - known:
                return
            await self._clock.sleep(_POLL_S)

    async def _listed(self, namespaces: Iterable[str]) -> set[str]:
        return set().union(*await all_of(self._here.listed, namespaces))
