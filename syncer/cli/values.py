"""The store's own value, asked for by a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from syncer.model import MetaPath

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.documents.values import Present

StoreTimeout = Annotated[
    float,
    typer.Option(
        "--store-timeout", min=0, metavar="SECONDS", help="How long to wait for the store's own value; 0: do not ask."
    ),
]


def present_at(config: Config, path: MetaPath, timeout_s: float, *, alive: bool) -> Present:
    """Read what the store holds now, with the logs of its client on stderr; see :func:`read_present`."""
    from syncer import log
    from syncer.inspection.stored_value import read_present

    if timeout_s:
        log.configure(level="warning", form="console")

    async def read() -> Present:
        return await read_present(config, path, timeout_s, alive=alive)

    return anyio.run(read)
