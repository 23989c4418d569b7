"""What goes wrong between an operator, a tenant and a restart: decisions that come too late, deletes, secrets."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import unicodedata
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Final

from deploy.lab.process import freeze
from syncer.bus.wire.fields import NUMBERS
from syncer.bus.wire.messages import ControlAction
from syncer.conflict.register import HoldReason
from syncer.dispositions import ExitCode
from syncer.errors import StateForeign, StateUnavailable
from syncer.model import MetaPath, Region
from syncer.paths import CLUSTERS
from syncer.waiting import until
from tests.hostile.group import Member, conflicts_of
from tests.hostile.saying import make, topic
from tests.hostile.scene import Scene
from tests.shell.region import NAMESPACE, TENANT, path_of, tenant

PLANTED: Final = "planted-secret"
MANY: Final = 60
"""Tenants that are made to be deleted: more than a tenth of all."""
FEW: Final = 9
"""Deletes below which no share of a scope counts."""
READING: Final = (
    ("status",),
    ("regions", "list"),
    ("events", "tail"),
    ("conflicts", "list", "--all"),
    ("holds", "list"),
    ("quarantine", "list"),
    ("parked", "list"),
)
"""Commands that show what others have written."""


@asynccontextmanager
async def stopped(member: Member) -> AsyncIterator[None]:
    """Have a daemon stand still, in the middle of no transaction: what is asked of it now, it does afterwards."""

    files = [file for file in (member.database, member.store_file) if file.exists()]

    def stands_between_transactions() -> bool:
        freeze(member.pid)
        if not any(map(_locked, files)):
            return True
        os.kill(member.pid, signal.SIGCONT)
        return False

    await until(stands_between_transactions, f"{member.name} stands still")
    try:
        yield
    finally:
        os.kill(member.pid, signal.SIGCONT)


def _locked(file: Path) -> bool:
    """Whether somebody is about to write to an SQLite file."""
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as db:
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        db.execute("ROLLBACK")
        return False


async def restore_too_late(scene: Scene) -> None:
    """Between the look at a conflict and the daemon's act, somebody writes once more."""
    east, west = scene.east, scene.west
    path = path_of(f"restored-{scene.number}")
    scene.group.write(east, path, tenant("one"))
    scene.group.write(west, path, tenant("two"))
    await scene.until(lambda: conflicts_of([east], path), "the conflict is recorded")
    await scene.until(lambda: east.get(path) == west.get(path), "and one of them has won")
    number = next(row.id for row in east.ask(lambda views: views.conflicts(10_000)) if row.path == path)
    async with stopped(east):
        scene.group.write(east, path, tenant("three"))
        await east.command("conflicts", "restore", f"{number}", "--yes", "--timeout", "0", status=ExitCode.UNREACHABLE)


async def reject_too_late(scene: Scene) -> None:
    """Between the look at a held change and the daemon's act, somebody writes once more."""
    east, west = scene.east, scene.west
    await make(scene, TENANT, tenant("acme"))
    await make(scene, NAMESPACE, b'{"replication_clusters":["east","north","west"]}')
    path = await make(scene, topic(f"rejected-{scene.number}"), b'{"partitions":3}')
    await scene.until(lambda: west.get(path), "the topic is there")
    west.writer.put(path, b'{"partitions":1}')
    await scene.until(lambda: path in east.holds(), "fewer partitions wait for an operator")
    async with stopped(east):
        scene.group.write(east, path, b'{"partitions":5}')
        await east.command("holds", "reject", path, "--yes", "--timeout", "0", status=ExitCode.UNREACHABLE)


async def undo_too_late(scene: Scene) -> None:
    """Between the look at held deletes and the daemon's act, somebody makes one of the paths again."""
    east = scene.east
    paths = await _made(scene, MANY)
    for path in paths:
        east.writer.delete(path)
    await scene.until(lambda: _held(east), "the deletes wait for an operator")
    await scene.until(lambda: _knows_deletes(east, paths), "all of them: who decides all decides what is shown then")
    async with stopped(east):
        scene.group.write(east, paths[0], tenant("again"))
        await east.command("holds", "reject", "--all", "--yes", "--timeout", "0", status=ExitCode.UNREACHABLE)
    await scene.until(lambda: not east.holds(), "it is decided")


async def deletes_over_restarts(scene: Scene) -> None:
    """A daemon that falls again and again meets a few deletes in each of its lives."""
    east = scene.east
    paths = await _made(scene, MANY)
    for life in range(3):
        met = paths[: (life + 1) * FEW]
        for path in met[life * FEW :]:
            east.writer.delete(path)
        await scene.until(lambda: _knows_deletes(east, met), "the deletes are met")  # noqa: B023 - until this is over
        if life < 2:
            await scene.group.restart(east)
    assert _held(east), "more deletes than there may be in one window have passed, some in each life"


async def rebuild_with_a_liar(scene: Scene) -> None:
    """A region loses its database while somebody speaks who never tells what he knows."""
    await scene.say(scene.beat())
    scene.group.lose_database(scene.east)
    await scene.until(lambda: _rebuilt(scene.east), "the database is rebuilt")
    await scene.say(scene.beat())
    await scene.until(lambda: _rebuilt(scene.east).get("waits_for") == [scene.name], "nobody else is waited for")


def _rebuilt(member: Member) -> dict[str, object]:
    """How far the rebuild of a database has got; empty: nobody knows."""
    try:
        report = member.report()
    except (StateForeign, StateUnavailable):  # the schema is being made
        return {}
    return report.get("rebuild") or {}


async def last_request(scene: Scene) -> None:
    """Whoever speaks in west's name uses up its numbers; each region's own operator has to be heard all the same."""
    facts = {"region": Region("west"), "sender": scene.database("west")}
    await scene.say(
        scene.control(ControlAction.RESUME, **facts, number=NUMBERS - 2),
        scene.control(ControlAction.PAUSE, **facts, number=NUMBERS - 1, reason="for ever"),
    )
    await scene.until(lambda: "for ever" in str(scene.east.identity.paused), "east stands still")
    for member in (scene.east, scene.group.members["north"]):
        await member.command("resume")
        await member.command("pause", "--reason", "because")
        assert "because" in str(member.identity.paused), f"{member.name} hears its operator"
        await member.command("resume")


async def forgetting_goes_on(scene: Scene) -> None:
    """Somebody who is no region has said something; then a delete has to be forgotten once all have it."""
    await scene.say(scene.change("nobody"))
    path = scene.path("forgotten")
    scene.east.writer.put(path, tenant("doomed"))
    await scene.until(lambda: scene.west.get(path), "it is everywhere")
    scene.east.writer.delete(path)
    await scene.until(lambda: not any(member.get(path) for member in scene.group), "and gone everywhere")
    if scene.believed:
        for member in scene.group:
            await scene.until(lambda: _waits_for(member, scene.sender), "it is shown")  # noqa: B023 - until this is over
        for member in scene.group:
            await member.command("regions", "forget", scene.sender, "--yes")
    await scene.until(lambda: not any(_remembers(member, path) for member in scene.group), "and forgotten everywhere")


def _waits_for(member: Member, database: str) -> bool:
    """Whether a region shows that it keeps deletes because of a database that never told whose it is."""
    return any(database in each["reason"] for each in member.report()["tombstones"]["held_up_by"])


def _remembers(member: Member, path: MetaPath) -> bool:
    return member.ask(lambda views: views.register(path)) is not None


async def secrets_in_a_declaration(scene: Scene) -> None:
    """A cluster's declaration holds what its brokers sign in with."""
    name = f"cluster-{scene.number}"
    document = {
        "serviceUrl": "http://east.example:8080",
        "brokerClientAuthenticationPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "brokerClientAuthenticationParameters": f"token:{PLANTED}-1",
        "brokerClientTlsKeyStorePassword": f"{PLANTED}-2",
        "brokerClientTlsTrustStorePassword": f"{PLANTED}-3",
    }
    path = MetaPath(f"{CLUSTERS}/{name}")
    scene.east.writer.put(path, json.dumps(document).encode())
    await scene.until(lambda: scene.west.get(path), "the cluster is declared elsewhere")
    assert not (found := list(_files_with(scene.group.folder, PLANTED.encode(), scene.east.store_file))), found


def _files_with(folder: Path, text: bytes, but: Path) -> Iterator[str]:
    """Files below a folder that hold a text, and are not this one or beside it."""
    for file in sorted(folder.rglob("*")):
        beside = file.parent == but.parent and file.name.startswith(but.name)
        if file.is_file() and not beside and text in file.read_bytes():
            yield str(file.relative_to(folder))


async def shows_no_sign_that_acts(scene: Scene) -> None:
    """No command for people, and none for programs, writes what a terminal would act on."""
    east = scene.east
    rows = [("conflicts", "show", f"{row.id}") for row in east.ask(lambda views: views.conflicts(10_000))[-3:]]
    for number, words in enumerate((*READING, *rows, ("explain", str(scene.victim)))):
        form = ("table", "json")[number % 2]  # each in both is tested within one process
        text = await east.command(*words, "-o", form)
        acting = {sign for sign in text if unicodedata.category(sign) in {"Cc", "Cf", "Co", "Cs"}} - {"\n"}
        assert not acting, f"'syncer {' '.join(words)} -o {form}' writes {''.join(sorted(acting))!a}"


async def _made(scene: Scene, count: int) -> list[MetaPath]:
    """Tenants that are everywhere."""
    paths = [scene.path(number) for number in range(count)]
    for path in paths:
        scene.east.writer.put(path, tenant("doomed"))
    await scene.until(lambda: all(map(scene.west.get, paths)), "what is to be deleted is everywhere")
    return paths


def _held(member: Member) -> bool:
    return any(row.hold.reason is HoldReason.MASS_DELETE for row in member.holds().values())


def _knows_deletes(member: Member, paths: list[MetaPath]) -> bool:
    registers = member.ask(lambda views: [views.register(path) for path in paths])
    return all(
        register is None or register.known is None or register.hold is not None or not register.known.alive
        for register in registers
    )
