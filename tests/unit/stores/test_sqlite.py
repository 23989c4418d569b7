"""What the SQLite store promises beyond the contract: plain SQL from outside, several processes, damaged files."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import sys
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from pydantic import ValidationError

from syncer.errors import AccessDenied, InvariantBroken, StoreError, StoreUnavailable, ValueRefused
from syncer.model import MetaPath, Millis
from syncer.stores.contract import Armed, BatchRefused, Changed, Delete, Gap, Put
from syncer.stores.sqlite import OutsideWriter, SqliteConfig, SqliteStore
from syncer.stores.sqlite.lane import translated
from syncer.waiting import WAIT_S, starvation, until

PATH = MetaPath("/admin/policies/acme")
TIMEOUT = timedelta(seconds=60)
"""Of what has to be done."""
SHORT = timedelta(seconds=5)
"""Of what is not: a tenth of it is left to tell why, on a machine that may be busy."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def store(file: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(SqliteConfig(path=file, timeout=TIMEOUT))
    await store.open()
    yield store
    await store.close()


def run(file: Path, *statements: str) -> list[tuple[object, ...]]:
    """Run SQL as a person at the command line would."""
    with contextlib.closing(sqlite3.connect(file, timeout=WAIT_S, isolation_level=None)) as connection:
        return [row for statement in statements for row in connection.execute(statement)]


async def test_plain_sql_is_numbered_timed_and_seen(file: Path, store: SqliteStore) -> None:
    signals = store.watch([MetaPath("/admin")])
    assert await anext(signals) == Armed()
    began_ms = time.time() * 1000
    run(file, f"INSERT INTO entries (path, value) VALUES ('{PATH}', '{{\"adminRoles\":[\"é\"]}}')")
    entry = (await store.read([PATH]))[PATH]
    assert entry is not None
    assert entry.value == '{"adminRoles":["é"]}'.encode()
    assert entry.modified_at_ms is not None
    assert began_ms - 1_000 <= entry.modified_at_ms <= time.time() * 1000 + 1_000
    await until_changed(signals, PATH)

    run(file, f"UPDATE entries SET value = 'two' WHERE path = '{PATH}'")
    await until_changed(signals, PATH)
    changed = (await store.read([PATH]))[PATH]
    assert changed is not None
    assert changed.revision != entry.revision
    with pytest.raises(BatchRefused):
        await store.apply([Put(path=PATH, value=b"x", expected=entry.revision)])

    moved = MetaPath("/admin/policies/moved")
    run(file, f"UPDATE entries SET path = '{moved}' WHERE path = '{PATH}'")
    await until_changed(signals, PATH, moved)
    run(file, f"DELETE FROM entries WHERE path = '{moved}'")
    await until_changed(signals, moved)
    assert set((await store.read([PATH, moved])).values()) == {None}
    await signals.aclose()  # type: ignore[attr-defined]  # AsyncIterator does not say it


async def until_changed(signals: object, *paths: MetaPath) -> None:
    missing = set(paths)
    async with asyncio.timeout(WAIT_S):
        while missing:
            signal = await anext(signals)  # type: ignore[call-overload]  # an async iterator
            assert not isinstance(signal, Gap), signal
            if isinstance(signal, Changed):
                missing.difference_update(signal.paths)


async def test_other_processes_write_at_the_same_time(file: Path, store: SqliteStore) -> None:
    script = (
        "import sys; from pathlib import Path; from syncer.stores.sqlite import OutsideWriter\n"
        "writer = OutsideWriter(Path(sys.argv[1]))\n"
        "for number in range(100): writer.put(f'/{sys.argv[2]}/{number}', b'x')\n"
    )
    signals = store.watch([MetaPath("/a"), MetaPath("/b")])
    assert await anext(signals) == Armed()
    writers = [
        await asyncio.create_subprocess_exec(sys.executable, "-W", "error", "-c", script, str(file), name)
        for name in "ab"
    ]
    mine = [MetaPath(f"/a/mine-{number}") for number in range(30)]
    for path in mine:
        await store.apply([Put(path=path, value=b"x", expected=None)])
    await until_changed(signals, *mine, *(MetaPath(f"/{name}/{number}") for name in "ab" for number in range(100)))
    assert [await writer.wait() for writer in writers] == [0, 0]
    await signals.aclose()  # type: ignore[attr-defined]  # AsyncIterator does not say it


@pytest.mark.parametrize("path", ["relative", "/", "", "/a//b", "/a/", "//a", "/nul\0byte"])
async def test_illegal_paths_are_refused(store: SqliteStore, path: str) -> None:
    good = MetaPath("/good")
    batch = [Put(path=good, value=b"x", expected=None), Put(path=MetaPath(path), value=b"x", expected=None)]
    with pytest.raises(BatchRefused) as caught:
        await store.apply(batch)
    assert (caught.value.index, type(caught.value.cause)) == (1, ValueRefused)
    assert (await store.read([good]))[good] is None


async def test_a_person_cannot_write_what_the_store_could_not_hold(file: Path, store: SqliteStore) -> None:
    for path, value in (("bad", "x"), ("/big", "x" * (1024 * 1024 + 1))):
        with pytest.raises(sqlite3.IntegrityError):
            run(file, f"INSERT INTO entries (path, value) VALUES ('{path}', '{value}')")
    assert [page async for page in store.scan(MetaPath("/"))] == []


async def test_the_log_of_changes_stays_bounded(file: Path) -> None:
    store = SqliteStore(SqliteConfig(path=file, retained_changes=64))
    await store.open()
    for number in range(10):
        await store.apply([Put(path=MetaPath(f"/{number}/{each}"), value=b"", expected=None) for each in range(100)])
    await store.close()
    assert run(file, "SELECT count(*) <= 128, count(*) >= 64, max(id) FROM changes") == [(1, 1, 1000)]


async def test_another_writers_lock_is_waited_for_and_then_told(file: Path, store: SqliteStore) -> None:
    put = Put(path=PATH, value=b"x", expected=None)
    hasty = SqliteStore(SqliteConfig(path=file, timeout=SHORT))
    await until(partial(opened, hasty), "the hasty client has opened it", passing=StoreUnavailable)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with pytest.raises(StoreUnavailable, match="locked"):
            await hasty.apply([put])
        assert time.monotonic() - started < 3 * SHORT.total_seconds() * starvation.patience()
        await hasty.close()
        assert (await store.read([PATH]))[PATH] is None, "readers do not wait for writers"
        waiting = asyncio.create_task(store.apply([put]))
        other.execute("ROLLBACK")
        (written,) = await waiting
    assert (await store.read([PATH]))[PATH] is not None
    await store.apply([Delete(path=PATH, expected=written.revision or pytest.fail("no revision"))])


async def opened(store: SqliteStore) -> bool:
    await store.open()
    return True


async def test_a_replaced_file_is_a_gap_and_the_new_one_is_read(file: Path, store: SqliteStore) -> None:
    await store.apply([Put(path=PATH, value=b"old", expected=None)])
    signals = store.watch([PATH])
    assert await anext(signals) == Armed()
    fresh = file.with_name("fresh.db")
    with contextlib.closing(OutsideWriter(fresh)) as writer:
        writer.put(PATH, b"new")
    replace(file, fresh)
    async with asyncio.timeout(WAIT_S):
        while not isinstance(signal := await anext(signals), Gap):
            pass
        assert "replaced" in signal.reason
        assert await anext(signals) == Armed()
    entry = (await store.read([PATH]))[PATH]
    assert entry is not None
    assert entry.value == b"new"
    await signals.aclose()  # type: ignore[attr-defined]  # AsyncIterator does not say it


def replace(file: Path, fresh: Path) -> None:
    for leftover in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
        leftover.unlink(missing_ok=True)
    fresh.rename(file)


async def test_a_clock_of_ones_own_stamps_what_is_written(file: Path) -> None:
    store = SqliteStore(SqliteConfig(path=file), clock=lambda: Millis(1_700_000_000_123))
    await store.open()
    await store.apply([Put(path=PATH, value=b"x", expected=None)])
    entry = (await store.read([PATH]))[PATH]
    assert entry is not None
    assert entry.modified_at_ms == 1_700_000_000_123
    with contextlib.closing(OutsideWriter(file, clock=lambda: Millis(1_800_000_000_000))) as writer:
        writer.put(PATH, b"y")
        assert writer.get(PATH) == b"y"
        late = (await store.read([PATH]))[PATH]
        assert late is not None
        assert late.modified_at_ms == 1_800_000_000_000
        assert late.revision != entry.revision
        assert writer.delete(PATH)
        assert not writer.delete(PATH)
        assert writer.get(PATH) is None
    await store.close()


@pytest.mark.parametrize(
    ("content", "hint"),
    [(b"this is no database, but long enough to be read as one" * 30, "damaged"), (None, "store.path")],
)
def test_a_file_of_another_kind_is_left_alone(file: Path, content: bytes | None, hint: str) -> None:
    if content is None:
        run(file, "CREATE TABLE somebody_elses (id INTEGER)")
    else:
        file.write_bytes(content)
    before = file.read_bytes()

    async def attempt() -> None:
        store = SqliteStore(SqliteConfig(path=file))
        with pytest.raises(StoreError) as caught:
            await store.open()
        assert hint in caught.value.hint
        assert not caught.value.retryable
        await store.close()

    asyncio.run(attempt())
    assert file.read_bytes() == before


async def test_a_newer_schema_is_refused(file: Path, store: SqliteStore) -> None:
    run(file, "PRAGMA user_version = 99")
    newer = SqliteStore(SqliteConfig(path=file))
    with pytest.raises(StoreError, match="schema 99"):
        await newer.open()


async def test_a_missing_directory_is_told_and_opening_can_be_tried_again(tmp_path: Path) -> None:
    store = SqliteStore(SqliteConfig(path=tmp_path / "missing" / "store.db"))
    with pytest.raises(StoreUnavailable):
        await store.open()
    (tmp_path / "missing").mkdir()
    await store.open()
    with pytest.raises(InvariantBroken):
        await store.open()
    await store.close()


def test_read_only_and_full_are_told_apart(file: Path) -> None:
    OutsideWriter(file).close()
    with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
        with pytest.raises(sqlite3.OperationalError) as read_only:
            connection.execute("INSERT INTO entries (path, value) VALUES ('/a', 'x')")
        assert isinstance(translated(read_only.value, file), AccessDenied)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(sqlite3.OperationalError) as full:
            connection.execute("INSERT INTO entries (path, value) VALUES ('/a', zeroblob(1000000))")
        error = translated(full.value, file)
        assert isinstance(error, StoreUnavailable)
        assert "disk is full" in error.hint


async def test_one_path_twice_in_a_batch_is_a_bug_of_the_caller(store: SqliteStore) -> None:
    with pytest.raises(InvariantBroken):
        await store.apply([Put(path=PATH, value=b"x", expected=None)] * 2)


def test_the_configuration_is_strict(file: Path) -> None:
    for wrong in ({"path": file, "unknown": 1}, {}, {"path": file, "kind": "etcd"}, {"path": file, "timeout": 0}):
        with pytest.raises(ValidationError):
            SqliteConfig.model_validate(wrong)
