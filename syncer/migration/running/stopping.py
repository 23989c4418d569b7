"""Stopping a wave's clients: by the brake alone, or by brake, gate and kick, until every ledger may be closed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from syncer.migration.brake import KICK_WAIT_S, FlipTiming
from syncer.migration.closing import Braked, may_close, running, stopped_until
from syncer.migration.cure import Looks, TopicCure
from syncer.migration.evidence import Flow, TopicSeen, base_of
from syncer.migration.reading.at_once import all_of
from syncer.migration.running.clock import Clock
from syncer.migration.running.former import ChangedSetting, FormerValues, Setting
from syncer.migration.running.insisting import each_of
from syncer.migration.running.looking import Looking
from syncer.model import Millis

HOLD_WAIT_S: Final = 1.0
"""From the brake to the first look at what it does: a steady producer has published by then, and is stopped."""
ABORT_S: Final = 11.0
"""From the kick until producers are let in again: who comes earliest at the step of 12.7 s is sent to green then, and
stands there at the next one, before its sends time out after 30 s."""
_LATE_S: Final = 1.5
"""A brake that is older by so much has let its producers go: sent away now, they might have something on its way."""
_KICKED_S: Final = 0.3
"""After so long whoever was sent away is gone, and what was read is acknowledged."""
_GONE_S: Final = 6.0
"""Within so long everybody has to be gone."""
_WATCHED_S: Final = 0.5
"""So long a backlog is watched without producers before its speed is known: clients acknowledge in groups."""
_AT_REST_S: Final = 1.0
"""All was read for so long: clients acknowledge in groups, and some twice."""
_MARGIN_S: Final = 0.2
LONGEST_CLOSING_S: Final = ABORT_S - _AT_REST_S - 1.0
"""Where it takes longer from the mark to the last closed ledger, no time is left to send producers away before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """Topics that stand still.

    Attributes:
        running: Those that do not, and why; nothing may be marked then.
        mark_by_ms: Marked later, a ledger might be closed when somebody moves again.
        last: Topic → its last position.
        backlog: Topic → subscription → entries that it has yet to read.
        kicked_ms: When producers were sent away; ``None``: they were not.
        released_ms: Once what was set is put back, nobody is stopped by it any more after that.
    """

    running: Mapping[str, str]
    mark_by_ms: Millis = Millis(0)
    last: Mapping[str, str]
    backlog: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    kicked_ms: Millis | None = None
    released_ms: Millis = Millis(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Set:
    """A rate that was set, and the flows of the topic's partitions about it."""

    before: Mapping[str, Flow | None]
    then: Mapping[str, Flow | None]
    set_ms: Millis
    seen_ms: Millis


def closing_s(timing: FlipTiming) -> float:
    """From the mark to the last closed ledger, at the most."""
    return timing.check_period_s + timing.window_s + _MARGIN_S


class Stopping:
    """Brings the topics of a wave to a standstill.

    Attributes:
        kicked_ms: When producers were sent away, or may have been; ``None``: they were not.
    """

    def __init__(self, looking: Looking, clock: Clock, former: FormerValues, timing: FlipTiming) -> None:
        self.kicked_ms: Millis | None = None
        self._looking = looking
        self._clock = clock
        self._former = former
        self._closing_s = closing_s(timing)

    async def by_brake(self, wave: Sequence[Looks], cures: Sequence[TopicCure]) -> Standstill:
        """Set each topic's rate, and see what its producer's own entries make of it."""
        now = self._clock.now_ms
        rates = _rates(cures, lowest=True)
        parts: dict[str, list[TopicSeen]] = defaultdict(list)
        for each in wave:
            parts[base_of(each.first.name)].append(each.first)
        set_: dict[str, _Set] = {}

        async def brake(base: str) -> None:
            names = [topic.name for topic in parts[base]]
            await self._former.remember_rate(base)
            before, set_ms = await self._looking.flows(names), now()
            await self._former.brake(base, rates[base])
            seen_ms = now()
            set_[base] = _Set(before=before, then=await self._looking.flows(names), set_ms=set_ms, seen_ms=seen_ms)

        await each_of(brake, rates)
        await self._clock.sleep(HOLD_WAIT_S)
        read = await all_of(self._looking.clients, [each.first for each in wave if each.first.subscriptions])
        flows = await self._looking.flows([each.first.name for each in wave])
        braked = [
            Braked(
                topic=topic,
                rate=rates[base],
                set_ms=set_[base].set_ms,
                seen_ms=set_[base].seen_ms,
                before=before,
                then=then,
                now=last,
            )
            for base, topics in parts.items()
            for topic in topics
            if (before := set_[base].before[topic.name])
            and (then := set_[base].then[topic.name])
            and (last := flows[topic.name])
        ]
        closed_ms = Millis(now() + int(self._closing_s * 1000))
        until = stopped_until(braked)
        moving = dict.fromkeys(flows, "it is not loaded any more")
        for known in braked:
            del moving[known.topic.name]
        moving |= dict.fromkeys(running(braked, closed_ms), "it is not known to be stopped for long enough")
        stopped = {address for address, until_ms in until.items() if until_ms >= closed_ms}
        first = {each.first.name: each.first for each in wave}
        for topic in read:
            passed_s = (now() - set_[base_of(topic.name)].seen_ms) / 1000
            if not self._at_rest(first[topic.name], topic, passed_s, stopped):
                moving.setdefault(topic.name, "a consumer is about to acknowledge its last entry")
        ends = [until.get(each.address, Millis(0)) for each in braked]
        return Standstill(
            running=moving,
            mark_by_ms=Millis(min(ends, default=0) - int(self._closing_s * 1000)),
            last=_last(flows),
            backlog=_backlog(read),
            released_ms=max((each.released_ms for each in braked), default=Millis(0)),
        )

    async def by_gate(self, wave: Sequence[Looks], cures: Sequence[TopicCure], kick: Collection[str]) -> Standstill:
        """Stop who publishes, let nobody in, send everybody away, and wait until all is read.

        The brake comes first: a broker's own round over backlog quotas may send producers away as soon as the gate is
        there, and what they had on its way then would be stored twice.

        Args:
            wave: Its topics.
            cures: Theirs.
            kick: Namespaces that do not demand encryption yet.
        """
        now, names = self._clock.now_ms, [each.first.name for each in wave]
        rates = _rates(cures, lowest=False)
        braked = await self._brake(rates)
        await each_of(self._former.gate, sorted({base_of(name) for name in names}))
        if now() - braked > KICK_WAIT_S * 1000:
            braked = await self._brake(rates)
        kick_by = Millis(braked + int((KICK_WAIT_S + _LATE_S) * 1000))
        if rates:
            await self._clock.sleep(KICK_WAIT_S - min((now() - braked) / 1000, KICK_WAIT_S))
        kicked = self.kicked_ms = now()
        await each_of(lambda namespace: self._former.kick(namespace, by_ms=kick_by), kick)
        await self._clock.sleep(_KICKED_S)
        seen: dict[str, TopicSeen] = {each.first.name: each.first for each in wave}
        seen_ms = dict.fromkeys(names, kicked)

        async def gone(name: str) -> bool:
            seen[name] = await self._looking.clients(seen[name])
            seen_ms[name] = now()
            return not seen[name].producers

        waiting = _parts(names)

        async def let_go(name: str) -> bool:
            """The rate is of no use to a topic without producers, and ends a pause only if it is off before that."""
            if not await gone(name):
                return False
            base = base_of(name)
            waiting[base].discard(name)
            if not waiting[base]:
                await self._former.put_back(ChangedSetting(Setting.RATE, base))
            return True

        left = await self._looking.until(names, let_go, deadline_ms=Millis(kicked + int(_GONE_S * 1000)))
        if left:
            return Standstill(running=dict.fromkeys(left, "producers do not go"), last={}, kicked_ms=kicked)
        await self._former.put_all_back((Setting.ENCRYPTION,))
        mark_by = Millis(kicked + int((ABORT_S - self._closing_s) * 1000))
        without, without_ms = dict(seen), dict(seen_ms)

        async def read(name: str) -> bool:
            if self._at_rest(seen[name], seen[name], 0.0, ()):
                return True
            await gone(name)
            passed_s = (seen_ms[name] - without_ms[name]) / 1000
            return self._at_rest(without[name], seen[name], passed_s if passed_s >= _WATCHED_S else 0.0, ())

        left = await self._looking.until(names, read, deadline_ms=Millis(mark_by - int(_AT_REST_S * 1000)))
        if left:
            return Standstill(running=dict.fromkeys(left, "it is not read in time"), last={}, kicked_ms=kicked)
        await self._clock.sleep(_AT_REST_S)
        flows = await self._looking.flows(names)
        moving = {
            name: "an entry is on its way still"
            for name, flow in flows.items()
            if flow is None or flow.pending_adds or flow.ledger_state == "Terminated"
        }
        return Standstill(
            running=moving, mark_by_ms=mark_by, last=_last(flows), backlog=_backlog(seen.values()), kicked_ms=kicked
        )

    async def _brake(self, rates: Mapping[str, int]) -> Millis:
        """Hold topics to their rates; answers when that was begun."""
        began = self._clock.now_ms()
        await each_of(lambda one: self._former.brake(*one), rates.items())
        return began

    def _at_rest(self, before: TopicSeen, now: TopicSeen, passed_s: float, stopped: Collection[str]) -> bool:
        return all(
            may_close(
                before.subscriptions.get(name), each, passed_s=passed_s, within_s=self._closing_s, stopped=stopped
            )
            for name, each in now.subscriptions.items()
        )


def _parts(names: Iterable[str]) -> dict[str, set[str]]:
    """Topic without its partition → its partitions."""
    found: dict[str, set[str]] = defaultdict(set)
    for name in names:
        found[base_of(name)].add(name)
    return found


def _last(flows: Mapping[str, Flow | None]) -> dict[str, str]:
    return {name: flow.last for name, flow in flows.items() if flow is not None}


def _backlog(topics: Iterable[TopicSeen]) -> dict[str, dict[str, int]]:
    return {topic.name: {name: each.backlog for name, each in topic.subscriptions.items()} for topic in topics}


def _rates(cures: Sequence[TopicCure], *, lowest: bool) -> dict[str, int]:
    """Topic without its partition → the rate that all its partitions get."""
    found: dict[str, int] = {}
    choose = min if lowest else max
    for each in cures:
        if each.rate is not None:
            base = base_of(each.topic)
            found[base] = choose(found.get(base, each.rate), each.rate)
    return found
