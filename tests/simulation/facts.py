"""What happened in one play, as lines that no name in the code can change: two commits that act alike tell the same.

Told are what a daemon is given (reads of its store, notices, messages), what it does (writes with what they expect,
messages as their bytes, acknowledgements, rows of its database that change), and how everything ends. The words are
those of the disk and the wire, or this file's own.

``python -m tests.simulation.facts --record`` writes ``plays.txt`` anew; ``--tier core --mode calm --seed 3`` prints one
play, to be compared by ``diff`` with that of another commit.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final
from unittest import mock

from syncer.bus.wire.codec import encode
from syncer.errors import PayloadInvalid
from syncer.state.sql.rows import journal_row, register_row
from syncer.stores.contract import BatchRefused
from tests.simulation.bus import Delivery, SimBus
from tests.simulation.campaign import PLAYS, Tier
from tests.simulation.disk import Tables
from tests.simulation.faults import MODES
from tests.simulation.history import Violation
from tests.simulation.region import Daemon
from tests.simulation.store import SimStore
from tests.simulation.topic_store import TopicStore
from tests.simulation.world import Site

RECORD: Final = Path(__file__).with_name("plays.txt")
SEEDS: Final[dict[Tier, int]] = {Tier.CORE: 5, Tier.SHELL: 5}
"""How many plays of each mode are recorded."""
PER_LINE: Final = 5

Play = tuple[Tier, str, int]


def words(value: Any) -> str:
    """A value in words: numbers, bytes and texts, in an order that no hash decides.

    Raises:
        TypeError: It is of a kind that has no words of its own.
    """
    match value:
        case None:
            return "-"
        case bool() | int() | float():
            return str(value)
        case str():
            return f"'{value!s}'"
        case bytes():
            return f"<{value.decode('utf-8', 'backslashreplace')}>"
        case Mapping():
            return "{" + ", ".join(sorted(f"{words(key)}: {words(each)}" for key, each in value.items())) + "}"
        case AbstractSet():
            return "{" + ", ".join(sorted(map(words, value))) + "}"
        case Sequence():
            return "[" + ", ".join(map(words, value)) + "]"
        case _ if is_dataclass(value):
            return "(" + ", ".join(words(getattr(value, each.name)) for each in fields(value)) + ")"
        case _:
            raise TypeError(type(value))


class Facts:
    """The lines of one play. While it listens it stands between the parts of the simulator, and changes nothing."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._rows: dict[str, dict[str, Any]] = {}

    def note(self, where: str, what: str, *values: Any) -> None:
        """Keep a line."""
        self.lines.append(" ".join((where, what, *map(words, values))))

    @property
    def digest(self) -> str:
        """A short name of all lines."""
        return hashlib.blake2b("\n".join(self.lines).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def database(self, site: Site) -> None:
        """What has changed in the database of a region, row by row."""
        former = self._rows.get(site.region, {})
        now = self._rows[site.region] = _tables(site.disk.tables)
        for name, rows in now.items():
            old = former.get(name, {})
            if rows == old:
                continue
            for key in sorted(rows.keys() | old.keys(), key=words):
                if key not in rows:
                    self.note(site.region, f"drops {name}", key)
                elif key not in old or old[key] != rows[key]:
                    self.note(site.region, f"keeps {name}", key, _row(name, rows[key]))

    def end(self, sites: Sequence[Site]) -> None:
        """What everything is like at last."""
        for site in sites:
            self.database(site)
            registers = site.disk.tables.registers
            self.note(site.region, "knows", *(_row("registers", registers[path]) for path in sorted(registers)))
            for path, node in sorted(site.store.nodes.items()):
                self.note(site.region, "holds", path, node.value, node.modified, node.created, node.version)


def _tables(tables: Tables) -> dict[str, dict[Any, Any]]:
    """Rows of a database by table and key."""
    return {
        "identity": {0: tables.identity},
        "membership": {0: tables.membership},
        "scope_periods": dict(enumerate(tables.scope_periods)),
        "registers": tables.registers.copy(),
        "outbox": tables.outbox.copy(),
        "held": tables.held.copy(),
        "carried": tables.carried.copy(),
        "consumed": tables.consumed.copy(),
        "conflicts": {row.id: row for row in tables.conflicts.values()},
        "poison": {row.id: row for row in tables.poison.values()},
        "future": tables.future_until.copy(),
        "peers": tables.peers.copy(),
        "operations": tables.operations.copy(),
        "repairs": tables.repairs.copy(),
        "tellings": tables.tellings.copy(),
        "tree": {0: (tables.tree.label, tables.tree.number, tables.tree.pages)},
        "journal": dict(enumerate(tables.journal)),
    }


def _row(name: str, row: Any) -> Any:
    """A row by its columns, where the database has an encoding of its own."""
    match name:
        case "registers":
            return register_row(row)
        case "journal":
            return journal_row(row, 0)  # type: ignore[arg-type] # the time is not kept here
        case _:
            return row


def _around(kind: type, name: str, after: Callable[..., None]) -> Any:
    """Replace a method by one that tells of each call: what it was given, and what it gave."""
    original = getattr(kind, name)

    def method(self: Any, *args: Any, **more: Any) -> Any:
        try:
            given = original(self, *args, **more)
        except BatchRefused as refusal:
            after(self, args, refusal)
            raise
        after(self, args, given)
        return given

    return mock.patch.object(kind, name, method)


def tell(tier: Tier, mode: str, seed: int) -> Facts:
    """Play a schedule and tell what happened; a broken one ends with the rule that was broken."""
    facts = Facts()

    def wrote(store: SimStore, args: Any, given: Any) -> None:
        refused = isinstance(given, BatchRefused)
        facts.note(store.region, "writes", store._clock(), args[0], args[1], given.index if refused else given)

    def said(bus: SimBus, args: Any, _: Any) -> None:
        message = args[0]
        if isinstance(message, PayloadInvalid):
            facts.note("bus", "takes what nobody understands", len(bus.log), message.code)
            return
        sent = encode(message)
        reached = [region for region, waiting in bus.waiting.items() if waiting and waiting[-1] == len(bus.log) - 1]
        facts.note("bus", "takes", len(bus.log), reached, sent.payload, sent.properties)

    def stepped(daemon: Daemon, _: Any, given: Any) -> None:
        facts.note(daemon.site.region, "steps", daemon.world.story.now, given)
        facts.database(daemon.site)

    def gets(region: str, what: str, delivery: Delivery | None) -> None:
        if delivery is not None:
            facts.note(region, what, [number for number, _ in delivery.messages])

    told = (
        _around(SimStore, "entry", lambda store, args, given: facts.note(store.region, "reads", args[0], given)),
        _around(SimStore, "apply", wrote),
        _around(SimStore, "put_outside", lambda store, args, _: facts.note(store.region, "is given", *args)),
        _around(SimStore, "delete_outside", lambda store, args, _: facts.note(store.region, "loses", *args)),
        _around(
            TopicStore, "_add", lambda store, args, given: facts.note(store.region, "is told", *args[:2], given.id)
        ),
        _around(SimStore, "watch", lambda store, _args, _: facts.note(store.region, "watches")),
        _around(SimBus, "_wait", said),
        _around(
            SimBus,
            "deliver",
            lambda _, args, given: gets(args[0], "gets", given),
        ),
        _around(
            SimBus,
            "overtake",
            lambda _, args, given: gets(args[0], "gets first", given),
        ),
        _around(SimBus, "again", lambda _, args, _given: facts.note(args[0].region, "gives back")),
        _around(Daemon, "_call", stepped),
        _around(Daemon, "_noticed", lambda daemon, args, _: facts.note(daemon.site.region, "notices", *args)),
        _around(Daemon, "acknowledge", lambda daemon, _args, _: facts.note(daemon.site.region, "acknowledges")),
        _around(Daemon, "end", lambda daemon, _args, _: facts.note(daemon.site.region, "ends")),
    )
    with ExitStack() as stack:
        for each in told:
            stack.enter_context(each)
        try:
            world = PLAYS[tier](mode, seed)
        except Violation as broken:
            facts.note("-", "breaks", broken.rule, broken.path)
            return facts
    facts.end(world.everywhere)
    facts.note("-", "is clean")
    return facts


def recorded() -> dict[Play, str]:
    """The digest of each play that was recorded."""
    digests: dict[Play, str] = {}
    for line in RECORD.read_text().splitlines():
        if line.startswith("#"):
            continue
        tier, mode, first, *names = line.split()
        digests.update({(Tier(tier), mode, int(first) + at): name for at, name in enumerate(names)})
    return digests


def _line(play: Play) -> str:
    tier, mode, first = play
    seeds = range(first, min(first + PER_LINE, SEEDS[tier]))
    return " ".join((tier, mode, str(first), *(tell(tier, mode, seed).digest for seed in seeds)))


def _lines(processes: int) -> Iterator[str]:
    yield "# What every play tells, by tier, mode and first seed. Made by: python -m tests.simulation.facts --record"
    most = max(SEEDS.values())
    firsts = [(first, tier) for first in range(0, most, PER_LINE) for tier in Tier if first < SEEDS[tier]]
    plays = [(tier, mode, first) for first, tier in firsts for mode in MODES]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_line, plays)


def main() -> int:
    """Record all plays, or print one."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.facts", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write plays.txt anew")
    parser.add_argument("--processes", type=int, default=2, help="how many play at once")
    parser.add_argument("--tier", choices=[str(tier) for tier in Tier], default=str(Tier.CORE))
    parser.add_argument("--mode", choices=sorted(MODES), default="calm")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.record:
        with RECORD.open("w") as file:
            for line in _lines(options.processes):
                print(line, file=file, flush=True)
    else:
        facts = tell(Tier(options.tier), options.mode, options.seed)
        print("\n".join(facts.lines))
        print(facts.digest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
