"""The bench ``balance``: what our plans cost beside Pulsar's own strategies, and how planning grows with a cluster.

Prices: over clusters drawn by fixed seeds, each strategy of Pulsar with its defaults plays its rounds to the end. The
cheapest of those that moved anything is the peer: our cheapest plan with its final spread, or a smaller one, is held
against its client-seconds. Where none acts, we must not either. Topics of the bundles are drawn, too, and our plans may
cut a bundle without unloading it (``unload=false``) and move a part. The strategies are played without Pulsar's own
splits, which unload both parts: they pay for none of those.

Time: advice for 1,000 brokers with 100,000 bundles is held against advice for 100 with 20,000, in the same process; a
round of shedding of the large one against Pulsar's own class; reading it from ZooKeeper against kazoo.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final

from syncer.balancer.comparing.comparison import ComparedLoad, compare
from syncer.balancer.comparing.contending import Contender, contenders
from syncer.balancer.cost.tariff import Tariff
from syncer.balancer.goals.hard import MoveBounds
from syncer.balancer.planner.advice import AdviceAnswer
from syncer.balancer.planner.balance import balance
from syncer.balancer.rounds.crowding import CrowdedTopics
from syncer.balancer.rounds.synthetic import FleetShape, SyntheticCluster, synthetic_cluster
from syncer.balancer.settings import BalancerSettings
from syncer.balancer.versions import BalancerRules
from tests.bench import balance_reading, balance_rounds
from tests.bench.balance_reading import ReadingTimes
from tests.bench.balance_rounds import RoundTimes
from tests.bench.result import Bar, Result

PRICE_BAR: Final = 0.7
PRICE_SHARE: Final = 0.9
MEDIAN_BAR: Final = 0.5
GROWTH_BAR: Final = 12.0
MEMORY_BAR_MB: Final = 600.0
SMALL_S: Final = 2.0
ROUND_BAR: Final = 20.0
READING_BAR: Final = 10.0
ROUNDS_OF_JAVA: Final = 6
SMALL, LARGE = (100, 20_000), (1_000, 100_000)
ROUNDS: Final = 120
FULL_STATES, QUICK_STATES = 520, 60
BROKERS: Final = (3, 5, 8, 12, 20, 30)
BUNDLES_OF_A_BROKER: Final = (12, 25, 50, 100)
SETTINGS: Final = BalancerSettings()
COLUMNS: Final = ("", "", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedState:
    """A cluster's peer and our plan; ``strategy`` is None where no strategy moved anything.

    ``wasted`` is how many moves we would advise there nevertheless; ``reached`` is false where none of our plans is as
    even as what the strategy left.
    """

    seed: int
    shape: str
    brokers: int
    bundles: int
    strategy: str | None = None
    theirs: float = 0.0
    ours: float = 0.0
    their_unloads: int = 0
    our_moves: int = 0
    our_cuts: int = 0
    wasted: int = 0
    reached: bool = True

    @property
    def ratio(self) -> float:
        """Our client-seconds for one of theirs; without end where we do not come so far."""
        return self.ours / self.theirs if self.reached else math.inf


def defaults() -> Iterator[Contender]:
    """Every strategy as it is without settings of its own, under each placement."""
    return (
        each for each in contenders(SETTINGS) if each.variation.keys() <= {"loadBalancerDistributeBundlesEvenlyEnabled"}
    )


def run(out: Path, *, quick: bool) -> bool:
    """Measure, print the tables, keep them as JSON; whether all bars hold."""
    load = os.getloadavg()
    print(f"load before the run: {load[0]:.2f} {load[1]:.2f} {load[2]:.2f}, processors: {os.cpu_count()}\n", flush=True)
    wanted = QUICK_STATES if quick else FULL_STATES
    states: list[PricedState] = []
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for state in pool.imap(priced, range(4 * wanted)):
            states.append(state)
            if sum(each.strategy is not None for each in states) >= wanted:
                break
        pool.terminate()
    small_s, large_s, memory_mb = growth()
    with tempfile.TemporaryDirectory(prefix="bench-balance-") as directory:
        scale = 10 if quick else 1
        rounds = balance_rounds.measure(Path(directory), large(scale), ROUNDS_OF_JAVA)
        reading = balance_reading.measure(Path(directory), LARGE[0] // scale, LARGE[1] // scale)
    acting = [each for each in states if each.strategy is not None]
    ratios = sorted(each.ratio for each in acting)
    result = Result(
        name="balance",
        rows=[
            ("states in which a strategy acts / in which none does", str(len(acting)), str(len(states) - len(acting))),
            ("states in which we do not come so far", str(sum(not each.reached for each in acting)), ""),
            ("our client-seconds for one of theirs: median, 9 of 10", f"{median(ratios):.2f}", f"{_ninth(ratios):.2f}"),
            (
                "moves, theirs and ours",
                str(sum(s.their_unloads for s in acting)),
                str(sum(s.our_moves for s in acting)),
            ),
            ("cuts, ours", "", str(sum(s.our_cuts for s in acting))),
            (
                "client-seconds, theirs and ours",
                f"{sum(s.theirs for s in acting):.0f}",
                f"{sum(s.ours for s in acting):.0f}",
            ),
            (f"advice for {SMALL[0]} x {SMALL[1]} and {LARGE[0]} x {LARGE[1]}, s", f"{small_s:.2f}", f"{large_s:.2f}"),
            ("a round of shedding over the large one, ms, ours and Java's", *_ms(rounds)),
            (
                "reading it, entries/s, ours and kazoo's",
                *_medians(reading),
            ),
            ("all of it read and decoded, s", f"{reading.parts_s:.1f}", ""),
        ],
        bars=[
            Bar(
                name="client-seconds of our plan, in 9 of 10 states",
                peer="the cheapest strategy that acts",
                ratio=_ninth(ratios),
                bar=PRICE_BAR,
                at_least=False,
            ),
            Bar(
                name="the same, in the median",
                peer="the cheapest strategy that acts",
                ratio=median(ratios),
                bar=MEDIAN_BAR,
                at_least=False,
            ),
            Bar(
                name="moves that are advised where no strategy acts",
                peer="(a count)",
                ratio=float(sum(each.wasted for each in states)),
                bar=0.0,
                at_least=False,
            ),
            Bar(
                name=f"time of advice for {LARGE[0]} brokers, {LARGE[1]} bundles",
                peer=f"{SMALL[0]} brokers, {SMALL[1]} bundles",
                ratio=large_s / small_s,
                bar=GROWTH_BAR,
                at_least=False,
            ),
            Bar(
                name="time of a round of ThresholdShedder over it",
                peer="Pulsar's class in Java",
                ratio=rounds.ratio,
                bar=ROUND_BAR,
                at_least=False,
            ),
            Bar(name="reading it, entries/s", peer="kazoo's get_async", ratio=reading.times, bar=READING_BAR),
            Bar(name="memory of it, MB", peer="(a size)", ratio=memory_mb, bar=MEMORY_BAR_MB, at_least=False),
            Bar(name="the small one, s", peer="(a time)", ratio=small_s, bar=30.0, at_least=False, aim=SMALL_S),
        ],
    )
    result.figures |= {"load_before": load, "processors": os.cpu_count(), "states": [asdict(each) for each in states]}
    return result.show(COLUMNS, out)


def _medians(reading: ReadingTimes) -> tuple[str, str]:
    return f"{median(reading.ours):,.0f}", f"{median(reading.kazoo):,.0f}"


def _ms(rounds: RoundTimes) -> tuple[str, str]:
    return f"{rounds.ours_s * 1e3:.1f}", f"{rounds.java_s * 1e3:.1f}"


def large(scale: int = 1) -> SyntheticCluster:
    """The large cluster, or a part of it."""
    brokers, bundles = LARGE
    dice = random.Random(1)
    return synthetic_cluster(
        dice, SETTINGS, brokers=brokers // scale, bundles=bundles // scale, shape=FleetShape.HOT_BROKERS
    )


def _ninth(ratios: list[float]) -> float:
    """The ratio that nine of ten do not exceed."""
    return ratios[math.ceil(0.9 * len(ratios)) - 1]


def drawn(seed: int) -> SyntheticCluster:
    """The cluster of a seed."""
    dice = random.Random(seed)
    shape = list(FleetShape)[seed % len(FleetShape)]
    brokers = dice.choice(BROKERS)
    bundles = brokers * dice.choice(BUNDLES_OF_A_BROKER)
    return synthetic_cluster(dice, SETTINGS, brokers=brokers, bundles=bundles, shape=shape)


def priced(seed: int) -> PricedState:
    """Play one state."""
    cluster = drawn(seed)
    load = ComparedLoad(
        frames=[cluster.fleet],
        constraints=cluster.constraints,
        settings=SETTINGS,
        rules=BalancerRules(),
        topics=CrowdedTopics(cluster.fleet, lambda bundle: random.Random(f"{seed} {bundle}"), cluster.hot),
    )
    rows = compare(
        load,
        defaults(),
        lambda kind: Tariff(kind=kind),
        lambda: random.Random(seed).choice,
        ROUNDS,
    )
    acting = [row for row in rows if row.played.unloads and row.ours is not None]
    state = PricedState(
        seed=seed,
        shape=cluster.shape.value,
        brokers=len(cluster.fleet.brokers),
        bundles=len(cluster.fleet.bundles),
    )
    if not acting:
        bounds = MoveBounds(constraints=cluster.constraints, settings=SETTINGS)
        advice = balance(cluster.fleet, bounds, Tariff())
        return replace(state, wasted=len(advice.plan.moves) if advice.plan is not None else 0)
    cheapest = min(acting, key=lambda row: row.played.client_seconds.value or 0.0)
    assert cheapest.ours is not None
    return replace(
        state,
        strategy=cheapest.contender.strategy,
        theirs=cheapest.played.client_seconds.value or 0.0,
        ours=cheapest.ours.client_seconds.value or 0.0,
        their_unloads=cheapest.played.unloads,
        our_moves=cheapest.ours.unloads,
        our_cuts=cheapest.ours.cuts,
        reached=cheapest.ours.final_spread <= cheapest.played.final_spread + 1e-9,
    )


def growth() -> tuple[float, float, float]:
    """Seconds of advice for a small and a large cluster, and the memory that the process has used at most, in MB."""
    seconds = []
    for brokers, bundles in (SMALL, LARGE):
        dice = random.Random(1)
        cluster = synthetic_cluster(dice, SETTINGS, brokers=brokers, bundles=bundles, shape=FleetShape.HOT_BROKERS)
        bounds = MoveBounds(constraints=cluster.constraints, settings=SETTINGS)
        began = time.perf_counter()
        advice = balance(cluster.fleet, bounds, Tariff())
        seconds.append(time.perf_counter() - began)
        assert advice.answer is AdviceAnswer.MOVES
    return seconds[0], seconds[1], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
