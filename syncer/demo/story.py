"""The story: what happens to three regions, act by act, and what has to be true after each."""

from __future__ import annotations

import contextlib
import functools
import json
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from syncer.demo.screen import Screen
from syncer.demo.world import MAX_DELETES, REGIONS, World
from syncer.errors import SyncerError
from syncer.model import MetaPath
from syncer.operations.contract import OperationRequest
from syncer.operations.decisions import held_of, lost_in
from syncer.paths import PARTITIONED_TOPICS, namespace_path, tenant_path
from syncer.state.contract.conflicts import ConflictRow
from syncer.state.contract.operations import Operation, OperationState
from syncer.state.views.summaries import HoldRow
from syncer.waiting import WaitFailed

AHEAD_MS: Final = 20_000
TOPICS: Final = 120
ROWS: Final = 1000


@dataclass(slots=True)
class Story:
    """Plays the acts in order and remembers what did not hold.

    Args:
        world: Three regions, not yet started.
        screen: Where it is told.
    """

    world: World
    screen: Screen
    failed: list[str] = field(default_factory=list)

    def check(self, text: str, holds: bool) -> None:  # noqa: FBT001 - reads as a sentence
        """Tell something that must be true."""
        self.screen.proof(text, holds=holds)
        if not holds:
            self.failed.append(text)

    def hold(self, text: str) -> None:
        """Tell something that was waited for, and has come."""
        self.check(text, True)

    def converge(self, what: str) -> None:
        """Wait until all regions hold the same."""
        self.world.wait(
            lambda: not self.world.differing(),
            f"{what}: all three regions hold the same",
            shown=lambda: sorted(self.world.differing()),
        )
        self.hold(f"{what}: all three regions hold the same {len(self.world.picture('east'))} resources")

    def play(self) -> bool:
        """Play everything up to the first state that does not come; whether all of it held."""
        acts: tuple[Callable[[int], None], ...] = (
            self.meet,
            self.change,
            self.conflict,
            self.skew,
            self.cut,
            self.crash,
            self.mass_delete,
            self.prove,
        )
        try:
            for number, act in enumerate(acts, start=1):
                act(number)
        except WaitFailed as exc:
            self.check(exc.what, False)
            self.screen.say(str(exc))
        except (SyncerError, sqlite3.Error) as exc:
            self.check(f"the story goes on: {exc}", False)
        return not self.failed

    # -- the acts

    def meet(self, number: int) -> None:
        """First contact."""
        self.screen.act(number, "Three regions meet: each has its own store, its own daemon, its own clock")
        east = self.world["east"]
        east.put(tenant_path("sales"), _tenant())
        east.put(namespace_path("sales", "orders"), _policies(message_ttl_in_seconds=3600))
        east.put(namespace_path("sales", "invoices"), _policies())
        self.world["west"].put(tenant_path("research"), _tenant("lab"))
        self.world.start()
        self.screen.say("east has tenant 'sales' with two namespaces, west has tenant 'research', north is empty")
        self.converge("first contact")
        self._comes("every daemon has read its store to the end", self._all_read)

    def change(self, number: int) -> None:
        """Creates and updates from everywhere."""
        self.screen.act(number, "Creates and updates in all regions at once")
        for index in range(150):
            region = self.world[REGIONS[index % 3]]
            tenant = f"team-{index % 30}"
            region.put(tenant_path(tenant), _tenant(f"role-{index}"))
        for topic in range(TOPICS):
            self.world["north"].put(_topic(topic), b'{"partitions":4}')
        self.screen.say(
            f"150 changes of 30 tenants, each path from several regions; {TOPICS} partitioned topics in north"
        )
        self.converge("after the burst")

    def conflict(self, number: int) -> None:
        """Two regions edit one namespace while they cannot hear each other."""
        self.screen.act(number, "A real conflict: both sides edit one namespace while the link between them is cut")
        path = namespace_path("sales", "orders")
        self.world.link("west", up=False)
        self.world["east"].put(path, _policies(message_ttl_in_seconds=60))
        self.world["west"].put(
            path, _policies(retention_policies={"retentionTimeInMinutes": 10, "retentionSizeInMB": 1})
        )
        self.screen.say("west is cut off; east sets a TTL of 60 s, west sets a retention of 10 minutes")
        self._comes("each daemon has read and sent its own side's change", lambda: self._all_sent(path, "east", "west"))
        self.world.link("west", up=True)
        self.screen.say("the link heals")
        self.converge("after the conflict")
        self._comes("the loser is kept whole in a conflict record", lambda: self._lost_whole("east", path))
        winner = json.loads(self.world["east"].writer.get(path) or b"{}")
        west_won = "retention_policies" in winner
        self.screen.say(f"the later write won: {'west, its retention' if west_won else 'east, its TTL'}")
        for row in self._lost_whole("east", path)[-1:]:
            with self.world["east"].views() as views:
                request = lost_in(views, row.id).restoring
            self._operate("east", request)
            other = "message_ttl_in_seconds" if west_won else "retention_policies"
            self._comes(
                "'syncer conflicts restore' brings the other value back, in all regions",
                functools.partial(self._all_have, path, other),
            )
        self.converge("after the restore")

    def skew(self, number: int) -> None:
        """A clock that is wrong."""
        self.screen.act(number, "A clock that is 20 seconds ahead does not win by being wrong")
        north, east = self.world["north"], self.world["east"]
        north.stop()
        north.ahead_ms = AHEAD_MS
        north.start()
        path = tenant_path("sales")
        north.put(path, _tenant("from-north-in-the-future"))
        self.screen.say("north's clock is 20 s ahead; it changes tenant 'sales'")
        self._comes("east has received it", lambda: self._role("east", path) == "from-north-in-the-future")
        east.put(path, _tenant("from-east-afterwards"))
        self.screen.say("east, whose clock is right, changes it after having seen that")
        self._comes(
            "east's change wins everywhere, because its author had seen the other",
            lambda: all(self._role(name, path) == "from-east-afterwards" for name in REGIONS),
        )
        self.check("and it is no conflict", not any(self._conflicts(name, path) for name in REGIONS))
        self.converge("with a wrong clock")

    def cut(self, number: int) -> None:
        """A link that is cut for a while."""
        self.screen.act(number, "A region is cut off, works on, and comes back")
        self.world.link("north", up=False)
        for index in range(40):
            self.world["north"].put(tenant_path(f"island-{index}"), _tenant())
            self.world["west"].put(tenant_path(f"main-{index}"), _tenant())
        self.world["east"].delete(tenant_path("team-7"))
        self.screen.say("north is cut off; 40 tenants are made there, 40 in west, one is deleted in east")
        self._comes("east has what was made in west", lambda: self.world.hold([tenant_path("main-39")], "east"))
        self.world.link("north", up=True)
        self.converge("after the link healed")
        self.check("the deleted tenant did not come back", not self.world.hold([tenant_path("team-7")], "north"))

    def crash(self, number: int) -> None:
        """Daemons are killed in the middle of a burst."""
        self.screen.act(number, "kill -9 in the middle of a burst, on both sides")
        east, west = self.world["east"], self.world["west"]
        for index in range(200):
            east.put(tenant_path(f"burst-{index}"), _tenant(f"r{index}"))
            if index == 60:
                east.kill()
            if index == 120:
                west.kill()
        self.screen.say("200 tenants written in east; its daemon was killed at the 60th, west's at the 120th")
        east.start()
        west.start()
        self.screen.say("both daemons are started again")
        self.converge("after the crashes")

    def mass_delete(self, number: int) -> None:
        """Somebody deletes too much."""
        self.screen.act(number, "Somebody deletes a namespace's topics by mistake")
        north = self.world["north"]
        for topic in range(TOPICS):
            north.delete(_topic(topic))
        self.screen.say(f"a script in north deletes {TOPICS} partitioned topics")
        self._comes("north holds it, but for what has passed", self._all_judged, shown=lambda: self._held("north"))
        held = self._held("north")
        reasons = {row.hold.reason for row in held}
        self.check(f"most of it is held: {', '.join(sorted(reasons)) or 'nothing'}", bool(held))
        kept = sum(self.world.hold([_topic(topic)], "east") for topic in range(TOPICS))
        text = f"{kept} of {TOPICS} topics still stand in east: at most {MAX_DELETES} deletes pass within an hour here"
        self.check(text, kept >= TOPICS - MAX_DELETES)
        self.screen.say("an operator in north takes the held deletes back; the values come from the other regions")
        self._operate("north", *(held_of(row.path, row.hold, row.shown).refusing for row in held))
        self._comes("nothing is held any more", lambda: not self._held("north"), shown=lambda: self._held("north"))
        self.converge("after the deletes were taken back")

    def prove(self, number: int) -> None:
        """The proof."""
        self.screen.act(number, "Proof")
        self._comes(
            "nothing is left to be sent, written or decided",
            lambda: all(map(self._quiet, REGIONS)),
            shown=lambda: {name: self._left(name) for name in REGIONS},
        )
        pictures = {name: self.world.picture(name) for name in REGIONS}
        rows = []
        for name in REGIONS:
            with self.world[name].views() as views:
                status = views.status()
            counts = status.counts
            figures = (
                len(pictures[name]),
                self.world[name].writes,
                status.outbox.depth,
                counts.conflicts,
                counts.holds,
            )
            rows.append((name, *(str(figure) for figure in figures)))
        self.screen.table(
            "", ("region", "resources", "outside writes", "still to send", "conflicts kept", "held"), rows
        )
        equal = all(picture == pictures["east"] for picture in pictures.values())
        self.check(f"{len(pictures['east'])} resources, digest by digest the same in east, north and west", equal)

    # -- questions

    def _conflicts(self, name: str, path: MetaPath) -> list[ConflictRow]:
        with self.world[name].views() as views:
            numbers = [row.id for row in views.conflicts(ROWS) if row.path == path and row.restored_at_ms is None]
            return [row for number in numbers if (row := views.conflict(number)) is not None]

    def _lost_whole(self, name: str, path: MetaPath) -> list[ConflictRow]:
        """What lost at a path, with its value; a loser that stood elsewhere is known once its message has come."""
        return [row for row in self._conflicts(name, path) if row.value]

    def _held(self, name: str) -> list[HoldRow]:
        with self.world[name].views() as views:
            return views.holds(ROWS)

    def _quiet(self, name: str) -> bool:
        """Return whether a region has nothing left to send, to write or to decide."""
        return not any(self._left(name))

    def _left(self, name: str) -> tuple[int, int, int, int, int]:
        """Count what a region has left: to be sent, to be written, held, from the future, in quarantine."""
        with self.world[name].views() as views:
            status = views.status()
        counts = status.counts
        return status.outbox.depth, counts.due, counts.holds, counts.future_events, counts.quarantine

    def _all_sent(self, path: MetaPath, *names: str) -> bool:
        """Return whether the daemons of these regions have read the path as their stores hold it, and sent it."""
        for name in names:
            with self.world[name].views() as views:
                register, depth = views.register(path), views.status().outbox.depth
            known = None if register is None or register.known is None else register.known.digest
            if depth or known != self.world.picture(name)[path]:
                return False
        return True

    def _all_judged(self) -> bool:
        """Return whether each topic that was deleted in north is held there, or deleted in east too."""
        held, standing = {row.path for row in self._held("north")}, self.world.picture("east")
        return all(path in held or path not in standing for path in map(_topic, range(TOPICS)))

    def _all_read(self) -> bool:
        for name in REGIONS:
            with self.world[name].views() as views:
                if not views.status().identity.first_scan_done:
                    return False
        return True

    def _comes(self, text: str, condition: Callable[[], object], *, shown: Callable[[], object] | None = None) -> None:
        """Wait for something that must become true, and tell it."""
        self.world.wait(condition, text, shown=shown)
        self.hold(text)

    def _operate(self, name: str, *requests: OperationRequest) -> None:
        """Have a daemon perform operations, and wait for its answers."""
        with self.world[name].views() as views:
            numbers = [
                views.ask(request.kind, request.arguments, asked_by="demo", reason="told in the story")
                for request in requests
            ]

            def asked() -> list[Operation]:
                return [each for each in map(views.operation, numbers) if each is not None]

            what = f"the daemon of {name} answers {len(numbers)} x '{requests[0].kind}'"
            self.world.wait(lambda: all(map(_is_answered, asked())), what, shown=asked)
            refused = [each.answer or each.state for each in asked() if each.state is not OperationState.DONE]
        said = f": {len(refused)} were refused: {refused[0]}" if refused else ""
        times = f"{len(numbers)} x " if len(numbers) > 1 else ""
        self.check(f"the daemon of {name} has performed {times}'{requests[0].kind}'{said}", not refused)

    def _role(self, name: str, path: MetaPath) -> str:
        document = json.loads(self.world[name].writer.get(path) or b"{}")
        return str(next(iter(document.get("adminRoles", [])), ""))

    def _all_have(self, path: MetaPath, field_name: str) -> bool:
        return all(field_name in json.loads(self.world[name].writer.get(path) or b"{}") for name in REGIONS)


def _is_answered(operation: Operation) -> bool:
    return operation.state in {OperationState.DONE, OperationState.FAILED}


def _tenant(role: str = "admin") -> bytes:
    return json.dumps({"adminRoles": [role], "allowedClusters": list(REGIONS)}).encode()


def _policies(**more: object) -> bytes:
    boundaries = ["0x00000000", "0x40000000", "0x80000000", "0xc0000000", "0xffffffff"]
    document = {
        "replication_clusters": list(REGIONS),
        "bundles": {"boundaries": boundaries, "numBundles": 4},
        "backlog_quota_map": {},
        "deleted": False,
        **more,
    }
    return json.dumps(document).encode()


def _topic(number: int) -> MetaPath:
    return MetaPath(f"{PARTITIONED_TOPICS}/sales/orders/persistent/day-{number}")


def play(folder: Path | None = None) -> bool:
    """Play the story in a folder of its own (a temporary one when none is given); whether all of it held."""
    screen = Screen()
    screen.console.print(
        "[bold]pulsar-syncer: three regions, one story.[/] Every daemon below is a process of its own."
    )
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="syncer-demo-")))
        world = World(folder)
        stack.callback(world.stop)
        story = Story(world, screen)
        held = story.play()
    writes = sum(region.writes for region in world.regions.values())
    if held:
        screen.verdict(f"demo: PASSED. {writes} outside writes, 0 lost, in {screen.elapsed_s:.0f} s", holds=True)
    else:
        screen.verdict(f"demo: FAILED: {'; '.join(story.failed)}", holds=False)
    return held
