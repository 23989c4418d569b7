"""A process of its own that watches one ZooKeeper and notes when each path changed.

    python -m tests.bench.observer HOSTS PREFIX

Says ``armed`` when it sees every change. Commands: ``reset``, ``count`` (paths that changed since), ``report FILE`` (as
JSON: ``seen``, the times of each path's changes, and ``gaps``). Times are of this machine's clock, in seconds.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread

from syncer.log import configure
from syncer.model import MetaPath
from syncer.stores.contract import Armed, Changed, Gap
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.stores.zookeeper.store import ZooKeeperStore


@dataclass(slots=True)
class Notes:
    """What was seen since the last reset. A gap means that times are missing: the run does not count."""

    seen: dict[str, list[float]] = field(default_factory=dict)
    gaps: int = 0


async def observe(hosts: str, prefix: str) -> None:
    """Watch until standard input ends."""
    notes = Notes()
    store = ZooKeeperStore(ZooKeeperConfig(hosts=hosts))
    await store.open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_watch, store, MetaPath(prefix), notes)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            print(_answer(line.split(), notes), flush=True)
        tasks.cancel_scope.cancel()
    await store.close()


async def _watch(store: ZooKeeperStore, prefix: MetaPath, notes: Notes) -> None:
    first = True
    async for signal in store.watch([prefix]):
        now = time.time()
        match signal:
            case Changed(paths):
                for path in paths:
                    notes.seen.setdefault(path, []).append(now)
            case Armed() if first:
                first = False
                print("armed", flush=True)
            case Gap():
                notes.gaps += 1
            case _:
                pass


def _answer(words: list[str], notes: Notes) -> object:
    match words:
        case ["reset"]:
            notes.seen.clear()
            notes.gaps = 0
            return "ok"
        case ["count"]:
            return len(notes.seen)
        case ["report", file]:
            Path(file).write_text(json.dumps({"gaps": notes.gaps, "seen": notes.seen}), encoding="utf-8")
            return "ok"
        case _:
            return "what?"


if __name__ == "__main__":
    configure(level="warning", form="json")
    anyio.run(observe, sys.argv[1], sys.argv[2])
