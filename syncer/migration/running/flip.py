"""The flip of one wave: its namespaces are marked while nobody publishes or acknowledges.

    look ─▶ cure ─▶ brake ────────────────────────────────┐
                 └▶ brake, gate, kick, all read ──────────┴▶ mark ─▶ every topic migrated ─▶ gate and brake off ─▶ roll
    whatever does not hold before the mark:  all that was set is put back, and nothing is marked

A flip that was killed at any moment is begun anew with the same journal: what was set is put back first, behind a mark
that was set as soon as its topics show that they were migrated; then the clusters say what is left to do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

import anyio

from syncer.admin.calls import AdminCalls
from syncer.errors import AdminError
from syncer.migration.brake import FlipTiming
from syncer.migration.cure import Cure, Looks, tries_again_s
from syncer.migration.evidence import LedgerSeen, TopicSeen, namespace_of
from syncer.migration.reading.at_once import all_of
from syncer.migration.roll_call import Answered
from syncer.migration.running.clock import Clock
from syncer.migration.running.former import FormerValues, Setting
from syncer.migration.running.healing import ILL, Healing
from syncer.migration.running.journal import MigrationJournal
from syncer.migration.running.looking import Looking
from syncer.migration.running.marking import Marking, moved
from syncer.migration.running.pace import AttemptPace
from syncer.migration.running.report import FlipOutcome, FlipReport, Foreseen
from syncer.migration.running.rolls import SENT, Rolls
from syncer.migration.running.stopping import (
    LONGEST_CLOSING_S,
    Standstill,
    Stopping,
    closing_s,
)
from syncer.migration.running.wave import Wave, WaveReading
from syncer.model import Millis
from syncer.replacing import replace

_RELEASED_MS: Final = 15_000
"""Nobody is waited for longer who was stopped in vain."""
_LET_IN_MS: Final = 500
"""Until a producer that tries to come in again has published."""
_EMPTY_MS: Final = 10_000
_ATTEMPTS: Final = 4
"""Of a wave: one by the brake alone, and more where clients make topics meanwhile."""
_MADE: Final = "it was made after the others had been read"
_LATE: Final = "it could not be marked in time"
_SLOW: Final = (
    "an earlier wave was closed only {:.1f} s after its mark, and producers are kept away for {:.0f} s at most; resume "
    "to try it as if brokers were as fast as usual"
)


Objection = Callable[[Foreseen, Mapping[str, TopicSeen]], Awaitable[Mapping[str, str]]]


class Flip:
    """Flips waves of namespaces from blue to green."""

    def __init__(
        self, blue: AdminCalls, green: AdminCalls, clock: Clock, journal: MigrationJournal, timing: FlipTiming
    ) -> None:
        self._clock = clock
        self._journal = journal
        self._timing = timing
        self._former = FormerValues(blue, clock, journal)
        self._here = Looking(blue, clock)
        self._marking = Marking(blue, clock, self._former, self._here, timing)
        self._healing = Healing(blue, clock, journal, self._here, self._marking, window_s=timing.window_s)
        self._rolls = Rolls(self._here, Looking(green, clock), clock, journal)
        self._pace = AttemptPace(self._here, clock)
        self._waves = WaveReading(blue, clock, self._here)

    async def flip(self, namespaces: Sequence[str], *, objects: Objection | None = None) -> FlipReport:
        """Move the clients of namespaces, all at once; what was moved before is left as it is.

        Args:
            namespaces: Of one wave.
            objects: Asked, before anything is set, with what is foreseen and the topics that are about to be moved;
                what it answers, topic or namespace → why, refuses the flip.

        Raises:
            AdminError: Something that was set could not be put back; the journal has it.
        """
        try:
            return await self._flip(tuple(namespaces), objects)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.recover(namespaces)
            raise

    async def recover(self, namespaces: Sequence[str]) -> bool:
        """Put back whatever an earlier flip has left behind; what is marked is given the time to be migrated first.

        A namespace of which a topic does not show in time that it was migrated is unmarked.

        Returns:
            Whether a rate was put back: producers that it has stopped are stopped for a while still.
        """
        await self._former.load()
        for namespace in namespaces:
            if not await self._marking.is_marked(namespace):
                continue
            if await self._marking.let_go(await self._here.listed(namespace)):
                await self._marking.unmark(namespace)
            else:
                await self._healing.healed((namespace,))
        await self._former.put_all_back()
        if acts := self._former.acts():
            await self._note("put-back", acts=acts)
        return any(each["setting"] == Setting.RATE for each in acts)

    async def foresee(self, namespaces: Sequence[str]) -> Foreseen:
        """Say what a flip would do to clients; nothing is set."""
        wave = await self._waves.read(tuple(namespaces))
        looks = await self._waves.again(wave)
        return wave.foresee(looks, self._timing, alone=True)

    async def _flip(self, namespaces: tuple[str, ...], objects: Objection | None) -> FlipReport:
        if await self.recover(namespaces):  # released within the next brake, they would be sent away publishing
            await self._clock.sleep(_RELEASED_MS / 1000)
        if await self._healing.healing(namespaces):
            await self._healing.round(namespaces)
        unread = await self._healing.unread(namespaces)
        if unread:
            return FlipReport(outcome=FlipOutcome.REFUSED, reasons=dict.fromkeys(unread, "it has yet to be read"))
        alone = True
        for _ in range(_ATTEMPTS):
            await self._pace.begin(namespaces)
            wave = await self._waves.read(namespaces)
            looks = await self._waves.again(wave) if alone else wave.once()
            foreseen = wave.foresee(looks, self._timing, alone=alone)
            await self._note("foreseen", namespaces=list(namespaces), **foreseen.told())
            refused = {each.topic: str(each.why) for each in foreseen.cures if each.cure is Cure.REFUSED}
            refused |= await self._rolls.deserted(namespaces, wave.topics.values())
            refused |= self._too_slow(namespaces, foreseen)
            if not refused and objects is not None:
                refused = dict(await objects(foreseen, wave.topics))
            if refused:
                return FlipReport(outcome=FlipOutcome.REFUSED, foreseen=foreseen, reasons=refused)
            await self._rolls.take(namespaces, wave.topics.values())
            by_brake = bool(foreseen.cures) and all(each.cure is Cure.BRAKE for each in foreseen.cures)
            try:
                report = await self._try(wave, looks, foreseen, by_brake=by_brake)
            except AdminError as error:
                await self.recover(namespaces)
                report = FlipReport(outcome=FlipOutcome.UNFINISHED, foreseen=foreseen, reasons={"call": str(error)})
            why = set(report.reasons.values())
            if report.outcome is not FlipOutcome.TAKEN_BACK or not (by_brake or why <= {_MADE, _LATE}):
                break
            alone = alone and why == {_MADE}
            self._pace.in_vain += why == {_MADE}
        if report.outcome is FlipOutcome.TAKEN_BACK:
            return report
        try:
            well = await self._well(wave, gated=report.held_s is not None)
            seen = await self._healing.round(namespaces, left=well)
            report = replace(report, ill={name: state for name, state in seen.states.items() if state in ILL})
            report = replace(report, answered=await self._rolls.call(namespaces))
            return replace(report, left=await self._left(well, report.answered))
        except AdminError as error:
            return replace(report, reasons={**report.reasons, "roll call": str(error)})

    def _too_slow(self, namespaces: Sequence[str], foreseen: Foreseen) -> dict[str, str]:
        """Namespaces whose producers cannot be kept away until blue's brokers have closed their ledgers → why."""
        takes_s = closing_s(self._timing)
        if takes_s <= LONGEST_CLOSING_S or all(each.cure is Cure.BRAKE for each in foreseen.cures):
            return {}
        return dict.fromkeys(namespaces, _SLOW.format(takes_s, LONGEST_CLOSING_S))

    # One attempt

    async def _try(self, wave: Wave, looks: Sequence[Looks], foreseen: Foreseen, *, by_brake: bool) -> FlipReport:
        stopping = Stopping(self._here, self._clock, self._former, self._timing)
        try:
            await self._marking.look_up(wave.namespaces)
            if made := await self._made(wave):
                still = Standstill(running=made, last={})
            elif by_brake:
                still = await stopping.by_brake(looks, foreseen.cures)
            elif not looks:
                still = Standstill(running={}, last={}, mark_by_ms=Millis(self._clock.now_ms() + _EMPTY_MS))
            else:
                still = await stopping.by_gate(looks, foreseen.cures, wave.kick)
            still = still if still.running else replace(still, running=await self._made(wave))
        except AdminError as error:
            still = Standstill(running={"call": str(error)}, last={})
        if still.running:
            return await self._take_back(foreseen, still.running, still.released_ms, stopping.kicked_ms)
        backlog = {name: dict(each) for name, each in still.backlog.items()}
        await self._note("still", last=dict(still.last), backlog=backlog, mark_by_ms=still.mark_by_ms)
        for namespace in wave.namespaces:
            await self._journal.remember(f"{SENT}{namespace}", value=True)
        marked = await self._marking.mark(wave.namespaces, by_ms=still.mark_by_ms)
        marked_ms = self._clock.now_ms()
        await self._note("marked", namespaces=list(marked))
        await self._healing.healed(marked)
        late = dict.fromkeys(set(wave.namespaces) - set(marked), _LATE)
        if not marked:
            return await self._take_back(foreseen, late, still.released_ms, stopping.kicked_ms)
        names = [name for name in wave.topics if namespace_of(name) in marked]
        open_ones = await self._marking.let_go(names)
        for namespace in sorted({namespace_of(name) for name in open_ones}):
            await self._marking.unmark(namespace)
        await self._former.put_all_back()
        gone = {name: self._marking.ledgers.get(name) for name in names if name not in open_ones}
        reasons = late | dict.fromkeys(open_ones, "it has not shown that it was migrated")
        report = FlipReport(
            outcome=FlipOutcome.UNFINISHED if reasons else FlipOutcome.MIGRATED,
            foreseen=foreseen,
            reasons=reasons,
            moved=moved(still.last, gone),
            closed={name: each.terminated for name, each in gone.items() if each is not None and each.terminated},
            closing_s=max(0, self._marking.shown_ms - marked_ms) / 1000,
            held_s=None if still.kicked_ms is None else (self._clock.now_ms() - still.kicked_ms) / 1000,
        )
        await self._note(
            "let-go",
            reasons=dict(reasons),
            moved=dict(report.moved),
            closing_s=report.closing_s,
            held_s=report.held_s,
            acts=self._former.acts(),
        )
        return report

    async def _take_back(
        self, foreseen: Foreseen, reasons: Mapping[str, str], released_ms: Millis, kicked_ms: Millis | None
    ) -> FlipReport:
        """Put back what was set, and let those who were stopped or sent away publish before anything else is tried."""
        await self._former.put_all_back()
        await self._note("taken-back", reasons=dict(reasons), acts=self._former.acts())
        now = self._clock.now_ms()
        wait_ms = min(released_ms - now, _RELEASED_MS)
        if kicked_ms is not None:
            wait_ms = max(wait_ms, kicked_ms - now + int(tries_again_s((now - kicked_ms) / 1000) * 1000) + _LET_IN_MS)
        await self._clock.sleep(max(0, wait_ms) / 1000)
        return FlipReport(outcome=FlipOutcome.TAKEN_BACK, foreseen=foreseen, reasons=reasons)

    # Looking

    async def _made(self, wave: Wave) -> dict[str, str]:
        return dict.fromkeys(await self._waves.made_since(wave), _MADE)

    async def _well(self, wave: Wave, *, gated: bool) -> frozenset[str]:
        """Topics that showed that they were migrated, and are neither stranded nor fenced.

        Of one that stood still behind the gate, and of which nothing was left to read, that is known: it is not asked.
        """
        closed = self._closed(wave.topics)
        empty = frozenset(name for name, ledger in closed.items() if ledger.drained) if gated else frozenset[str]()
        flows = await self._here.flows_told(closed.keys() - empty)
        return empty.union(name for name, flow in flows.items() if flow is not None and not flow.pending_adds)

    async def _left(self, well: frozenset[str], answered: Answered | None) -> frozenset[str]:
        """Of these the topics whose clients all stand at green, and of which nothing is left to read by now."""
        away = set() if answered is None else {who.topic for who in (*answered.staying, *answered.missed)}
        closed = self._closed(well - away)
        again = sorted(name for name, ledger in closed.items() if not ledger.drained)
        now = dict(zip(again, await all_of(self._here.ledger, again), strict=True))
        return frozenset(
            name for name, ledger in (closed | now).items() if ledger is not None and ledger.migrated and ledger.drained
        )

    def _closed(self, names: Iterable[str]) -> dict[str, LedgerSeen]:
        """What the store held of topics when they showed that they were migrated; the others did not."""
        found = {name: self._marking.ledgers.get(name) for name in names}
        return {name: ledger for name, ledger in found.items() if ledger is not None and ledger.migrated}

    async def _note(self, event: str, **what: object) -> None:
        await self._journal.note({"event": event, "at_ms": self._clock.now_ms(), **what})
