"""What two daemons of ours do between the same two clusters, and what that costs them, brokers and stores."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from deploy.lab.pulsar import PulsarCluster
from tests.bench.cpu import Meter
from tests.bench.native import SERVERS
from tests.bench.pacing import (
    ARRIVAL_TIMEOUT_S,
    BURST_TIMEOUT_S,
    RATE_PER_S,
    ByRest,
    Sizes,
    Waits,
    burst_by_rest,
    paced_requests,
    update_synced,
)
from tests.bench.place import AT_REST_S, POLICIES, START_TIMEOUT_S, Place, poll

NEAR: Final = "near daemon"
FAR: Final = "far daemon"
FOLDER: Final = f"{POLICIES}/outside-burst"


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """One burst of outside writes.

    Args:
        count: Writes.
        duration_s: From the first write's request until the last was seen in the far store.
        writing_s: How long the writer took to write them.
        lost: Paths that the far store lacks or holds differently at the end.
        cpu_us: CPU time per event by who used it, until nothing moves any more, microseconds.
    """

    count: int
    duration_s: float
    writing_s: float
    lost: int
    cpu_us: dict[str, float]

    @property
    def events_per_s(self) -> float:
        """Events per second, end to end."""
        return self.count / self.duration_s

    @property
    def daemons_us(self) -> float:
        """CPU time of both daemons per event."""
        return self.cpu_us[NEAR] + self.cpu_us[FAR]


@dataclass(frozen=True, slots=True, kw_only=True)
class OurFigures:
    """What was measured; each burst that counts has its entry.

    Args:
        at_rest: CPU time of each in a second in which nothing changes.
        waits: Latencies of changes made by REST.
        outside_waits: Latencies of writes past the brokers.
        differing: Namespaces made or changed by REST that the far store lacks or holds differently at the end.
        resident_mb: Memory of the near and the far daemon at the end.
    """

    at_rest: dict[str, float]
    creates: list[Burst]
    updates: list[Burst]
    by_rest: list[ByRest]
    waits: Waits
    outside_waits: Waits
    paced: int
    updates_arrived: int
    differing: int
    resident_mb: tuple[int, int]

    @property
    def lost(self) -> int:
        """Changes that did not arrive, of all that were made in any way but those after a synced create."""
        bursts = sum(burst.lost for burst in (*self.creates, *self.updates))
        by_rest = sum(burst.count - burst.arrived for burst in self.by_rest) + self.differing
        return bursts + by_rest + 2 * self.paced - len(self.waits.all) - len(self.outside_waits.all)


def measure(place: Place, sizes: Sizes) -> OurFigures:
    """Start both daemons and measure them; they stay up."""
    turns = range(sizes.warm_ups + sizes.repeats)
    made = [f"ours-made-{n}" for n in turns]
    tenants = ("outside-burst", "warm", "ours-steady", "ours-made", "ours-warm-made", "ours-synced")
    for tenant in (*tenants, *made, *(f"outside-{n}" for n in turns)):
        place.make_tenant(tenant)
    start(place)
    near, far = place.daemons
    meters = {SERVERS: Meter(place.servers_used), NEAR: Meter(near.used), FAR: Meter(far.used)}

    def outside(turn: int) -> tuple[Burst, Burst]:
        create, update = (
            burst(place, kind, f"{POLICIES}/outside-{turn}", sizes.burst, number, meters)
            for number, kind in enumerate(("create", "update"))
        )
        return create, update

    def by_rest(turn: int) -> ByRest:
        return burst_by_rest(place, made[turn], "ours-steady", sizes.by_rest, meters)

    burst(place, "create", f"{POLICIES}/ours-steady", max(sizes.paced, sizes.by_rest), 0, meters)
    for turn in turns[: sizes.warm_ups]:
        outside(turn)
        by_rest(turn)
    rested = Meter.at_rest_for(AT_REST_S, *(meter.read for meter in meters.values()))
    meters = dict(zip(meters, rested, strict=True))
    creates, updates = zip(*(outside(turn) for turn in turns[sizes.warm_ups :]), strict=True)
    requested = [by_rest(turn) for turn in turns[sizes.warm_ups :]]
    paced_requests(place, "ours-warm-made", "ours-steady", sizes.paced // 4)
    waits = paced_requests(place, "ours-made", "ours-steady", sizes.paced)
    burst(place, "create", FOLDER, sizes.paced, 0, meters)
    paced(place, sizes.paced // 4, 2)
    return OurFigures(
        at_rest={who: meter.at_rest for who, meter in meters.items()},
        creates=list(creates),
        updates=list(updates),
        by_rest=requested,
        waits=waits,
        outside_waits=paced(place, sizes.paced, 3),
        paced=sizes.paced,
        updates_arrived=update_synced(place, "ours-synced/n"),
        differing=sum(place.differences(f"{POLICIES}/{tenant}")[1] for tenant in (*made, "ours-made", "ours-steady")),
        resident_mb=(near.resident_mb, far.resident_mb),
    )


def start(place: Place) -> None:
    """Start both daemons and wait until a change goes each way.

    Raises:
        RuntimeError: It does not in time.
    """
    for daemon in place.daemons:
        daemon.start()
    for near, far in (place.clusters, place.clusters[::-1]):
        name = f"from-{near.name}"
        place.make_namespaces(near, [f"warm/{name}"])
        path = f"{POLICIES}/warm/{name}"
        if not poll(partial(_has, place, far, path), timeout_s=START_TIMEOUT_S):
            place.check_daemons()
            raise RuntimeError(f"no change of {near.name} has arrived in {far.name} within {START_TIMEOUT_S:g} s")


def _has(place: Place, cluster: PulsarCluster, path: str) -> bool:
    return path in place.entries(cluster, path)


def burst(place: Place, kind: str, folder: str, count: int, round_number: int, meters: Mapping[str, Meter]) -> Burst:
    """Write as fast as it goes and wait until all has arrived; then compare both stores whole."""
    place.reset()
    before = {who: meter.read() for who, meter in meters.items()}
    place.writer.tell(kind, folder, count, round_number)
    place.observe_until(count, timeout_s=BURST_TIMEOUT_S, meanwhile=place.check_daemons)
    first, last = map(float, place.writer.hear())
    seen = place.seen()
    seen_last = max((times[-1] for times in seen.values()), default=time.time())
    place.wait_quiet()
    cpu_us = {who: meter.per_event_us(before[who], count) for who, meter in meters.items()}
    lost = 0

    def equal() -> bool:
        nonlocal lost
        _, lost = place.differences(folder)
        return lost == 0

    poll(equal, timeout_s=ARRIVAL_TIMEOUT_S)
    return Burst(count=count, duration_s=seen_last - first, writing_s=last - first, lost=lost, cpu_us=cpu_us)


def paced(place: Place, count: int, round_number: int) -> Waits:
    """Outside creates and updates at the pace."""
    place.reset()
    file = place.directory / "asked.json"
    place.writer.ask("paced", FOLDER, count, round_number, RATE_PER_S, file)
    place.observe_until(count, timeout_s=ARRIVAL_TIMEOUT_S)
    return Waits.of(place, json.loads(file.read_text()))
