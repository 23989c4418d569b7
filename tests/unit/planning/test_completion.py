"""What is read of a store is completed by its daemon's database: for comparisons, for backups, and for plans."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from syncer.backup.reading import Backup
from syncer.backup.side import BackupSide
from syncer.backup.taking import take_backup
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.scope import Scope
from syncer.errors import PlanStale
from syncer.model import MetaPath, Region
from syncer.planning.apply import perform
from syncer.planning.compare import compare
from syncer.planning.completion import Completion
from syncer.planning.sources import LiveSide
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.stores.contract import Put
from syncer.stores.sqlite import SqliteConfig, SqliteStore
from tests.support.planning import NOW, contents, fill, resources, value
from tests.unit.state.test_contract import living

pytestmark = pytest.mark.anyio

SPACE = MetaPath("/admin/policies/acme/orders")
EAST, WEST = Region("east"), Region("west")
SCOPE = Scope()
NEWER = {"is_allow_auto_update_schema_with_replicator": True}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(SqliteConfig(path=tmp_path / "east.db"))
    await store.open()
    await fill(store, resources("acme", topics=1))
    yield store
    await store.close()


@pytest.fixture
def completion(tmp_path: Path) -> Iterator[Completion]:
    """Of a region whose brokers have dropped a field of one namespace."""
    url = f"sqlite:///{tmp_path / 'state.db'}"
    with closing(SqlState.open(url, EAST)) as state:
        state.activate()
        with state.transaction() as work:
            work.save([replace(living(SPACE), kept=KeptFields(gone=NEWER))])
        with closing(Completion(Views.open(url, EAST))) as made:
            yield made


@pytest.fixture
async def west(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """A region whose brokers know the field."""
    store = SqliteStore(SqliteConfig(path=tmp_path / "west.db"))
    await store.open()
    values = resources("acme", topics=1)
    values[SPACE] = json.dumps({**json.loads(values[SPACE]), **NEWER}).encode()
    await fill(store, values)
    yield store
    await store.close()


@pytest.fixture
def other(west: SqliteStore) -> LiveSide:
    return LiveSide(west, WEST, SCOPE)


async def test_a_region_is_what_its_store_holds_and_what_its_daemon_keeps(
    store: SqliteStore, completion: Completion, other: LiveSide
) -> None:
    here = LiveSide(store, EAST, SCOPE, completion)
    assert not here.trouble
    assert json.loads((await here.values([SPACE]))[SPACE]).items() >= NEWER.items()
    assert await here.picture() == await other.picture()
    assert (await compare(here, other, now=NOW)).plan.operations == ()


@pytest.mark.parametrize("towards", ["here", "there"])
async def test_without_the_database_the_field_is_unknown_and_said_to_be(
    store: SqliteStore, other: LiveSide, towards: str
) -> None:
    here = LiveSide(store, EAST, SCOPE, Completion(trouble="it is elsewhere"))
    sides = (here, other) if towards == "here" else (other, here)
    found = await compare(*sides, now=NOW)
    assert (found.plan.operations, set(found.unknown)) == ((), {"region east", "region west"})


async def test_a_plan_is_judged_by_the_whole_value_and_written_over_the_raw_one(
    store: SqliteStore, completion: Completion, west: SqliteStore, other: LiveSide
) -> None:
    here = LiveSide(store, EAST, SCOPE, completion)
    theirs = value(replication_clusters=["global"], message_ttl_in_seconds=99, **NEWER)
    entry = (await west.read([SPACE]))[SPACE]
    assert entry is not None
    await west.apply([Put(path=SPACE, value=theirs, expected=entry.revision)])
    plan = (await compare(here, other, now=NOW)).plan
    assert [each.path for each in plan.operations] == [SPACE]
    with pytest.raises(PlanStale):
        await perform(plan.operations, store, SCOPE)
    outcome = await perform(plan.operations, store, SCOPE, completion=completion)
    assert (outcome.error, outcome.applied) == (None, list(plan.operations))
    again = await perform(plan.operations, store, SCOPE, completion=completion)
    assert again.already == list(plan.operations)
    stands = (await store.read([SPACE]))[SPACE]
    assert stands is not None
    assert json.loads(stands.value).items() >= {"message_ttl_in_seconds": 99, **NEWER}.items()


async def test_what_is_saved_is_whole(store: SqliteStore, completion: Completion, tmp_path: Path) -> None:
    here = LiveSide(store, EAST, SCOPE, completion)
    manifest = await take_backup(here, tmp_path / "whole", clusters=(), now=NOW, made_by="tests")
    saved = dict(Backup(tmp_path / "whole").resources())
    assert json.loads(saved[SPACE]).items() >= NEWER.items()
    assert (manifest.version, manifest.completed, "completed" in manifest.text()) == (1, True, False)
    assert (await compare(here, BackupSide(Backup(tmp_path / "whole")), now=NOW)).plan.operations == ()


async def test_a_backup_without_the_database_says_so_and_its_restore_removes_nothing(
    store: SqliteStore, completion: Completion, tmp_path: Path
) -> None:
    manifest = await take_backup(LiveSide(store, EAST, SCOPE), tmp_path / "raw", clusters=(), now=NOW, made_by="tests")
    assert (manifest.version, manifest.completed) == (2, False)
    backup = Backup(tmp_path / "raw")
    assert (backup.verify(), backup.manifest.completed) == ((), False)
    found = await compare(LiveSide(store, EAST, SCOPE, completion), BackupSide(backup), now=NOW)
    assert found.plan.operations == ()
    assert found.unknown == (BackupSide(backup).name,)


async def test_nothing_is_asked_where_nothing_was_read(store: SqliteStore, completion: Completion) -> None:
    assert await completion.of({}) == {}
    assert SPACE in await contents(LiveSide(store, EAST, SCOPE, completion))
