"""A process of its own that watches one ZooKeeper and notes when each path was first seen to hold what it should.

    python -m tests.bench.observer HOSTS PREFIX OUT

Reads lines of commands from standard input: ``reset``, ``report FILE`` (writes ``{path: [time of each notice]}``), ``quit``.
Times are ``time.time()`` of this machine; writer and observer share its clock.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import anyio
import anyio.to_thread

from syncer.model import MetaPath
from syncer.stores.contract import Armed, Changed, Gap
from syncer.stores.zookeeper import ZooKeeperConfig, ZooKeeperStore


async def observe(hosts: str, prefix: str) -> None:
    """Watch until told to quit."""
    seen: dict[str, list[float]] = {}
    gaps = 0
    store = ZooKeeperStore(ZooKeeperConfig(hosts=hosts))
    await store.open()

    async def watch() -> None:
        nonlocal gaps
        async for signal in store.watch([MetaPath(prefix)]):
            match signal:
                case Armed():
                    print("armed", flush=True)
                case Changed(paths):
                    now = time.time()
                    for path in paths:
                        seen.setdefault(path, []).append(now)
                case Gap():
                    gaps += 1
                case _:
                    pass

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        while True:
            words = (await anyio.to_thread.run_sync(sys.stdin.readline)).split()
            match words:
                case ["reset"]:
                    seen.clear()
                    print("ok", flush=True)
                case ["count", least]:
                    done = sum(len(times) >= int(least) for times in seen.values())
                    print(done, flush=True)
                case ["report", file]:
                    Path(file).write_text(json.dumps({"gaps": gaps, "seen": seen}), encoding="utf-8")  # noqa: ASYNC240
                    print("ok", flush=True)
                case _:
                    break
        tasks.cancel_scope.cancel()
    await store.close()


if __name__ == "__main__":
    anyio.run(observe, sys.argv[1], sys.argv[2])
