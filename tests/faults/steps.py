"""The faults: each strikes, waits until its effect is seen, mends, and waits until what it struck works again."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from deploy.lab.pulsar import Part
from deploy.lab.zookeeper import ZooKeeperServer
from syncer.waiting import LIVING, WAIT_S
from tests.faults.scene import SESSION_S, Scene

SOME: Final = 20
"""So many writes or messages are enough to see that something goes on, or waits."""
"""A broker gives a silent client two rounds of 30 s; then the waiting one has to ask again."""
SLOW_S: Final = 2.0
"""How much longer a slow link takes, each way."""

Note = Callable[[str], None]
"""Told at each phase: it is kept with the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One fault of a plan.

    Args:
        fault: Its name; see :data:`FAULTS`.
        place: Region that it strikes; empty for faults of all.
        amount: Of messages, where that matters.
    """

    fault: str
    place: str = ""
    amount: int = 0

    def __str__(self) -> str:
        size = f" of {self.amount}" if self.amount else ""
        return f"{self.fault}{size}{' at ' if self.place else ''}{self.place}"


def perform(scene: Scene, step: Step, note: Note) -> None:
    """Perform a step.

    Raises:
        WaitFailed: Its effect was not seen, or what it struck did not come back.
    """
    FAULTS[step.fault](scene, step, note)


def kill_daemon(scene: Scene, step: Step, note: Note) -> None:
    """kill -9 of a region's only daemon; started again after writes that nobody watched."""
    region = scene.regions[step.place]
    region.kill()
    note("killed")
    _writes_go_on(scene, step.place)
    note("written meanwhile")
    region.start()


def kill_active_with_standby(scene: Scene, step: Step, note: Note) -> None:
    """kill -9 of the active daemon while another one stands by on the same database."""
    region = scene.regions[step.place]
    standby = region.start_standby()
    try:
        scene.until(lambda: scene.roles(step.place).get("standby") == standby.pid(), "one stands by")
        note("one stands by")
        region.kill()
        note("killed")
        took = scene.until(lambda: scene.roles(step.place).get("active") == standby.pid(), "it takes over")
        note(f"taken over after {took:.1f} s")
        _writes_go_on(scene, step.place)
    finally:
        standby.stop()
    region.start()


def freeze_active_with_standby(scene: Scene, step: Step, note: Note) -> None:
    """SIGSTOP of the active daemon; it wakes up beside the one that has taken over."""
    region = scene.regions[step.place]
    standby = region.start_standby()
    frozen = region.daemon
    try:
        scene.until(lambda: scene.roles(step.place).get("standby") == standby.pid(), "one stands by")
        scene.until(partial(_freezes_unlocked, scene, step.place), "it is frozen between two transactions")
        note("frozen")
        took = scene.until(lambda: scene.roles(step.place).get("active") == standby.pid(), "it takes over")
        note(f"taken over after {took:.1f} s")
        frozen.resume()
        note("woken")
        scene.until(lambda: scene.roles(step.place).get("standby") == frozen.pid(), "the woken one stands by")
        _writes_go_on(scene, step.place)
    finally:
        frozen.resume()
        standby.stop()
    scene.until(lambda: scene.roles(step.place).get("active") == frozen.pid(), "the first one takes over again")


def freeze_daemon(scene: Scene, step: Step, note: Note) -> None:
    """SIGSTOP of a daemon for longer than its session: its store gives it up, its peers do not hear from it."""
    daemon, store = scene.regions[step.place].daemon, scene.clusters[step.place].configuration_store
    pid = daemon.pid()
    assert pid is not None
    sessions: set[str] = set()
    if isinstance(store, ZooKeeperServer):
        scene.until(lambda: bool(_sessions(store, pid)), "the daemon has a session")
        sessions = _sessions(store, pid)
    last = {other: scene.heard(other, step.place) for other in scene.others(step.place)}
    daemon.pause()
    try:
        note("frozen")
        if isinstance(store, ZooKeeperServer):
            took = scene.until(lambda: not sessions & _sessions(store), "the store ends its session")
            note(f"its session is over after {took:.1f} s")
        for other, row in last.items():
            known = row.sent_at_ms if row is not None else 0
            scene.until(partial(_silent, scene, other, step.place, known), "a peer misses it")
        note("its peers miss it")
        _writes_go_on(scene, step.place)
    finally:
        daemon.resume()
    _heard_again(scene, step.place, note)


def kill_broker(scene: Scene, step: Step, note: Note) -> None:
    """kill -9 of the process that is a cluster's broker and its bookie: the bus is away for this region."""
    cluster = scene.clusters[step.place]
    cluster.kill(Part.BROKER)
    note("broker and bookie killed")
    scene.until(lambda: scene.status(step.place).outbox.depth >= SOME, "changes wait for the bus")
    note(f"{scene.status(step.place).outbox.depth} changes wait for the bus")
    cluster.start(Part.BROKER)
    note("started")
    _heard_again(scene, step.place, note)


def kill_store(scene: Scene, step: Step, note: Note) -> None:
    """kill -9 of a region's ZooKeeper or etcd, in the middle of writes."""
    server = scene.clusters[step.place].configuration_store
    before, lost = scene.record.troubled(step.place), scene.record.unknown(step.place)
    server.kill()
    note("killed")
    scene.until(partial(_troubled, scene, step.place, before), "a writer misses it")
    scene.until(lambda: scene.report(step.place).get("watch_whole") is False, "the daemon misses it")
    note("writers and the daemon miss it")
    server.start()
    note(f"started; of {scene.record.unknown(step.place) - lost} writes nobody knows whether they happened")
    _writes_go_on(scene, step.place)
    scene.until(lambda: scene.report(step.place).get("watch_whole") is True, "the daemon watches again")


def cut_links(scene: Scene, step: Step, note: Note) -> None:
    """All links between the clusters break; then they are mended."""
    _apart(scene, note, [way.cut for way in scene.ways.values()], "cut")


def silence_links(scene: Scene, step: Step, note: Note) -> None:
    """All packets between the clusters are dropped, and nobody is told."""
    _apart(scene, note, [way.silence for way in scene.ways.values()], "silent")


def slow_links(scene: Scene, step: Step, note: Note) -> None:
    """Everything between the clusters takes much longer."""
    for way in scene.ways.values():
        way.lengthen(SLOW_S)
    note(f"{SLOW_S:g} s longer each way")
    try:
        for here, there in scene.pairs():
            scene.until(partial(_late, scene, here, there), "what comes is late")
        note("what comes is late")
        for name in scene.names:
            _writes_go_on(scene, name)
    finally:
        for way in scene.ways.values():
            way.mend()
    for here, there in scene.pairs():
        scene.until(partial(_in_time, scene, here, there), "what comes is in time again")


def fill_disk(scene: Scene, step: Step, note: Note) -> None:
    """No room for a sidecar database: its daemon stores nothing, so it acknowledges and writes nothing.

    A database has room of its own where rows were deleted; it is compacted before, or it would never ask for any.
    """
    region, disk = scene.regions[step.place], scene.disks[step.place]
    region.stop()
    with closing(sqlite3.connect(disk.directory / "state.db")) as database:
        database.execute("VACUUM")
    region.start()
    pid = region.daemon.pid()
    assert pid is not None
    at = region.daemon.log_file.stat().st_size
    LIVING.let_go(region.daemon)  # it may end
    disk.fill(pid)
    try:
        note(f"full ({disk.kind})")
        scene.until(lambda: b"state-unavailable" in _since(region.daemon.log_file, at), "the daemon says so")
        note("the daemon says so")
        _writes_go_on(scene, step.place)
    finally:
        disk.empty(region.daemon.pid())
    at_ms = scene.now_ms()
    scene.until(partial(_works_again, scene, step.place, at_ms), f"{step.place} is heard, started again where it ended")
    note(f"room again, and heard again; the daemon {'runs' if region.daemon.pid() == pid else 'had ended'}")
    region.start()


def pile_up(scene: Scene, step: Step, note: Note) -> None:
    """A daemon is away while very many changes come to its region's topic: creates, and their deletes."""
    region, author = scene.regions[step.place], scene.others(step.place)[0]
    region.stop()
    before = scene.arrived(step.place)
    note("daemon stopped")
    with scene.bursts(author) as bursts:
        made = bursts.create(step.amount // 2)
        note(f"{len(made)} topics made")
        patience = WAIT_S + step.amount / 100
        scene.until(lambda: scene.arrived(step.place) >= before + len(made), "they are in its topic", patience)
        gone = bursts.delete(made)
        waiting = len(made) + gone
        scene.until(lambda: scene.arrived(step.place) >= before + waiting, "so are their deletes", patience)
    note(f"{scene.arrived(step.place) - before} messages wait in {scene.backlog(step.place)} entries")
    region.start()
    note("daemon started")
    scene.until(lambda: scene.backlog(step.place) < SOME * 10, "they are consumed", patience)
    note("all consumed")


def kill_everything(scene: Scene, step: Step, note: Note) -> None:
    """A power loss everywhere: kill -9 of every daemon, broker, bookie and store; then all of it starts again."""
    before = {name: scene.record.troubled(name) for name in scene.names}
    for name in scene.names:
        scene.regions[name].kill()
        scene.clusters[name].kill()
    note("everything killed")
    for name in scene.names:
        scene.until(partial(_troubled, scene, name, before[name]), "writers miss it")
    for name in scene.names:
        scene.clusters[name].start()
    note("clusters started")
    for name in scene.names:
        scene.regions[name].start()
    for name in scene.names:
        _heard_again(scene, name, note)


FAULTS: Final[Mapping[str, Callable[[Scene, Step, Note], None]]] = {
    "kill-daemon": kill_daemon,
    "kill-active-with-standby": kill_active_with_standby,
    "freeze-active-with-standby": freeze_active_with_standby,
    "freeze-daemon": freeze_daemon,
    "kill-broker": kill_broker,
    "kill-store": kill_store,
    "cut-links": cut_links,
    "silence-links": silence_links,
    "slow-links": slow_links,
    "fill-disk": fill_disk,
    "pile-up": pile_up,
    "kill-everything": kill_everything,
}


def _apart(scene: Scene, note: Note, strikes: list[Callable[[], None]], how: str) -> None:
    for strike in strikes:
        strike()
    note(how)
    try:
        for here, there in scene.pairs():
            scene.until(partial(_grown, scene, here, there, 0), f"what is for {there} waits at {here}")
            first = scene.replication_backlog(here, there)
            scene.until(partial(_grown, scene, here, there, first), "and it grows")
            note(f"waiting at {here} for {there}: {first}, then {scene.replication_backlog(here, there)}")
    finally:
        for way in scene.ways.values():
            way.mend()
    note("mended")
    for name in scene.names:
        _heard_again(scene, name, note)


def _writes_go_on(scene: Scene, name: str) -> None:
    """Some more writes of a region are acknowledged."""
    enough = scene.record.acknowledged(name) + SOME
    scene.until(lambda: scene.record.acknowledged(name) >= enough, f"outside writes of {name} go on")


def _heard_again(scene: Scene, name: str, note: Note) -> None:
    """What a region says from now on reaches all others: behind all that it had to say before."""
    at = scene.now_ms()
    for other in scene.others(name):
        scene.until(partial(_told_since, scene, other, name, at), f"{other} hears from {name} again")
    note(f"heard again from {name}")


def _works_again(scene: Scene, name: str, at_ms: int) -> bool:
    """Whether a region is heard; a daemon that is about to end may still run when it is looked at first."""
    if scene.regions[name].daemon.pid() is None:
        scene.regions[name].start()
        LIVING.let_go(scene.regions[name].daemon)
    return all(_told_since(scene, other, name, at_ms) for other in scene.others(name))


def _freezes_unlocked(scene: Scene, name: str) -> bool:
    """Freeze a daemon; not in the middle of a transaction, whose lock on an SQLite file nobody could take from it."""
    daemon = scene.regions[name].daemon
    daemon.pause()
    base = sqlite3.connect(scene.disks[name].directory / "state.db", timeout=0, isolation_level=None)
    with closing(base):
        try:
            base.execute("begin immediate")
            base.execute("rollback")
        except sqlite3.OperationalError:
            daemon.resume()
            return False
    return True


def _told_since(scene: Scene, name: str, of: str, at_ms: int) -> bool:
    row = scene.heard(name, of)
    return row is not None and row.sent_at_ms > at_ms


def _troubled(scene: Scene, name: str, before: int) -> bool:
    return scene.record.troubled(name) > before


def _grown(scene: Scene, name: str, to: str, than: int) -> bool:
    return scene.replication_backlog(name, to) >= than + SOME


def _silent(scene: Scene, name: str, of: str, known: int) -> bool:
    row = scene.heard(name, of)
    return row is not None and row.sent_at_ms >= known and scene.now_ms() - row.heard_at_ms > 2 * SESSION_S * 1000


def _late(scene: Scene, name: str, of: str) -> bool:
    return _lag_s(scene, name, of) > SLOW_S


def _in_time(scene: Scene, name: str, of: str) -> bool:
    return _lag_s(scene, name, of) < SLOW_S


def _lag_s(scene: Scene, name: str, of: str) -> float:
    """How long the last heartbeat was under way."""
    row = scene.heard(name, of)
    return (row.heard_at_ms - row.sent_at_ms) / 1000 if row is not None else 0.0


def _sessions(server: ZooKeeperServer, pid: int | None = None) -> set[str]:
    """Sessions that have a connection to the server now, those of one process only where it is given."""
    found = re.findall(r"/127\.0\.0\.1:(\d+)\[.*?sid=(0x[0-9a-f]+)", server.ask("cons"))
    ports = _local_ports(pid) if pid is not None else None
    return {session for port, session in found if ports is None or int(port) in ports}


def _local_ports(pid: int) -> set[int]:
    """Local ports of a process's TCP connections."""
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        target = str(link.readlink()) if link.is_symlink() else ""
        if target.startswith("socket:["):
            sockets.add(target[8:-1])
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[9] in sockets}


def _since(file: Path, position: int) -> bytes:
    with file.open("rb") as stream:
        stream.seek(position)
        return stream.read()
