"""Regions played until they stand in the middle of something, and their databases, kept as SQL that people can read."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from syncer.waiting import WAIT_S, until
from tests.golden import product
from tests.golden.product import MetaPath, Outgoing
from tests.shell.on_bus import Bystander, change, distinct_changes_on
from tests.shell.region import NAMESPACE, TENANT, TOPIC, Site, active, equal, locked, path_of, tenant

FOLDER: Final = "databases"
CLOCK: Final = "clock_ms"
LIMITS: Final = {"max_deletes": 3}
BUSY, REBUILDING = "busy", "rebuilding"
POLICIES: Final = b'{"replication_clusters":["east","west"],"bundles":{"numBundles":4}}'
LOST: Final = MetaPath("/admin/policies/nobody/orders")
"""Its tenant never comes."""
REGIONS: Final = {BUSY: ("east", "west"), REBUILDING: ("east", "north", "west")}


def sites(folder: Path, scene: str, ahead_ms: int = 0) -> dict[str, Site]:
    """The regions of a scene, by name, on one bus; their files may be there already."""
    names, made = REGIONS[scene], dict[str, Site]()
    for name in names:
        others = [other for other in names if other != name]
        extra: dict[str, Any] = {"peers": {"expected": others}} if scene == REBUILDING else {"limits": LIMITS}
        made[name] = Site(folder / name, folder / "bus.db", name, extra, ahead_ms=ahead_ms)
    return made


def _rows(database: Path, query: str) -> int:
    with closing(sqlite3.connect(database, timeout=WAIT_S)) as db:
        return int(db.execute(query).fetchone()[0])


async def play_busy(folder: Path) -> dict[str, Site]:
    """A daemon that is killed with something in every table: held, parked, quarantined, in conflict, not yet sent."""
    played = sites(folder, BUSY)
    east, west = played["east"], played["west"]
    for number in range(8):
        east.writer.put(path_of(f"t{number}"), tenant(str(number)))
    async with west.running():
        async with east.running(), Bystander(east.bus_file, "north") as north:
            await active(east, west)
            for path, value in ((TENANT, tenant()), (NAMESPACE, POLICIES), (TOPIC, b'{"partitions":8}')):
                west.writer.put(path, value)
            await until(lambda: len(west.picture()) == 11, "both hold all")
            await equal(east, west)
            west.writer.put(TOPIC, b'{"partitions":4}')
            await until(lambda: TOPIC in east.holds(), "fewer partitions are held")
            lost = change(LOST, POLICIES, region="north", sequence=1)
            bad = change(path_of("bad"), b"[1]", region="north", sequence=2)
            await north.say(lost, bad, Outgoing(b"\xff\xfe no record", {}))
            east.writer.put(path_of("unreadable"), b'{"adminRoles": [')
            await until(lambda: len(east.codes()) >= 3, "three are quarantined")
            await until(lambda: east.status().counts.parked == 1, "one is parked")
            product.set_link(east.bus_file, "west", up=False)
            count = len(distinct_changes_on(east.bus_file))
            east.writer.put(path_of("t0"), tenant("loses"))
            await until(lambda: len(distinct_changes_on(east.bus_file)) == count + 1, "one is published")
            west.writer.put(path_of("t0"), tenant("wins"))
            await until(lambda: len(distinct_changes_on(east.bus_file)) == count + 2, "the later one too")
            product.set_link(east.bus_file, "west", up=True)
            await until(lambda: east.get(path_of("t0")) == tenant("wins"), "the later one wins")
            await until(lambda: bool(east.ask(lambda views: views.conflicts(10))), "the conflict is recorded")
        for number in range(1, 7):
            east.writer.delete(path_of(f"t{number}"))
        async with east.running():
            await until(lambda: len(east.holds()) >= 7, "the deletes are held")
    east.start()
    try:
        await until(lambda: "outbox" in east.report() or east.report(), "the daemon runs again")
        await until(lambda: _rows(east.bus_file, "SELECT lease_until_ms > 0 FROM region WHERE name = 'east'"), "leads")
        await _settled(east)
        with locked(east.bus_file):
            east.writer.put(path_of("unsent"), tenant("unsent"))
            await until(lambda: _rows(east.database, "SELECT count(*) FROM outbox"), "it waits to be sent")
            east.kill()
    finally:
        east.kill()
    return played


async def _settled(site: Site) -> None:
    """The daemon's own process reads its store: a write arrives in the bus."""
    site.writer.put(path_of("settled"), tenant())
    await until(lambda: path_of("settled") in {each.path for each in distinct_changes_on(site.bus_file)}, "it works")


async def play_rebuilding(folder: Path) -> dict[str, Site]:
    """A region without its database that has heard one of two peers."""
    played = sites(folder, REBUILDING)
    east, north, west = played.values()
    async with west.running(), north.running(), east.running():
        await active(*played.values())
        for number in range(5):
            east.writer.put(path_of(f"t{number}"), tenant(str(number)))
        west.writer.put(TENANT, tenant("west"))
        await until(lambda: len(north.picture()) == 6, "all is there")
        await equal(*played.values())
        east.writer.delete(path_of("t4"))
        await until(lambda: all(len(each.picture()) == 5 for each in played.values()), "one is deleted")
    for file in east.folder.glob("state.db*"):
        file.unlink()
    east.writer.put(path_of("t3"), tenant("while nobody looked"))
    east.writer.put(path_of("own"), tenant("only here"))
    async with north.running(), east.running():
        await until(east.database.exists, "the database is made")
        heard = "SELECT count(*) FROM registers"
        await until(lambda: _made(east.database) and _rows(east.database, heard) >= 6, "north has told what it knows")
        assert not east.status().identity.first_scan_done
    return played


def _made(database: Path) -> bool:
    return bool(_rows(database, "SELECT count(*) FROM sqlite_master WHERE name = 'registers'"))


PLAYS: Final = {BUSY: play_busy, REBUILDING: play_rebuilding}


def dumped(database: Path) -> str:
    """A database as SQL, with the two marks that SQLite's own dump leaves out."""
    with closing(sqlite3.connect(database, timeout=WAIT_S)) as db:
        marks = [f"PRAGMA {name} = {db.execute(f'PRAGMA {name}').fetchone()[0]};" for name in MARKS]
        return "\n".join([*marks, *db.iterdump(), ""])


MARKS: Final = ("application_id", "user_version")


def loaded(text: str, database: Path) -> None:
    """A database from its SQL."""
    database.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(text)


def keep(folder: Path, played: Iterable[Site]) -> None:
    """Keep the databases of a scene, and what its clock showed."""
    folder.mkdir(parents=True)
    found = list(played)
    for site in found:
        site.writer.close()
        for file in (site.store_file, site.database):
            (folder / f"{site.name}-{file.stem}.sql").write_text(dumped(file), encoding="utf-8")
    (folder / "bus.sql").write_text(dumped(found[0].bus_file), encoding="utf-8")
    (folder / CLOCK).write_text(f"{int(product.wall_clock_ms())}\n", encoding="utf-8")


def opened(release: Path, scene: str, folder: Path) -> dict[str, Site]:
    """A copy of a scene that a release has left, with a clock that goes on where that one ended."""
    kept = release / FOLDER / scene
    loaded((kept / "bus.sql").read_text(encoding="utf-8"), folder / "bus.db")
    for name in REGIONS[scene]:
        for part in ("store", "state"):
            text = (kept / f"{name}-{part}.sql").read_text(encoding="utf-8")
            loaded(text, folder / name / f"{part}.db")
    then_ms = int((kept / CLOCK).read_text(encoding="utf-8"))
    return sites(folder, scene, ahead_ms=then_ms - time.time_ns() // 1_000_000)
