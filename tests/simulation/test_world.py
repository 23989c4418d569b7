"""The seeded world: every mode ends as the rules demand, each seed replays exactly, and every break is caught."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from unittest import mock

import pytest

from syncer.conflict.acts import Decision
from syncer.conflict.register import HoldReason, ParkReason
from syncer.model import MetaPath, Millis, Region, Stamp
from syncer.replacing import replace
from syncer.state.contract.conflicts import Amount
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.sql.transaction import SqlTransaction
from tests.property.strategies import tenant_event
from tests.simulation.campaign import Tier, errands, run
from tests.simulation.coverage import APART, BRANCHES, DECISIONS, FAULTS, HOLDS, PARKS, RARE, TOLD, TORN, lacking
from tests.simulation.faults import MODES
from tests.simulation.history import Violation
from tests.simulation.mutants import MUTANTS, Mutant, broken, hunt
from tests.simulation.region import FORGETTING
from tests.simulation.shrinking import Tape, shrink
from tests.simulation.sidecar import SqlDisk, play_on_sqlite
from tests.simulation.world import LONE, World, play
from tests.support.parts import parts_of

SEEDS_PER_MODE = 24
LONG_SEEDS_PER_MODE = 800
"""Of these the whole long form takes two hours on two cores; schedules by the ten thousands are for ``make proof``."""
LONG_SEEDS = {"versions": 2_000}
"""Modes of which more are played than of others in the long run."""
LONG_PARTS = 5
"""So many tests share the schedules of a mode in the long run: what hangs is told from what is merely a lot."""
SLOWER = {"parting": 4, "wiped-forgetting": 2, "liar-parting": 2, "liar-forgetting": 2}
"""Modes whose schedules take that many times as long as others; so many fewer are played."""
FOUND = [("repairs-forgetting", 1275), ("liar-wiped", 1173), ("repairs-people", 1593), ("liar-forgetting", 1417)]
"""Schedules of long runs: one ended while an epoch of deletes was on its way, behind an earlier one; in the other a
slow reader ended its rebuild before it had read what a peer had said; in the third a delete was taken back, and whoever
was asked for the value had yet to hear of it, in a world that did not compare; in the last a change dated ahead was
told to a database that began anew, and its time came before the store was looked at: the referee wanted it learned."""
MUTANT_SEEDS = 400
OFTEN_CAUGHT_WITHIN = 40
_CHANCES = {"asleep": "sleep", "vanished": "vanish", "mislaid": "mislay"}
"""Faults whose chance has another name."""


@pytest.mark.parametrize("mode", MODES)
def test_every_schedule_ends_as_the_rules_demand(mode: str) -> None:
    faults: Counter[str] = Counter()
    for seed in range(SEEDS_PER_MODE // SLOWER.get(mode, 1)):
        faults.update(play(mode, seed).met)
    _every_fault_was_made(mode, faults)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("part", range(LONG_PARTS))
@pytest.mark.parametrize("mode", MODES)
def test_every_schedule_ends_as_the_rules_demand_in_the_long_run(mode: str, part: int) -> None:
    seeds = LONG_SEEDS.get(mode, LONG_SEEDS_PER_MODE // SLOWER.get(mode, 1))
    for seed in range(SEEDS_PER_MODE + part, seeds, LONG_PARTS):
        play(mode, seed)


@pytest.mark.parametrize(("mode", "seed"), FOUND)
def test_a_schedule_that_was_once_found_broken_ends_as_the_rules_demand(mode: str, seed: int) -> None:
    play(mode, seed)


def _every_fault_was_made(mode: str, faults: Counter[str]) -> None:
    """A mode whose faults never happen tests nothing."""
    for name in (*FAULTS, *TORN):
        if getattr(MODES[mode], _CHANCES.get(name, name), 0):
            assert faults[name], f"{mode}: no {name} in {SEEDS_PER_MODE} schedules"
    for name in TOLD if MODES[mode].lies and not MODES[mode].accuses else ():  # an accuser says little else
        assert faults[name] or (name == "lie: mask" and not MODES[mode].masked), f"{mode}: no {name}"


@pytest.mark.parametrize("mode", MODES)
def test_a_seed_replays_exactly(mode: str) -> None:
    assert play(mode, 7).story.text == play(mode, 7).story.text


def test_a_seed_replays_exactly_in_another_process() -> None:
    """Nothing may depend on the order of a set of strings, which differs from process to process."""
    told = set()
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-m", "tests.simulation", "--mode", "trees-storm", "--seed", "7", "--story"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        run = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60, env=environment)
        told.add(run.stdout)
    assert len(told) == 1
    assert "outside: puts" in told.pop()


def test_a_broken_seed_tells_its_story() -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "stamp from known instead of seated")
    caught = hunt(mutant, MUTANT_SEEDS)
    assert caught is not None
    with broken(mutant), pytest.raises(Violation) as failure:
        play("calm", caught[0] - 1)
    (story,) = failure.value.__notes__
    assert "mode calm, seed" in story
    assert "outside: puts" in story
    assert failure.value.path in story


@pytest.mark.parametrize("mutant", [mutant for mutant in MUTANTS if not mutant.rare], ids=lambda mutant: mutant.name)
def test_a_break_of_the_algorithm_is_caught(mutant: Mutant) -> None:
    assert hunt(mutant, OFTEN_CAUGHT_WITHIN) is not None


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutant", [mutant for mutant in MUTANTS if mutant.rare], ids=lambda mutant: mutant.name)
def test_a_rarely_harmful_break_of_the_algorithm_is_caught(mutant: Mutant) -> None:
    assert hunt(mutant, MUTANT_SEEDS) is not None


def test_a_world_where_nothing_happens_is_at_rest() -> None:
    world = World(MODES["calm"], 1)
    world.finish()
    assert {site.disk.tables.identity.first_scan_done for site in world.sites.values()} == {True}


@pytest.mark.parametrize("mode", MODES)
def test_real_databases_and_real_messages_change_nothing(mode: str) -> None:
    """Both tiers tell the same story: the plain tables are what the real sidecar code keeps, call by call."""
    assert play_on_sqlite(mode, 7).story.text == play(mode, 7).story.text


@pytest.mark.parametrize("mode", ["forgetting", "forgetting-vanishing"])
def test_the_world_waits_for_deletes_that_are_forgotten_after_a_long_quiet(mode: str) -> None:
    world = deleted(mode, pause_ms=Millis(300_000))
    world.finish()
    assert not any(
        register.forgettable for site in world.sites.values() for register in site.disk.tables.registers.values()
    )


@pytest.mark.parametrize("mode", ["forgetting", "forgetting-vanishing"])
def test_a_delete_that_is_never_forgotten_is_noticed(mode: str) -> None:
    with pytest.raises(Violation, match=f"never forgotten: {LONE}"):
        deleted(mode, pause_ms=Millis(10**9)).finish()


def deleted(mode: str, *, pause_ms: Millis) -> World:
    """A world where something was made and deleted, and where the next look for deletes is so far away."""
    world = World(MODES[mode], 1)
    for region in world.sites:
        parts_of(world.start(region).driver).gc.tombstones.limits = replace(FORGETTING, pause_ms=pause_ms)
    world.put("a", LONE, world.value(LONE))
    world.settle()
    world.delete("a", LONE)
    return world


def test_a_database_that_keeps_something_else_is_noticed() -> None:
    def forgetting(transaction: object, paths: object) -> set[MetaPath]:
        del transaction, paths
        return set()

    with mock.patch.object(SqlTransaction, "open_paths", forgetting):
        tally = run(errands(Tier.SHELL, ["calm"], 0, 20), processes=1, keep_going=False)
    assert "sidecar: open_paths" in tally.broken[0].error.replace(": : ", ": ")


def test_real_databases_count_what_is_kept_aside_as_the_plain_tables_do() -> None:
    disk = SqlDisk(Region("a"))
    state, properties = disk.open(), {"syncer.region": "süd", "syncer.seq": "7"}
    state.activate()
    with state.transaction() as tx:
        for position in ("1", "2"):
            poison = DeadLetter(
                origin="bus", code="c", detail="why", position=position, payload=b"\xff?", properties=properties
            )
            tx.quarantine(poison, Millis(1))
        tx.hold_event(tenant_event(b'{"adminRoles":[]}', Stamp(Millis(9), Region("b")), {}), Millis(9), Millis(1))
        kept = tx.kept_aside()  # each call is made on both, and has to give the same
    disk.close()
    assert kept.poison == Amount(2, 2 * (2 + len('{"syncer.region":"süd","syncer.seq":"7"}'.encode())))
    assert kept.future.things == 1
    assert kept.future.size_bytes > len(b'{"adminRoles":[]}')


def test_processes_count_what_one_process_counts() -> None:
    one, two = (run(errands(Tier.CORE, ["calm", "storm"], 3, 50), processes=number) for number in (1, 2))
    assert one.schedules() == 50
    assert (one.played, one.met, one.broken) == (two.played, two.met, two.broken)


def test_a_broken_schedule_is_kept_with_its_story_and_ends_the_run() -> None:
    with broken(next(mutant for mutant in MUTANTS if mutant.name == "ignore what authors had seen")):
        tally = run(errands(Tier.CORE, ["calm"], 0, 1000), processes=1, keep_going=False)
    assert tally.broken
    assert tally.schedules() < 1000
    assert "outside: puts" in tally.broken[0].story
    assert "silent loss" in str(tally.broken[0])


def test_a_broken_schedule_is_shrunk_to_a_short_story_that_breaks_in_the_same_way() -> None:
    with broken(next(mutant for mutant in MUTANTS if mutant.name == "ignore what authors had seen")):
        tally = run(errands(Tier.CORE, ["calm"], 0, 100), processes=1, keep_going=False)
        bad = tally.broken[0]
        short, again = (shrink(bad.mode, bad.seed, attempts=150, seconds=600) for _ in range(2))
    assert short is not None
    assert again is not None
    assert short == again
    assert "silent loss" in short.error
    assert short.left < short.events / 2
    assert short.story.count("outside: ") >= 2
    assert shrink("calm", bad.seed) is None


def test_a_tape_changes_nothing_as_long_as_nothing_is_left_out() -> None:
    first = World(MODES["storm"], tape=(tape := Tape(7)))
    first.run()
    again = World(MODES["storm"], tape=Tape(7, tape.written))
    again.run()
    assert first.story.trace == again.story.trace == play("storm", 7).story.trace


def test_what_no_schedule_has_met_is_told() -> None:
    tally = run(errands(Tier.CORE, ["calm"], 0, 1), processes=1)
    assert "crash" in lacking(tally.met_anywhere, FAULTS)
    assert "overwritten" not in lacking(tally.met_anywhere, BRANCHES)


@pytest.mark.parametrize(("branch", "test"), sorted({**APART, **RARE}.items()))
def test_what_schedules_need_not_meet_is_met_by_a_test(branch: str, test: str) -> None:
    assert branch in {*DECISIONS, *HOLDS, *PARKS} - set(BRANCHES)
    reason = branch.partition(": ")[2]
    names = {member.name for kind in (Decision, HoldReason, ParkReason) for member in kind if member == reason}
    text = (Path(__file__).parents[2] / test).read_text()
    assert f'"{reason}"' in text or any(name in text for name in names)
