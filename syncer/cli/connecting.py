"""Connection checks of all that a daemon needs, at once and within one deadline: ``syncer config check --connect``.

Each dependency is dialled in a thread and an event loop of its own, so that one whose client hangs keeps none of the
others from being told. When the deadline is over, what has not answered is told as such, with what its client knows of
the reason; its thread is left alone, and the process ends without it (:mod:`syncer.cli.leaving`). Nothing is lost so:
nothing is written into the store, no role is asked for on the bus, and a server drops the connections of a process that
is gone.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

import anyio

from syncer.admin.client import AdminClient
from syncer.cli import leaving
from syncer.config.admin_clients import admin_settings
from syncer.config.group_keys import read_keys, region_key
from syncer.documents.configuration import DependencyDocument
from syncer.errors import StateUnavailable, SyncerError
from syncer.model import Region
from syncer.state.sql.opening import file_of, is_made, is_there, parse_url
from syncer.state.views.region import Views

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.config.tables import AdminConfig

CLOSE_S: Final = 1.0
"""How long clients that were of use are waited for to close, once all have answered; never beyond the deadline."""


@runtime_checkable
class Explains(Protocol):
    """A client that can say, from any thread, why it is not connected yet."""

    @property
    def trouble(self) -> str:
        """The reason in words; empty while there is none, or none that it knows."""
        ...


@runtime_checkable
class Reachable(Protocol):
    """A bus that can be connected to without asking for a role on it."""

    async def reach(self) -> None:
        """Connect, in place of ``open``."""
        ...


@runtime_checkable
class Closable(Protocol):
    """A client that is closed."""

    async def close(self) -> None:
        """Disconnect. Safe to call twice, and when it was never open."""
        ...


@dataclass(slots=True)
class Attempt:
    """One dependency.

    Args:
        name: As it is told.
        dial: Tries it; raises what is wrong.
        client: What it speaks through, once that is made.
    """

    name: str
    dial: Callable[[Attempt], Awaitable[None]]
    client: object = field(default=None, init=False)

    @property
    def trouble(self) -> str:
        """What the client knows of why there is no connection."""
        return self.client.trouble if isinstance(self.client, Explains) else ""

    def good(self) -> DependencyDocument:
        """It answered."""
        return DependencyDocument(name=self.name, ok=True, cause="", hint="")

    def failed(self, error: SyncerError) -> DependencyDocument:
        """It did not do, for a reason that was told."""
        trouble = self.trouble if error.retryable else ""
        more = f": {trouble}" if trouble and trouble not in error.message else ""
        return DependencyDocument(name=self.name, ok=False, cause=error.message + more, hint=error.hint)

    def silent(self, timeout_s: float) -> DependencyDocument:
        """It has not answered."""
        trouble = self.trouble
        hint = "Check address, network and firewall, or give a longer --timeout."
        if "TLS" in trouble or "certificate" in trouble:
            hint = "Check its port, the settings of TLS, and the server's certificate."
        cause = f"no answer within {timeout_s:g} s" + (f": {trouble}" if trouble else "")
        return DependencyDocument(name=self.name, ok=False, cause=cause, hint=hint)


def dial(config: Config, *, timeout_s: float) -> list[DependencyDocument]:
    """Try store, bus, admin APIs, sidecar database and the files of keys; each one's failure is its row.

    The database is only looked at: one that does not exist yet is fine, the daemon makes it.
    """
    attempts = [
        Attempt(f"store {config.store.kind}", lambda attempt: _store(config, attempt)),
        Attempt(f"bus {config.bus.kind}", lambda attempt: _bus(config, attempt)),
        Attempt("database", lambda _: _database(config)),
    ]
    if config.signing is not None and config.signing.key_files:
        attempts.append(Attempt("group keys", lambda _: _group_keys(config)))
    if config.signing is not None and config.signing.region_key_file is not None:
        attempts.append(Attempt("region key", lambda _: _region_key(config)))
    if config.admin is not None:
        attempts.append(Attempt("admin", partial(_admin, config.admin)))
    attempts += [Attempt(f"cluster {name}", partial(_admin, table.admin)) for name, table in config.cluster.items()]
    return dial_all(attempts, timeout_s=timeout_s)


def dial_all(attempts: Sequence[Attempt], *, timeout_s: float) -> list[DependencyDocument]:
    """Dial at once, and tell each in the order given, when the deadline is over at the latest."""
    deadline = time.monotonic() + timeout_s
    told: queue.SimpleQueue[tuple[int, DependencyDocument | BaseException]] = queue.SimpleQueue()
    threads = [
        threading.Thread(target=_dialled, args=(number, attempt, timeout_s, told), name=attempt.name, daemon=True)
        for number, attempt in enumerate(attempts)
    ]
    leaving.may_be_left(threads)
    for thread in threads:
        thread.start()
    rows: dict[int, DependencyDocument] = {}
    while len(rows) < len(attempts):
        try:
            number, row = told.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        if isinstance(row, BaseException):
            raise row
        rows[number] = row
    found = [rows.get(number) or attempt.silent(timeout_s) for number, attempt in enumerate(attempts)]
    closed_by = min(deadline, time.monotonic() + CLOSE_S)
    for thread in threads:
        thread.join(max(0.0, closed_by - time.monotonic()))
    return found


def _dialled(
    number: int,
    attempt: Attempt,
    timeout_s: float,
    told: queue.SimpleQueue[tuple[int, DependencyDocument | BaseException]],
) -> None:
    """Dial one dependency in this thread. Its client is closed after its row was told."""

    async def dialled() -> None:
        try:
            with anyio.move_on_after(timeout_s):
                await attempt.dial(attempt)
                told.put((number, attempt.good()))
        except SyncerError as exc:
            told.put((number, attempt.failed(exc)))
        except Exception as exc:  # noqa: BLE001 - handed to the thread that waits
            told.put((number, exc))
        if isinstance(attempt.client, Closable):
            await attempt.client.close()

    anyio.run(dialled)


async def _store(config: Config, attempt: Attempt) -> None:
    attempt.client = store = config.make_store()
    await store.open()
    await store.read([])


async def _bus(config: Config, attempt: Attempt) -> None:
    attempt.client = bus = config.make_bus()
    await (bus.reach() if isinstance(bus, Reachable) else bus.open())
    await bus.position()


async def _database(config: Config) -> None:
    url = config.database_url()
    file = file_of(parse_url(url))
    if file is not None and not is_there(file):
        if not file.parent.is_dir():
            raise StateUnavailable(
                f"the directory of the sidecar database does not exist: {file.parent}",
                hint="Create it, owned by the user of the daemon.",
            )
        return
    if file is None and not is_made(parse_url(url)):
        return  # the daemon makes it when it starts for the first time
    Views.open(url, Region(config.region)).close()


async def _group_keys(config: Config) -> None:
    read_keys(config.signing.key_files if config.signing is not None else ())


async def _region_key(config: Config) -> None:
    if config.signing is not None and config.signing.region_key_file is not None:
        region_key(config.signing.region_key_file, config.peers.halves(), Region(config.region))


async def _admin(config: AdminConfig, attempt: Attempt) -> None:
    once = admin_settings(config).model_copy(update={"retry_for": timedelta(0)})
    attempt.client = client = AdminClient(once)
    await client.clusters()
