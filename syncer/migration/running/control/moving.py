"""Moving a wave: green has what the wave holds at this moment, its clients are flipped, and who has come is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from syncer.admin.calls import AdminCalls
from syncer.errors import AdminUnreachable
from syncer.migration.course import MigrationStop, StopCode, WaveVerdict, shown
from syncer.migration.evidence import TopicSeen, base_of, namespace_of
from syncer.migration.reading.at_once import all_of
from syncer.migration.running.clock import Clock
from syncer.migration.running.flip import Flip
from syncer.migration.running.insisting import insist
from syncer.migration.running.journal import MigrationJournal
from syncer.migration.running.looking import Looking
from syncer.migration.running.report import FlipOutcome, FlipReport, Foreseen
from syncer.migration.scope import MigrationBounds

HELD: Final = "held/"
"""In the journal: what a namespace held when it was moved, topic → its subscriptions."""
LAST: Final = "last/"
"""In the journal: where its topics were closed, topic → position."""


class Moving:
    """Moves waves, each by a flip."""

    def __init__(
        self,
        blue: AdminCalls,
        green: AdminCalls,
        green_name: str,
        clock: Clock,
        journal: MigrationJournal,
        bounds: MigrationBounds,
    ) -> None:
        self._green = green
        self._green_name = green_name
        self._here = Looking(blue, clock)
        self._there = Looking(green, clock)
        self._blue = blue
        self._clock = clock
        self._journal = journal
        self._bounds = bounds
        self.lacking = frozenset[str]()
        """Topics of the last wave, without partitions, of which green lacks what blue has got meanwhile."""
        self.left = frozenset[str]()
        """Topics of the last wave of which nothing is left to read, and whose clients, if any, all stand at green."""

    async def move(self, flip: Flip, wave: int, namespaces: Sequence[str], *, accepted: Sequence[str]) -> WaveVerdict:
        """Move the clients of a wave; it can be done again at any time.

        Args:
            flip: That flips it.
            wave: Its number, for the verdict.
            namespaces: Its namespaces.
            accepted: Codes of bounds that an operator lets it pass.

        Raises:
            AdminError: A call was refused or not answered; what was set is put back, or is in the journal.
        """
        self.lacking = self.left = frozenset[str]()

        async def objects(foreseen: Foreseen, topics: Mapping[str, TopicSeen]) -> Mapping[str, str]:
            await self._green_serves()
            return {
                **await self._lacks(topics),
                **(past_gap(foreseen, self._bounds) if StopCode.GAP not in accepted else {}),
                **(past_backlog(topics, self._bounds) if StopCode.REPLICATION not in accepted else {}),
            }

        report = await flip.flip(namespaces, objects=objects)
        self.left = report.left
        if report.outcome is FlipOutcome.MIGRATED:
            await self._remember_ends(namespaces, report.closed)
        return _verdict(wave, report)

    async def _green_serves(self) -> None:
        """Have every broker of green store and read a message: clients are about to be sent there.

        Raises:
            AdminError: One does not, or none is there.
        """
        brokers = await insist(self._clock, lambda: self._green.brokers(self._green_name))
        if not brokers:
            raise AdminUnreachable(f"no broker of {self._green_name} is there")
        await all_of(lambda broker: insist(self._clock, self._green.at(broker).check_health), brokers)

    async def _lacks(self, topics: Mapping[str, TopicSeen]) -> Mapping[str, str]:
        """What green lacks of topics and subscriptions; what the wave holds is remembered."""
        held: dict[str, dict[str, list[str]]] = {}
        for name, topic in topics.items():
            held.setdefault(namespace_of(name), {})[name] = sorted(topic.subscription_names)
        for namespace, here in held.items():
            await self._journal.remember(f"{HELD}{namespace}", {**await self._held(namespace), **here})
        lacking = await missing_at_green(
            self._there, {name: each for here in held.values() for name, each in here.items()}
        )
        self.lacking = frozenset(map(base_of, lacking))
        return lacking

    async def _remember_ends(self, namespaces: Sequence[str], closed: Mapping[str, str]) -> None:
        """Remember where the topics of namespaces end; those that were closed before are asked for."""
        for namespace in namespaces:
            held = await self._held(namespace)
            names = sorted(name for name in held if name not in closed)
            ledgers = await all_of(self._here.ledger, names)
            ends = {name: closed[name] for name in held if name in closed} | {
                name: ledger.terminated
                for name, ledger in zip(names, ledgers, strict=True)
                if ledger is not None and ledger.terminated is not None
            }
            await self._journal.remember(f"{LAST}{namespace}", ends)

    async def _held(self, namespace: str) -> Mapping[str, object]:
        """What a namespace is remembered to have held."""
        key = f"{HELD}{namespace}"
        held = (await self._journal.recall(key)).get(key)
        return held if isinstance(held, Mapping) else {}


def past_gap(foreseen: Foreseen, bounds: MigrationBounds) -> Mapping[str, str]:
    """Why a flip stops before it sets anything: producers would be without an answer for too long."""
    if foreseen.longest_gap_s <= bounds.longest_gap_s:
        return {}
    return {StopCode.GAP: f"producers would be without an answer for {foreseen.longest_gap_s:.1f} s"}


def past_backlog(topics: Mapping[str, TopicSeen], bounds: MigrationBounds) -> Mapping[str, str]:
    """Why it stops: nobody could write a topic for long, whose replicators have too much to send."""
    most, words = bounds.replication_backlog, ""
    for name, topic in topics.items():
        for remote, each in topic.replicators.items():
            if each.backlog > most:
                most, words = each.backlog, f"{each.backlog} entries of {name} have yet to be sent to {remote}"
    return {StopCode.REPLICATION: words} if words else {}


async def missing_at_green(green: Looking, held: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What green lacks of topics and their subscriptions → why."""
    names = sorted(held)
    ledgers = await all_of(green.ledger, names)
    lacking = {}
    for name, ledger in zip(names, ledgers, strict=True):
        missing = sorted(set(held[name]) - set(() if ledger is None else ledger.cursors))
        if ledger is None:
            lacking[name] = "green has no such topic"
        elif missing:
            lacking[name] = f"green has no subscription {', '.join(missing)} of it"
    return lacking


def not_moved(verdict: WaveVerdict) -> MigrationStop:
    """The stop of a wave that could not be moved."""
    codes = [code for code in (StopCode.GAP, StopCode.REPLICATION) if code in verdict.reasons]
    if codes:
        words = verdict.reasons[codes[0]]
        hint = "Let it become less, or resume to go on all the same."
        return MigrationStop(code=codes[0], words=words, hint=hint)
    reasons = {f"{name}: {why}": why for name, why in verdict.reasons.items()}
    return MigrationStop(
        code=StopCode.NOT_MOVED,
        words=f"the wave was {verdict.outcome}: {shown(reasons)}",
        hint="Nobody was harmed: see to what is named, then resume.",
    )


def _verdict(wave: int, report: FlipReport) -> WaveVerdict:
    answered = report.answered
    absent = {} if answered is None else {**answered.staying, **answered.missed}
    return WaveVerdict(
        wave=wave,
        outcome=report.outcome.value,
        reasons=report.reasons,
        longest_gap_s=0.0 if report.foreseen is None else report.foreseen.longest_gap_s,
        closing_s=report.closing_s,
        held_s=report.held_s,
        last_moved=report.moved,
        ill={name: state.value for name, state in report.ill.items()},
        arrived=0 if answered is None else len(answered.arrived),
        started_anew=0 if answered is None else len(answered.started_anew),
        missing=tuple(
            f"{who.role} {who.name} of {who.topic}, {client.address}, {client.version or 'no version'}"
            for who, client in absent.items()
        ),
    )
