"""The bench ``sync``: changes in one cluster until they are seen in another, beside Pulsar's own synchronizer.

On few cores the two brokers set the pace, for us as for the native synchronizer. So the bar is what is ours: the CPU
time of both daemons per event, over what both brokers and stores use to carry the same changes without a daemon, by
Pulsar's own synchronizer. The servers are warm, and what each process uses at rest is taken off. Of ours the median of
the bursts counts, of the servers the cheapest one: they only get warmer.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Final

from tests.bench import native, ours, signatures
from tests.bench.native import SERVERS, NativeFigures, Received
from tests.bench.ours import FAR, NEAR, Burst, OurFigures
from tests.bench.pacing import FULL, QUICK, RATE_PER_S, UPDATES, ByRest, Waits
from tests.bench.place import Place
from tests.bench.result import Bar, Result, percentiles_ms
from tests.bench.signatures import Cost

CPU_BAR: Final = 1.0
CPU_AIM: Final = 0.5
COLUMNS: Final = ("", "native", "pulsar-syncer", "ratio")


def run(out: Path, *, quick: bool) -> bool:
    """Measure both in one run, print the tables, keep them as JSON; whether all bars hold."""
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
    result = Result(name="sync", rows=rows(peer, own, signed), bars=bars(peer, own))
    result.figures |= {
        "load_before": load,
        "processors": os.cpu_count(),
        "sizes": asdict(sizes),
        "native": asdict(peer),
        "ours": asdict(own),
        "signatures_us": {name: asdict(cost) for name, cost in signed.items()},
    }
    return result.show(COLUMNS, out)


def _say(phase: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {phase}", file=sys.stderr, flush=True)


def bars(peer: NativeFigures, own: OurFigures) -> list[Bar]:
    """What decides: what the daemons cost, and that nothing is lost."""
    lost = own.lost + UPDATES - own.updates_arrived
    return [
        Bar(
            name="CPU of both daemons per event, creates and updates in equal parts",
            peer="CPU of both brokers and stores for the same without daemons",
            ratio=daemons_us(own) / servers_us(peer),
            bar=CPU_BAR,
            at_least=False,
            aim=CPU_AIM,
        ),
        Bar(name="changes lost", peer="(a count)", ratio=float(lost), bar=0.0, at_least=False),
    ]


def servers_us(peer: NativeFigures) -> float:
    """CPU time of both brokers and stores per event without daemons, creates and updates in equal parts."""
    return (_servers_us(peer.creates) + _servers_us(peer.updates)) / 2


def daemons_us(own: OurFigures) -> float:
    """CPU time of both daemons per event, creates and updates in equal parts."""
    return (_daemons_us(own.creates) + _daemons_us(own.updates)) / 2


def rows(peer: NativeFigures, own: OurFigures, signed: dict[str, Cost]) -> list[tuple[str, ...]]:
    """The table of figures; a ratio is ours to the native's."""
    return [
        *_per_event(peer, own),
        *_end_to_end(peer, own),
        *_latencies(peer, own),
        (
            f"updates after a synced create that arrive, of {UPDATES}",
            str(peer.updates_arrived),
            str(own.updates_arrived),
            "",
        ),
        (f"outside writes that arrive, of {UPDATES} / all", str(peer.outside_arrived), str(_arrived(own)), ""),
        *((f"{name}: CPU per event more, made / checked, us", "-", str(cost), "") for name, cost in signed.items()),
        ("CPU at rest of brokers and stores, ms/s", _ms(peer.at_rest), _ms(own.at_rest[SERVERS]), ""),
        ("CPU at rest, near / far daemon, ms/s", "-", f"{_ms(own.at_rest[NEAR])} / {_ms(own.at_rest[FAR])}", ""),
        ("resident memory, near / far daemon, MB", "-", f"{own.resident_mb[0]} / {own.resident_mb[1]}", ""),
    ]


def _per_event(peer: NativeFigures, own: OurFigures) -> list[tuple[str, ...]]:
    """Bursts without REST: its receiving half alone, beside the whole way of ours."""
    return [
        *(
            (
                f"{kind}: native's receiving half alone, all of ours, events/s",
                _each([burst.events_per_s for burst in theirs]),
                _each([burst.events_per_s for burst in mine]),
                _ratio(median(burst.events_per_s for burst in mine), median(burst.events_per_s for burst in theirs)),
            )
            for kind, theirs, mine in _kinds(peer, own)
        ),
        *(
            (
                f"{kind}: CPU of brokers and stores per event, us",
                _each([burst.servers_us for burst in theirs]),
                _each([burst.cpu_us[SERVERS] for burst in mine]),
                _ratio(median(burst.cpu_us[SERVERS] for burst in mine), median(burst.servers_us for burst in theirs)),
            )
            for kind, theirs, mine in _kinds(peer, own)
        ),
        *(
            (f"{kind}: CPU per event, near / far daemon, us", "-", _near_and_far(mine), "")
            for kind, _, mine in _kinds(peer, own)
        ),
        (
            "both in equal parts: CPU of servers without daemons, of both daemons, us",
            f"{servers_us(peer):.0f}",
            f"{daemons_us(own):.0f}",
            _ratio(daemons_us(own), servers_us(peer)),
        ),
    ]


def _end_to_end(peer: NativeFigures, own: OurFigures) -> list[tuple[str, ...]]:
    """Bursts by REST: a request at the near broker until it is seen in the far store."""
    theirs, mine = ([burst.events_per_s for burst in figures.by_rest] for figures in (peer, own))
    their_cpu = median(burst.cpu_us[SERVERS] for burst in peer.by_rest)
    my_cpu = {who: median(burst.cpu_us[who] for burst in own.by_rest) for who in (SERVERS, NEAR, FAR)}
    daemons = my_cpu[NEAR] + my_cpu[FAR]
    return [
        ("by REST, end to end, events/s", _each(theirs), _each(mine), _ratio(median(mine), median(theirs))),
        ("by REST, of all requests: arrived", _of(peer.by_rest), _of(own.by_rest), ""),
        (
            "by REST: CPU of brokers and stores per event, us",
            f"{their_cpu:.0f}",
            f"{my_cpu[SERVERS]:.0f}",
            _ratio(my_cpu[SERVERS], their_cpu),
        ),
        ("by REST: CPU of both daemons per event, us", "-", f"{daemons:.0f}", _ratio(daemons, their_cpu)),
    ]


def _latencies(peer: NativeFigures, own: OurFigures) -> list[tuple[str, ...]]:
    pick: dict[str, Callable[[Waits], list[float]]] = {
        "creates": lambda waits: waits.creates,
        "updates": lambda waits: waits.updates,
    }
    return [
        *(
            (
                f"{kind} by REST at {RATE_PER_S}/s of both, p50 / p99 ms",
                _latency(of(peer.waits)),
                _latency(of(own.waits)),
                _ratio(percentiles_ms(of(own.waits))[0], percentiles_ms(of(peer.waits))[0]),
            )
            for kind, of in pick.items()
        ),
        *(
            (
                f"{kind} from outside at the same pace, p50 / p99 ms",
                "never published",
                _latency(of(own.outside_waits)),
                "",
            )
            for kind, of in pick.items()
        ),
    ]


def _kinds(peer: NativeFigures, own: OurFigures) -> Sequence[tuple[str, Sequence[Received], Sequence[Burst]]]:
    return ("creates", peer.creates, own.creates), ("updates", peer.updates, own.updates)


def _servers_us(bursts: Sequence[Received]) -> float:
    return min(burst.servers_us for burst in bursts)


def _daemons_us(bursts: Sequence[Burst]) -> float:
    return median(burst.daemons_us for burst in bursts)


def _each(figures: Sequence[float]) -> str:
    return f"{median(figures):.0f} ({' '.join(f'{figure:.0f}' for figure in figures)})"


def _near_and_far(bursts: Sequence[Burst]) -> str:
    return " / ".join(f"{median(burst.cpu_us[who] for burst in bursts):.0f}" for who in (NEAR, FAR))


def _latency(waits_s: list[float]) -> str:
    p50, p99 = percentiles_ms(waits_s)
    return f"{p50:.1f} / {p99:.1f} ({len(waits_s)} arrived)"


def _of(bursts: Sequence[ByRest]) -> str:
    return f"{sum(burst.arrived for burst in bursts)} of {sum(burst.count for burst in bursts)}"


def _arrived(own: OurFigures) -> int:
    return sum(burst.count - burst.lost for burst in (*own.creates, *own.updates))


def _ratio(mine: float, theirs: float) -> str:
    return f"{mine / theirs:.2f}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f}"
