"""What a flip is given in a play: virtual time, a journal in memory, and calls that are counted and may end."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from syncer.migration.brake import FlipTiming
from syncer.migration.running.flip import Flip
from syncer.migration.running.rolls import SENT
from tests.migration.calls import SimulatedCalls
from tests.migration.clock import SimulatedClock
from tests.migration.clusters.cluster import Cluster
from tests.migration.clusters.ledger import LedgerState
from tests.migration.plays import NamespacePlay
from tests.migration.rest import AdminApi
from tests.migration.rest_faults import CALM, FaultyApi, RestFaults

TIMING: Final = FlipTiming(check_period_s=2.0, window_s=1.4)


class MemoryJournal:
    """A journal that outlives whoever writes it."""

    def __init__(self) -> None:
        self.kept: dict[str, object] = {}
        self.events: list[Mapping[str, object]] = []

    @property
    def unfinished(self) -> dict[str, object]:
        """What is kept and has yet to be put back, healed or called: that somebody was sent away stays to the end."""
        return {key: value for key, value in self.kept.items() if not key.startswith(SENT)}

    async def remember(self, key: str, value: object) -> None:
        """Keep a value."""
        self.kept[key] = value

    async def forget(self, key: str) -> None:
        """Keep it no longer."""
        self.kept.pop(key, None)

    async def recall(self, start: str) -> Mapping[str, object]:
        """Values by keys that begin so."""
        return {key: value for key, value in self.kept.items() if key.startswith(start)}

    async def note(self, event: Mapping[str, object]) -> None:
        """Keep an event."""
        self.events.append(event)


class Killed(BaseException):
    """The process has ended; nothing in it catches that."""


class CountedCalls(SimulatedCalls):
    """Calls of a process that may be killed before one of them, or after it.

    Attributes:
        made: What was asked: method, and path.
    """

    def __init__(self, api: AdminApi | FaultyApi, kill_at: int | None = None, *, after: bool = False) -> None:
        super().__init__(api)
        self.made: list[tuple[str, str]] = []
        self.kill_at = kill_at
        self.after = after

    async def get(self, path: str) -> Any:
        """Read."""
        self._count("GET", path, after=False)
        answer = await super().get(path)
        self._count("GET", path, after=True)
        return answer

    async def send(self, method: str, path: str, body: object = None) -> None:
        """Write."""
        self._count(method, path, after=False)
        await super().send(method, path, body)
        self._count(method, path, after=True)

    def _count(self, method: str, path: str, *, after: bool) -> None:
        if not after:
            self.made.append((method, path))
        if self.kill_at is not None and (
            len(self.made) > self.kill_at or (len(self.made) == self.kill_at and after == self.after)
        ):
            raise Killed


def calls_of(cluster: Cluster, faults: RestFaults = CALM, seed: int = 0) -> CountedCalls:
    """A cluster's API, on a good day or a bad one."""
    return CountedCalls(AdminApi(cluster) if faults == CALM else FaultyApi(cluster, Random(seed), faults))


def flip_of(play: NamespacePlay, journal: MemoryJournal, blue: CountedCalls, timing: FlipTiming = TIMING) -> Flip:
    """What flips a play's namespaces."""
    return Flip(blue, SimulatedCalls(AdminApi(play.green)), SimulatedClock(play.timeline), journal, timing)


def left_behind(play: NamespacePlay) -> dict[str, object]:
    """What is still set that a migration sets for a while: at blue, and of green's brokers."""
    found: dict[str, object] = {
        **play.blue.dynamic,
        **{f"{key} at green": play.green.dynamic[key] for key in play.green.dynamic},
    }
    for name, namespace in play.blue.namespaces.items():
        found |= {topic: dict(each) for topic, each in namespace.topic_policies.items() if each}
        if namespace.policies.get("encryption_required"):
            found[name] = "encryption required"
    return found


def unlucky(play: NamespacePlay) -> bool:
    """Whether a producer was sent away at the very moment in which something of it was on its way.

    It is stored, and sent again to green: nothing that can be set prevents that. A producer's chance is its rate of
    entries times what one takes to be stored, unless it is stopped.
    """
    return "sent away with something on its way" in play.timeline.story


def untouched(play: NamespacePlay) -> bool:
    """Whether no namespace is marked, and no ledger closed."""
    return not any(each.marked for each in play.blue.namespaces.values()) and not any(
        ledger.state is LedgerState.TERMINATED for ledger in play.blue.ledgers.values()
    )
