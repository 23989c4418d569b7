"""The bench ``migration``: what a migration costs both clusters, and the daemon that carries it.

Clusters are simulated, and their time is virtual, where many topics are needed: how many requests a topic costs from
the guarded cluster until its clients are redirected, how many are under way at once, and how the daemon's own CPU time
and memory grow with the number of topics. What the simulator itself takes is told apart. How long producers are without
an answer is measured between real clusters, see :mod:`~tests.bench.migration_gap`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from syncer.migration.reading.at_once import AT_ONCE
from tests.bench.migration_gap import gap_bar, gap_rows, measure
from tests.bench.migration_side import IDLE, OTHERS, QUIET, USED
from tests.bench.result import Bar, Result

MANY, FEW = 10_000, 1_000
QUICK_MANY, QUICK_FEW = 1_000, 200
SIDE_BY_SIDE: Final = 200
REQUESTS: Final = 10
"""That a quiet topic may cost, and one more for each of its subscriptions."""
REQUESTS_USED: Final = 15
"""The same of a topic that has clients: 14, since it is braked too, and asked whether they stand at green; and one
where a look comes too early."""
GROWTH_BAR: Final = 1.2
MEMORY_BAR_BYTES: Final = 300 << 20
COLUMNS: Final = ("", "value", "")
_MOVED_BY: Final = ("move", "drain")
_TIMEOUT_S: Final = 3_600.0
_HOUSE: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedMigration:
    """What one simulated migration has cost.

    Attributes:
        product_s: CPU time without the simulator's.
        simulator_s: The simulator's.
        peak_bytes: Most memory of the process, simulator included.
        before_bytes: What it held before the migration began.
        virtual_s: How long it lasted by the clusters' own clocks.
        most_at_once: Requests that were under way together.
        requests: Step, whom they ask about, and how many.
    """

    topics: int
    namespaces: int
    product_s: float
    simulator_s: float
    peak_bytes: int
    before_bytes: int
    virtual_s: float
    most_at_once: int
    requests: Sequence[tuple[str, str, int]]

    @property
    def topic_ms(self) -> float:
        """CPU time for each topic, in milliseconds."""
        return self.product_s / self.topics * 1000

    def requests_per_topic(self, about: str, steps: Sequence[str] = _MOVED_BY) -> float:
        """Requests for each topic of one kind in some steps, with its share of those for namespaces and brokers."""
        found = {QUIET: 0, USED: 0, OTHERS: 0}
        for step, who, count in self.requests:
            if step in steps:
                found[who] += count
        topics = self.namespaces if about == USED else self.topics - self.namespaces
        return found[about] / topics + found[OTHERS] / self.topics


def run(out: Path, *, quick: bool) -> bool:
    """Measure, print the tables, keep them; whether the bars hold."""
    load = os.getloadavg()
    print(f"load before the run: {load[0]:.2f} {load[1]:.2f} {load[2]:.2f}, processors: {os.cpu_count()}\n", flush=True)
    few, many = (_side(count) for count in ((QUICK_FEW, QUICK_MANY) if quick else (FEW, MANY)))
    together = _side(SIDE_BY_SIDE, "side-by-side")
    print("… namespaces under load are moved between two real clusters", flush=True)
    gaps = measure(quick=quick)
    result = Result(
        name="migration",
        rows=[*rows(few, many), *gap_rows(gaps)],
        bars=[*bars(few, many, together.most_at_once), gap_bar(gaps)],
    )
    result.figures = {"few": asdict(few), "many": asdict(many), "gaps": [asdict(each) for each in gaps]}
    return result.show(COLUMNS, out)


def bars(few: CarriedMigration, many: CarriedMigration, most_at_once: int) -> list[Bar]:
    """What decides."""
    quiet, used = REQUESTS + len(IDLE), REQUESTS_USED + 1
    return [
        Bar(name="requests for a quiet topic", peer=f"({REQUESTS} and its {len(IDLE)} subscriptions)",
            ratio=many.requests_per_topic(QUIET) / quiet, bar=1.0, at_least=False),
        Bar(name="requests for a topic with clients", peer=f"({REQUESTS_USED} and its subscription)",
            ratio=many.requests_per_topic(USED) / used, bar=1.0, at_least=False),
        Bar(name="requests under way at once", peer=f"({AT_ONCE})", ratio=most_at_once / AT_ONCE, bar=1.0,
            at_least=False),
        Bar(name=f"CPU for each of {many.topics} topics", peer=f"for each of {few.topics}",
            ratio=many.topic_ms / few.topic_ms, bar=GROWTH_BAR, at_least=False),
        Bar(name=f"memory with {many.topics} topics and the simulator", peer="(300 MB)",
            ratio=many.peak_bytes / MEMORY_BAR_BYTES, bar=1.0, at_least=False),
    ]  # fmt: skip


def rows(few: CarriedMigration, many: CarriedMigration) -> list[tuple[str, ...]]:
    """The table of figures."""
    found: list[tuple[str, ...]] = []
    for each in (few, many):
        name = f"{each.topics} topics in {each.namespaces} namespaces: "
        found += [
            (f"{name}CPU for each, ms", f"{each.topic_ms:.2f}", f"simulator {each.simulator_s:.0f} s in all"),
            (f"{name}memory, MB", f"{each.peak_bytes / 1e6:.0f}", f"before it began {each.before_bytes / 1e6:.0f}"),
            (f"{name}lasts, virtual s", f"{each.virtual_s:.0f}", ""),
        ]
        found += [
            (f"{name}requests for a {what} topic", f"{each.requests_per_topic(what):.1f}",
             f"guarding it before {each.requests_per_topic(what, ('guard',)):.1f}")
            for what in (QUIET, USED)
        ]  # fmt: skip
    return found


def _side(topics: int, how: str = "plain") -> CarriedMigration:
    """Carry a migration in a process of its own."""
    print(f"… {topics} topics are moved between simulated clusters", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.migration_side", str(topics), how],
        stdout=subprocess.PIPE,
        text=True,
        cwd=_HOUSE,
        timeout=_TIMEOUT_S,
        check=True,
    )
    told = json.loads(done.stdout.splitlines()[-1])
    return CarriedMigration(**{**told, "requests": [tuple(each) for each in told["requests"]]})
