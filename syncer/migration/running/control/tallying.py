"""The tally: what each subscription has left at blue, and what is stored and read at green, noted for the report.

All of it is in entries: a batch is one. Green counts since it has loaded the topic; what was skipped, cleared or has
expired counts as read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from syncer.migration.evidence import LedgerSeen, TopicSeen
from syncer.migration.reading.at_once import all_of
from syncer.migration.running.clock import Clock
from syncer.migration.running.control.moving import HELD, LAST
from syncer.migration.running.control.watching import Watched
from syncer.migration.running.journal import MigrationJournal
from syncer.migration.running.looking import Looking
from syncer.migration.topics import READ, TopicState


class Tally:
    """Takes the tally of namespaces that were moved."""

    def __init__(self, here: Looking, there: Looking, clock: Clock, journal: MigrationJournal) -> None:
        self._here = here
        self._there = there
        self._clock = clock
        self._journal = journal

    async def note(self, namespaces: Iterable[str], watched: Watched) -> None:
        """Read what namespaces held when they were moved, and note it: an event for each of them.

        Args:
            namespaces: That were moved.
            watched: What was seen of blue just now; a topic that is not among it is gone.

        Raises:
            AdminError: A call was refused or not answered.
        """
        for namespace in namespaces:
            keys = (f"{HELD}{namespace}", f"{LAST}{namespace}")
            held, ends = [_kept((await self._journal.recall(key)).get(key)) for key in keys]
            names = sorted(held)
            ledgers = dict(zip(names, await all_of(self._here.ledger, names), strict=True))
            topics = await self._there.topics(names)
            rows = {
                name: {
                    "closed_at": ends.get(name),
                    "ends_at": _end(ledgers[name]),
                    "read_at_blue": watched.states.get(name, TopicState.GONE) in READ,
                    "lacking": sorted(set(held[name]) - topics[name].subscription_names),
                    **_at_green(topics[name]),
                }
                for name in names
            }
            row = {"event": "tallied", "at_ms": self._clock.now_ms(), "namespace": namespace, "topics": rows}
            await self._journal.note(row)


def _at_green(topic: TopicSeen) -> dict[str, object]:
    rows = {
        name: {"backlog": each.backlog, "consumers": len(each.consumers)} for name, each in topic.subscriptions.items()
    }
    return {"stored": None if topic.flow is None else topic.flow.entries_added, "subscriptions": rows}


def _end(ledger: LedgerSeen | None) -> str | None:
    """Where a topic ends at blue; ``None``: it is gone, or open."""
    return None if ledger is None else ledger.terminated


def _kept(value: object) -> Mapping[str, Iterable[str]]:
    return value if isinstance(value, Mapping) else {}
