"""The program ``syncer run``: a region's daemon, with its HTTP surface where it is configured, until it is ended."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Final

import anyio

from syncer.config.model import Config
from syncer.daemon import Daemon, cause_of, supervise
from syncer.inspection.inquiries.auditor import AuditorApart
from syncer.notifier.notifier import Notifier
from syncer.version import version

YOUNG_OBJECTS: Final = 20_000
"""New objects between two looks of the garbage collector: most of a batch lives and dies between them."""


def run(config: Config, config_file: Path | None = None) -> None:
    """Run a region's daemon with its HTTP surface until SIGTERM or SIGINT: what ``syncer run`` does."""
    if config.api.enabled:
        config.api.exposure()  # before anything is opened: where it is half protected, nothing starts
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    os.umask(0o077)  # whatever is made, by us or by a client library, is the daemon's alone
    daemon = Daemon(config, config_file=config_file, auditor=AuditorApart(config))

    async def settle() -> None:
        """Let the garbage collector pass by what stays anyway: to look through it cost a tenth of a busy daemon."""
        await daemon.started.wait()
        gc.collect()
        gc.freeze()

    notifier = Notifier(daemon)
    beside = []
    if config.api.enabled:
        from syncer.surface import Surface  # noqa: PLC0415 - a daemon without HTTP starts a second sooner without it

        beside.append(Surface(daemon, version=version(), notifier=notifier).serve)
    try:
        anyio.run(supervise, daemon, settle, notifier.run, *beside)
    except BaseExceptionGroup as group:
        raise cause_of(group) from group
