"""Plans performed on a store: conditional, in batches, refused when stale, repeatable; and where they come from."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from syncer.conflict.scope import Rule, Scope
from syncer.conflict.settings import Direction
from syncer.errors import (
    AccessDenied,
    InvariantBroken,
    NotEmpty,
    ParentMissing,
    PlanForeign,
    PlanInvalid,
    PlanStale,
    PreconditionFailed,
    RevisionMismatch,
    StoreUnavailable,
    ValueRefused,
)
from syncer.model import Digest, MetaPath, Region
from syncer.plan.operations import Action, Operation, Plan, planned
from syncer.plan.review import Reason
from syncer.planning import plan_file
from syncer.planning.apply import RunOutcome, perform, pretend
from syncer.planning.compare import compare
from syncer.planning.sources import LiveSide
from syncer.stores.contract import BatchRefused, Entry, Put, Write, Written
from syncer.stores.sqlite import OutsideWriter, SqliteConfig, SqliteStore
from syncer.stores.sqlite.store import MAX_BATCH_WRITES
from tests.support.planning import NOW, contents, fill, judged, plan_between, resources, value

pytestmark = pytest.mark.anyio

TENANT = MetaPath("/admin/policies/acme")
SPACE = MetaPath("/admin/policies/acme/orders")
TOPIC = MetaPath("/admin/partitioned-topics/acme/orders/persistent/topic-00000")
EAST, WEST = Region("east"), Region("west")
SCOPE = Scope()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(SqliteConfig(path=tmp_path / "east.db"))
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(SqliteConfig(path=tmp_path / "west.db"))
    await store.open()
    yield store
    await store.close()


@pytest.fixture
def writer(tmp_path: Path, store: SqliteStore) -> Iterator[OutsideWriter]:
    with contextlib.closing(OutsideWriter(tmp_path / "east.db")) as writer:
        yield writer


@pytest.fixture
def here(store: SqliteStore) -> LiveSide:
    return LiveSide(store, EAST, SCOPE)


@pytest.fixture
def there(other: SqliteStore) -> LiveSide:
    return LiveSide(other, WEST, SCOPE)


async def performed(plan: Plan, store: SqliteStore) -> RunOutcome:
    review = await judged(plan, store, SCOPE, allow=frozenset({Reason.FEWER_PARTITIONS}))
    assert review.refused == {}
    return await perform(review.accepted, store, SCOPE)


def plan_of(*operations: Operation) -> Plan:
    return planned(region=EAST, source="region west", made_at_ms=NOW, operations=operations)


async def test_two_regions_become_equal_and_the_reverse_brings_every_byte_back(
    store: SqliteStore, other: SqliteStore, here: LiveSide, there: LiveSide
) -> None:
    await fill(store, resources("acme", topics=3, bundles=8) | resources("gone", topics=2))
    await fill(other, resources("acme", topics=MAX_BATCH_WRITES + 10, partitions=6) | resources("new", topics=2))
    before = await contents(here)
    plan = await plan_between(here, there, deletes=True)
    outcome = await performed(plan, store)
    assert outcome.error is None
    assert (await plan_between(here, there, deletes=True)).operations == ()
    assert b'"numBundles": 8' in before[SPACE]
    assert b'"numBundles":8' in (await contents(here))[SPACE].replace(b" ", b""), "a bundle count is the cluster's own"
    await performed(plan.reversed(), store)
    assert await contents(here) == before


async def test_a_tenant_can_be_looked_at_alone(
    store: SqliteStore, other: SqliteStore, here: LiveSide, there: LiveSide
) -> None:
    await fill(store, resources("stays", topics=1))
    await fill(other, resources("acme", topics=1) | resources("new", topics=1))
    plan = await plan_between(here, there, deletes=True, tenants=["acme"])
    assert {each.path for each in plan.operations} == resources("acme", topics=1).keys()


async def test_only_what_both_sides_cover_is_compared(store: SqliteStore, other: SqliteStore, here: LiveSide) -> None:
    await fill(store, resources("acme", topics=1))
    narrow = Scope([Rule("/admin/policies/acme", Direction.BOTH), Rule("/admin/policies/more", Direction.BOTH)])
    await fill(other, {MetaPath("/admin/policies/more"): value(adminRoles=[])})
    plan = await plan_between(here, LiveSide(other, WEST, narrow), deletes=True)
    assert [(each.path, each.action) for each in plan.operations] == [
        (MetaPath("/admin/policies/more"), Action.CREATE),
        (TENANT, Action.DELETE),
    ]
    review = await judged(plan, store, SCOPE)
    assert [why.reason for why in review.refused[TENANT]] == [Reason.CHILDREN_ALIVE]


DIRECTIONS = [
    (Direction.BOTH, Direction.BOTH, True),
    (Direction.APPLY, Direction.PUBLISH, True),
    (Direction.PUBLISH, Direction.BOTH, False),
    (Direction.BOTH, Direction.APPLY, False),
    (Direction.APPLY, Direction.APPLY, False),
]


def directed(direction: Direction) -> Scope:
    """A scope in which topics go one way."""
    return Scope([Rule("/admin/partitioned-topics/**", direction), *SCOPE.rules])


@pytest.mark.parametrize(("ours", "theirs", "flows"), DIRECTIONS)
async def test_only_what_comes_in_from_there_is_compared(
    store: SqliteStore, other: SqliteStore, ours: Direction, theirs: Direction, *, flows: bool
) -> None:
    await fill(store, resources("acme", topics=2, partitions=2))
    await fill(other, resources("acme", topics=1, partitions=4))
    here, there = LiveSide(store, EAST, directed(ours)), LiveSide(other, WEST, directed(theirs))
    found = await compare(here, there, now=NOW, deletes=True)
    assert {each.path for each in found.plan.operations} == ({TOPIC, TOPIC[:-1] + "1"} if flows else set())
    assert (found.compared, found.held, found.other_way, found.unshared) == ((5, 5, 0, 0) if flows else (3, 3, 2, 0))
    assert found.plan.origin == WEST
    some = await compare(here, there, now=NOW, tenants=["beta"])
    assert (some.compared, some.other_way) == (0, 0)


@pytest.mark.parametrize(("ours", "theirs"), [pair[:2] for pair in DIRECTIONS])
async def test_a_regions_own_values_come_back_whichever_way_they_flow(
    store: SqliteStore, other: SqliteStore, ours: Direction, theirs: Direction
) -> None:
    await fill(store, resources("acme", topics=1, partitions=2))
    await fill(other, resources("acme", topics=1, partitions=4))
    here, there = LiveSide(store, EAST, directed(ours)), LiveSide(other, EAST, directed(theirs))
    found = await compare(here, there, now=NOW)
    assert [each.path for each in found.plan.operations] == [TOPIC]
    assert (found.other_way, found.plan.origin) == (0, None)


async def test_a_side_that_publishes_nothing_any_more_empties_nothing(
    store: SqliteStore, other: SqliteStore, here: LiveSide
) -> None:
    await fill(store, resources("acme", topics=1))
    await fill(other, {MetaPath("/admin/partitioned-topics/acme/orders/persistent/t"): value(partitions=1)})
    with pytest.raises(PreconditionFailed, match="holds nothing"):
        await plan_between(here, LiveSide(other, WEST, directed(Direction.APPLY)), deletes=True)


async def test_an_empty_side_never_empties_the_other(store: SqliteStore, here: LiveSide, there: LiveSide) -> None:
    await fill(store, resources("acme", topics=1))
    with pytest.raises(PreconditionFailed, match="holds nothing"):
        await plan_between(here, there, deletes=True)
    assert len((await plan_between(here, there)).left) == 4
    named = await compare(here, there, now=NOW, deletes=True, empty=True, only=TOPIC.__eq__)
    assert [each.path for each in named.plan.operations] == [TOPIC], "but for what is named"


async def test_what_changed_between_scan_and_read_is_compared_as_it_is_now(
    store: SqliteStore, other: SqliteStore, writer: OutsideWriter, here: LiveSide, there: LiveSide
) -> None:
    values = resources("acme", topics=0)
    await fill(other, values)

    class Late(LiveSide):
        """Replication lands just after the scan."""

        async def picture(self) -> dict[MetaPath, Digest]:
            found = await super().picture()
            for path, stored in values.items():
                writer.put(path, stored)
            return found

    assert (await plan_between(Late(store, EAST, SCOPE), there)).operations == ()


# -- a store that changed since


async def test_a_stale_plan_is_refused_before_the_first_write(
    store: SqliteStore, other: SqliteStore, writer: OutsideWriter, here: LiveSide, there: LiveSide
) -> None:
    await fill(store, resources("acme", topics=2))
    await fill(other, resources("acme", topics=2, partitions=8))
    plan = await plan_between(here, there)
    writer.put(TOPIC, value(partitions=5))
    before = await contents(here)
    review = await judged(plan, store, SCOPE)
    with pytest.raises(PlanStale, match=TOPIC) as caught:
        await perform(review.accepted, store, SCOPE)
    assert caught.value.code == "plan-stale"
    assert "syncer diff" in caught.value.hint
    assert await contents(here) == before


async def test_a_change_between_two_batches_stops_the_run_there(store: SqliteStore, writer: OutsideWriter) -> None:
    await fill(store, resources("acme", topics=MAX_BATCH_WRITES + 5))
    values = {
        path: stored for path, stored in resources("acme", topics=MAX_BATCH_WRITES + 5).items() if "topic" in path
    }
    plan = plan_of(*(Operation(path=path, before=old, after=value(partitions=8)) for path, old in values.items()))
    last = plan.operations[-1].path

    def meddle(done: int, total: int) -> None:
        writer.put(last, value(partitions=77))

    outcome = await perform(plan.operations, store, SCOPE, report=meddle)
    assert isinstance(outcome.error, PlanStale)
    assert last in outcome.error.message
    assert len(outcome.applied) == MAX_BATCH_WRITES
    assert [each.path for each in outcome.unreached] == [each.path for each in plan.operations[MAX_BATCH_WRITES:]]
    assert writer.get(last) == value(partitions=77)
    writer.put(last, value(partitions=4))
    again = await perform(plan.operations, store, SCOPE)
    assert (len(again.already), len(again.applied), again.error) == (MAX_BATCH_WRITES, 5, None)


async def test_a_parent_that_went_meanwhile_stops_the_run(store: SqliteStore, writer: OutsideWriter) -> None:
    await fill(store, resources("acme", topics=0))
    create = Operation(path=TOPIC, before=None, after=value(partitions=4))
    writer.delete(SPACE)
    outcome = await perform([create], store, SCOPE)
    assert isinstance(outcome.error, PlanStale)
    assert f"its parent {SPACE} was deleted" in outcome.error.message
    assert writer.get(TOPIC) is None


async def test_a_child_that_came_meanwhile_keeps_its_parent(store: SqliteStore, writer: OutsideWriter) -> None:
    values = resources("acme", topics=1)
    await fill(store, values)
    outcome = await perform([Operation(path=SPACE, before=values[SPACE], after=None)], store, SCOPE)
    assert isinstance(outcome.error, PlanStale)
    assert f"{TOPIC} was made below it" in outcome.error.message
    assert writer.get(SPACE) == values[SPACE]


async def test_a_child_out_of_scope_keeps_its_parent_too(store: SqliteStore, writer: OutsideWriter) -> None:
    writer.put(TENANT, b'{"a":1}')
    writer.put(SPACE, b"{}")
    scope = Scope(rules=(Rule(pattern=SPACE, direction=Direction.IGNORE), *SCOPE.rules))
    outcome = await perform([Operation(path=TENANT, before=b'{"a":1}', after=None)], store, scope)
    assert isinstance(outcome.error, PlanStale)
    assert "has something below it that the plan does not delete" in outcome.error.message
    assert writer.get(TENANT) == b'{"a":1}'


async def test_a_delete_counts_as_many_writes_as_the_store_says(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    capabilities = replace(store.capabilities, max_batch_writes=4, delete_weight=2)
    monkeypatch.setattr(SqliteStore, "capabilities", capabilities)
    paths = [MetaPath(f"{TOPIC}{number}") for number in range(5)]
    await fill(store, dict.fromkeys(paths, b'{"partitions":1}'))
    sent: list[int] = []

    async def note(writes: Sequence[Write]) -> tuple[Written, ...]:
        sent.append(len(writes))
        return await store.apply(writes)

    outcome = await perform(
        [Operation(path=path, before=b'{"partitions":1}', after=None) for path in paths], store, SCOPE, send=note
    )
    assert outcome.error is None
    assert sent == [2, 2, 1]


async def test_an_empty_inner_node_is_a_place_where_nothing_stands(store: SqliteStore, writer: OutsideWriter) -> None:
    writer.put(TENANT, b"")
    create = Operation(path=TENANT, before=None, after=value(adminRoles=[]))
    assert (await performed(plan_of(create), store)).error is None
    assert writer.get(TENANT) == value(adminRoles=[])


# -- a store that refuses


@pytest.mark.parametrize("cause", [AccessDenied("read-only"), ValueRefused("too large")])
async def test_a_refused_write_is_told_with_its_path(store: SqliteStore, cause: Exception) -> None:
    async def refuse(writes: Sequence[Write]) -> tuple[Written, ...]:
        raise BatchRefused(0, cause)

    outcome = await perform([Operation(path=TENANT, before=None, after=b"{}")], store, SCOPE, send=refuse)
    assert type(outcome.error) is type(cause)
    assert outcome.error is not None
    assert outcome.error.message.startswith(TENANT)


@pytest.mark.parametrize("cause", [RevisionMismatch("other"), ParentMissing("none"), NotEmpty("children")])
async def test_what_the_store_refuses_because_it_changed_is_a_stale_plan(store: SqliteStore, cause: Exception) -> None:
    async def refuse(writes: Sequence[Write]) -> tuple[Written, ...]:
        raise BatchRefused(1, cause)

    first, second = TENANT, MetaPath("/admin/policies/other")
    operations = [Operation(path=path, before=None, after=b"{}") for path in (first, second)]
    outcome = await perform(operations, store, SCOPE, send=refuse)
    assert isinstance(outcome.error, PlanStale)
    assert outcome.error.message.startswith(second), "the write that was refused, not the first of its batch"
    assert outcome.unreached == operations


async def test_an_answer_that_never_came_is_unknown_and_the_plan_can_be_repeated(store: SqliteStore) -> None:
    operation = Operation(path=TENANT, before=None, after=b'{"a":1}')

    async def silent(writes: Sequence[Write]) -> tuple[Written, ...]:
        await store.apply(writes)
        raise StoreUnavailable("no answer")

    outcome = await perform([operation], store, SCOPE, send=silent)
    assert isinstance(outcome.error, StoreUnavailable)
    assert outcome.unknown == [operation]
    assert outcome.unreached == []
    assert (await perform([operation], store, SCOPE)).already == [operation]


async def test_a_value_that_was_replaced_unread_is_told(store: SqliteStore) -> None:
    async def replaced(writes: Sequence[Write]) -> tuple[Written, ...]:
        return tuple(Written(path=each.path, revision=None, replaced_unread=True) for each in writes)

    outcome = await perform([Operation(path=TENANT, before=None, after=b"{}")], store, SCOPE, send=replaced)
    assert outcome.unread == [TENANT]


async def test_a_dry_run_is_the_whole_run_without_the_writes(
    store: SqliteStore, other: SqliteStore, here: LiveSide, there: LiveSide
) -> None:
    await fill(store, resources("gone", topics=3))
    await fill(other, resources("acme", topics=MAX_BATCH_WRITES + 5))
    before = await contents(here)
    plan = await plan_between(here, there, deletes=True)
    outcome = await perform((await judged(plan, store, SCOPE)).accepted, store, SCOPE, send=pretend)
    assert outcome.error is None
    assert outcome.applied == list(plan.operations)
    assert await contents(here) == before


async def test_a_batch_never_is_larger_than_the_store_can_take(store: SqliteStore) -> None:
    sent: list[Sequence[Write]] = []

    async def note(writes: Sequence[Write]) -> tuple[Written, ...]:
        sent.append(writes)
        return await store.apply(writes)

    big = value(properties={"a": "x" * 700_000})
    paths = [MetaPath(f"/admin/policies/t{number:03}") for number in range(30)]
    await perform([Operation(path=path, before=None, after=big) for path in paths], store, SCOPE, send=note)
    bound = store.capabilities.max_batch_bytes
    sizes = [sum(len(each.value) for each in batch if isinstance(each, Put)) for batch in sent]
    assert len(sizes) > 1
    assert max(sizes) <= bound
    assert [each.path for batch in sent for each in batch] == paths


async def test_nothing_outside_of_the_scope_is_ever_written(store: SqliteStore) -> None:
    own = Operation(path=MetaPath("/admin/policies/pulsar"), before=None, after=b"{}")
    with pytest.raises(InvariantBroken, match="no plan may write"):
        await perform([own], store, SCOPE)


async def test_a_sessions_own_node_is_never_touched(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(store, {TENANT: b'{"a":1}'})
    plain = store.read

    async def ephemeral(paths: Sequence[MetaPath]) -> dict[MetaPath, Entry | None]:
        return {
            path: Entry(path=path, value=entry.value, revision=entry.revision, modified_at_ms=None, ephemeral=True)
            for path, entry in (await plain(paths)).items()
            if entry is not None
        }

    monkeypatch.setattr(store, "read", ephemeral)
    with pytest.raises(PlanStale):
        await perform([Operation(path=TENANT, before=b'{"a":1}', after=None)], store, SCOPE)
    assert await LiveSide(store, EAST, SCOPE).values([TENANT]) == {}


# -- plan files

SMALL = plan_of(Operation(path=TENANT, before=b"\xff\x00", after=b'{"adminRoles":["\xc3\xbc"]}'))


def test_a_plan_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan_file.write(tmp_path / "plan.json", SMALL)
    assert plan_file.read(tmp_path / "plan.json", region=EAST) == SMALL
    assert [each.name for each in tmp_path.iterdir()] == ["plan.json"]


def test_a_plan_of_what_another_region_holds_says_so_and_is_of_another_version(tmp_path: Path) -> None:
    foreign = replace(SMALL, origin=WEST)
    plan_file.write(tmp_path / "plan.json", foreign)
    text = (tmp_path / "plan.json").read_text(encoding="utf-8")
    assert (plan_file.read(tmp_path / "plan.json"), '"version": 2' in text) == (foreign, True)
    for changed in (text.replace('  "origin": "west",\n', ""), text.replace('"version": 2', '"version": 1')):
        assert changed != text
        with pytest.raises(PlanInvalid, match="damaged or was edited"):
            plan_file.from_text(changed)


def test_a_plan_file_is_never_overwritten_by_accident(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(PreconditionFailed, match="left as it is"):
        plan_file.write(file, SMALL)
    assert file.read_text(encoding="utf-8") == "mine"
    plan_file.write(file, SMALL, replace=True)
    assert plan_file.read(file) == SMALL
    plan_file.discard(file)
    assert list(tmp_path.iterdir()) == []


def test_a_plan_of_another_region_is_refused(tmp_path: Path) -> None:
    plan_file.write(tmp_path / "plan.json", SMALL)
    with pytest.raises(PlanForeign, match="for region east, not for west"):
        plan_file.read(tmp_path / "plan.json", region=WEST)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"version": 1', '"version": 3', "version 3"),
        ('"version": 1', '"version": 2', "damaged or was edited"),
        ('"version": 1', '"version": [1]', r"version \[1\]"),
        ('"format": "pulsar-syncer-plan"', '"format": "other"', "is no plan"),
        ('"region": "east"', '"region": "west"', "damaged or was edited"),
        ('"left": []', '"left": [], "more": 1', "more: "),
        ('"base64": null', '"base64": 3', r"operations\.0\."),
        ("{", "", "no JSON"),
        ('"base64": "/wA="', '"base64": "/w?="', "damaged or was edited"),
    ],
)
def test_a_file_that_is_no_plan_is_refused(old: str, new: str, told: str) -> None:
    text = plan_file.to_text(SMALL)
    assert old in text
    with pytest.raises(PlanInvalid, match=told):
        plan_file.from_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"path": "/pulsar-syncer/east/fence"}, "no resource"),
        ({"path": "/admin/policies/../x"}, "illegal path"),
        ({"after": None, "before": None}, "changes nothing"),
        ({"after": plan_file.ValueRecord()}, "exactly one"),
        ({"after": plan_file.ValueRecord(text="a", base64="YQ==")}, "exactly one"),
        ({"after": plan_file.ValueRecord(base64="?")}, "cannot be read"),
    ],
)
def test_a_sealed_file_with_an_impossible_operation_is_refused(changed: dict[str, object], told: str) -> None:
    record = plan_file.PlanRecord.model_validate_json(plan_file.to_text(SMALL))
    operation = record.operations[0].model_copy(update=changed)
    forged = record.model_copy(update={"operations": (operation,)})
    sealed = forged.model_copy(update={"sha256": forged.seal()})
    with pytest.raises(PlanInvalid, match=told):
        plan_file.from_text(sealed.model_dump_json())


def test_a_plan_file_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(PreconditionFailed, match="cannot be read"):
        plan_file.read(tmp_path / "absent.json")
    with pytest.raises(PreconditionFailed, match="cannot be written"):
        plan_file.write(tmp_path / "absent" / "plan.json", SMALL)
