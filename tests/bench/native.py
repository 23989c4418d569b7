"""The peer: what Pulsar's own synchronizer does between the two clusters, and what that costs brokers and stores."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import _pulsar

from deploy.lab.client import patient_client
from syncer.bus.pulsar.client import NativeSchema
from syncer.bus.wire.native import NativeEvent, NativeType, encode_native
from tests.bench.cpu import Meter
from tests.bench.pacing import (
    BURST_TIMEOUT_S,
    SETTLE_S,
    UPDATES,
    ByRest,
    Sizes,
    Waits,
    burst_by_rest,
    paced_requests,
    update_synced,
)
from tests.bench.place import AT_REST_S, EAST, NATIVE_TOPIC, POLICIES, Place
from tests.bench.writer import Values, kind_of, path_of

SERVERS: Final = "brokers and stores"
_AHEAD_MS: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One burst of events put straight on its topic: its receiving half, without REST and a broker's own write.

    Args:
        events_per_s: From the first event's publication until the last was seen in the far store.
        servers_us: CPU time of both brokers and all stores for each event, until nothing moves any more: microseconds.
    """

    events_per_s: float
    servers_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeFigures:
    """What was measured; each burst that counts has its entry.

    Args:
        at_rest: CPU time of both brokers and all stores in a second in which nothing changes.
    """

    at_rest: float
    creates: list[Received]
    updates: list[Received]
    by_rest: list[ByRest]
    waits: Waits
    paced: int
    updates_arrived: int
    outside_arrived: int


def measure(place: Place, sizes: Sizes) -> NativeFigures:
    """Switch it on and measure it; it stays on."""
    turns = range(sizes.warm_ups + sizes.repeats)
    for tenant in ("steady", "direct", "made", "warm-made", "synced", "outside", *(f"made-{n}" for n in turns)):
        place.make_tenant(tenant)
    steady = [path_of("steady", n) for n in range(max(sizes.paced, sizes.by_rest)) if kind_of(n) == "update"]
    for cluster in place.clusters:  # by hand in both: the same versions, else its updates are lost
        place.make_namespaces(cluster, steady)
    place.native(on=True)
    servers = Meter(place.servers_used)

    def received(turn: int) -> tuple[Received, Received]:
        numbers = range(turn * sizes.burst, (turn + 1) * sizes.burst)
        return _received(place, numbers, 0, servers), _received(place, numbers, 1, servers)

    def by_rest(turn: int) -> ByRest:
        return burst_by_rest(place, f"made-{turn}", "steady", sizes.by_rest, {SERVERS: servers})

    for turn in turns[: sizes.warm_ups]:
        received(turn)
        by_rest(turn)
    (servers,) = Meter.at_rest_for(AT_REST_S, place.servers_used)
    creates, updates = zip(*(received(turn) for turn in turns[sizes.warm_ups :]), strict=True)
    requested = [by_rest(turn) for turn in turns[sizes.warm_ups :]]
    paced_requests(place, "warm-made", "steady", sizes.paced // 4)
    return NativeFigures(
        at_rest=servers.at_rest,
        creates=list(creates),
        updates=list(updates),
        by_rest=requested,
        waits=paced_requests(place, "made", "steady", sizes.paced),
        paced=sizes.paced,
        updates_arrived=update_synced(place, "synced/n"),
        outside_arrived=_outside(place),
    )


def _received(place: Place, numbers: range, round_number: int, servers: Meter) -> Received:
    """Put events straight on its topic: replication and apply alone, no REST and no broker's write.

    They are dated ahead and name no version that they expect, else it would drop some of its own updates as stale:
    this is the most that it can do. What it creates in a ZooKeeper it publishes again; that is waited for and counts.
    """
    values = Values(place.template.read_bytes())
    folder = f"{POLICIES}/direct"
    dated = time.time_ns() // 1_000_000 + _AHEAD_MS
    payloads = [
        encode_native(NativeEvent(path_of(folder, n), values.of(n, round_number), EAST, NativeType.MODIFIED, dated))
        for n in numbers
    ]
    client = patient_client(place.east.service_url)
    try:
        producer = client.create_producer(
            NATIVE_TOPIC, schema=NativeSchema(), batching_enabled=False, block_if_queue_full=True
        )
        failures = _Failures()
        place.reset()
        before = servers.read()
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
    last = max(times[0] for times in place.seen().values())
    place.wait_quiet()
    return Received(
        events_per_s=len(numbers) / (last - began),
        servers_us=servers.per_event_us(before, len(numbers)),
    )


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
