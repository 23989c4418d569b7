"""The task that tells operators: beside the daemon, never in its way.

While the daemon is active: look what stands, have the rules say what is due, write it into the log, post it to each
webhook. A webhook has a task of its own, so that one that hangs holds up neither the others nor the look. All that can
hang, the database, files and hosts, is in threads that nobody waits for, or is cancelled.
"""

from __future__ import annotations

import time
from collections import Counter as Tally
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
import structlog

from syncer.config.webhooks import LOG
from syncer.documents.notices import notice_document
from syncer.errors import ConfigError, SyncerError
from syncer.model import Region
from syncer.notices.delivery import post
from syncer.notices.lookups import HostLookups
from syncer.notices.pace import AttemptOutcome
from syncer.notices.rules import NoticeKind, Told
from syncer.notifier.reading import look
from syncer.notifier.receiver import PendingNotice, Receiver
from syncer.notifier.webhook import CalledWebhook, unprepared
from syncer.state.sql.presence import DaemonRole
from syncer.state.sql.work.notices import NoticesTold
from syncer.state.views.region import Views

if TYPE_CHECKING:
    from syncer.daemon import Daemon
    from syncer.replication.driver import Driver

log = structlog.get_logger()

LOOK_S: Final = 2.0
TURN_S: Final = 0.25
TROUBLED_S: Final = 10.0
"""Pause after a step that could not be done: the database is away, or there is a bug."""
FAILING: Final = "webhook-failing"
MAX_PREPARED: Final = 4
"""Threads that read secrets, templates and certificates of webhooks."""


class Notifier:
    """Tells operators what waits for them, as long as its daemon is the active one.

    Args:
        daemon: Beside which it runs.
    """

    def __init__(self, daemon: Daemon) -> None:
        self._daemon: Final = daemon
        self._config: Final = daemon.config
        self._clock: Final = daemon.clock
        self.tally: Final = Tally[tuple[str, str]]()
        terms = self._config.notify.terms
        self._webhooks: Final = [
            CalledWebhook(Receiver(name, config.kinds, terms, self.tally), config)
            for name, config in self._config.webhook.items()
        ]
        self._log: Final = Receiver(LOG, list(NoticeKind) if self._config.notify.log else [], terms, self.tally)
        self._lookups: Final = HostLookups()
        self._lane: Final = anyio.CapacityLimiter(1)
        self._files: Final = anyio.CapacityLimiter(MAX_PREPARED)
        self._views: Views | None = None
        self._told: NoticesTold | None = None
        self._begun_for: Driver | None = None

    @property
    def failing(self) -> int:
        """Webhooks that the status tells of."""
        return sum(bool(webhook.condition) for webhook in self._webhooks)

    async def run(self) -> None:
        """Tell until cancelled. Whatever goes wrong here is told in the log, and ends nothing else."""
        if not self._webhooks and not self._config.notify.log:
            return
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._repeat, self._look_anew, LOOK_S)
                for webhook in self._webhooks:
                    tasks.start_soon(self._repeat, partial(self._call, webhook), TURN_S)
        finally:
            self._close()

    async def _repeat(self, step: Callable[[], Awaitable[None]], pause_s: float) -> None:
        while True:
            troubled = False
            try:
                await step()
            except SyncerError as exc:
                troubled = True
                log.warning("notices_held_up", code=exc.code, cause=exc.message)
            except Exception:
                troubled = True
                log.exception("notices_failed")
            await anyio.sleep(TROUBLED_S if troubled else pause_s)

    def _close(self) -> None:
        for each in (self._views, self._told):
            if each is not None:
                each.close()
        self._views = self._told = None

    # -- what stands, and what is due

    @property
    def _driver(self) -> Driver | None:
        """The driver of the active daemon; ``None``: this one is not it."""
        pumps = self._daemon.pumps
        return pumps.driver if pumps is not None and self._daemon.role is DaemonRole.ACTIVE else None

    @property
    def _receivers(self) -> list[Receiver]:
        return [self._log, *(webhook.receiver for webhook in self._webhooks)]

    async def _look_anew(self) -> None:
        """Look; by a connection of its own after one that failed."""
        try:
            await self._look()
        except SyncerError:
            await self._in_thread(self._close)
            raise

    async def _look(self) -> None:
        driver = self._driver
        if driver is None:
            self._begun_for = None
            return
        if self._begun_for is not driver:
            kept = await self._in_thread(lambda: self._opened_told().read())
            for receiver in self._receivers:
                receiver.begin(kept, self._clock(), now_ms())
            self._begun_for = driver
        picture = await self._in_thread(lambda: look(self._opened_views(), self._config, self._clock()))
        if self._driver is not driver:
            return
        source = f"{self._config.region}/{driver.database_id}"
        for receiver in self._receivers:
            receiver.consider(picture, source, self._clock(), now_ms())
        for notice in list(self._log.pending.values()):
            self._write(notice)
        self._show(driver)
        await self._save()

    def _write(self, notice: PendingNotice) -> None:
        """Write a notice into the log; that is taken at once."""
        told = notice_document(
            self._config.region, notice.kind, notice.event, notice.standing, notice.id, notice.made_at_ms
        ).data
        write = log.warning if notice.standing.count else log.info
        write(
            "notice",
            kind=told.kind,
            occasion=told.event,
            id=told.id,
            count=told.count,
            message=told.message,
            paths=told.paths,
            command=told.command,
        )
        self._log.take(notice, self._clock(), now_ms())

    def _show(self, driver: Driver) -> None:
        """Have the status tell of webhooks that cannot be told."""
        troubles = [webhook.condition for webhook in self._webhooks if webhook.condition]
        if troubles:
            driver.show(FAILING, "; ".join(troubles))
        else:
            driver.unshow(FAILING)

    # -- delivery

    async def _call(self, webhook: CalledWebhook) -> None:
        notice = webhook.ready(time.monotonic())
        if notice is None or self._driver is None or self._begun_for is not self._driver:
            return
        try:
            endpoint, body = await anyio.to_thread.run_sync(
                webhook.prepared, notice, self._config.region, limiter=self._files, abandon_on_cancel=True
            )
        except ConfigError as exc:
            result = unprepared(exc)
        else:
            result = await post(endpoint, notice.id, body, self._clock() // 1000, self._lookups)
        failed_before = webhook.failures
        webhook.note(notice, result, time.monotonic(), self.tally)
        facts = {"webhook": webhook.receiver.name, "place": webhook.config.url.place, "id": notice.id}
        if result.outcome is AttemptOutcome.DELIVERED:
            webhook.receiver.take(notice, self._clock(), now_ms())
            log.info("notice_delivered", **facts, duration_s=round(result.took_s, 3))
            await self._save()
        elif not failed_before or result.outcome is not AttemptOutcome.FAILED:
            log.warning("notice_not_delivered", **facts, result=result.outcome.value, cause=result.detail)

    # -- the sidecar database, one thread at a time

    async def _save(self) -> None:
        """Keep what was told; what cannot be kept now is kept after the next look."""
        for receiver in self._receivers:
            for kind, told, at_ms in receiver.unsaved():
                await self._in_thread(partial(self._keep, receiver.name, kind, told, at_ms))
                receiver.saved(kind, told)

    def _keep(self, receiver: str, kind: NoticeKind, told: Told, at_ms: int) -> None:
        self._opened_told().write(receiver, kind, told, at_ms)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the work gives
        return await anyio.to_thread.run_sync(work, limiter=self._lane, abandon_on_cancel=True)

    def _opened_views(self) -> Views:
        if self._views is None:
            self._views = Views.open(self._config.database_url(), Region(self._config.region))
        return self._views

    def _opened_told(self) -> NoticesTold:
        if self._told is None:
            self._told = NoticesTold(self._config.database_url())
        return self._told


def now_ms() -> int:
    """The clock that never goes back, in milliseconds."""
    return time.monotonic_ns() // 1_000_000
