"""Dialling all that a daemon needs, each with a deadline: ``syncer config check --connect``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio

from syncer.cli.documents import DependencyDocument
from syncer.errors import SyncerError

if TYPE_CHECKING:
    from syncer.config import Config

Closing = Callable[[], Awaitable[None]]


def dial(config: Config, *, timeout_s: float) -> list[DependencyDocument]:
    """Try store, bus, admin API, sidecar database and the files of keys; each one's failure is its row.

    The database is only looked at: one that does not exist yet is fine, the daemon makes it.
    """
    return anyio.run(_dial, config, timeout_s)


async def _dial(config: Config, timeout_s: float) -> list[DependencyDocument]:
    attempts: list[tuple[str, Callable[[], Awaitable[None]]]] = [
        (f"store {config.store.kind}", lambda: _store(config)),
        (f"bus {config.bus.kind}", lambda: _bus(config)),
        ("database", lambda: _database(config)),
    ]
    if config.signing is not None and config.signing.key_files:
        attempts.append(("group keys", lambda: _group_keys(config)))
    if config.signing is not None and config.signing.region_key_file is not None:
        attempts.append(("region key", lambda: _region_key(config)))
    if config.admin is not None:
        attempts.append(("admin", lambda: _admin(config)))
    return [await _tried(name, attempt, timeout_s) for name, attempt in attempts]


async def _tried(name: str, attempt: Callable[[], Awaitable[None]], timeout_s: float) -> DependencyDocument:
    try:
        with anyio.fail_after(timeout_s):
            await attempt()
    except SyncerError as exc:
        return DependencyDocument(name=name, ok=False, cause=exc.message, hint=exc.hint)
    except TimeoutError:
        hint = "Check address, network and firewall, or give a longer --timeout."
        return DependencyDocument(name=name, ok=False, cause=f"no answer within {timeout_s:g} s", hint=hint)
    return DependencyDocument(name=name, ok=True, cause="", hint="")


async def _store(config: Config) -> None:
    store = config.make_store()
    try:
        await store.open()
        await store.read([])
    finally:
        await _closed(store.close)


async def _bus(config: Config) -> None:
    bus = config.make_bus()
    try:
        await bus.open()
        await bus.position()
    finally:
        await _closed(bus.close)


async def _database(config: Config) -> None:
    from syncer.errors import StateUnavailable
    from syncer.model import Region
    from syncer.state.opening import file_of, is_made, parse_url
    from syncer.state.views import Views

    url = config.database_url()
    file = file_of(parse_url(url))
    if file is not None and not file.exists():
        if not file.parent.is_dir():
            raise StateUnavailable(
                f"the directory of the sidecar database does not exist: {file.parent}",
                hint="Create it, owned by the user of the daemon.",
            )
        return
    if file is None and not await anyio.to_thread.run_sync(is_made, parse_url(url)):
        return  # the daemon makes it when it starts for the first time
    await anyio.to_thread.run_sync(lambda: Views.open(url, Region(config.region)).close())


async def _group_keys(config: Config) -> None:
    from syncer.config.group_keys import read_keys

    read_keys(config.signing.key_files if config.signing is not None else ())


async def _region_key(config: Config) -> None:
    from syncer.config.group_keys import region_key
    from syncer.model import Region

    if config.signing is not None and config.signing.region_key_file is not None:
        region_key(config.signing.region_key_file, config.peers.halves(), Region(config.region))


async def _admin(config: Config) -> None:
    from syncer.admin.client import AdminClient
    from syncer.daemon import admin_settings

    if config.admin is not None:
        async with AdminClient(admin_settings(config.admin)) as client:
            await client.clusters()


async def _closed(close: Closing) -> None:
    with anyio.CancelScope(shield=True), anyio.move_on_after(5):
        await close()
