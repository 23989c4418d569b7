"""What two daemons of ours do between the same two clusters."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import partial

from deploy.lab.pulsar import PulsarCluster
from tests.bench.pacing import ARRIVAL_TIMEOUT_S, BURST_TIMEOUT_S, RATE_PER_S, Sizes, Waits, update_synced
from tests.bench.place import POLICIES, START_TIMEOUT_S, Place, poll

FOLDER = f"{POLICIES}/outside-burst"


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """One burst of outside writes.

    Args:
        count: Writes.
        duration_s: From the first write's request until the last was seen in the far store.
        writing_s: How long the writer took to write them.
        lost: Paths that the far store lacks or holds differently at the end.
        cpu_us: CPU time per event of the near and the far daemon, microseconds.
        resident_mb: Memory of the near and the far daemon afterwards.
    """

    count: int
    duration_s: float
    writing_s: float
    lost: int
    cpu_us: tuple[float, float]
    resident_mb: tuple[int, int]

    @property
    def events_per_s(self) -> float:
        """Events per second, end to end."""
        return self.count / self.duration_s


@dataclass(frozen=True, slots=True, kw_only=True)
class OurFigures:
    """Bursts, and latencies in seconds."""

    creates: Burst
    updates: Burst
    waits: Waits
    paced: int
    updates_arrived: int


def measure(place: Place, sizes: Sizes) -> OurFigures:
    """Start both daemons and measure them; they stay up."""
    place.make_tenant("outside-burst")
    place.make_tenant("warm")
    place.make_tenant("ours-synced")
    start(place)
    burst(place, "create", f"{POLICIES}/warm", sizes.warm_up, 0)
    burst(place, "update", f"{POLICIES}/warm", sizes.warm_up, 1)
    creates = burst(place, "create", FOLDER, sizes.burst, 0)
    updates = burst(place, "update", FOLDER, sizes.burst, 1)
    paced(place, sizes.paced // 4, 2)
    return OurFigures(
        creates=creates,
        updates=updates,
        waits=paced(place, sizes.paced, 3),
        paced=sizes.paced,
        updates_arrived=update_synced(place, "ours-synced/n"),
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


def burst(place: Place, kind: str, folder: str, count: int, round_number: int) -> Burst:
    """Write as fast as it goes and wait until all has arrived; then compare both stores whole."""
    place.reset()
    before = [daemon.usage() for daemon in place.daemons]
    place.writer.tell(kind, folder, count, round_number)
    place.observe_until(count, timeout_s=BURST_TIMEOUT_S, meanwhile=place.check_daemons)
    first, last = map(float, place.writer.hear())
    seen = place.seen()
    seen_last = max((times[-1] for times in seen.values()), default=time.time())
    after = [daemon.usage() for daemon in place.daemons]
    lost = 0

    def equal() -> bool:
        nonlocal lost
        _, lost = place.differences(folder)
        return lost == 0

    poll(equal, timeout_s=ARRIVAL_TIMEOUT_S)
    near, far = ((late.cpu_s - early.cpu_s) / count * 1e6 for late, early in zip(after, before, strict=True))
    return Burst(
        count=count,
        duration_s=seen_last - first,
        writing_s=last - first,
        lost=lost,
        cpu_us=(near, far),
        resident_mb=(after[0].resident_bytes >> 20, after[1].resident_bytes >> 20),
    )


def paced(place: Place, count: int, round_number: int) -> Waits:
    """Outside creates and updates at the pace."""
    place.reset()
    file = place.directory / "asked.json"
    place.writer.ask("paced", FOLDER, count, round_number, RATE_PER_S, file)
    place.observe_until(count, timeout_s=ARRIVAL_TIMEOUT_S)
    return Waits.of(place, json.loads(file.read_text()))
