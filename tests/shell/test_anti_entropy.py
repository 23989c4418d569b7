"""Messages that the bus has lost for ever: two whole daemons become equal all the same, and say how they stand."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from syncer.bus.wire.messages import TreeMessage
from syncer.conflict.classes.pairs import label_of
from syncer.conflict.scope import Scope
from syncer.model import Region
from syncer.replication.antientropy.exchanges import Pace
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.waiting import WAIT_S, until
from tests.shell.on_bus import Bystander, changes_on, distinct_changes_on, heartbeat
from tests.shell.region import Site, active, equal, path_of, tenant
from tests.support.parts import parts_of


def lose_all(bus_file: Path) -> int:
    """Delete what stands on the bus and was not read by everybody; how many messages that were."""
    with closing(sqlite3.connect(bus_file, timeout=WAIT_S)) as db, db:
        db.execute("DELETE FROM log")
        return db.execute("DELETE FROM message").rowcount


def comparison(site: Site, peer: str) -> dict[str, Any]:
    """How a region says that it stands with another one."""
    found: dict[str, Any] = site.report().get("comparisons", {}).get(peer, {})
    return found


def in_state(state: str, *pairs: tuple[Site, str]) -> Callable[[], bool]:
    """Whether these regions say so."""
    return lambda: all(comparison(site, peer).get("state") == state for site, peer in pairs)


async def test_what_the_bus_has_lost_is_found_and_sent_again(east: Site, west: Site, bus_file: Path) -> None:
    async with east.running(), west.running():
        await active(east, west)
        for number in range(30):
            east.writer.put(path_of(f"both{number}"), tenant("old"))
        await equal(east, west)
        await until(in_state("equal", (east, "west"), (west, "east")), "the roots are equal")
    async with east.running():  # west is away
        await until(lambda: east.report().get("watch_whole"), "east watches again")
        for number in range(10):
            east.writer.put(path_of(f"both{number}"), tenant("newer"))
            east.writer.put(path_of(f"new{number}"), tenant("east"))
        for number in range(10, 12):
            east.writer.delete(path_of(f"both{number}"))
        await until(lambda: len(distinct_changes_on(bus_file)) >= 22, "east has published")
        await until(lambda: east.status().outbox.depth == 0, "nothing waits")
    assert lose_all(bus_file) >= 22
    for number in range(5):
        west.writer.put(path_of(f"only{number}"), tenant("west"))
    async with west.running():  # and now east is
        await until(lambda: len(distinct_changes_on(bus_file)) == 5, "west has published")
    assert lose_all(bus_file) >= 5
    async with east.running(), west.running():
        await equal(east, west)
        assert len(east.picture()) == 30 - 2 + 10 + 5
        await until(in_state("equal", (east, "west"), (west, "east")), "both say so")
    told = [
        event for event in changes_on(bus_file) if event.path.rpartition("/")[2].startswith(("both", "new", "only"))
    ]
    assert {event.path for event in told} == {
        path_of(name)
        for name in (
            *(f"both{number}" for number in range(12)),
            *(f"new{number}" for number in range(10)),
            *(f"only{number}" for number in range(5)),
        )
    }, "only what differed travels"
    assert not east.quarantined()
    assert not west.quarantined()
    assert not {"comparison-malformed", "regions-differ"} & (east.conditions().keys() | west.conditions().keys())


async def test_a_peer_that_answers_wrongly_or_never_is_reported_and_changes_nothing(
    east: Site, west: Site, bus_file: Path
) -> None:
    label = label_of(Scope())
    async with east.running() as running, west.running(), Bystander(bus_file, "odd") as odd:
        await active(east, west)
        assert running.pumps is not None
        parts_of(running.pumps.driver).antientropy.exchanges.pace = Pace(pause_ms=100, longest_ms=200)
        east.writer.put(path_of("acme"), tenant("a"))
        await equal(east, west)
        await until(in_state("equal", (east, "west")), "the roots are equal")

        async def says(code: str, tree: str = label, root: str = "ab" * 16) -> None:
            async def reported() -> bool:
                await odd.say(heartbeat("odd", sender="0" * 32, tree=tree, root=root))
                return code in east.conditions()

            await until(reported, f"{code} is reported", shown=east.conditions)

        for step, body in (("groups", b"short"), ("buckets", b"x"), ("listing", b"no zlib"), ("remainder", b"")):
            await odd.say(_step(label, step, body))
        await says("comparison-malformed")
        await odd.say(_step(label, "a step of tomorrow", b""))
        await odd.say(_step("another shape", "groups", b"\0" * 4096))
        await says("comparison-silent")
        await says("not-compared", tree="another shape")
        await says("not-compared", root="no number")
        west.writer.put(path_of("later"), tenant("b"))
        await equal(east, west)
        await until(in_state("equal", (east, "west")), "other peers go on")
    assert not east.quarantined()


def _step(label: str, step: str, body: bytes) -> TreeMessage:
    return TreeMessage(
        region=Region("odd"),
        sender="0" * 32,
        sent_at_ms=wall_clock_ms(),
        target="east",
        label=label,
        step=step,
        round=1,
        body=body,
    )
