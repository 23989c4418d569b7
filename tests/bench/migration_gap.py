"""How long producers are without an answer while a wave of theirs is moved, between two real clusters under load.

One steady producer a topic is kept still by the brake: the gap is held against the brake's own pause and the time in
which brokers look for marks once. Many producers are kept out by the gate: that gap is told beside what was foreseen.
"""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import anyio

from deploy.lab.pulsar import ClusterSettings, PulsarCluster, bring_up
from deploy.lab.traffic.account import TrafficAccount
from deploy.lab.traffic.loads import PublisherLoad, TopicLoad
from syncer.admin.client import AdminClient, AdminSettings
from syncer.migration.running.report import FlipOutcome, FlipReport
from tests.bench.result import Bar
from tests.real.flipped_pair import TIMING, FlippedPair
from tests.real.migrations import BLUE, GREEN

GAP_BAR: Final = 1.5
FLIPS: Final = 5
QUICK_FLIPS: Final = 2
_ATTEMPTS: Final = 3
_STEADY: Final = PublisherLoad(per_s=50)
_TOPICS: Final = 3
_CROWD: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredGap:
    """One wave.

    Attributes:
        gap_s: The longest of any producer.
        pause_s: The longest pause of its brakes; ``None``: the gate was taken.
        foreseen_s: What was said before.
    """

    gap_s: float
    pause_s: float | None
    foreseen_s: float

    @property
    def ratio(self) -> float:
        """The gap over the brake's pause and the check period."""
        return self.gap_s / ((self.pause_s or 0.0) + TIMING.check_period_s)


def measure(*, quick: bool) -> list[MeasuredGap]:
    """Move waves by the brake, and one by the gate.

    Raises:
        RuntimeError: A wave was not moved, or harmed somebody, or the brake alone was never enough.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="syncer-bench-gap-")))
        names = (BLUE, GREEN)
        clusters = {each: PulsarCluster(folder / each, ClusterSettings(name=each), leashed=True) for each in names}
        for each in clusters.values():
            stack.callback(each.stop)
        bring_up(list(clusters.values()))
        return anyio.run(_measure, clusters, folder, QUICK_FLIPS if quick else FLIPS)


def gap_bar(found: list[MeasuredGap]) -> Bar:
    """The bar: the median wave that was moved by the brake alone."""
    ratios = [each.ratio for each in found if each.pause_s is not None]
    return Bar(
        name=f"publish gap of a wave, median of {len(ratios)}",
        peer="(pause of its brake and check period)",
        ratio=median(ratios),
        bar=GAP_BAR,
        at_least=False,
    )


def gap_rows(found: list[MeasuredGap]) -> list[tuple[str, ...]]:
    """A row for each wave."""
    return [
        (f"publish gap of a wave by the {'gate' if each.pause_s is None else 'brake'}, s", f"{each.gap_s:.1f}",
         f"foreseen {each.foreseen_s:.1f}" + ("" if each.pause_s is None else f", pause {each.pause_s:.1f}"))
        for each in found
    ]  # fmt: skip


async def _measure(clusters: dict[str, PulsarCluster], folder: Path, flips: int) -> list[MeasuredGap]:
    async with AsyncExitStack() as stack:
        blue, green = [
            await stack.enter_async_context(AdminClient(AdminSettings(url=clusters[name].admin_url)))
            for name in (BLUE, GREEN)
        ]
        pair = FlippedPair(clusters, blue, green, folder)
        found: list[MeasuredGap] = []
        for number in range(flips * _ATTEMPTS):
            if sum(each.pause_s is not None for each in found) == flips:
                break
            found.append(await _flipped(pair, f"gap/brake-{number}", crowd=1))
        else:
            raise RuntimeError(f"the gate was taken in {flips * _ATTEMPTS} waves: this machine stands still too often")
        found.append(await _flipped(pair, "gap/gate", crowd=_CROWD))
        return found


async def _flipped(pair: FlippedPair, namespace: str, *, crowd: int) -> MeasuredGap:
    topics = [f"persistent://{namespace}/t-{number}" for number in range(_TOPICS)]
    report, account = await pair.flip(
        namespace, [TopicLoad(topic=each, publishers=(_STEADY,) * crowd) for each in topics]
    )
    return _measured(namespace, report, account)


def _measured(namespace: str, report: FlipReport, account: TrafficAccount) -> MeasuredGap:
    if report.outcome is not FlipOutcome.MIGRATED or report.foreseen is None or not account.unharmed:
        raise RuntimeError(f"{namespace} was {report.outcome}, and its clients: {account}; {report.reasons}")
    brakes = [each.brake for each in report.foreseen.cures]
    pause_s = max((each.longest_s for each in brakes if each is not None), default=None)
    print(f"… {namespace}: {account}", flush=True)
    return MeasuredGap(
        gap_s=max(account.gap_s.values()),
        pause_s=pause_s if report.held_s is None else None,
        foreseen_s=report.foreseen.longest_gap_s,
    )
