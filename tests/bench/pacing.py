"""How much is measured, and requests to a broker at a steady pace."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from tests.bench.place import POLICIES, REPLICATED, Place, Rest, poll
from tests.bench.writer import kind_of

RATE_PER_S: Final = 20
BURST_TIMEOUT_S: Final = 240.0
ARRIVAL_TIMEOUT_S: Final = 15.0
SETTLE_S: Final = 15.0
UPDATES: Final = 50
_LANES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many events of each kind."""

    burst: int
    native_burst: int
    native_repeats: int
    paced: int
    warm_up: int


FULL: Final = Sizes(burst=20_000, native_burst=2_000, native_repeats=3, paced=400, warm_up=4_000)
QUICK: Final = Sizes(burst=4_000, native_burst=2_000, native_repeats=2, paced=200, warm_up=2_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Seconds from each request to the far store's change. Every second change is a create, the others are updates."""

    creates: list[float]
    updates: list[float]

    @classmethod
    def of(cls, place: Place, asked: Mapping[str, Mapping[str, float]]) -> Waits:
        """Those of the requests that arrived; by kind and path the time of each request."""
        return cls(**{f"{kind}s": place.latencies(times) for kind, times in asked.items()})

    @property
    def all(self) -> list[float]:
        """Of both kinds."""
        return [*self.creates, *self.updates]


def paced_requests(place: Place, made: str, changed: str, count: int) -> Waits:
    """Make REST requests at the pace, each of another namespace.

    Args:
        place: Where.
        made: ``tenant/prefix`` of the namespaces that are created; numbers follow.
        changed: Likewise of those that are there, of which a policy is updated.
        count: How many of both together.
    """
    asked: dict[str, dict[str, float]] = {"create": {}, "update": {}}
    place.reset()
    lanes = [Rest(place.east.admin_url) for _ in range(_LANES)]

    def request(number: int, at: float) -> None:
        time.sleep(max(0.0, at - time.monotonic()))
        kind = kind_of(number)
        name = f"{made if kind == 'create' else changed}{number:04d}"
        asked[kind][f"{POLICIES}/{name}"] = time.time()
        rest = lanes[number % _LANES]
        if kind == "create":
            rest.must("PUT", f"/admin/v2/namespaces/{name}", REPLICATED)
        else:
            rest.must("POST", f"/admin/v2/namespaces/{name}/messageTTL", 1000 + time.time_ns() % 1_000_000)

    start = time.monotonic()
    pools = [ThreadPoolExecutor(max_workers=1) for _ in lanes]
    try:
        done = [pools[n % _LANES].submit(request, n, start + n / RATE_PER_S) for n in range(count)]
        for each in done:
            each.result()
    finally:
        for pool in pools:
            pool.shutdown()
        for lane in lanes:
            lane.close()
    place.observe_until(count, timeout_s=ARRIVAL_TIMEOUT_S)
    return Waits.of(place, asked)


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
