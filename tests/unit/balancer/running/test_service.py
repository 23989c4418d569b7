"""The service of moves: plans are carried out, stopped and resumed, with a cluster that may refuse or hang."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import ParamSpec, TypeVar

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.admin.calls import AdminCalls
from syncer.admin.stillness import STILL
from syncer.balancer.moving.bounds import RunBounds
from syncer.balancer.moving.move_plan import MovePlan
from syncer.balancer.running import plan_file
from syncer.balancer.running.service import BACK_OFF_S, MoveService
from syncer.errors import AdminDenied, Fenced
from syncer.model import Millis
from syncer.operations.contract import OperationKind
from syncer.state.contract.operations import MAX_PENDING, Operation, OperationState
from syncer.state.contract.work.move_runs import KeptMoveRun
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.waiting import WAIT_S
from tests.support.moving_calls import MovingCalls
from tests.support.moving_cluster import MovingCluster
from tests.unit.balancer.moving.test_move_plan import MOVE, PLAN
from tests.unit.balancer.moving.test_split import SPLIT
from tests.unit.state.contract import test_migrations
from tests.unit.state.test_contract import EAST

pytestmark = pytest.mark.anyio
P = ParamSpec("P")
T = TypeVar("T")
IDLE_TURNS = 40
"""Turns of the loop in which nobody asks or falls asleep: all wait for the clock."""
OTHER = replace(MOVE, bundle="acme/orders/0x80000000_0xffffffff", source="b:80", target="a:80")
BOTH = replace(PLAN, moves=(MOVE, OTHER))


class Killed(BaseException):
    """The daemon is no more."""


class DirectThread:
    """Runs a transaction at once."""

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)


@dataclass
class Region:
    """A daemon's database, a cluster, and a clock that goes on once all that can be done has been done."""

    calls: MovingCalls
    state: MemoryState = field(default_factory=lambda: MemoryState(MemoryDatabase(EAST, "f" * 32)))
    on_sleep: Callable[[], Awaitable[None]] | None = None
    sleeping: list[int] = field(default_factory=list)
    """When those who sleep wake up."""

    def __post_init__(self) -> None:
        self.state.activate()

    @asynccontextmanager
    async def opened(self, table: str) -> AsyncIterator[AdminCalls]:
        assert table == "east"
        yield self.calls

    def now_ms(self) -> Millis:
        return Millis(self.calls.moving.now_ms)

    async def sleep(self, seconds: float) -> None:
        if self.on_sleep is not None:
            await self.on_sleep()
        moving, turns = self.calls.moving, 0
        due = moving.now_ms + int(seconds * 1000)
        self.sleeping.append(due)
        try:
            while moving.now_ms < due:
                before = (moving.now_ms, len(self.sleeping), len(self.calls.asked))
                await anyio.lowlevel.checkpoint()
                turns = turns + 1 if before == (moving.now_ms, len(self.sleeping), len(self.calls.asked)) else 0
                if turns > IDLE_TURNS and due == min(self.sleeping):
                    moving.now_ms = due
        finally:
            self.sleeping.remove(due)

    def ask(self, kind: OperationKind, **arguments: str) -> int:
        return self.state.ask(kind, arguments, "ann", "uneven")

    def operation(self, number: int) -> Operation:
        return self.state.database.operations[number][0]

    def open_run(self) -> KeptMoveRun | None:
        with self.state.transaction() as tx:
            return tx.move_run()

    def run(self, number: int = 1) -> KeptMoveRun:
        with self.state.transaction() as tx:
            found = tx.move_run(number)
        assert found is not None
        return found

    def standings(self, number: int = 1) -> list[str]:
        with self.state.transaction() as tx:
            return [each["standing"] for each in tx.move_run_moves(number)]


@pytest.fixture
def region() -> Region:
    return region_of()


def region_of() -> Region:
    owners: dict[str, str | None] = {MOVE.bundle: "a:80", OTHER.bundle: "b:80"}
    return Region(MovingCalls(MovingCluster(owners, {"a:80", "b:80", "c:80"}, {"other": "1"})))


class Clusters:
    def __init__(self, region: Region) -> None:
        self.calls = region.opened


async def served(region: Region, until: Callable[[], bool], *, observing: bool = False) -> MoveService:
    """Serve until something is so."""
    service = MoveService(
        region.state, DirectThread(), Clusters(region), region.now_ms, sleep=region.sleep, observing=observing
    )
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(service.moves)
            while not until():
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    return service


async def applied(region: Region, plan: MovePlan = BOTH, dry: str = "false") -> Operation:
    number = region.ask(OperationKind.MOVES_APPLY, plan=plan_file.to_text(plan), dry=dry)
    await served(region, lambda: region.operation(number).state is not OperationState.PENDING)
    return region.operation(number)


async def test_a_plan_is_carried_out_and_the_settings_are_as_before(region: Region) -> None:
    answer = await applied(region)
    assert (answer.state, answer.answer) == (OperationState.DONE, "the run of moves 1 has begun: 2 moves")
    await served(region, lambda: region.open_run() is None)
    assert region.calls.moving.owners == {MOVE.bundle: "b:80", OTHER.bundle: "a:80"}
    assert region.calls.moving.dynamic == {"other": "1"}
    assert region.standings() == ["done", "done"]
    assert len(region.calls.moving.unloads) == 2
    assert (region.run().asked_by, region.run().reason) == ("ann", "uneven")


@pytest.mark.parametrize("dry", ["true", "", "no"])
async def test_unless_it_is_said_otherwise_a_run_is_dry(region: Region, dry: str) -> None:
    region.calls.moving.owners[OTHER.bundle] = "c:80"
    answer = await applied(region, dry=dry)
    assert answer.answer == f"dry run: 1 of 2 moves would be asked for now; {OTHER.bundle}: moved-by-others"
    assert answer.state is OperationState.DONE
    assert region.open_run() is None
    assert not any(each.startswith(("PUT", "POST", "DELETE")) for each in region.calls.asked)


SPLITTING = replace(PLAN, moves=(replace(MOVE, bundle=SPLIT.halves[0], throughput=None),), splits=(SPLIT,))


async def test_a_bundle_is_split_and_one_half_moves(region: Region) -> None:
    dry = await applied(region, SPLITTING, dry="true")
    assert dry.answer == "dry run: 1 of 1 moves and 1 of 1 splits would be asked for now"
    answer = await applied(region, SPLITTING)
    assert answer.answer == "the run of moves 1 has begun: 1 moves after 1 splits"
    await served(region, lambda: region.open_run() is None)
    lower, upper = SPLIT.halves
    assert region.calls.moving.owners == {lower: "b:80", upper: "a:80", OTHER.bundle: "b:80"}
    assert region.run().run["splits"][0]["standing"] == "done"
    assert region.standings() == ["done"]
    assert region.calls.moving.dynamic == {"other": "1"}


async def test_a_namespace_that_is_full_is_not_split(region: Region) -> None:
    region.calls.most_bundles = "2"
    dry = await applied(region, SPLITTING, dry="true")
    assert dry.answer.endswith(f"; {SPLIT.bundle}: namespace-full")
    await applied(region, SPLITTING)
    await served(region, lambda: region.open_run() is None)
    assert (region.standings(), region.calls.moving.splits) == (["not-made"], [])
    region.calls.most_bundles = "many"
    assert (await applied(region, SPLITTING)).code == "admin-error"


@pytest.mark.parametrize(("status", "standing", "stop"), [(412, "refused", None), (403, "refused", AdminDenied.code)])
async def test_a_split_that_is_refused_ends_with_the_clusters_words(
    region: Region, status: int, standing: str, stop: str | None
) -> None:
    region.calls.refusals["/split?"] = status
    await applied(region, SPLITTING)
    await served(region, lambda: region.open_run() is None)
    split, ended = region.run().run["splits"][0], region.run().run["stop"]
    assert (split["standing"], f"answered {status}" in split["words"]) == (standing, True)
    assert (ended and ended["code"]) == stop
    assert region.calls.moving.dynamic == {"other": "1"}


async def test_a_split_that_hangs_is_looked_at_and_not_asked_for_again(region: Region) -> None:
    region.calls.refusals["/split?"] = 0
    await applied(region, SPLITTING)
    await served(region, lambda: region.open_run() is None)
    assert sum("/split?" in each for each in region.calls.asked) == 1
    assert region.run().run["splits"][0]["standing"] == "not-split"


async def test_a_run_that_is_killed_again_and_again_is_carried_to_its_end(region: Region) -> None:
    await applied(region)
    sleeps = 0

    async def kill() -> None:
        nonlocal sleeps
        sleeps += 1
        if sleeps % 3 == 0:
            raise Killed

    region.on_sleep = kill
    kills = 0
    while region.open_run() is not None:
        with suppress(BaseExceptionGroup):
            await served(region, lambda: region.open_run() is None)
        kills = sleeps // 3
        region.state.activate()
    assert kills > 1
    assert region.calls.moving.dynamic == {"other": "1"}
    assert region.standings() == ["done", "done"]


async def test_a_stop_ends_it_and_puts_the_settings_back(region: Region) -> None:
    await applied(region, replace(BOTH, bounds=RunBounds(per_hour=1)))
    await served(region, lambda: "done" in region.standings())
    number = region.ask(OperationKind.MOVES_STOP)
    await served(region, lambda: region.open_run() is None)
    assert "begins nothing more" in region.operation(number).answer
    assert region.standings() == ["done", "not-begun"]
    assert region.run().run["stop"] == {"code": "asked", "words": "uneven", "who": "ann"}
    assert region.calls.moving.dynamic == {"other": "1"}
    again = region.ask(OperationKind.MOVES_STOP)
    await served(region, lambda: region.operation(again).state is OperationState.FAILED)
    assert "no run of moves is open" in region.operation(again).answer


async def test_what_waits_for_others_keeps_no_run_waiting(region: Region) -> None:
    for _ in range(MAX_PENDING):
        region.ask(OperationKind.PAUSE)
    assert (await applied(region)).state is OperationState.DONE


async def test_a_plan_of_another_cluster_is_refused(region: Region) -> None:
    answer = await applied(region, replace(PLAN, cluster="west-1"))
    assert (answer.state, answer.code) == (OperationState.FAILED, "plan-foreign")
    assert "leads to 'east-1', and the plan is for 'west-1'" in answer.answer
    assert region.open_run() is None


async def test_beside_a_migration_or_another_run_none_begins(region: Region) -> None:
    migration = test_migrations.begun(region.state)
    answer = await applied(region)
    assert (answer.state, answer.code) == (OperationState.FAILED, "balancing-owned")
    with region.state.transaction() as tx:
        tx.save_migration(test_migrations.over(migration))
    await applied(region)
    assert (await applied(region)).code == "balancing-owned"


async def test_two_daemons_do_not_move_bundles_of_one_cluster_at_once(region: Region) -> None:
    other = Region(region.calls)
    await applied(region, replace(BOTH, bounds=RunBounds(per_hour=1, quiet=None)))
    await served(region, lambda: region.run().phase == "moving")
    for dry in ("true", "false"):
        answer = await applied(other, dry=dry)
        assert (answer.state, answer.code) == (OperationState.FAILED, "balancing-owned")
        assert f"the run of moves with the claim '{region.run().run['claim']}' holds it" in answer.answer
    assert other.open_run() is None
    region.ask(OperationKind.MOVES_STOP)
    await served(region, lambda: region.open_run() is None)
    await applied(other)
    await served(other, lambda: other.open_run() is None)
    assert (region.calls.moving.dynamic, region.calls.moving.claim) == ({"other": "1"}, "")


async def test_a_claim_that_comes_between_ends_the_run_before_it_sets_anything(region: Region) -> None:
    await applied(region)
    region.calls.moving.claim = "theirs"
    await served(region, lambda: region.open_run() is None)
    assert region.run().run["stop"]["code"] == "balancing-owned"
    assert (region.calls.moving.claim, region.calls.moving.dynamic) == ("theirs", {"other": "1"})
    assert (region.calls.moving.unloads, region.standings()) == ([], ["not-begun", "not-begun"])


async def test_what_another_daemons_migration_has_frozen_is_left_frozen(region: Region) -> None:
    region.calls.moving.dynamic |= STILL
    answer = await applied(region)
    assert (answer.state, answer.code) == (OperationState.FAILED, "balancing-owned")
    assert "were switched off at run time by somebody else" in answer.answer
    assert region.calls.moving.dynamic == {"other": "1", **STILL}
    assert region.open_run() is None


async def test_a_cluster_without_a_place_for_claims_is_moved_all_the_same(region: Region) -> None:
    region.calls.moving.claim = None
    await applied(region)
    await served(region, lambda: region.open_run() is None)
    assert region.standings() == ["done", "done"]


async def test_a_403_to_the_claim_stops_the_run_before_it_sets_anything(region: Region) -> None:
    region.calls.refusals["PUT /admin/v2/namespaces/pulsar/system/property"] = 403
    await applied(region)
    await served(region, lambda: region.open_run() is None)
    assert region.run().run["stop"]["code"] == AdminDenied.code
    assert (region.calls.moving.unloads, region.calls.moving.dynamic) == ([], {"other": "1"})


async def test_shedding_that_is_not_as_the_plan_saw_it_is_no_ground_for_the_plan(region: Region) -> None:
    plan = replace(BOTH, sheds=True)
    region.calls.moving.dynamic["loadBalancerSheddingEnabled"] = "false"
    answer = await applied(region, plan)
    assert (answer.state, answer.code) == (OperationState.FAILED, "plan-stale")
    assert "is false, and was true when the plan was made" in answer.answer
    del region.calls.moving.dynamic["loadBalancerSheddingEnabled"]
    assert (await applied(region, plan)).state is OperationState.DONE


async def test_a_403_to_the_unload_stops_the_run_with_its_code(region: Region) -> None:
    region.calls.refusals["unload"] = 403
    await applied(region)
    await served(region, lambda: region.open_run() is None)
    assert region.run().run["stop"]["code"] == AdminDenied.code
    assert region.standings() == ["refused", "not-begun"]
    assert region.calls.moving.dynamic == {"other": "1"}


async def test_a_403_to_the_first_setting_stops_it_before_anything_moves(region: Region) -> None:
    region.calls.refusals[f"configuration/{next(iter(STILL))}/false"] = 403
    await applied(region)
    await served(region, lambda: region.open_run() is None)
    assert region.run().run["stop"]["code"] == AdminDenied.code
    assert (region.calls.moving.unloads, region.calls.moving.dynamic) == ([], {"other": "1"})


async def test_a_broker_that_hangs_is_told_and_waited_for(region: Region) -> None:
    await applied(region)
    await served(region, lambda: region.open_run() is not None and region.run().phase == "moving")
    region.calls.refusals["GET"] = 0
    asked = len(region.calls.asked)
    await served(region, lambda: len(region.calls.asked) > asked + 5)
    trouble = region.run().trouble
    assert (trouble["code"], "no answer" in trouble["message"], bool(trouble["hint"])) == (
        "admin-unreachable",
        True,
        True,
    )
    assert trouble["since_ms"] < region.calls.moving.now_ms, "it is the same trouble all the time"
    assert trouble["next_ms"] > trouble["since_ms"] + 1_000 * BACK_OFF_S[0], "later attempts come later"
    region.calls.refusals.clear()
    await served(region, lambda: not region.run().trouble)
    await served(region, lambda: region.open_run() is None)
    assert region.standings() == ["done", "done"]
    assert region.calls.moving.dynamic == {"other": "1"}


async def test_a_setting_that_fails_again_and_again_is_one_trouble(region: Region) -> None:
    region.calls.refusals[f"configuration/{next(iter(STILL))}/false"] = 500
    await applied(region)
    await served(region, lambda: region.run().trouble.get("next_ms", 0) > region.run().made_at_ms + 15_000)
    trouble = region.run().trouble
    assert (trouble["code"], trouble["next_ms"] - trouble["since_ms"] > 10_000) == ("admin-error", True)


async def test_an_unload_that_hangs_is_looked_at_and_asked_for_again(region: Region) -> None:
    region.calls.refusals["unload"] = 0
    await applied(region, PLAN)
    unload = f"PUT /admin/v2/namespaces/acme/orders/{MOVE.bundle.rpartition('/')[2]}/unload?destinationBroker=b%3A80"
    await served(region, lambda: region.calls.asked.count(unload) == 2)
    first, second = (at for at, each in enumerate(region.calls.asked) if each == unload)
    assert any("ownedNamespaces" in each for each in region.calls.asked[first:second])
    region.calls.refusals.clear()
    await served(region, lambda: region.open_run() is None)
    assert region.standings() == ["done"]


async def test_a_daemon_that_only_observes_moves_nothing(region: Region) -> None:
    number = region.ask(OperationKind.MOVES_APPLY, plan=plan_file.to_text(PLAN))
    await served(region, lambda: region.operation(number).state is OperationState.FAILED, observing=True)
    assert "only observes" in region.operation(number).answer
    assert region.open_run() is None


async def test_another_daemon_that_becomes_active_ends_the_service(region: Region) -> None:
    await applied(region)
    former = MoveService(region.state, DirectThread(), Clusters(region), region.now_ms, sleep=region.sleep)
    MemoryState(region.state.database).activate()
    with pytest.raises(BaseExceptionGroup) as caught:
        await former.moves()
    assert caught.value.subgroup(Fenced) is not None


NEVER = 10**9


@dataclass
class SlowClusters:
    """A cluster that takes long to answer whether a plan may begin, and never answers the one that carries a run."""

    region: Region
    turns: list[int]
    """How many turns of the loop each next answer takes."""

    @asynccontextmanager
    async def calls(self, table: str) -> AsyncIterator[AdminCalls]:
        if self.region.open_run() is not None:
            await anyio.sleep_forever()
        for _ in range(self.turns.pop(0)):
            await anyio.lowlevel.checkpoint()
        async with self.region.opened(table) as calls:
            yield calls


async def answered(region: Region, clusters: SlowClusters, until: Callable[[], bool]) -> None:
    service = MoveService(region.state, DirectThread(), clusters, region.now_ms, sleep=region.sleep)
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(service.moves)
            while not until():
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


def plan_asked(region: Region, kind: OperationKind) -> int:
    return region.ask(kind, plan=plan_file.to_text(PLAN), dry=str(kind != OperationKind.MOVES_APPLY).lower())


async def test_a_stop_waits_for_no_dry_run(region: Region) -> None:
    """The cluster hangs when the first dry run asks it, and answers the next who does."""
    clusters = SlowClusters(region, [NEVER, 1])
    dry = [plan_asked(region, OperationKind.MOVES_DRY_RUN) for _ in range(MAX_PENDING)]
    later: list[int] = []

    def over() -> bool:
        if not later and len(clusters.turns) == 1:
            later.extend((plan_asked(region, OperationKind.MOVES_APPLY), region.ask(OperationKind.MOVES_STOP)))
        return bool(later) and all(region.operation(each).state is OperationState.DONE for each in later)

    await answered(region, clusters, over)
    assert {region.operation(each).state for each in dry} == {OperationState.PENDING}
    assert region.run().stop == {"code": "asked", "words": "uneven", "who": "ann"}


async def test_dry_runs_are_answered_one_after_another(region: Region) -> None:
    dry = [plan_asked(region, OperationKind.MOVES_DRY_RUN) for _ in range(3)]
    await served(region, lambda: all(region.operation(each).state is OperationState.DONE for each in dry))
    assert {region.operation(each).answer for each in dry} == {"dry run: 1 of 1 moves would be asked for now"}
    assert region.open_run() is None


ASKED = st.lists(
    st.sampled_from([OperationKind.MOVES_APPLY, OperationKind.MOVES_DRY_RUN, OperationKind.MOVES_STOP]), max_size=8
)


@given(kinds=ASKED, turns=st.lists(st.integers(0, 30), min_size=9, max_size=9), late=st.integers(0, 8))
async def test_what_begins_and_what_stops_is_answered_in_the_order_it_was_asked(
    kinds: list[OperationKind], turns: list[int], late: int
) -> None:
    """Whenever a part of it is asked, and however long each answer takes. The run that has begun never ends here."""
    region = region_of()
    clusters = SlowClusters(region, turns)
    numbers = [_any(region, each) for each in kinds[:late]]

    def over() -> bool:
        if len(numbers) < len(kinds):
            numbers.append(_any(region, kinds[len(numbers)]))
        return all(region.operation(each).state is not OperationState.PENDING for each in numbers)

    await answered(region, clusters, over)
    first = next((at for at, each in enumerate(kinds) if each is OperationKind.MOVES_APPLY), len(kinds))
    for at, number in enumerate(numbers):
        done = region.operation(number).state is OperationState.DONE
        if kinds[at] is OperationKind.MOVES_APPLY:
            assert done is (at == first)
        elif kinds[at] is OperationKind.MOVES_STOP:
            assert done is (at > first)


def _any(region: Region, kind: OperationKind) -> int:
    return region.ask(kind) if kind is OperationKind.MOVES_STOP else plan_asked(region, kind)
