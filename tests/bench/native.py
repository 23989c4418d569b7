"""The peer: what Pulsar's own synchronizer does between the two clusters."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import _pulsar
import pulsar

from syncer.bus.native import NativeEvent, NativeType, encode_native
from syncer.bus.pulsar_client import NativeSchema
from tests.bench.pacing import BURST_TIMEOUT_S, SETTLE_S, UPDATES, Sizes, Waits, paced_requests, update_synced
from tests.bench.place import EAST, NATIVE_TOPIC, POLICIES, Place, poll
from tests.bench.writer import Values, path_of

_AHEAD_MS: Final = 60_000
_QUIET_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeFigures:
    """Units: events per second; seconds."""

    creates: list[float]
    updates: list[float]
    waits: Waits
    paced: int
    updates_arrived: int
    outside_arrived: int


def measure(place: Place, sizes: Sizes) -> NativeFigures:
    """Switch it on and measure it; it stays on."""
    place.make_tenant("steady")
    names = [f"steady/n{number:04d}" for number in range(sizes.paced)]
    for cluster in place.clusters:  # by hand in both: the same versions, else its updates are lost
        place.make_namespaces(cluster, names)
    for tenant in ("direct", "made", "synced", "outside"):
        place.make_tenant(tenant)
    place.native(on=True)
    creates, updates = [], []
    for repeat in range(1 + sizes.native_repeats):
        numbers = range(repeat * sizes.native_burst, (repeat + 1) * sizes.native_burst)
        made = _ceiling(place, numbers, 0)
        _let_echoes_end(place)
        changed = _ceiling(place, numbers, 1)
        _let_echoes_end(place)
        if repeat:  # the first ones warm up
            creates.append(made)
            updates.append(changed)
    paced_requests(place, "made/w", "steady/n", sizes.paced // 4)  # warm-up of REST
    return NativeFigures(
        creates=creates,
        updates=updates,
        waits=paced_requests(place, "made/n", "steady/n", sizes.paced),
        paced=sizes.paced,
        updates_arrived=update_synced(place, "synced/n"),
        outside_arrived=_outside(place),
    )


def _ceiling(place: Place, numbers: range, round_number: int) -> float:
    """Events per second put straight on its topic: replication and apply alone, no REST and no broker's write.

    They are dated ahead and name no version that they expect, else it would drop some of its own updates as stale:
    this is the most that it can do.
    """
    values = Values(place.template.read_bytes())
    folder = f"{POLICIES}/direct"
    dated = time.time_ns() // 1_000_000 + _AHEAD_MS
    payloads = [
        encode_native(NativeEvent(path_of(folder, n), values.of(n, round_number), EAST, NativeType.MODIFIED, dated))
        for n in numbers
    ]
    client = pulsar.Client(place.east.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    try:
        producer = client.create_producer(
            NATIVE_TOPIC, schema=NativeSchema(), batching_enabled=False, block_if_queue_full=True
        )
        failures = _Failures()
        place.reset()
        began = time.time()
        for payload in payloads:
            producer.send_async(payload, failures.note)
        producer.flush()
        failures.check()
        arrived = place.observe_until(len(numbers), timeout_s=BURST_TIMEOUT_S)
    finally:
        client.close()
    if arrived < len(numbers):
        raise RuntimeError(f"the native synchronizer applied {arrived} of {len(numbers)} events")
    return len(numbers) / (max(times[0] for times in place.seen().values()) - began)


def _let_echoes_end(place: Place) -> None:
    """It publishes again what it creates in a ZooKeeper; wait until that has ended.

    Raises:
        RuntimeError: It does not end.
    """
    before = -1

    def quiet() -> bool:
        nonlocal before
        last, before = before, sum(map(len, place.seen().values()))
        return last == before

    if not poll(quiet, timeout_s=BURST_TIMEOUT_S, every_s=_QUIET_S):
        raise RuntimeError("the native synchronizer does not come to rest")


class _Failures:
    """What the broker did not take."""

    def __init__(self) -> None:
        self._first: object = None

    def note(self, result: _pulsar.Result, _: object) -> None:
        """Take one answer, in the client's thread."""
        if result != _pulsar.Result.Ok and self._first is None:
            self._first = result

    def check(self) -> None:
        """Raise RuntimeError when an event was not taken."""
        if self._first is not None:
            raise RuntimeError(f"the broker did not take every event: {self._first}")


def _outside(place: Place) -> int:
    """How many of some writes past the broker arrive."""
    place.writer.ask("create", f"{POLICIES}/outside", UPDATES, 0)
    time.sleep(SETTLE_S / 3)
    return len(place.entries(place.west, f"{POLICIES}/outside")) - 1
