"""The daemon as its HTTP surface sees it: health, metrics and status, read from the pumps and the sidecar database."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
import structlog

from api.inside import Found
from api.probe import Dependency
from syncer import metrics
from syncer.attempts import AttemptTrail
from syncer.bus.contract import Role
from syncer.config.model import Config
from syncer.daemon import Daemon
from syncer.documents.status import StatusDocument
from syncer.errors import StateUnavailable, SyncerError
from syncer.inspection.move_watch import MovesSeen, MoveWatch
from syncer.inspection.status import collect
from syncer.metrics import Metrics, ledgers, load_history, migrations, moves, notices, streams
from syncer.model import Region
from syncer.notifier.notifier import Notifier
from syncer.serving import Doors
from syncer.state.views.region import Views
from syncer.state.views.summaries import Status

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

log = structlog.get_logger()

REFRESH_S: Final = 2.0
SILENT_S: Final = 5.0
"""A sidecar database that has not answered a look for so long is taken as gone."""
MAX_LOOKERS: Final = 2
"""Threads that make the status document, and as many that look for other routes; more requests wait, and nothing else
of the daemon does."""
REFUSED: Final = "http-connections-refused"


class Surface:
    """Implements :class:`api.probe.Probe` and :class:`api.inside.RegionInside` over a daemon.

    Gauges that come from the sidecar database are brought up to date by a task of its own, so that a scrape never
    waits for it.

    Args:
        daemon: The daemon.
        version: Of this program.
    """

    def __init__(self, daemon: Daemon, *, version: str, notifier: Notifier | None = None) -> None:
        self._daemon = daemon
        self._notifier = notifier
        self._config: Config = daemon.config
        self._metrics = Metrics(version=version, started_s=time.time())
        self._views: Views | None = None
        self._state_trouble = "not read yet"
        self._reading_since: float | None = None
        self._moves = MoveWatch()
        self._attempts = AttemptTrail(self._open_views)
        self._doors = Doors(self._config.api, self, self._attempts.keep)
        self._lookers = anyio.CapacityLimiter(MAX_LOOKERS)
        self._askers = anyio.CapacityLimiter(MAX_LOOKERS)

    @property
    def config(self) -> Config:
        """Of the region."""
        return self._config

    @property
    def registry(self) -> CollectorRegistry:
        """Metrics, as of the last refresh; the dependencies as they are now."""
        self._metrics.dependencies({each.name: each.ok for each in self.dependencies()})
        return self._metrics.registry

    def heartbeat_age_s(self) -> float:
        """Seconds since the event loop last turned, or, when longer, since the active pumps last ticked."""
        pumps = self._daemon.pumps
        turned = min(self._daemon.turned_at, pumps.alive_at) if pumps is not None else self._daemon.turned_at
        return time.monotonic() - turned

    def dependencies(self) -> Sequence[Dependency]:
        """Store, bus and sidecar database."""
        daemon = self._daemon
        if not daemon.started.is_set():
            return [
                Dependency(name=name, ok=name not in daemon.opening, cause=daemon.opening.get(name, ""))
                for name in ("state", "store", "bus")
            ]
        state_trouble = self._state_trouble or self._state_silence()
        found = [
            Dependency(name="bus", ok=daemon.bus_trouble is None, cause=daemon.bus_trouble or ""),
            Dependency(name="state", ok=not state_trouble, cause=state_trouble),
        ]
        if daemon.pumps is not None:
            whole = daemon.pumps.driver.watch_whole
            found.append(Dependency(name="store", ok=whole, cause="" if whole else "the watch is not armed"))
        return found

    def _state_silence(self) -> str:
        """That the sidecar database does not answer, where it does not."""
        waited_s = time.monotonic() - self._reading_since if self._reading_since is not None else 0.0
        return f"no answer for {waited_s:.0f} s" if waited_s > SILENT_S else ""

    async def status(self) -> Mapping[str, object]:
        """The document of ``syncer status``."""
        document = await anyio.to_thread.run_sync(self._collect, limiter=self._lookers)
        return document.model_dump(mode="json")

    async def look(self, question: Callable[[Views], Found]) -> Found:
        """What the views say; see :class:`api.inside.RegionInside`."""
        return await anyio.to_thread.run_sync(lambda: question(self._open_views()), limiter=self._askers)

    def _collect(self) -> StatusDocument:
        return collect(self._open_views(), self._config)

    def _open_views(self) -> Views:
        if self._views is None:
            self._views = Views.open(self._config.database_url(), Region(self._config.region))
        return self._views

    async def serve(self) -> None:
        """Answer requests until cancelled.

        Raises:
            ConfigError: A configured address cannot be had, or is half protected.
        """
        async with anyio.create_task_group() as tasks, self._doors.open(self):
            tasks.start_soon(self._refresh)
            tasks.start_soon(self._attempts.run)
            try:
                await anyio.sleep_forever()
            finally:
                tasks.cancel_scope.cancel()
        if self._views is not None:
            self._views.close()

    async def _refresh(self) -> None:
        while True:
            self._reading_since = time.monotonic()
            try:
                facts = await anyio.to_thread.run_sync(lambda: self._open_views().status())
                peers = await anyio.to_thread.run_sync(lambda: self._open_views().peers())
            except SyncerError as exc:
                self._state_trouble = exc.message
                if isinstance(exc, StateUnavailable) and self._views is not None:
                    self._views.close()
                    self._views = None
            else:
                self._state_trouble = ""
                self._gauges(facts)
                for peer in peers:
                    self._metrics.set(metrics.PEER_HEARD, peer.heard_at_ms / 1000, peer.region)
                    self._metrics.set(metrics.SKEW, (peer.sent_at_ms - peer.heard_at_ms) / 1000, peer.region)
            self._reading_since = None
            self._pump_gauges()
            self._migration_gauges()
            await self._move_gauges()
            self._history_gauges()
            self._audit_gauges()
            self._connections()
            self._notice_gauges()
            await self._snapshot_gauges()
            await anyio.sleep(REFRESH_S)

    def _migration_gauges(self) -> None:
        """How far the migration is that this daemon carries."""
        for family, value, label in migrations.samples(self._daemon.migration()):
            self._metrics.set(family, value, label)

    async def _move_gauges(self) -> None:
        """How the run of moves is that this daemon carries, and what has become of its moves."""
        seen = MovesSeen()
        if self._daemon.pumps is not None:
            try:
                seen = await anyio.to_thread.run_sync(lambda: self._moves.look(self._open_views()))
            except SyncerError as exc:
                log.warning("moves_not_seen", code=exc.code, cause=exc.message)
                return
        for family, value, label in moves.samples(seen.report):
            self._metrics.set(family, value, label)
        for each in seen.ended:
            self._metrics.move(each.outcome, each.predicted_s, each.observed_s)

    def _history_gauges(self) -> None:
        """How the histories of load fare that this daemon records."""
        found = self._daemon.load_standings()
        for family, value in load_history.samples(
            sampled_ms=[each.last_ms for each in found],
            sizes=[each.size_bytes for each in found],
            troubled=sum(each.trouble is not None for each in found),
            moves=sum(each.outcomes for each in found),
            ratios=[each.ratio for each in found if each.ratio is not None],
        ):
            self._metrics.set(family, value)

    def _audit_gauges(self) -> None:
        """What the latest audits of ledgers found that this daemon takes."""
        found = self._daemon.audit_standings()
        latest = [each.latest for each in found if each.latest is not None]
        counts: Counter[str] = Counter()
        for audit in latest:
            counts.update({each.code.value: each.count for each in audit.findings})
        for family, value, label in ledgers.samples(
            taken_ms=[None if each.latest is None else each.latest.taken_ms for each in found],
            troubled=sum(each.trouble is not None for each in found),
            partial=sum(not each.whole for each in latest),
            ledgers=sum(each.ledgers for each in latest),
            findings=counts,
        ):
            self._metrics.set(family, value, label)

    async def _snapshot_gauges(self) -> None:
        jobs = self._daemon.jobs
        if jobs is None:
            return
        for state, count in jobs.counts.items():
            self._metrics.set(metrics.JOBS, count, state)
        if not jobs.scheduled:
            return
        found = await anyio.to_thread.run_sync(jobs.report)
        self._metrics.set(metrics.SNAPSHOT_RUNNING, bool(found["running"]))
        self._metrics.set(metrics.SNAPSHOT_FAILED, bool(found["trouble"]))
        ended = found.get("last_ended_at_ms")
        if found.get("last_succeeded") and isinstance(ended, int):
            self._metrics.set(metrics.SNAPSHOT_TAKEN, ended / 1000)

    def _notice_gauges(self) -> None:
        """What was told to operators, and which webhooks fail."""
        if self._notifier is not None:
            self._metrics.absorb(self._notifier.tally)
            self._metrics.set(notices.WEBHOOKS_FAILING, self._notifier.failing)

    def _connections(self) -> None:
        """Who is connected, and who was sent away since the start; the same of streams."""
        followed = self._doors.streams
        for kind, open_now in followed.open.items():
            self._metrics.set(streams.OPEN, open_now, kind)
        self._metrics.absorb({("http_streams_ended", code): count for code, count in followed.ended.items()})
        self._metrics.set(metrics.HTTP_CONNECTIONS, self._doors.connections)
        dropped = {("http_dropped", why.value): count for why, count in self._doors.dropped.items()}
        self._metrics.absorb(dropped)
        asked = self._doors.inquiries
        self._metrics.absorb({("cluster_questions", each): count for each, count in asked.asked.items()})
        self._metrics.absorb({("cluster_questions_failed", code): count for code, count in asked.failed.items()})
        self._metrics.absorb({("http_refused", code): count for code, count in self._doors.refusals.items()})
        pumps, count = self._daemon.pumps, sum(dropped.values())
        if pumps is not None:
            for code, trouble in self._doors.troubles.items():
                if trouble:
                    pumps.driver.show(code, trouble)
                else:
                    pumps.driver.unshow(code)
        if count and pumps is not None:
            pumps.driver.show(
                REFUSED,
                f"{count} connections to the HTTP server were ended since the start: too slow, or too many at once",
            )

    def _gauges(self, facts: Status) -> None:
        counts, outbox = facts.counts, facts.outbox
        age_s = max(0.0, time.time() - outbox.oldest_at_ms / 1000) if outbox.oldest_at_ms is not None else 0.0
        for family, value in (
            (metrics.OUTBOX_EVENTS, outbox.depth),
            (metrics.OUTBOX_OLDEST, age_s),
            (metrics.HOLDS, counts.holds),
            (metrics.PARKED, counts.parked),
            (metrics.QUARANTINE, counts.quarantine),
            (metrics.CONFLICTS_OPEN, counts.conflicts),
            (metrics.PATHS, counts.alive),
            (metrics.DUE, counts.due),
        ):
            self._metrics.set(family, value)

    def _pump_gauges(self) -> None:
        daemon = self._daemon
        leadership = daemon.leadership
        active = leadership is not None and leadership.role is Role.ACTIVE and daemon.pumps is not None
        self._metrics.set(metrics.ACTIVE, active)
        self._metrics.set(metrics.OBSERVING, daemon.observing)
        self._metrics.set(metrics.REGION_KEYS, daemon.keyring.regions.required)
        if daemon.backlog is not None:
            self._metrics.set(metrics.BUS_BACKLOG, daemon.backlog)
        if daemon.pumps is None:
            self._metrics.set(metrics.FENCE, 0)
            self._metrics.set(metrics.WATCH_WHOLE, 0)
            return
        driver = daemon.pumps.driver
        gauges = driver.gauges()
        self._metrics.set(metrics.FENCE, gauges.fence)
        self._metrics.set(metrics.WATCH_WHOLE, gauges.watch_whole)
        self._metrics.set(metrics.PAUSED, gauges.paused)
        if gauges.scalable is not None:
            self._metrics.set(metrics.SCALABLE_TOPICS, gauges.scalable)
        self._metrics.set(metrics.STORE_MIGRATION, driver.store_unwritable)
        self._metrics.set(metrics.PENDING_READS, gauges.pending_reads)
        self._metrics.set(metrics.KEPT, gauges.conflict_bytes, "conflicts")
        self._metrics.set(metrics.KEPT, gauges.value_bytes, "values")
        for region, (differing, equal_at_ms) in gauges.differing.items():
            self._metrics.set(metrics.DIFFERING, differing, region)
            if equal_at_ms is not None:
                self._metrics.set(metrics.EQUAL_AT, equal_at_ms / 1000, region)
        self._metrics.absorb(gauges.tally)
        for region, seconds in driver.take_lags():
            self._metrics.lag(region, seconds)
        for stage, seconds in driver.take_timings():
            self._metrics.stage(stage, seconds)
