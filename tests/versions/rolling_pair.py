"""Edits that go on while brokers are taken to other versions, one after the other, and what is lost by that.

A namespace belongs to one side until both know the same; then it is the other's turn. So whatever lacks at the end was
lost, and a conflict would be one that nobody has made.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from deploy.lab import rest
from deploy.lab.brokers.broker import Broker
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.process import ServerFailed
from deploy.lab.region import LabRegion
from deploy.lab.releases.versions import RELEASES
from deploy.lab.software import PULSAR_VERSION
from syncer.waiting import wait_until
from tests.versions.edits_both_ways import MixedPair
from tests.versions.namespace_edits import CALLS

NEWER: Final = tuple(name for name, call in CALLS.items() if not call.is_in(PULSAR_VERSION) and not call.until)
"""Fields that brokers of the version that the edits begin with drop."""
TTL: Final = "message_ttl_in_seconds"
_TOGETHER: Final = ("is_allow_auto_update_schema", "is_allow_auto_update_schema_with_replicator")
"""5.0 sets both by one call."""
_NEWER_EVERY: Final = 4


@dataclass(slots=True)
class EditTally:
    """Counts of the edits, by which a test sees that there was something to lose.

    Args:
        unanswered: Edits that a broker did not answer, in words.
        by_version: How many were made by brokers of a version.
        newer: How many set a field that not every version knows.
        dropped: How many left a store without such a field, since the broker does not know it.
    """

    unanswered: list[str] = field(default_factory=list)
    by_version: dict[str, int] = field(default_factory=dict)
    newer: int = 0
    dropped: int = 0


class RollingPair(MixedPair):
    """Two clusters of single brokers, some of which may be away, and namespaces that are edited all the while.

    Args:
        clusters: Both.
        regions: The daemons' regions, likewise.
        namespaces: How many there are.
    """

    def __init__(self, clusters: Sequence[BrokersCluster], regions: Sequence[LabRegion], namespaces: int) -> None:
        super().__init__(clusters, regions, name="rolled")
        self.of_brokers = list(clusters)
        self.tally = EditTally()
        self._count = namespaces
        self._leaving: set[str] = set()
        self._away: set[str] = set()
        self._recent: set[tuple[str, str]] = set()
        """Namespaces and fields that were edited since all had arrived."""
        self._step = self._turn = 0
        self._rounds = 0
        self._stopping = threading.Event()
        self._failure: BaseException | None = None

    # -- versions

    def version(self, side: int) -> str:
        """The oldest that one of a side's brokers runs: it counts for the region."""
        return min((broker.version for broker in self.of_brokers[side].brokers), key=list(RELEASES).index)

    def upgrade(self, side: int, version: str) -> None:
        """Take a side's brokers to another version, one after the other, while edits go on.

        Args:
            side: Whose.
            version: As Pulsar counts them.
        """
        for broker in self.of_brokers[side].brokers:
            self.leave(broker)
            broker.stop()
            broker.set_version(version)
            self.of_brokers[side].bring_back(broker)
            self.come_back(broker)
            self.rounds(2)

    def leave(self, broker: Broker) -> None:
        """Expect a broker to answer no more: the first edit that it does not answer is its last one."""
        self._leaving.add(broker.id)

    def come_back(self, broker: Broker) -> None:
        """Edit by a broker again."""
        self._leaving.discard(broker.id)
        self._away.discard(broker.id)

    def shut(self, side: int) -> None:
        """Edit by no broker of a side any more, and wait until what was edited there has left."""
        for broker in self.of_brokers[side].brokers:
            self._leaving.add(broker.id)
            self._away.add(broker.id)
        self.steps(2)  # the edit that was being made has ended
        wait_until(self.regions[side].quiet, f"{self.regions[side].name} is quiet")

    # -- edits

    @contextmanager
    def edited(self) -> Iterator[None]:
        """Edit all the while by a thread; what failed there fails here."""
        self.make(self._count)
        self._stopping.clear()
        editor = threading.Thread(target=self._edit_on, name="editor")
        editor.start()
        try:
            yield
        finally:
            self._stopping.set()
            editor.join()
        self._raise_failure()

    def rounds(self, count: int) -> None:
        """Wait until so many further rounds have been made, and all has arrived after each."""
        self._wait_more(count, "_rounds")

    def steps(self, count: int) -> None:
        """Wait until all namespaces have been gone through so many times more, whether or not all has arrived."""
        self._wait_more(count, "_step")

    def written_back(self) -> list[str]:
        """Wait until everything is where its field is known; what lacks after all, in words."""
        self.settle("after the last edit")
        wait_until(lambda: not self.lost(), "everything is where its field is known", shown=self.lost)
        return self.lost()

    def _wait_more(self, count: int, counter: str) -> None:
        wanted = getattr(self, counter) + count
        while getattr(self, counter) < wanted:  # each takes its time
            before = getattr(self, counter)
            wait_until(lambda: self._failure is not None or getattr(self, counter) > before, f"{counter} grows")  # noqa: B023
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise AssertionError("the edits have ended") from self._failure

    def _edit_on(self) -> None:
        try:
            while not self._stopping.is_set():
                self._edit_round()
        except BaseException as exc:  # noqa: BLE001 - raised again where the test waits
            self._failure = exc

    def _edit_round(self) -> None:
        for number, name in enumerate(self.expected):
            side = (number + self._turn) % 2
            broker = self._broker(side, number)
            if broker is not None:
                self._edit_by(side, broker, name, self._field(broker, number))
        self._step += 1
        if self._whole() and self._arrived():
            self._turn += 1
            self._rounds += 1

    def _broker(self, side: int, number: int) -> Broker | None:
        there = [broker for broker in self.of_brokers[side].brokers if broker.id not in self._away]
        return there[(number // 2 + self._step) % len(there)] if there else None

    def _whole(self) -> bool:
        return all(self._broker(side, 0) is not None for side in (0, 1))

    def _field(self, broker: Broker, number: int) -> str:
        newer = [name for name in NEWER if CALLS[name].is_in(broker.version)]
        if newer and number % _NEWER_EVERY >= _NEWER_EVERY - 2:  # one of each side's
            return newer[(number // _NEWER_EVERY + self._step) % len(newer)]
        called = list(CALLS)[(number + self._step) % len(CALLS)]
        return called if CALLS[called].is_in(broker.version) else TTL

    def _arrived(self) -> bool:
        """Wait until what was edited has arrived; false where a side went away before, or the edits are to end."""

        def over() -> bool:
            return self._stopping.is_set() or not self._whole()

        wait_until(
            lambda: over() or (self._equal() and not self.lost(self._recent)),
            f"equal: step {self._step}",
            shown=lambda: self.lost(self._recent),
        )
        if over():
            return False
        self._recent.clear()
        return True

    def _edit_by(self, side: int, broker: Broker, name: str, called: str) -> None:
        call, fields = CALLS[called], self.expected[name]
        path = call.path.replace("{n}", str(self._step))
        try:
            rest.send(call.method, f"{broker.admin_url}/admin/v2/namespaces/{name}/{path}", call.body(self._step))
        except ServerFailed as exc:  # made or not: what it has set is nobody's until it is set again
            for each in (called, *_TOGETHER) if called in _TOGETHER else (called,):
                fields.pop(each, None)
            self.tally.unanswered.append(f"{broker.version}: {exc}")
            if broker.id in self._leaving:
                self._away.add(broker.id)
            return
        document = self.stored(side, name)
        self._note(document, fields, called, broker)
        self._recent.add((name, called))
        self.outcome.edits[self.clusters[side].name] += 1
        self.tally.by_version[broker.version] = self.tally.by_version.get(broker.version, 0) + 1
        self.tally.newer += called in NEWER
        unknown = [each for each in NEWER if not CALLS[each].is_in(broker.version)]
        self.tally.dropped += any(each in fields and each not in document for each in unknown)

    def _note(self, document: dict[str, Any], fields: dict[str, Any], called: str, broker: Broker) -> None:
        changed = [each for each in _TOGETHER if each in fields] if called in _TOGETHER else []
        for each in {called, *changed}:
            if CALLS[each].is_in(broker.version):
                fields[each] = document.get(each)
