"""Marking namespaces, and letting everybody go again as soon as their topics show that they were migrated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.errors import AdminError
from syncer.migration.brake import FlipTiming
from syncer.migration.evidence import LedgerSeen, base_of
from syncer.migration.reading import forms
from syncer.migration.reading.at_once import all_of
from syncer.migration.running.clock import Clock
from syncer.migration.running.former import ChangedSetting, FormerValues, Setting
from syncer.migration.running.insisting import MANY_ATTEMPTS, SERVER_ERROR, insist
from syncer.migration.running.looking import Looking
from syncer.model import Millis

_ROUNDS: Final = 3
"""Within so many rounds of its broker every loaded topic has been looked at."""
_AGAIN_S: Final = 0.1
_APART_MS: Final = 1_000
"""Between two looks at a topic, if both are answered."""


class Marking:
    """Marks namespaces of blue, takes marks off, and sees its topics migrated.

    Attributes:
        ledgers: Of topics that were waited for, as they were seen last.
        shown_ms: When the last of them was migrated, as far as looks tell: one that was answered late, or made late,
            says nothing of how long brokers have needed.
    """

    def __init__(
        self, blue: AdminCalls, clock: Clock, former: FormerValues, looking: Looking, timing: FlipTiming
    ) -> None:
        self._blue = blue
        self._clock = clock
        self._former = former
        self._looking = looking
        self._timing = timing
        self.ledgers: dict[str, LedgerSeen | None] = {}
        self.shown_ms = Millis(0)

    async def mark(self, namespaces: Iterable[str], *, by_ms: Millis) -> tuple[str, ...]:
        """Mark namespaces that were looked up, none of them later than at some time.

        Returns:
            Those that are marked; of the others it is certain that they are not.
        """
        namespaces = tuple(namespaces)
        answers = await all_of(lambda name: self._mark(name, by_ms), namespaces)
        return tuple(name for name, marked in zip(namespaces, answers, strict=True) if marked)

    async def look_up(self, namespaces: Iterable[str]) -> None:
        """Have namespaces looked up that are about to be marked, while nobody waits for it."""
        await all_of(lambda name: insist(self._clock, lambda: self._blue.look_up(name)), tuple(namespaces))

    async def unmark(self, namespace: str) -> None:
        """Take a namespace's mark off: its topics are loaded again, and read; closed ledgers stay closed."""
        await insist(self._clock, lambda: self._blue.mark_namespace(namespace, migrated=False), MANY_ATTEMPTS)

    async def is_marked(self, namespace: str) -> bool:
        """Whether a namespace is marked."""
        told = await insist(self._clock, lambda: self._blue.namespace(namespace))
        return told is not None and forms.marked(f"namespace {namespace}", told)

    async def let_go(self, topics: Collection[str]) -> tuple[str, ...]:
        """Wait until topics show that they were migrated, and put gate and brake of each back at once.

        Returns:
            Those that never show it.
        """
        waiting = defaultdict(set)
        for name in topics:
            waiting[base_of(name)].add(name)

        open_ms: dict[str, Millis] = {}

        async def migrated(name: str) -> bool:
            began = self._clock.now_ms()
            ledger = self.ledgers[name] = await self._looking.ledger(name)
            if ledger is not None and not ledger.migrated:
                open_ms[name] = began
                return False
            if name in open_ms:
                self.shown_ms = max(self.shown_ms, min(began, Millis(open_ms[name] + _APART_MS)))
            base = base_of(name)
            waiting[base].discard(name)
            if not waiting[base]:
                for setting in (Setting.QUOTA, Setting.RATE):
                    await self._former.put_back(ChangedSetting(setting, base))
            return True

        within_s = _ROUNDS * self._timing.check_period_s + self._timing.window_s
        deadline = Millis(self._clock.now_ms() + int(within_s * 1000))
        return await self._looking.until(topics, migrated, deadline_ms=deadline)

    async def _mark(self, namespace: str, by_ms: Millis) -> bool:
        tried = False
        while self._clock.now_ms() <= by_ms:
            tried = True
            try:
                await self._blue.mark_namespace(namespace, migrated=True, looked_up=True)
            except AdminError as error:
                if await self.is_marked(namespace):
                    return True
                if isinstance(error, AdminRefused) and error.status < SERVER_ERROR:
                    return False
                await self._clock.sleep(_AGAIN_S)
            else:
                return True
        if tried:
            await self.unmark(namespace)  # a call that was not answered may be carried out yet
        return False


def moved(last: Mapping[str, str], ledgers: Mapping[str, LedgerSeen | None]) -> dict[str, str]:
    """Topics that were closed at another position than the last that was seen → where."""
    return {
        name: ledger.terminated or "nowhere"
        for name, ledger in ledgers.items()
        if ledger is not None and name in last and ledger.terminated != last[name]
    }
