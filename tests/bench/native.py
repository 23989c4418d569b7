"""The peer: what Pulsar's own synchronizer does between the two clusters."""

from __future__ import annotations

import time
from dataclasses import dataclass

import _pulsar
import pulsar

from syncer.bus.native import NativeEvent, NativeType, encode_native
from syncer.bus.pulsar_client import NativeSchema
from tests.bench.pacing import BURST_TIMEOUT_S, SETTLE_S, UPDATES, Sizes, paced_requests, update_synced
from tests.bench.place import EAST, NATIVE_TOPIC, POLICIES, Place
from tests.bench.writer import Values, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeFigures:
    """Units: events per second; seconds."""

    ceilings: list[float]
    created_s: list[float]
    updated_s: list[float]
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
    ceilings = []
    for repeat in range(1 + sizes.native_repeats):
        speed = _ceiling(place, sizes.native_burst, first=repeat * sizes.native_burst)
        if repeat:  # the first one warms up
            ceilings.append(speed)
    paced_requests(place, "create", "made/w", sizes.paced // 4)  # warm-up of REST
    created = paced_requests(place, "create", "made/n", sizes.paced)
    paced_requests(place, "update", "steady/n", sizes.paced // 4)
    updated = paced_requests(place, "update", "steady/n", sizes.paced)
    return NativeFigures(
        ceilings=ceilings,
        created_s=created,
        updated_s=updated,
        paced=sizes.paced,
        updates_arrived=update_synced(place, "synced/n"),
        outside_arrived=_outside(place),
    )


def _ceiling(place: Place, count: int, *, first: int) -> float:
    """Events per second put straight on its topic: replication and apply alone, no REST and no broker's write."""
    values = Values(place.template.read_bytes())
    folder = f"{POLICIES}/direct"
    now = time.time_ns() // 1_000_000
    payloads = [
        encode_native(NativeEvent(path_of(folder, n), values.of(n, 0), EAST, NativeType.MODIFIED, now))
        for n in range(first, first + count)
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
        arrived = place.observe_until(count, timeout_s=BURST_TIMEOUT_S)
    finally:
        client.close()
    if arrived < count:
        raise RuntimeError(f"the native synchronizer applied {arrived} of {count} events")
    return count / (max(times[0] for times in place.seen().values()) - began)


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
