"""The bench ``sync``: changes in one cluster until they are seen in another, beside Pulsar's own synchronizer."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from statistics import median

from tests.bench import native, ours, signatures
from tests.bench.native import NativeFigures
from tests.bench.ours import Burst, OurFigures
from tests.bench.pacing import FULL, QUICK, RATE_PER_S, UPDATES
from tests.bench.place import Place
from tests.bench.result import Bar, Result, percentiles_ms
from tests.bench.signatures import Cost

EVENTS_BAR = 2.0


def run(out: Path, *, quick: bool) -> bool:
    """Measure both in one run, print the table, keep it as JSON; whether all bars hold."""
    sizes = QUICK if quick else FULL
    load = os.getloadavg()
    print(f"load before the run: {load[0]:.2f} {load[1]:.2f} {load[2]:.2f}, processors: {os.cpu_count()}\n", flush=True)
    directory = Path(tempfile.mkdtemp(prefix="syncer-bench-"))
    try:
        _say("two clusters come up")
        with Place(directory) as place:
            _say("Pulsar's own synchronizer is switched on and measured")
            peer = native.measure(place, sizes)
            _say("it is switched off; two daemons are started and measured")
            place.native(on=False)
            own = ours.measure(place, sizes)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    _say("what signatures cost")
    signed = signatures.costs()
    result = Result(name="sync")
    result.figures |= {
        "load_before": load,
        "processors": os.cpu_count(),
        "sizes": asdict(sizes),
        "native": asdict(peer),
        "ours": asdict(own),
        "signatures_us": {name: asdict(cost) for name, cost in signed.items()},
    }
    _tabulate(result, peer, own, signed)
    _judge(result, peer, own)
    return result.show(("", "native", "pulsar-syncer"), out)


def _say(phase: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {phase}", file=sys.stderr, flush=True)


def _tabulate(result: Result, peer: NativeFigures, own: OurFigures, signed: dict[str, Cost]) -> None:
    result.rows += [
        ("creates put straight on the topic, events/s", _ceilings(peer.creates), "-"),
        ("updates put straight on the topic, events/s", _ceilings(peer.updates), "-"),
        (
            "both in equal parts, events/s",
            f"{_mixed((median(peer.creates), median(peer.updates))):.0f}",
            f"{_mixed((own.creates.events_per_s, own.updates.events_per_s)):.0f}",
        ),
        ("outside creates, events/s", "0 (never published)", _speed(own.creates)),
        ("outside updates, events/s", "0 (never published)", _speed(own.updates)),
        *(
            (
                f"{kind} at {RATE_PER_S}/s of both, p50 / p99 ms",
                _latency(theirs),
                _latency(mine),
            )
            for kind, theirs, mine in (
                ("creates", peer.waits.creates, own.waits.creates),
                ("updates", peer.waits.updates, own.waits.updates),
            )
        ),
        (
            f"updates after a synced create that arrive, of {UPDATES}",
            str(peer.updates_arrived),
            str(own.updates_arrived),
        ),
        (f"outside writes that arrive, of {UPDATES} / all", str(peer.outside_arrived), str(_arrived(own))),
        ("CPU per create, near / far daemon, us", "-", _pair(own.creates.cpu_us)),
        ("CPU per update, near / far daemon, us", "-", _pair(own.updates.cpu_us)),
        *((f"{name}: CPU per event more, made / checked, us", "-", str(cost)) for name, cost in signed.items()),
        ("resident memory, near / far daemon, MB", "-", _pair(own.updates.resident_mb)),
    ]


def _judge(result: Result, peer: NativeFigures, own: OurFigures) -> None:
    theirs, mine = percentiles_ms(peer.waits.all), percentiles_ms(own.waits.all)
    mine_per_s = own.creates.events_per_s, own.updates.events_per_s
    theirs_per_s = median(peer.creates), median(peer.updates)
    lost = own.creates.lost + own.updates.lost + own.paced - len(own.waits.all) + UPDATES - own.updates_arrived
    result.bars += [
        Bar(name="events/s", ratio=_mixed(mine_per_s) / _mixed(theirs_per_s), bar=EVENTS_BAR),
        Bar(name="latency p50", ratio=mine[0] / theirs[0], bar=1.0, at_least=False),
        Bar(name="latency p99", ratio=mine[1] / theirs[1], bar=1.0, at_least=False),
        Bar(name="lost", ratio=float(lost), bar=0.0, at_least=False),
    ]


def _mixed(per_s: tuple[float, float]) -> float:
    """Events per second where there are as many creates as updates, one kind after the other."""
    return 2 / sum(1 / speed for speed in per_s)


def _ceilings(speeds: list[float]) -> str:
    return f"{median(speeds):.0f} ({' '.join(f'{speed:.0f}' for speed in speeds)})"


def _speed(burst: Burst) -> str:
    return f"{burst.events_per_s:.0f} ({burst.count} in {burst.duration_s:.1f} s, lost {burst.lost})"


def _latency(waits_s: list[float]) -> str:
    p50, p99 = percentiles_ms(waits_s)
    return f"{p50:.1f} / {p99:.1f} ({len(waits_s)} arrived)"


def _arrived(own: OurFigures) -> int:
    return own.creates.count + own.updates.count - own.creates.lost - own.updates.lost


def _pair(numbers: tuple[float, float]) -> str:
    return f"{numbers[0]:.0f} / {numbers[1]:.0f}"
