"""The value that the region's store holds at a path, read beside the daemon; secrets stay where they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import anyio

from syncer.conflict.changeover import MOST
from syncer.conflict.withholding import carried_value
from syncer.documents.values import Present
from syncer.errors import SyncerError
from syncer.model import MetaPath
from syncer.waiting.deadline import answered_within

if TYPE_CHECKING:
    from syncer.config import Config

CLOSING_S: Final = 1.0


async def read_present(config: Config, path: MetaPath, timeout_s: float, *, alive: bool) -> Present:
    """Read the path from the region's store, as far as it answers in time.

    Args:
        config: Of the region.
        path: Where.
        timeout_s: How long to wait; 0: do not ask.
        alive: Something is known to stand there: an empty value is one that cannot be read, and no inner node.
    """
    if not timeout_s:
        return Present(trouble="not asked")
    try:
        return await _read(config, path, timeout_s, alive=alive)
    except SyncerError as exc:
        return Present(trouble=exc.message)
    except TimeoutError:
        return Present(trouble=f"no answer within {timeout_s:g} s")


async def _read(config: Config, path: MetaPath, timeout_s: float, *, alive: bool) -> Present:
    store = config.make_store()
    try:
        async with answered_within(timeout_s):
            await store.open()
            entry = (await store.read([path]))[path]
    finally:
        await _closed(store.close)
    if entry is None or not (entry.value or alive):
        return Present()
    return Present(carried_value(path, entry.value, MOST))


async def _closed(close: Callable[[], Awaitable[None]]) -> None:
    with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
        await close()
