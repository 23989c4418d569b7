"""The bench ``api``: what its HTTP surface costs a daemon that syncs as fast as it can.

Two clusters and two daemons, as in the bench ``sync``. Bursts of outside writes go from the near store to the far one.
In each round one of them has the far daemon, which decides and writes, alone; at one it has all its clients beside: 50
status requests a second, a scrape each 5 s, and 200 streams at one event a second; and at one the status requests go to
a bare server instead. Each ratio is of two turns of the same round. The clients run on the same machine, so what they
use of its processors counts against us. All of it together keeps two processors busy, and then whoever wakes waits for
one: the bare server tells how long.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

from deploy.lab.ports import free_ports
from tests.bench import ours
from tests.bench.api_holds import HOLDS, list_holds
from tests.bench.child import Child
from tests.bench.cpu import Meter
from tests.bench.ours import FAR, NEAR, Burst
from tests.bench.place import POLICIES, Place
from tests.bench.result import Bar, Result
from tests.support.api_tokens import made

SYNC_BAR: Final = 0.95
MEMORY_BAR_MB: Final = 60.0
P99_BAR: Final = 5.0
P99_BARE_BAR: Final = 5.0
STATUS_BYTES: Final = 2_000
HOLDS_BAR_S: Final = 10.0
REST_S: Final = 20.0
KINDS: Final = ("alone", "beside", "bare")
COLUMNS: Final = ("", "alone", "with clients", "ratio")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSizes:
    """How much is measured.

    Args:
        burst: Creates, and as many updates, of one turn.
        warm_ups: Rounds that do not count.
        rounds: Rounds that count.
    """

    burst: int
    warm_ups: int
    rounds: int


FULL: Final = ApiSizes(burst=4_000, warm_ups=1, rounds=5)
QUICK: Final = ApiSizes(burst=2_000, warm_ups=1, rounds=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What the clients of one turn were answered."""

    p99_ms: float
    answered: int
    failed: int
    scrapes: int
    events_per_s: float
    ended: int
    cpu_s: float

    @classmethod
    def of(cls, words: list[str]) -> Served:
        """Read their answer."""
        p99, answered, failed, scrapes, events, ended, cpu = words
        return cls(
            p99_ms=float(p99),
            answered=int(answered),
            failed=int(failed),
            scrapes=int(scrapes),
            events_per_s=float(events),
            ended=int(ended),
            cpu_s=float(cpu),
        )


@dataclass(slots=True, kw_only=True)
class ApiFigures:
    """What was measured; of each round one entry.

    Args:
        rest: Status requests while nothing else is done.
        alone: Events a second without clients.
        beside: The same with them.
        served: What they were answered.
        bare: The same where a bare server is asked for the status.
        alone_mb: The far daemon's memory behind each turn without clients.
        beside_mb: The same with them, while they are there.
        lost: Changes that did not arrive.
    """

    rest: Served
    alone: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    served: list[Served] = field(default_factory=list)
    bare: list[Served] = field(default_factory=list)
    alone_mb: list[int] = field(default_factory=list)
    beside_mb: list[int] = field(default_factory=list)
    lost: int = 0
    holds_s: float = 0.0
    holds: int = 0


def run(out: Path, *, quick: bool) -> bool:
    """Measure, print the tables, keep them as JSON; whether all bars hold."""
    sizes = QUICK if quick else FULL
    load = os.getloadavg()
    print(f"load before the run: {load[0]:.2f} {load[1]:.2f} {load[2]:.2f}, processors: {os.cpu_count()}\n", flush=True)
    directory = Path(tempfile.mkdtemp(prefix="syncer-bench-"))
    try:
        _say("two clusters come up")
        with Place(directory) as place:
            found = measure(place, sizes)
        _say(f"a region with {HOLDS} holds lists them")
        found.holds_s, found.holds = list_holds(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    result = Result(name="api", rows=rows(found), bars=bars(found))
    result.figures |= {
        "load_before": load,
        "processors": os.cpu_count(),
        "sizes": asdict(sizes),
        "measured": asdict(found),
    }
    return result.show(COLUMNS, out)


def _say(phase: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {phase}", file=sys.stderr, flush=True)


def measure(place: Place, sizes: ApiSizes) -> ApiFigures:
    """Start both daemons, and measure in turns."""
    (port, bare_port), tokens = free_ports(2), place.directory / "tokens.json"
    token = made(tokens, "bench")
    near, far = place.daemons
    far.api = (
        f'enabled = true\nlisten = "127.0.0.1:{port}"\ntokens = "{tokens}"\nmax_connections = 600\n'
        "max_connections_per_address = 600\nmax_streams = 300\nmax_streams_per_client = 300\n"
    )
    turns = sizes.warm_ups + sizes.rounds
    for tenant in ("warm", *(f"{kind}-{turn}" for turn in range(turns) for kind in KINDS)):
        place.make_tenant(tenant)
    _say("two daemons are started")
    ours.start(place)
    meters = {NEAR: Meter(near.used), FAR: Meter(far.used)}

    def turn(folder: str) -> tuple[float, int]:
        bursts: list[Burst] = [
            ours.burst(place, kind, f"{POLICIES}/{folder}", sizes.burst, number, meters)
            for number, kind in enumerate(("create", "update"))
        ]
        return sum(each.count for each in bursts) / sum(each.duration_s for each in bursts), sum(
            each.lost for each in bursts
        )

    with (
        Child("tests.bench.api_bare", str(bare_port), str(STATUS_BYTES), log=place.directory / "bare.log") as bare,
        Child("tests.bench.api_clients", str(port), token, log=place.directory / "clients.log") as clients,
    ):
        bare.hear()
        for number in range(sizes.warm_ups):
            turn(f"alone-{number}")
        _say("status requests at rest")
        found = ApiFigures(rest=Served.of(clients.ask("status", REST_S)))
        for number in range(sizes.warm_ups, turns):
            _say(f"round {number - sizes.warm_ups + 1} of {sizes.rounds}")
            for kind in KINDS if number % 2 else KINDS[::-1]:
                if kind != "alone":
                    clients.ask("begin", *([bare_port] if kind == "bare" else []))
                rate, lost = turn(f"{kind}-{number}")
                found.lost += lost
                if kind == "alone":
                    found.alone.append(rate)
                    found.alone_mb.append(far.resident_mb)
                elif kind == "beside":
                    found.beside.append(rate)
                    found.beside_mb.append(far.resident_mb)
                    found.served.append(Served.of(clients.ask("end")))
                else:
                    found.bare.append(Served.of(clients.ask("end")))
    return found


def bars(found: ApiFigures) -> list[Bar]:
    """What decides."""
    asked = (found.rest, *found.served, *found.bare)
    return [
        Bar(
            name="events/s of sync with clients",
            peer="the same without",
            ratio=median(mine / other for mine, other in zip(found.beside, found.alone, strict=True)),
            bar=SYNC_BAR,
        ),
        Bar(
            name="memory of the far daemon with clients, MB more",
            peer="(a difference)",
            ratio=max(found.beside_mb) - max(found.alone_mb),
            bar=MEMORY_BAR_MB,
            at_least=False,
        ),
        Bar(
            name="p99 of status requests beside sync and all clients",
            peer="the same at rest",
            ratio=median(each.p99_ms for each in found.served) / found.rest.p99_ms,
            bar=P99_BAR,
            at_least=False,
        ),
        Bar(
            name="the same",
            peer="a bare server beside the same",
            ratio=median(mine.p99_ms / other.p99_ms for mine, other in zip(found.served, found.bare, strict=True)),
            bar=P99_BARE_BAR,
            at_least=False,
        ),
        Bar(
            name=f"{HOLDS} holds listed to the end, s",
            peer="(a time)",
            ratio=found.holds_s,
            bar=HOLDS_BAR_S,
            at_least=False,
        ),
        Bar(name="holds not listed", peer="(a count)", ratio=HOLDS - found.holds, bar=0.0, at_least=False),
        Bar(
            name="requests refused or failed, streams ended, changes lost",
            peer="(a count)",
            ratio=float(found.lost + sum(each.failed + each.ended for each in asked)),
            bar=0.0,
            at_least=False,
        ),
    ]


def rows(found: ApiFigures) -> list[tuple[str, ...]]:
    """The table of figures."""
    served = found.served
    p99_ms = median(each.p99_ms for each in served)
    return [
        (
            "sync, creates and updates, events/s",
            _each(found.alone),
            _each(found.beside),
            f"{median(found.beside) / median(found.alone):.2f}",
        ),
        ("memory of the far daemon, MB", _each(found.alone_mb), _each(found.beside_mb), ""),
        (
            "status at rest / beside all, p99 ms",
            f"{found.rest.p99_ms:.1f}",
            f"{p99_ms:.1f} ({' '.join(f'{each.p99_ms:.0f}' for each in served)})",
            f"{p99_ms / found.rest.p99_ms:.2f}",
        ),
        (
            "a bare server beside the same, p99 ms",
            "",
            _each([each.p99_ms for each in found.bare]),
            "",
        ),
        ("status requests answered", str(found.rest.answered), str(sum(each.answered for each in served)), ""),
        ("scrapes answered", "", str(sum(each.scrapes for each in served)), ""),
        ("events/s of each of the streams", "", f"{median(each.events_per_s for each in served):.2f}", ""),
        (f"holds listed, of {HOLDS}", str(found.holds), f"{found.holds_s:.1f} s", ""),
    ]


def _each(figures: list[float] | list[int]) -> str:
    return f"{median(figures):.0f} ({' '.join(f'{figure:.0f}' for figure in figures)})"
