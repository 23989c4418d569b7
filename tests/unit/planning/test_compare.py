"""Excluded fields in comparisons, plans and backups: no difference, never written, kept in a backup."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from syncer.backup.reading import Backup
from syncer.backup.side import BackupSide
from syncer.backup.taking import take_backup
from syncer.conflict.exclusion.rules import Exclusion, Exclusions
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.scope import Scope
from syncer.model import MetaPath, Region
from syncer.planning.apply import perform
from syncer.planning.compare import compare
from syncer.planning.completion import Completion
from syncer.planning.sources import LiveSide
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.stores.contract import Delete, Put
from syncer.stores.sqlite import SqliteConfig, SqliteStore
from tests.support.planning import NOW, contents, fill, resources
from tests.unit.state.test_contract import living

pytestmark = pytest.mark.anyio

SPACE = MetaPath("/admin/policies/acme/orders")
TOPIC = MetaPath("/admin/partitioned-topics/acme/orders/persistent/topic-00000")
EAST, WEST = Region("east"), Region("west")
SCOPE = Scope()
TTL = "message_ttl_in_seconds"
LIMIT = "max_topics_per_namespace"
GROUPS = KeptFields(excluded=(TTL,), group={TTL: 60})
RULES = Exclusions([Exclusion("/admin/policies/acme/*", (TTL,))]).at


def with_fields(text: bytes, **fields: int) -> bytes:
    return json.dumps({**json.loads(text), **fields}).encode()


async def spaces(store: SqliteStore) -> dict[str, object]:
    return dict(json.loads((await contents(LiveSide(store, EAST, SCOPE)))[SPACE]))


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """A region with a value of its own for a field that it excludes."""
    store = SqliteStore(SqliteConfig(path=tmp_path / "own.db"))
    await store.open()
    values = resources("acme", topics=1)
    values[SPACE] = with_fields(values[SPACE], **{TTL: 5, LIMIT: 1})
    await fill(store, values)
    yield store
    await store.close()


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(SqliteConfig(path=tmp_path / "other.db"))
    await store.open()
    values = resources("acme", topics=1)
    values[SPACE] = with_fields(values[SPACE], **{TTL: 60, LIMIT: 1})
    await fill(store, values)
    yield store
    await store.close()


@pytest.fixture(params=["at hand", "not at hand"])
def excluding(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Completion]:
    """Of a region that excludes a field, with and without its daemon's database; as plans for it are made."""
    if request.param == "not at hand":
        yield Completion(trouble="gone", drops=False, excluded=RULES, own=True)
        return
    with kept(tmp_path, EAST, own=True) as made:
        yield made


@contextmanager
def kept(folder: Path, region: Region, *, own: bool = False, fields: KeptFields = GROUPS) -> Iterator[Completion]:
    """Of a region that excludes a field, and whose daemon's database is at hand."""
    url = f"sqlite:///{folder / f'{region}-state.db'}"
    with closing(SqlState.open(url, region)) as state:
        state.activate()
        with state.transaction() as work:
            work.save([replace(living(SPACE), kept=fields)])
        with closing(Completion(Views.open(url, region), excluded=RULES, own=own)) as made:
            yield made


async def test_an_excluded_field_is_no_difference_either_way(
    own: SqliteStore, other: SqliteStore, excluding: Completion
) -> None:
    here, there = LiveSide(own, EAST, SCOPE, excluding), LiveSide(other, WEST, SCOPE)
    for one, two in ((here, there), (there, here)):
        assert (await compare(one, two, now=NOW)).plan.operations == ()


async def deleted(store: SqliteStore, path: MetaPath) -> None:
    entry = (await store.read([path]))[path]
    assert entry is not None
    await store.apply([Delete(path=path, expected=entry.revision)])


async def changed(store: SqliteStore, **fields: int) -> None:
    """Another program changes fields of the namespace."""
    entry = (await store.read([SPACE]))[SPACE]
    assert entry is not None
    await store.apply([Put(path=SPACE, value=with_fields(entry.value, **fields), expected=entry.revision)])


@pytest.mark.parametrize("at_hand", [True, False])
@pytest.mark.parametrize("ours", [99, None])
async def test_the_groups_value_comes_from_a_region_that_excludes_the_field_if_its_database_is_at_hand(
    own: SqliteStore, other: SqliteStore, tmp_path: Path, *, at_hand: bool, ours: int | None
) -> None:
    if ours is None:
        for path in (TOPIC, SPACE):
            await deleted(other, path)
    else:
        await changed(other, **{TTL: ours})
    without = Completion(drops=False, excluded=RULES)
    with kept(tmp_path, EAST) if at_hand else nullcontext(without) as completion:
        found = await compare(LiveSide(other, WEST, SCOPE), LiveSide(own, EAST, SCOPE, completion), now=NOW)
    after = {each.path: json.loads(each.after or b"{}").get(TTL) for each in found.plan.operations}
    assert (SPACE in after, after.get(SPACE)) == (at_hand or ours is None, 60 if at_hand else None)


@pytest.mark.parametrize("fields", [KeptFields(excluded=(TTL,), untold=(TTL,)), KeptFields(excluded=(LIMIT,))])
async def test_where_the_database_does_not_tell_the_groups_value_nothing_is_said_of_it(
    own: SqliteStore, other: SqliteStore, tmp_path: Path, fields: KeptFields
) -> None:
    with kept(tmp_path, EAST, fields=fields) as completion:
        there = LiveSide(own, EAST, SCOPE, completion)
        assert await there.own([SPACE, TOPIC]) == {SPACE: frozenset({TTL})}
        assert (await compare(LiveSide(other, WEST, SCOPE), there, now=NOW)).plan.operations == ()


async def test_a_plan_leaves_an_excluded_field_as_it_stands(
    own: SqliteStore, other: SqliteStore, excluding: Completion
) -> None:
    await changed(other, **{LIMIT: 2})
    here = LiveSide(own, EAST, SCOPE, excluding)
    plan = (await compare(here, LiveSide(other, WEST, SCOPE), now=NOW)).plan
    outcome = await perform(plan.operations, own, SCOPE, completion=excluding)
    assert outcome.error is None
    found = await spaces(own)
    assert (found[TTL], found[LIMIT]) == (5, 2)


async def test_a_plan_beside_an_excluded_field_is_resumed_and_taken_back(
    own: SqliteStore, other: SqliteStore, excluding: Completion
) -> None:
    before = await spaces(own)
    await changed(other, **{LIMIT: 2})
    plan = (await compare(LiveSide(own, EAST, SCOPE, excluding), LiveSide(other, WEST, SCOPE), now=NOW)).plan
    await perform(plan.operations, own, SCOPE, completion=excluding)
    again = await perform(plan.operations, own, SCOPE, completion=excluding)
    assert (again.error, again.already) == (None, list(plan.operations))
    undone = await perform(plan.reversed().operations, own, SCOPE, completion=excluding)
    assert (undone.error, len(undone.applied)) == (None, 1)
    assert await spaces(own) == before


async def test_what_a_plan_deleted_comes_back_with_the_regions_own_value(
    own: SqliteStore, other: SqliteStore, excluding: Completion
) -> None:
    before = await spaces(own)
    for path in (TOPIC, SPACE):
        await deleted(other, path)
    here = LiveSide(own, EAST, SCOPE, excluding)
    plan = (await compare(here, LiveSide(other, WEST, SCOPE), now=NOW, deletes=True)).plan
    await perform(plan.operations, own, SCOPE, completion=excluding)
    assert SPACE not in await contents(here)
    undone = await perform(plan.reversed().operations, own, SCOPE, completion=excluding)
    assert (undone.error, await spaces(own)) == (None, before)


async def test_what_a_plan_creates_lacks_an_excluded_field_but_from_the_regions_own_backup(
    own: SqliteStore, other: SqliteStore, tmp_path: Path
) -> None:
    target = tmp_path / "backup"
    rules = Completion(drops=False, excluded=RULES, own=True)
    await take_backup(LiveSide(own, EAST, SCOPE, rules), target, clusters=(), now=NOW, made_by="")
    empty = SqliteStore(SqliteConfig(path=tmp_path / "empty.db"))
    await empty.open()
    here = LiveSide(empty, EAST, SCOPE, rules)
    fresh = {
        each.path: each.after for each in (await compare(here, LiveSide(other, WEST, SCOPE), now=NOW)).plan.operations
    }
    assert TTL not in json.loads(fresh[SPACE] or b"{}")
    back = {
        each.path: each.after for each in (await compare(here, BackupSide(Backup(target)), now=NOW)).plan.operations
    }
    assert json.loads(back[SPACE] or b"{}")[TTL] == 5
    await empty.close()


async def test_what_cannot_be_read_is_written_as_it_is() -> None:
    rules = Completion(excluded=RULES)
    assert rules.written(SPACE, b"{", b"{}") == b"{"
    assert rules.written(SPACE, b'{"a":1}', None) == b'{"a":1}'
    assert json.loads(rules.written(SPACE, with_fields(b"{}", **{TTL: 60}), with_fields(b"{}", **{TTL: 5}))) == {TTL: 5}
