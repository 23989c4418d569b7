"""What an operator sees of a region in ten states: ``syncer status`` and ``syncer status --check``, as kept in files.

Each state is a real one: daemons over a store and a bus have brought it about. The files under ``screens`` are what the
terminal shows, but for what differs from run to run, by these rules:

    a moment becomes TIME, a length of time AGE, a process number PID, this machine HOST, the version VERSION
    the test's folder becomes DIR, the user who owns it OWNER, and one without rights STRANGER
    blanks between columns become two

When the words are changed on purpose, renew them, and read each aloud as whoever is woken by it at night:

    RENEW_SCREENS=1 .venv/bin/pytest -n0 tests/shell/test_status_screens.py
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import pytest

from syncer.documents.status import StatusDocument
from syncer.errors import StateForeign, StateUnavailable
from syncer.inspection.status import collect
from syncer.model import MetaPath
from syncer.paths import CLUSTERS
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.stores.contract import Entry
from syncer.stores.sqlite.store import SqliteStore
from syncer.version import version
from syncer.waiting import until
from tests.shell.region import NAMESPACE, TENANT, TOPIC, Site, equal, tenant
from tests.shell.test_decisions import partitions, policies
from tests.support.stranger import CLOSED, OWNER, STRANGER, run

SCREENS: Final = Path(__file__).with_name("screens")
COMMANDS: Final = (("status",), ("status", "--check"))
HOUR_MS: Final = 3_600_000
"""Until a state is brought about: processes start, and machines are busy."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Of a test's regions: everybody can reach it, unlike pytest's own."""
    found = Path(tempfile.mkdtemp(prefix="syncer-screens-"))
    found.chmod(0o755)
    yield found
    for each in found.iterdir():
        if each.is_dir():
            each.chmod(0o700)
    shutil.rmtree(found)


@pytest.fixture
def sites(folder: Path, state: str) -> Iterator[tuple[Site, Site]]:
    """Two regions that expect each other."""
    silence = "2s" if state == "peer-away" else "5min"
    patient = {"store": {"timeout": "30s"}, "bus": {"busy_timeout": "10s", "lease": "30s"}}
    """A machine that stands still for seconds is no state of a region."""
    found = tuple(
        Site(folder / name, folder / "bus.db", name, {"peers": {"expected": [other], "silence": silence}, **patient})
        for name, other in (("east", "west"), ("west", "east"))
    )
    east, west = found
    yield east, west
    for site in found:
        site.kill()
        site.writer.close()


def status(site: Site) -> StatusDocument:
    """What the commands make their screens of."""
    found: StatusDocument = site.ask(lambda views: collect(views, site.config()))
    return found


async def comes(site: Site, judged: Callable[[StatusDocument], object], what: str) -> None:
    """Wait until the status of a region is as it should be."""

    def seen() -> bool:
        return site.database.exists() and bool(judged(status(site)))

    await until(seen, what, passing=(StateForeign, StateUnavailable))  # the database is being made


async def begun(*sites: Site) -> None:
    """Wait until these regions have met what their stores hold."""
    for site in sites:
        await comes(site, lambda found: found.baseline_done, f"{site.name} has met its store")


def settled(found: StatusDocument) -> bool:
    """Nothing is under way any more: the daemon's own last report says so."""
    return all((found.baseline_done, found.daemon == "running", found.watch_whole, at_work(found), equal_to_all(found)))


def at_work(found: StatusDocument) -> bool:
    return [each.role for each in found.daemons] == ["active"]


def equal_to_all(found: StatusDocument) -> bool:
    return bool(found.peers) and all(
        (each.mode, each.compared, each.same_rules) == ("active", "equal", True) for each in found.peers
    )


def at_rest(found: StatusDocument) -> bool:
    """Nothing waits to be told, nor to be written."""
    return not found.outbox.depth and not found.waiting.due


def equal_since(found: StatusDocument, since_ms: int) -> bool:
    """Whether all were seen to be equal after a time: what was seen before may be of another state."""
    return all(each.equal_at_ms is not None and each.equal_at_ms > since_ms for each in found.peers)


@asynccontextmanager
async def well(east: Site, west: Site) -> AsyncIterator[None]:
    east.writer.put(TENANT, tenant("ops"))
    async with east.running(), west.running():
        await begun(east, west)
        await equal(east, west)
        await comes(east, lambda found: settled(found) and found.paths == 1, "both regions know that they are equal")
        yield


@asynccontextmanager
async def first_scan(east: Site, west: Site) -> AsyncIterator[None]:
    """The store takes its time to tell all that it holds."""
    over, whole = anyio.Event(), SqliteStore.scan

    async def slowly(store: SqliteStore, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        async for page in whole(store, prefix):
            yield page
        if not prefix.startswith(CLUSTERS):  # which are asked for before the daemon begins
            await over.wait()

    east.writer.put(TENANT, tenant("ops"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SqliteStore, "scan", slowly)
        async with east.running():
            await comes(east, lambda found: found.daemon == "running" and at_work(found), "the daemon reports")
            yield
            over.set()


@asynccontextmanager
async def held(east: Site, west: Site) -> AsyncIterator[None]:
    async with east.running(), west.running():
        await begun(east, west)
        for path, value in ((TENANT, tenant()), (NAMESPACE, policies("east", "west")), (TOPIC, partitions(8))):
            west.writer.put(path, value)
        await until(lambda: east.get(TOPIC) is not None, "both hold it")
        west.writer.put(TOPIC, partitions(4))
        await comes(east, lambda found: settled(found) and found.waiting.holds == found.waiting.due == 1, "it is held")
        yield


@asynccontextmanager
async def conflict(east: Site, west: Site) -> AsyncIterator[None]:
    async with east.running(), west.running():
        await begun(east, west)
        east.writer.put(TENANT, tenant("ops"))
        await equal(east, west)
        for site in (east, west):
            await site.do("pause")
        east.writer.put(TENANT, tenant("alice"))
        await comes(east, lambda found: found.outbox.depth == 1, "Alice's is read")
        west.writer.put(TENANT, tenant("bob"))
        await comes(west, lambda found: found.outbox.depth == 1, "Bob's is read")
        for site in (east, west):
            await site.do("resume")
        await until(lambda: east.get(TENANT) == tenant("bob"), "the later one wins")
        for site in (east, west):
            await comes(site, at_rest, f"{site.name} has told all, and written all")
        since_ms = wall_clock_ms()
        await comes(east, lambda found: found.waiting.conflicts == 1, "the loser is kept")
        await comes(east, lambda found: settled(found) and equal_since(found, since_ms), "they have compared since")
        yield


@asynccontextmanager
async def silent(east: Site, west: Site) -> AsyncIterator[None]:
    """Both machines' clocks are an hour behind, so that nobody has to wait until a report is old."""
    east.ahead_ms = west.ahead_ms = -HOUR_MS
    west.start()
    east.start()
    await begun(east, west)
    await comes(east, lambda found: at_work(found) and equal_to_all(found), "both regions know that they are equal")
    east.kill()
    yield


@asynccontextmanager
async def peer_away(east: Site, west: Site) -> AsyncIterator[None]:
    async with east.running():
        async with west.running():
            await begun(east, west)
            await comes(east, settled, "both regions know that they are equal")
        await comes(east, lambda found: found.peers[0].away, "it is silent for longer than its limit")
        yield


@asynccontextmanager
async def rebuilding(east: Site, west: Site) -> AsyncIterator[None]:
    """The peer is gone: all that is left of it is what it has said on the bus since the daemon stopped."""
    async with west.running():
        async with east.running():
            await begun(east, west)
            await comes(east, settled, "both regions know that they are equal")
        stopped_ms = west.clock()
        await comes(west, lambda found: (found.reported_at_ms or 0) > stopped_ms + 1000, "it speaks on")
    for file in east.folder.glob("state.db*"):
        file.unlink()
    async with east.running():
        await comes(east, lambda found: found.rebuilding and at_work(found) and found.peers, "it waits for the peer")
        yield


@asynccontextmanager
async def paused(east: Site, west: Site) -> AsyncIterator[None]:
    async with east.running(), west.running():
        await begun(east, west)
        await comes(east, settled, "both regions know that they are equal")
        east.ask(lambda views: views.ask("pause", {}, "ops@east-1", "the store moves to other disks"))
        await comes(east, lambda found: found.paused is not None and settled(found), "it says so")
        yield


@asynccontextmanager
async def no_rights(east: Site, west: Site) -> AsyncIterator[None]:
    async with east.running():
        await begun(east)
    east.folder.chmod(CLOSED)
    yield


@asynccontextmanager
async def no_database(east: Site, west: Site) -> AsyncIterator[None]:
    yield


STATES: Final[dict[str, Callable[[Site, Site], AbstractAsyncContextManager[None]]]] = {
    "well": well,
    "first-scan": first_scan,
    "held": held,
    "conflict": conflict,
    "silent": silent,
    "peer-away": peer_away,
    "rebuilding": rebuilding,
    "paused": paused,
    "no-rights": no_rights,
    "no-database": no_database,
}


@pytest.mark.parametrize("state", STATES)
async def test_a_state_looks_as_it_is_kept(state: str, sites: tuple[Site, Site], folder: Path) -> None:
    config = folder / "east.yaml"
    config.write_text(sites[0].dumped(), encoding="utf-8")
    warm = folder / "warm.yaml"
    warm.write_text(sites[1].dumped(), encoding="utf-8")
    as_stranger = warm if state == "no-rights" else None
    async with STATES[state](*sites):
        look = partial(run, as_stranger, *COMMANDS, environment={"SYNCER_CONFIG": str(config)})
        results = await anyio.to_thread.run_sync(look)
    shown = "".join(
        f"$ syncer {' '.join(command)}\n{result.stdout}{result.stderr}$ echo $?\n{result.exit_status}\n\n"
        for command, result in zip(COMMANDS, results, strict=True)
    )
    found, file = masked(shown, folder).rstrip("\n") + "\n", SCREENS / f"{state}.txt"
    if os.environ.get("RENEW_SCREENS"):
        SCREENS.mkdir(exist_ok=True)
        file.write_text(found, encoding="utf-8")
    assert found == file.read_text(encoding="utf-8"), "if that is meant: RENEW_SCREENS=1, and read it aloud"


def test_every_screen_is_of_a_state() -> None:
    assert sorted(file.stem for file in SCREENS.iterdir()) == sorted(STATES)


def masked(text: str, folder: Path) -> str:
    """The text without what differs from run to run."""
    for pattern, put in (
        (re.escape(str(folder)), "DIR"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z", "TIME"),
        (rf"^{re.escape(socket.gethostname())}( +)\d+ ", r"HOST\1PID "),
        (rf"on {re.escape(socket.gethostname())} \(process \d+\)", "on HOST (process PID)"),
        (r"\b[0-9a-f]{32}\b", "DATABASE"),
        (r"-?\b\d+(\.\d+)? ?(ms|s|min|h|d|days)\b", "AGE"),
        (rf"\b{re.escape(version())}\b", "VERSION"),
        (rf"sudo -u {OWNER}\b", "sudo -u OWNER"),
        (rf"\buser {OWNER}\b", "user OWNER"),
        (rf"\buser {STRANGER}\b", "user STRANGER"),
        (r"(?<=\S) {2,}", "  "),
    ):
        text = re.sub(pattern, put, text, flags=re.MULTILINE)
    return text
