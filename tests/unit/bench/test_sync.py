"""The bench ``sync``: its bar is what the daemons cost against the servers, and its rows say which half they show."""

from __future__ import annotations

from dataclasses import replace

from tests.bench import sync
from tests.bench.native import SERVERS, NativeFigures, Received
from tests.bench.ours import FAR, NEAR, Burst, OurFigures
from tests.bench.pacing import UPDATES, ByRest, Waits
from tests.bench.signatures import Cost

WAITS = Waits(creates=[0.010, 0.020], updates=[0.030, 0.040])
PEER = NativeFigures(
    at_rest=0.02,
    creates=[Received(events_per_s=400, servers_us=us) for us in (5_000, 1_000, 1_900)],
    updates=[Received(events_per_s=800, servers_us=us) for us in (900, 600, 500)],
    by_rest=[ByRest(count=100, arrived=90, duration_s=1.0, cpu_us={SERVERS: 4_000})],
    waits=WAITS,
    paced=4,
    updates_arrived=5,
    outside_arrived=0,
)


def burst(near: float, far: float) -> Burst:
    """A burst of a hundred writes that all arrive."""
    return Burst(count=100, duration_s=0.5, writing_s=0.1, lost=0, cpu_us={SERVERS: 300, NEAR: near, FAR: far})


OWN = OurFigures(
    at_rest={SERVERS: 0.02, NEAR: 0.003, FAR: 0.004},
    creates=[burst(200, 300), burst(210, 310), burst(9_000, 9_000)],
    updates=[burst(100, 200), burst(110, 170), burst(50, 60)],
    by_rest=[ByRest(count=100, arrived=100, duration_s=0.5, cpu_us={SERVERS: 3_000, NEAR: 250, FAR: 350})],
    waits=WAITS,
    outside_waits=WAITS,
    paced=4,
    updates_arrived=UPDATES,
    differing=0,
    resident_mb=(100, 110),
)


def table() -> dict[str, list[str]]:
    """Rows of the table by their name."""
    rows = sync.rows(PEER, OWN, {"the group's key": Cost(made=16, checked=24)})
    return {name: cells for name, *cells in rows}


def test_the_bar_is_the_median_cpu_of_the_daemons_over_the_least_of_the_servers_without_them() -> None:
    cpu, _ = sync.bars(PEER, OWN)
    assert sync.servers_us(PEER) == (1_000 + 500) / 2
    assert sync.daemons_us(OWN) == (520 + 280) / 2
    assert (round(cpu.ratio, 3), cpu.bar, cpu.at_least, cpu.holds) == (0.533, 1.0, False, True)
    assert cpu.verdict == "holds; aim 0.5 not reached"


def test_a_machine_half_as_fast_changes_no_bar() -> None:
    slow_peer = replace(
        PEER,
        creates=[Received(events_per_s=b.events_per_s / 2, servers_us=2 * b.servers_us) for b in PEER.creates],
        updates=[Received(events_per_s=b.events_per_s / 2, servers_us=2 * b.servers_us) for b in PEER.updates],
    )
    slow = [
        [replace(b, duration_s=2 * b.duration_s, cpu_us={who: 2 * us for who, us in b.cpu_us.items()}) for b in kind]
        for kind in (OWN.creates, OWN.updates)
    ]
    assert sync.bars(slow_peer, replace(OWN, creates=slow[0], updates=slow[1])) == sync.bars(PEER, OWN)


def test_one_change_lost_in_any_way_fails_the_run() -> None:
    assert sync.bars(PEER, OWN)[1].holds
    lost = replace(OWN.creates[0], lost=1)
    late = replace(OWN.by_rest[0], arrived=99)
    for own in (
        replace(OWN, creates=[lost, *OWN.creates[1:]]),
        replace(OWN, updates=[lost]),
        replace(OWN, by_rest=[late]),
        replace(OWN, waits=Waits(creates=[0.1], updates=[0.1, 0.1])),
        replace(OWN, outside_waits=Waits(creates=[0.1], updates=[0.1, 0.1])),
        replace(OWN, differing=1),
        replace(OWN, updates_arrived=UPDATES - 1),
    ):
        assert (sync.bars(PEER, own)[1].ratio, sync.bars(PEER, own)[1].holds) == (1, False)


def test_rows_say_which_half_of_the_native_they_show_and_what_goes_end_to_end() -> None:
    rows = table()
    assert rows["creates: native's receiving half alone, all of ours, events/s"] == [
        "400 (400 400 400)",
        "200 (200 200 200)",
        "0.50",
    ]
    assert rows["by REST, end to end, events/s"] == ["90 (90)", "200 (200)", "2.22"]
    assert rows["by REST, of all requests: arrived"] == ["90 of 100", "100 of 100", ""]
    assert rows["by REST: CPU of both daemons per event, us"] == ["-", "600", "0.15"]
    assert rows["both in equal parts: CPU of servers without daemons, of both daemons, us"] == ["750", "400", "0.53"]
    assert rows["creates by REST at 20/s of both, p50 / p99 ms"][2] == "1.00"


def test_every_row_fits_the_columns() -> None:
    assert {len(row) for row in sync.rows(PEER, OWN, {})} == {len(sync.COLUMNS)}
