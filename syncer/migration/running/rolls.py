"""Rolls of waves: everybody who was at blue before the mark, kept in the journal, and called at green."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from syncer.migration.evidence import ClientSeen, TopicSeen
from syncer.migration.roll_call import Answered, Roll, Who, call, seen_on
from syncer.migration.running.clock import Clock
from syncer.migration.running.journal import MigrationJournal
from syncer.migration.running.looking import Looking
from syncer.model import Millis

ROLL_CALL_S: Final = 30.0
"""Until everybody has to stand at green: the last step at which a client that was held comes again is before that."""
_WAITS_S: Final = (1.0, 8.0)
"""Between two looks at a topic, the first and the longest: clients wait ever longer too, each time twice as long."""
ROLL: Final = "roll/"
"""In the journal: who was at blue, for each namespace that is not complete at green."""
SENT: Final = "sent/"
"""In the journal: namespaces that were marked, or may have been: brokers may have sent their clients to green."""


class Rolls:
    """Takes the roll of namespaces at blue, and calls it at green."""

    def __init__(self, blue: Looking, green: Looking, clock: Clock, journal: MigrationJournal) -> None:
        self._blue = blue
        self._green = green
        self._clock = clock
        self._journal = journal

    async def take(self, namespaces: Iterable[str], topics: Iterable[TopicSeen]) -> None:
        """Keep who is on the topics of namespaces now, beside whoever an earlier flip of them has seen."""
        seen = tuple(seen_on(topics))
        kept = await self._journal.recall(ROLL)
        for namespace in namespaces:
            start = f"persistent://{namespace}/"
            here = {who: client for who, client in seen if who.topic.startswith(start)}
            roll = _rows({**_roll(kept.get(f"{ROLL}{namespace}")), **here})
            await self._journal.remember(f"{ROLL}{namespace}", roll)

    async def sent(self, namespaces: Iterable[str]) -> tuple[str, ...]:
        """Those of namespaces whose clients may have been sent to green."""
        kept = await self._journal.recall(SENT)
        return tuple(each for each in namespaces if f"{SENT}{each}" in kept)

    async def on_the_way(self, namespaces: Iterable[str]) -> Roll:
        """Producers of the rolls of namespaces that stand neither at blue nor at green now."""
        kept = await self._journal.recall(ROLL)
        rolls = [_roll(kept.get(f"{ROLL}{namespace}")) for namespace in namespaces]
        roll = {who: client for each in rolls for who, client in each.items() if not who.subscription}
        topics = sorted({who.topic for who in roll})
        here, there = await self._blue.connected(topics), await self._green.connected(topics)
        return call(roll, here.values(), there.values()).missed

    async def deserted(self, namespaces: Iterable[str], topics: Iterable[TopicSeen]) -> dict[str, str]:
        """Topics of which something is left at blue that its own consumers read no more → why.

        They were there when a flip was tried before, and may stand at green already: a broker that is started anew
        after the mark sends them there before their topic is closed. What blue is given after that would be read, if
        at all, later than what green is given.
        """
        kept = await self._journal.recall(ROLL)
        rolls = [_roll(kept.get(f"{ROLL}{namespace}")) for namespace in namespaces]
        known = {(who.topic, who.subscription) for roll in rolls for who in roll if who.subscription}
        return {
            topic.name: f"nobody reads {name} here any more, and its consumers may stand at green: start them again"
            for topic in topics
            for name, each in topic.subscriptions.items()
            if each.backlog and not each.consumers and (topic.name, name) in known
        }

    async def call(self, namespaces: Iterable[str]) -> Answered:
        """Ask at green for everybody on the rolls, until all have come or the time is over; a full roll is closed.

        A topic whose clients have all come is not asked again; blue is asked once, at the end, for those who have not.
        """
        keys = [f"{ROLL}{namespace}" for namespace in namespaces]
        kept = await self._journal.recall(ROLL)
        roll = {who: client for key in keys for who, client in _roll(kept.get(key)).items()}
        of_topic: dict[str, dict[Who, ClientSeen]] = defaultdict(dict)
        for who, client in sorted(roll.items(), key=lambda each: each[0]):
            of_topic[who.topic][who] = client
        there: dict[str, TopicSeen] = {}

        async def come(name: str) -> bool:
            there.update(await self._green.connected([name]))
            return call(of_topic[name], (), [there[name]]).complete

        ends = Millis(self._clock.now_ms() + int(ROLL_CALL_S * 1000))
        away = await self._green.until(of_topic, come, deadline_ms=ends, waits_s=_WAITS_S)
        answered = call(roll, (await self._blue.connected(away)).values(), there.values())
        if answered.complete:
            for key in keys:
                await self._journal.forget(key)
        await self._journal.note(
            {
                "event": "roll-called",
                "at_ms": self._clock.now_ms(),
                "namespaces": [key.removeprefix(ROLL) for key in keys],
                "arrived": len(answered.arrived),
                "started_anew": len(answered.started_anew),
                "staying": _rows(answered.staying),
                "missed": _rows(answered.missed),
            }
        )
        return answered


def _rows(roll: Roll) -> list[list[str]]:
    return [
        [who.topic, who.subscription, who.name, client.address, client.version]
        for who, client in sorted(roll.items(), key=lambda each: each[0])
    ]


def _roll(rows: object) -> Mapping[Who, ClientSeen]:
    return {
        Who(topic, subscription, name): ClientSeen(name=name, address=address, version=version)
        for topic, subscription, name, address, version in (rows if isinstance(rows, Sequence) else ())
    }
