"""Take a backup of a live region: a scan of its scope, and the parents that the scan has passed by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import anyio.to_thread

from syncer.backup.layout import Manifest
from syncer.backup.writing import BackupDraft, drafted
from syncer.conflict.classes.telling import noted_fault
from syncer.errors import PreconditionFailed
from syncer.model import Millis
from syncer.planning.sources import LiveSide

Report = Callable[[int], None]
"""Told after each page: resources so far."""

_MAX_GENERATIONS: Final = 4
"""A topic policy has a namespace, which has a tenant; nothing has more ancestors."""


async def take_backup(
    side: LiveSide,
    target: Path,
    *,
    clusters: tuple[str, ...],
    now: Millis,
    made_by: str,
    report: Report = lambda _count: None,
) -> Manifest:
    """Write a backup of a region.

    A scan takes a while, and the region goes on changing. A resource that was made meanwhile is there or not; a child
    is never there without its parent, if the store has that.

    Raises:
        PreconditionFailed: The target exists or cannot be written, or the scope has more rules than a backup may have.
            Nothing is left behind.
        StoreError: The store cannot be read. Nothing is left behind.
    """
    if (fault := noted_fault([rule.pattern for rule in side.scope.rules])) is not None:
        raise PreconditionFailed(
            f"the scope of region {side.region} has {fault}, from a backup too",
            hint="Say the same with fewer rules and wildcards in 'scope.rules'.",
        )
    with drafted(target) as draft:
        count = 0
        async for page in side.pages():
            await anyio.to_thread.run_sync(draft.add, page)
            count += len(page)
            report(count)
        await _complete(side, draft)
        return await anyio.to_thread.run_sync(
            lambda: draft.publish(
                region=side.region,
                clusters=clusters,
                taken_at_ms=now,
                made_by=made_by,
                scope=side.scope,
                completed=not side.trouble,
            )
        )


async def _complete(side: LiveSide, draft: BackupDraft) -> None:
    """Read what the scan may have passed by; children that are gone by now go too."""
    for _ in range(_MAX_GENERATIONS):
        orphans = {parent: children for parent, children in draft.orphans().items() if side.scope.contains(parent)}
        if not orphans:
            return
        parents = await side.values(orphans)
        lonely = [child for parent, children in orphans.items() if parent not in parents for child in children]
        alive = await side.values(lonely)
        draft.add(parents.items())
        draft.drop(child for child in lonely if child not in alive)
        if not parents and len(alive) == len(lonely):
            return
