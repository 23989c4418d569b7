"""Undoing: what a migration has set is put back, as far as it can be, and what cannot be is said before.

A ledger that was closed stays so. Where green has taken messages that blue lacks, or a producer stands there that was
sent away, the mark stays, or is set again: without it clients that come anew would stay at blue, and never see what is
written at green. Such a namespace is brought to its end there. Nothing is decided while a producer is on its way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from syncer.admin.calls import AdminCalls
from syncer.migration.evidence import LedgerSeen
from syncer.migration.reading.at_once import all_of
from syncer.migration.running.clock import Clock
from syncer.migration.running.control.watching import Watching
from syncer.migration.running.looking import Looking
from syncer.migration.running.marking import Marking
from syncer.migration.running.rolls import ROLL_CALL_S, Rolls
from syncer.migration.steering import DONE, WAITING, StepResult
from syncer.migration.topics import Rollback
from syncer.model import Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoable:
    """What can be taken back of a namespace.

    Attributes:
        words: What cannot.
    """

    namespace: str
    rollback: Rollback
    words: str = ""


class Undoing:
    """Takes marks of namespaces back."""

    def __init__(
        self, blue: AdminCalls, green: AdminCalls, clock: Clock, marking: Marking, watch: Watching, rolls: Rolls
    ) -> None:
        self._here = Looking(blue, clock)
        self._there = Looking(green, clock)
        self._clock = clock
        self._marking = marking
        self._watch = watch
        self._rolls = rolls
        self._waits_since: Millis | None = None

    async def settled(self, namespaces: Sequence[str]) -> bool:
        """Whether every producer that was sent away stands at blue or at green, or has had the time for it.

        Raises:
            AdminError: A call was refused or not answered.
        """
        now = self._clock.now_ms()
        self._waits_since = now if self._waits_since is None else self._waits_since
        if now - self._waits_since >= ROLL_CALL_S * 1000:
            return True
        return not await self._rolls.on_the_way(await self._rolls.sent(namespaces))

    async def foresee(self, namespaces: Sequence[str]) -> tuple[Undoable, ...]:
        """Say of each namespace whether it can be taken back; nothing is set.

        Raises:
            AdminError: A call was refused or not answered.
        """
        sent = await self._rolls.sent(namespaces)
        return tuple(
            [
                await self._foresee(each)
                if each in sent or await self._marking.is_marked(each)
                else Undoable(namespace=each, rollback=Rollback.YES)
                for each in namespaces
            ]
        )

    async def undo(self, found: Sequence[Undoable]) -> StepResult:
        """Take marks off where that helps, and wait until the other namespaces are drained.

        Raises:
            AdminError: A call was refused or not answered.
        """
        for each in found:
            if each.rollback is not Rollback.NO and await self._marking.is_marked(each.namespace):
                await self._marking.unmark(each.namespace)
        staying = [each.namespace for each in found if each.rollback is Rollback.NO]
        return DONE if not staying or (await self._watch.look(staying)).drained else WAITING

    async def to_mark_again(self, found: Sequence[Undoable]) -> tuple[str, ...]:
        """Namespaces that stay at green, and whose mark is off."""
        staying = [each.namespace for each in found if each.rollback is Rollback.NO]
        return tuple([each for each in staying if not await self._marking.is_marked(each)])

    async def _foresee(self, namespace: str) -> Undoable:
        names, there = await self._here.listed(namespace), await self._there.listed(namespace)
        if words := await self._used(there):
            return Undoable(namespace=namespace, rollback=Rollback.NO, words=words)
        ledgers = await all_of(self._here.ledger, names)
        closed = [ledger for ledger in ledgers if ledger is not None and ledger.terminated is not None]
        if not closed:
            return Undoable(namespace=namespace, rollback=Rollback.YES)
        words = (
            f"{len(closed)} topics are closed for good, and can only be read: delete them once they are read, and "
            "restart their clients"
        )
        return Undoable(namespace=namespace, rollback=Rollback.PARTLY, words=words)

    async def _used(self, there: Sequence[str]) -> str:
        """In words, what green's topics have that blue lacks; empty: nothing."""
        written = [
            name
            for name, ledger in zip(there, await all_of(self._there.ledger, there), strict=True)
            if ledger is not None and await self._is_written(name, ledger)
        ]
        if written:
            return f"green holds messages of {len(written)} topics that blue lacks: its clients stay at green"
        producers = sum(len(topic.producers) for topic in (await self._there.connected(there)).values())
        return f"{producers} producers stand at green already: its clients stay at green" if producers else ""

    async def _is_written(self, name: str, ledger: LedgerSeen) -> bool:
        """Whether anything is stored: of a topic's last ledger the store does not tell."""
        if any(ledger.ledgers[number] for number in sorted(ledger.ledgers)[:-1]):
            return True
        flow = (await self._there.flows([name]))[name]
        return flow is not None and flow.entries > 0
