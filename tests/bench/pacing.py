"""How much is measured, and requests to a broker at a steady pace."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from tests.bench.cpu import Meter
from tests.bench.place import POLICIES, REPLICATED, Place, Rest, poll
from tests.bench.writer import kind_of, path_of

RATE_PER_S: Final = 20
BURST_TIMEOUT_S: Final = 240.0
ARRIVAL_TIMEOUT_S: Final = 15.0
SETTLE_S: Final = 15.0
UPDATES: Final = 50
_LANES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many events of each kind.

    Args:
        burst: Creates, and as many updates, of one burst without REST; the same for both sides.
        warm_ups: Bursts of each kind that do not count: a Java server gets faster for its first ten thousands.
        repeats: Bursts of each kind that count.
        by_rest: Creates and updates together of one burst by REST.
        paced: Creates and updates together at the steady pace.
    """

    burst: int
    warm_ups: int
    repeats: int
    by_rest: int
    paced: int


FULL: Final = Sizes(burst=4_000, warm_ups=2, repeats=3, by_rest=400, paced=400)
QUICK: Final = Sizes(burst=2_000, warm_ups=1, repeats=2, by_rest=200, paced=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Seconds from each request to the far store's change. Every second change is a create, the others are updates."""

    creates: list[float]
    updates: list[float]

    @classmethod
    def of(cls, place: Place, asked: Mapping[str, Mapping[str, float]]) -> Waits:
        """Those of the requests that arrived; by kind and path the time of each request."""
        waits = {}
        for kind, times in asked.items():
            waits[f"{kind}s"] = [at - times[path] for path, at in place.arrivals(times).items()]
        return cls(**waits)

    @property
    def all(self) -> list[float]:
        """Of both kinds."""
        return [*self.creates, *self.updates]


@dataclass(frozen=True, slots=True, kw_only=True)
class ByRest:
    """One burst of changes made by REST at the near cluster's broker.

    Args:
        count: Changes: every second one creates a namespace, the others update a policy.
        arrived: Of them, seen in the far store.
        duration_s: From the first request until the last was seen in the far store.
        cpu_us: CPU time for each change that arrived, by who used it, microseconds.
    """

    count: int
    arrived: int
    duration_s: float
    cpu_us: dict[str, float]

    @property
    def events_per_s(self) -> float:
        """Changes that arrived, per second, end to end."""
        return self.arrived / self.duration_s


def burst_by_rest(place: Place, made: str, changed: str, count: int, meters: Mapping[str, Meter]) -> ByRest:
    """Make changes by REST as fast as some connections do; ``made`` and ``changed`` as in :func:`requests`."""
    before = {who: meter.read() for who, meter in meters.items()}
    asked = requests(place, made, changed, count)
    seen = [at for times in asked.values() for at in place.arrivals(times).values()]
    place.wait_quiet()
    return ByRest(
        count=count,
        arrived=len(seen),
        duration_s=max(seen) - min(at for times in asked.values() for at in times.values()),
        cpu_us={who: meter.per_event_us(before[who], len(seen)) for who, meter in meters.items()},
    )


def paced_requests(place: Place, made: str, changed: str, count: int) -> Waits:
    """Make REST requests at the pace; the arguments as in :func:`requests`."""
    return Waits.of(place, requests(place, made, changed, count, every_s=1 / RATE_PER_S))


def requests(place: Place, made: str, changed: str, count: int, *, every_s: float = 0.0) -> dict[str, dict[str, float]]:
    """Make REST requests, each of another namespace, and wait until all have been seen, or long enough.

    Args:
        place: Where.
        made: Tenant of the namespaces that are created.
        changed: Tenant of those that are there, of which a policy is updated.
        count: How many of both together.
        every_s: The pace; without one as fast as the connections do.

    Returns:
        By kind and path, the time of each request.
    """
    asked: dict[str, dict[str, float]] = {"create": {}, "update": {}}
    place.reset()
    lanes = [Rest(place.east.admin_url) for _ in range(_LANES)]

    def request(number: int, at: float) -> None:
        time.sleep(max(0.0, at - time.monotonic()))
        kind = kind_of(number)
        path = path_of(made if kind == "create" else changed, number)
        asked[kind][f"{POLICIES}/{path}"] = time.time()
        rest = lanes[number % _LANES]
        if kind == "create":
            rest.must("PUT", f"/admin/v2/namespaces/{path}", REPLICATED)
        else:
            rest.must("POST", f"/admin/v2/namespaces/{path}/messageTTL", 1000 + time.time_ns() % 1_000_000)

    start = time.monotonic()
    pools = [ThreadPoolExecutor(max_workers=1) for _ in lanes]
    try:
        done = [pools[n % _LANES].submit(request, n, start + n * every_s) for n in range(count)]
        for each in done:
            each.result()
    finally:
        for pool in pools:
            pool.shutdown()
        for lane in lanes:
            lane.close()
    place.observe_until(count, timeout_s=ARRIVAL_TIMEOUT_S)
    return asked


def update_synced(place: Place, names: str) -> int:
    """Create namespaces by REST, wait until they have arrived, update each by REST; how many updates arrive."""
    rest = Rest(place.east.admin_url)
    every = [f"{names}{number:04d}" for number in range(UPDATES)]
    tenant = f"{POLICIES}/{names.partition('/')[0]}"
    try:
        for name in every:
            rest.must("PUT", f"/admin/v2/namespaces/{name}", REPLICATED)
        if not poll(lambda: len(place.entries(place.west, tenant)) > UPDATES, timeout_s=ARRIVAL_TIMEOUT_S):
            raise RuntimeError("created namespaces did not arrive")
        time.sleep(1.0)  # a person does not change a namespace within the second
        for number, name in enumerate(every):
            rest.must("POST", f"/admin/v2/namespaces/{name}/messageTTL", 5_000 + number)
    finally:
        rest.close()
    arrived = 0

    def all_arrived() -> bool:
        nonlocal arrived
        far = place.entries(place.west, tenant)
        ttls = [json.loads(far[f"{POLICIES}/{name}"]).get("message_ttl_in_seconds") for name in every]
        arrived = sum(ttl == 5_000 + number for number, ttl in enumerate(ttls))
        return arrived == UPDATES

    poll(all_arrived, timeout_s=SETTLE_S)
    return arrived
