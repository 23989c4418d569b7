"""A metadata store of somebody else's: resources in a table of any database that SQLAlchemy knows.

As much of an adapter as reading takes: its watch looks at the table's numbers of changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import ClassVar, Final

from pydantic import BaseModel, SecretStr
from sqlalchemy import (
    Column,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    create_engine,
    delete,
    func,
    insert,
    or_,
    select,
)

from syncer.model import MetaPath, Revision
from syncer.stores.contract import Armed, Beat, Capabilities, Changed, Entry, Gap, WatchSignal, Write, Written

KIND: Final = "tables"
ENTRY_POINTS: Final = f"[syncer.stores]\n{KIND} = tests.support.tables_store:TablesStore\n"
BEAT_S: Final = 0.02
PAGE_ROWS: Final = 5

_METADATA = MetaData()
ROWS = Table(
    "resources",
    _METADATA,
    Column("path", String, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    Column("number", Integer, nullable=False),
)
LOG = Table("log", _METADATA, Column("number", Integer, primary_key=True), Column("path", String, nullable=False))


class TablesConfig(BaseModel):
    """Where the tables are."""

    url: str
    password: SecretStr | None = None


class Tables:
    """Writes as any program does that the database's users run."""

    def __init__(self, url: str) -> None:
        self.engine: Engine = create_engine(url)
        _METADATA.create_all(self.engine)

    def put(self, path: MetaPath, value: bytes) -> None:
        with self.engine.begin() as connection:
            connection.execute(delete(ROWS).where(ROWS.c.path == path))
            number = connection.execute(insert(LOG).values(path=path).returning(LOG.c.number)).scalar_one()
            connection.execute(insert(ROWS).values(path=path, value=value, number=number))

    def delete(self, path: MetaPath) -> None:
        with self.engine.begin() as connection:
            connection.execute(delete(ROWS).where(ROWS.c.path == path))
            connection.execute(insert(LOG).values(path=path))


class TablesStore:
    """The adapter.

    Class attributes, for tests: ``between_pages`` is called between two pages of a scan, ``gaps`` are still to come,
    ``failure`` ends the watch, ``opened`` counts those that are not closed.
    """

    config_model: ClassVar[type[BaseModel]] = TablesConfig
    between_pages: ClassVar[Callable[[], None]] = staticmethod(lambda: None)
    gaps: ClassVar[int] = 0
    failure: ClassVar[Exception | None] = None
    opened: ClassVar[int] = 0

    def __init__(self, config: TablesConfig) -> None:
        asyncio.get_running_loop()  # as an adapter may that has locks or queues of its loop
        self._engine = create_engine(config.url)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            modified_times=False,
            real_parents=False,
            transactions=True,
            max_batch_writes=1,
            max_batch_bytes=1 << 20,
            max_value_bytes=1 << 20,
        )

    async def open(self) -> None:
        type(self).opened += 1
        with self._engine.connect():
            pass

    async def close(self) -> None:
        type(self).opened -= 1
        self._engine.dispose()

    async def read(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Entry | None]:
        with self._engine.connect() as connection:
            rows = connection.execute(select(ROWS).where(ROWS.c.path.in_(paths))).all()
        found = {MetaPath(row.path): _entry(row.path, row.value, row.number) for row in rows}
        return {path: found.get(path) for path in paths}

    async def apply(self, writes: Sequence[Write]) -> tuple[Written, ...]:
        raise NotImplementedError(writes)

    async def scan(self, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        after = ""
        while True:
            inside = or_(ROWS.c.path == prefix, ROWS.c.path.startswith(f"{prefix}/", autoescape=True))
            query = select(ROWS).where(inside, ROWS.c.path > after).order_by(ROWS.c.path).limit(PAGE_ROWS)
            with self._engine.connect() as connection:
                rows = connection.execute(query).all()
            if not rows:
                return
            yield tuple(_entry(row.path, row.value, row.number) for row in rows)
            after = rows[-1].path
            type(self).between_pages()

    async def watch(self, prefixes: Sequence[MetaPath]) -> AsyncIterator[WatchSignal]:
        seen = self._newest()
        yield Armed()
        while True:
            await asyncio.sleep(BEAT_S)
            if type(self).gaps:
                type(self).gaps -= 1
                yield Gap("the test wants one")
            failure = type(self).failure
            if failure is not None:
                raise failure
            with self._engine.connect() as connection:
                rows = connection.execute(select(LOG).where(LOG.c.number > seen).order_by(LOG.c.number)).all()
            if rows:
                seen = rows[-1].number
                changed = tuple(MetaPath(row.path) for row in rows if row.path.startswith(tuple(prefixes)))
                if changed:
                    yield Changed(changed)
            yield Beat()

    def _newest(self) -> int:
        with self._engine.connect() as connection:
            return int(connection.execute(select(func.coalesce(func.max(LOG.c.number), 0))).scalar_one())


def _entry(path: str, value: bytes, number: int) -> Entry:
    return Entry(path=MetaPath(path), value=value, revision=Revision(str(number)), modified_at_ms=None)
