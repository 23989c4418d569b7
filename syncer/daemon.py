"""The daemon: one region's store, bus, sidecar database, pumps and HTTP surface, wired by the configuration."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

import anyio
import anyio.to_thread
import structlog

from syncer import notify
from syncer.balancer.recording.moves import RunsInState
from syncer.balancer.recording.recorder import RecordingStanding
from syncer.balancer.recording.service import LoadHistories
from syncer.balancer.running.service import MoveService
from syncer.bus.contract import Bus
from syncer.bus.trust.signing import UNSIGNED, Keyring
from syncer.config import believing, trusting
from syncer.config.admin_clients import ConfiguredClusters, broker_probes
from syncer.config.clusters import audit_schedules, recordings
from syncer.config.group_keys import keyring
from syncer.config.model import Config, in_ms
from syncer.conflict.exclusion.telling import told_exclusions
from syncer.conflict.replica import Replica
from syncer.errors import (
    InvariantBroken,
    PreconditionFailed,
    SparkMissing,
    StateUnavailable,
    SubscriptionShared,
    SyncerError,
)
from syncer.jobs.commands import commands_of
from syncer.jobs.runner import JobPlan, JobRunner
from syncer.jobs.schedule import Schedule
from syncer.ledgers.recurring.in_state import AuditsInState
from syncer.ledgers.recurring.service import AuditStanding, LedgerAudits
from syncer.ledgers.recurring.taken import Auditor
from syncer.migration.running.clock import WallClock
from syncer.migration.running.service.service import MigrationService
from syncer.model import Millis, Region
from syncer.replication.core import NamedStore, Peculiarities
from syncer.replication.driver import Driver
from syncer.replication.gc.state import TombstoneGc
from syncer.replication.runtime.backoff import Backoff
from syncer.replication.runtime.engine_thread import DriverThread
from syncer.replication.runtime.environment import Environment, Timing, wall_clock_ms
from syncer.replication.runtime.leadership import Leadership
from syncer.replication.runtime.loops import Pumps
from syncer.replication.status import Equipment
from syncer.state.contract.membership import JOINING
from syncer.state.contract.work.state_thread import is_fenced
from syncer.state.sql import opening
from syncer.state.sql.database import SqlState
from syncer.state.sql.presence import DaemonRole, Presence
from syncer.state.sql.work.job_board import JobBoard
from syncer.stores.contract import MetadataStore
from syncer.version import version

log = structlog.get_logger()

BUS_POLL_S: Final = 5.0
PRESENCE_S: Final = 3.0
LOOK_S: Final = 0.25
NOT_OPEN: Final = "not open yet"
HEARD_WITHIN: Final = 3
"""A peer is heard within so many intervals of heartbeats, or is none."""
STALLED_S: Final = 30.0
"""A loop that did not turn for so long is taken as hanging."""


@dataclass(slots=True)
class Daemon:
    """One region's daemon.

    Args:
        config: Its checked configuration.
        clock: The clock, in milliseconds; the demo skews it.
        config_file: Where the configuration was read from; jobs that are started read it, too.
        auditor: Audits ledgers of clusters on schedule; ``None``: nobody does.
    """

    config: Config
    clock: Callable[[], Millis] = wall_clock_ms
    config_file: Path | None = None
    auditor: Auditor | None = None
    jobs: JobRunner | None = None
    pumps: Pumps | None = None
    leadership: Leadership | None = None
    migrations: MigrationService | None = None
    histories: LoadHistories | None = None
    audits: LedgerAudits | None = None
    started: anyio.Event = field(default_factory=anyio.Event)
    turned_at: float = field(default_factory=time.monotonic)
    backlog: int | None = None
    bus_trouble: str | None = None
    opening: dict[str, str] = field(default_factory=lambda: dict.fromkeys(("state", "store", "bus"), NOT_OPEN))
    """What is not open yet at the start, in the order in which it is opened, and why."""
    outdone_in: int | None = None
    keyring: Keyring = UNSIGNED
    spoken: bool = False
    """Whether this process was active beyond the silence after a start: its open database is no old copy."""
    begun_on_hearsay: bool = False
    held_since_ms: Millis | None = None

    async def run(self) -> None:
        """Run until cancelled.

        Raises:
            SyncerError: What no repeat can mend: configuration, another store than before, a foreign database.
        """
        self.keyring = keyring(self.config.signing, self.config.peers, self.config.region)
        self._tell_trust()
        state = await self._open_state()
        board = self._make_board()
        self.jobs = self._make_runner(board, state)
        thread = DriverThread()
        try:
            async with (
                _opened("store", self._make_store, self.opening) as store,
                _opened("bus", self._make_bus, self.opening) as bus,
            ):
                self.leadership = Leadership(bus.role, lambda: self._active(store, bus, state, thread), bus.proven)
                notify.ready()
                self.started.set()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._turn)
                    tasks.start_soon(self._ask_bus, bus)
                    tasks.start_soon(self._be_present)
                    if self.jobs is not None:
                        tasks.start_soon(self.jobs.run)
                    tasks.start_soon(self.leadership.run)
        finally:
            notify.stopping()
            thread.close()
            board.close()
            state.close()

    @property
    def _warnings(self) -> list[tuple[str, str]]:
        """What the configuration leaves open to whom: code and message."""
        found = [*believing.trusting(self.config), *believing.exposing(self.config)]
        given_up = trusting.lax(self.config)
        return [*found, (trusting.LAX, "; ".join(given_up))] if given_up else found

    def _tell_trust(self) -> None:
        """Say once, in the log, whom this daemon will believe."""
        for code, message in self._warnings:
            log.warning(code.replace("-", "_"), code=code, cause=message)
        if self.keyring.signs_with is not None:
            log.info("messages_signed", key_id=self.keyring.signs_with, accepted_ids=self.keyring.accepts)
        regions = self.keyring.regions
        if regions.own is not None:
            log.info(
                "messages_signed_by_region",
                key_id=regions.own.public.id,
                accepted_ids=regions.accepts,
                required=regions.required,
            )

    @property
    def observing(self) -> bool:
        """Whether this daemon only reads, folds and reports."""
        return self.config.mode == "observe"

    async def _open_state(self) -> SqlState:
        """Open the sidecar database; one on a server is waited for, however long the server needs to come up."""
        url, backoff = self.config.database_url(), Backoff()
        opened = partial(SqlState.open, url, Region(self.config.region), clock=self.clock)
        while True:
            try:
                state = await anyio.to_thread.run_sync(opened)
            except StateUnavailable as exc:
                if opening.file_of(opening.parse_url(url)) is not None:
                    raise
                self.opening["state"] = exc.message
                log.warning("not_open_yet", what="state", code=exc.code, cause=exc.message)
            else:
                del self.opening["state"]
                return state
            await backoff.pause()

    @property
    def role(self) -> DaemonRole:
        """What this daemon is now. It is active once it has raised the epoch and holds the fence."""
        pumps = self.pumps
        if self.observing:
            return DaemonRole.OBSERVER
        return DaemonRole.ACTIVE if pumps is not None and pumps.driver.holds_fence else DaemonRole.STANDBY

    async def _be_present(self) -> None:
        """Say in the sidecar database, for people, that this daemon is there, and as what; nothing depends on it."""
        presence = Presence(
            self.config.database_url(), host=socket.gethostname(), pid=os.getpid(), version=version(), clock=self.clock
        )
        told: DaemonRole | None = None
        silent_s = 0.0
        try:
            while True:
                role, pumps = self.role, self.pumps
                if role is not told or silent_s >= PRESENCE_S:
                    epoch = pumps.driver.epoch if pumps is not None else None
                    try:
                        await anyio.to_thread.run_sync(presence.report, role, epoch)
                        told, silent_s = role, 0.0
                    except SyncerError as exc:
                        log.debug("presence_not_told", code=exc.code, cause=exc.message)
                        silent_s = 0.0
                await anyio.sleep(LOOK_S)
                silent_s += LOOK_S
        finally:
            with anyio.CancelScope(shield=True), suppress(SyncerError):
                await anyio.to_thread.run_sync(presence.leave)
            presence.close()

    def _job_plan(self) -> JobPlan | None:
        """How jobs are run here; ``None``: they are not."""
        config = self.config
        folder, work = config.snapshots.folder, config.snapshots.workplace
        if folder is None or work is None:
            return None
        if self.config_file is None:
            if config.snapshot_interval is not None:
                log.error("snapshots_not_scheduled", cause="the configuration does not come from a file")
            return None
        commands = commands_of(
            sys.executable,
            self.config_file,
            folder,
            work,
            region=config.region,
            keep=config.snapshots.keep,
            memory=config.snapshots.memory,
        )
        interval = config.snapshot_interval
        return JobPlan(
            work=work,
            host=socket.gethostname(),
            region=config.region,
            time_limit_ms=in_ms(config.snapshots.time_limit),
            commands=commands,
            schedule=Schedule(in_ms(interval)) if interval is not None else None,
        )

    def _make_board(self) -> JobBoard:
        url = self.config.database_url()
        return JobBoard(url, host=socket.gethostname(), pid=os.getpid(), clock=self.clock)

    def _make_runner(self, board: JobBoard, state: SqlState) -> JobRunner | None:
        plan = self._job_plan()
        if plan is None:
            return None
        return JobRunner(plan, board, state.transaction, lambda: self.role is DaemonRole.ACTIVE, self.clock)

    def _check_jobs(self) -> None:
        """Refuse jobs that this daemon could not run.

        Raises:
            PreconditionFailed: It only observes.
            SparkMissing: What jobs need is not installed here.
        """
        if self.observing:
            raise PreconditionFailed("this daemon only observes", hint="Run 'syncer snapshot' by hand.")
        if importlib.util.find_spec("pyspark") is None:
            raise SparkMissing("pyspark is not installed where the daemon runs")

    def _make_store(self) -> MetadataStore:
        return self.config.make_store(writes=not self.observing)

    def _make_bus(self) -> Bus:
        return cast("Bus", observing_bus(self.config) if self.observing else self.config.make_bus())

    async def _active(self, store: MetadataStore, bus: Bus, state: SqlState, thread: DriverThread) -> None:
        driver = await thread.call(self._make_driver, store, state)
        async with broker_probes(self.config, store) as (probe, versions):
            around = Environment(
                driver=driver,
                thread=thread,
                store=store,
                bus=bus,
                probe=probe,
                versions=versions,
                region=Region(self.config.region),
                timing=Timing(
                    heartbeat_s=self.config.heartbeat_interval.total_seconds(),
                    journal_retention_s=self.config.limits.journal_kept.total_seconds(),
                    audit_retention_s=self.config.limits.audit_retention.total_seconds(),
                    max_writes_per_s=self.config.limits.max_writes_per_s,
                ),
                version=version(),
                clock=self.clock,
            )
            clusters = ConfiguredClusters(self.config)
            self.migrations = MigrationService(state, thread, clusters, WallClock(), observing=self.observing)
            moves = MoveService(state, thread, clusters, WallClock().now_ms, observing=self.observing)
            runs = RunsInState(self.config.database_url(), Region(self.config.region))
            self.histories = LoadHistories(recordings(self.config), clusters, runs, self.clock, driver)
            beside = [self.migrations.migrations, moves.moves, self.histories.histories]
            if self.auditor is not None:
                record = AuditsInState(state, thread)
                self.audits = LedgerAudits(audit_schedules(self.config), self.auditor, record, self.clock, driver)
                beside.append(self.audits.audits)
            self.pumps = Pumps(around, *beside)
            try:
                await self.pumps.run()
            except BaseException as exc:
                if is_fenced(exc):  # and not by losing the role, which cancels
                    self.outdone_in = self._turn_of_role
                raise
            finally:
                self.pumps = self.migrations = self.histories = self.audits = None
                self.begun_on_hearsay |= driver.begun_on_hearsay
                self.held_since_ms = driver.held_since_ms
                self.spoken |= driver.holds_fence and not driver.starting

    def _make_driver(self, store: MetadataStore, state: SqlState) -> Driver:
        identity = state.activate()
        asks = self.config.peers.first_contact == "ask" and not self.observing
        if asks and not identity.first_scan_done and identity.paused is None and identity.rebuild is None:
            with state.transaction() as tx:
                identity = tx.set_identity(paused=JOINING)
        driver = Driver(
            Replica(self.config.settings(identity.generation)),
            self.config.compiled_scope(),
            state,
            store.capabilities,
            expected=[Region(name) for name in self.config.peers.expected or ()],
            observing=self.observing,
            forgetting=TombstoneGc.after(in_ms(self.config.limits.tombstone_grace)),
            identity=identity,
        )
        may_be_old = not self.spoken and opening.file_of(opening.parse_url(self.config.database_url())) is not None
        driver.equip(
            Equipment(
                keyring=self.keyring,
                snapshots=self.jobs.report if self.jobs is not None and self.jobs.scheduled else None,
                migration=self.migration,
                check_jobs=self._check_jobs if self.jobs is not None else None,
                warnings=dict(self._warnings),
                # Two that have the role at once would take the region from one another for ever.
                takes_over=self.outdone_in is None or self.outdone_in != self._turn_of_role,
                begun_on_hearsay=self.begun_on_hearsay,
                held_since_ms=self.held_since_ms,
                may_be_old=may_be_old,
                silence_ms=in_ms(self.config.silence),
                mark_interval_ms=in_ms(self.config.limits.mark_interval),
                speak_ms=int(self.config.heartbeat_interval.total_seconds() * 1000 * HEARD_WITHIN),
                place=NamedStore(self.config.store.kind, self.config.store_place),
                peculiar=Peculiarities(self.config.region_names, told_exclusions(self.config.scope.exclusions().rules)),
            )
        )
        return driver

    def migration(self) -> dict[str, Any] | None:
        """How the migration is that this daemon carries, as plain data; ``None``: it carries none."""
        return self.migrations.report() if self.migrations is not None else None

    def load_standings(self) -> list[RecordingStanding]:
        """How each history of load fares that this daemon records."""
        return list(self.histories.standings.values()) if self.histories is not None else []

    def audit_standings(self) -> list[AuditStanding]:
        """How the audits of each cluster fare that this daemon takes on schedule."""
        return list(self.audits.standings.values()) if self.audits is not None else []

    @property
    def _turn_of_role(self) -> int:
        return self.leadership.turn if self.leadership is not None else 0

    async def _turn(self) -> None:
        """Proof of life for the supervisor: the loop turns, and the active pumps tick."""
        while True:
            self.turned_at = time.monotonic()
            if self.pumps is None or time.monotonic() - self.pumps.alive_at < STALLED_S:
                notify.alive()
            await anyio.sleep(1.0)

    async def _ask_bus(self, bus: Bus) -> None:
        """Keep the depth of the subscription for metrics, and whether the bus answers for readiness."""
        while True:
            try:
                position = await bus.position()
            except SyncerError as exc:
                self.bus_trouble = exc.message
            else:
                self.backlog = position.backlog
                self.bus_trouble = None if position.connected else "not connected"
                self._tell_of_sharing(position.trouble)
            await anyio.sleep(BUS_POLL_S)

    def _tell_of_sharing(self, trouble: SubscriptionShared | None) -> None:
        if self.pumps is None:
            return
        if trouble is None:
            self.pumps.driver.unshow(SubscriptionShared.code)
        else:
            self.pumps.driver.show(trouble.code, trouble.message)


class Openable(Protocol):
    """What is opened, used and closed."""

    async def open(self) -> None:
        """Connect."""
        ...

    async def close(self) -> None:
        """Disconnect."""
        ...


Opened = TypeVar("Opened", bound=Openable)


@asynccontextmanager
async def _opened(name: str, make: Callable[[], Opened], opening: dict[str, str]) -> AsyncIterator[Opened]:
    """Open a dependency, a new one for each try, however long it takes to come up; close it at the end.

    Args:
        name: What it is.
        make: Makes it.
        opening: Holds why it is not open yet, as long as it is not.
    """
    backoff = Backoff()
    while True:
        thing = make()
        try:
            await thing.open()
            break
        except BaseException as exc:
            with anyio.CancelScope(shield=True):
                await thing.close()
            if not isinstance(exc, SyncerError) or not exc.retryable:
                raise
            opening[name] = exc.message
            log.warning("not_open_yet", what=name, code=exc.code, cause=exc.message)
        await backoff.pause()
    del opening[name]
    try:
        yield thing
    finally:
        with anyio.CancelScope(shield=True):
            await thing.close()


def observing_bus(config: Config) -> object:
    """The bus with a subscription of its own: an observer never takes a message away from the active daemon."""
    settings = config.bus_settings
    name = "subscription" if "subscription" in type(settings).model_fields else "region"
    renamed = settings.model_copy(update={name: f"{getattr(settings, name)}-observe"})
    return type(config.make_bus())(renamed)  # type: ignore[call-arg]  # an adapter is made from its settings


async def supervise(daemon: Daemon, *beside: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a daemon, and what stands beside it, until SIGTERM or SIGINT; then stop in order."""
    async with anyio.create_task_group() as tasks:

        async def until_signal() -> None:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for received in signals:
                    log.info("stopping", signal=signal.Signals(received).name)
                    tasks.cancel_scope.cancel()
                    return

        tasks.start_soon(until_signal)
        for task in beside:
            tasks.start_soon(task)
        await daemon.run()
        tasks.cancel_scope.cancel()


def cause_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What ended the daemon, of all that its tasks raised: a bug first, then what no repeat can mend."""
    return min(_leaves(group), key=_mildness)


def _mildness(error: BaseException) -> int:
    if not isinstance(error, SyncerError) or isinstance(error, InvariantBroken):
        return 0
    return 2 if error.retryable else 1


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for each in group.exceptions:
        if isinstance(each, BaseExceptionGroup):
            yield from _leaves(each)
        else:
            yield each
