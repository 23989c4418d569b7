"""The driver: every step of one region's daemon as one plain call. Observation in, one transaction, actions out.

It does no IO but the sidecar database, reads no clock and starts no task, so the daemon's pumps and the simulator run
the same steps. One thread at a time may use it.

    become active:   read the fence ─▶ raise ─▶ (write it) ─▶ activated
    local changes:   notices / gap+scan ─▶ plan_reads ─▶ (read) ─▶ take_answers ─▶ outbox
    remote changes:  prefetch ─▶ (read) ─▶ consume ─▶ next_transaction ─▶ (apply) ─▶ answered ─▶ landed, or refused
                     what cannot be written at once: consume ─▶ plan_reads ─▶ (read) ─▶ take_answers ─▶ …
    publication:     outbox ─▶ (publish) ─▶ published
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from syncer.admin.scalable_topics import ScalableCount, ScalableFound
from syncer.admin.version_probe import BrokersTold
from syncer.bus.contract import Outgoing
from syncer.bus.wire.messages import Control, Heartbeat, StatePage, StateRequest, TreeMessage
from syncer.conflict.deletes.collected import CollectionTold
from syncer.conflict.guards import Topics
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.errors import Fenced
from syncer.model import MetaPath, Millis, Region, Revision
from syncer.operations.contract import OF_MIGRATIONS, OF_MOVE_RUNS
from syncer.paths import scaffold
from syncer.replication import quotas
from syncer.replication.antientropy import protocol
from syncer.replication.assembly import assemble, begin_anew
from syncer.replication.control import heartbeat, operations, repair
from syncer.replication.control.effects import Effect
from syncer.replication.control.report import report as report_of
from syncer.replication.core import Core
from syncer.replication.fence import Fence, raised
from syncer.replication.gc import collector, gap_fill
from syncer.replication.gc.state import TombstoneGc
from syncer.replication.inbound import isolation, prefetch
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.inbound.prefetch import Prefetch, Prefetched
from syncer.replication.inbound.quarantine import keep_misfits
from syncer.replication.local import apply, broker_versions, full_scan, going_over, observe, topic_checks
from syncer.replication.local.apply import Landing
from syncer.replication.local.deletes import questions
from syncer.replication.local.deletes.questions import Asked
from syncer.replication.local.full_scan import PageTicket, Scan
from syncer.replication.local.observe import Answers, ReadPlan
from syncer.replication.local.write_queue import Batch
from syncer.replication.membership import forget
from syncer.replication.overtaken import keep_overtaken
from syncer.replication.recovery import doubt, rebuild, rescoping, rollback_detection
from syncer.replication.recovery.progress import Phase
from syncer.replication.recovery.rebuild import BeginAnew
from syncer.replication.status import DriverStatus
from syncer.state.contract.identity import Identity
from syncer.state.contract.outbox import OutboxRow
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.contract.state import State
from syncer.stores.contract import BatchRefused, Capabilities, Entry, Put, Write, Written
from syncer.stores.topic_policies import OvertakenPolicies

READ_LIMIT = 200
DUE_PAGE = 1000
OPERATIONS_PER_TICK = 200


class Driver(DriverStatus):
    """All steps of one region.

    Args:
        replica: Its decisions.
        scope: Which paths take part.
        state: Its sidecar database.
        capabilities: Of its store.
        expected: Regions that may send; empty: any.
        observing: Read, fold and report, but neither write nor publish.
        forgetting: How deletes are forgotten.
        identity: What the database said when it was activated for this driver; activated here when not given.
    """

    def __init__(
        self,
        replica: Replica,
        scope: Scope,
        state: State,
        capabilities: Capabilities,
        *,
        expected: Collection[Region] = (),
        observing: bool = False,
        forgetting: TombstoneGc | None = None,
        identity: Identity | None = None,
    ) -> None:
        identity = identity or state.activate()
        if replica.settings.generation != identity.generation:
            replica = Replica(replace(replica.settings, generation=identity.generation))
        core = Core(replica=replica, scope=scope, state=state, identity=identity, observing=observing)
        super().__init__(assemble(core, capabilities, expected=expected, forgetting=forgetting or TombstoneGc()))
        self._due_after: MetaPath | None = None

    # -- becoming the writer

    def raise_fence(self, entry: Entry | None, fresh_id: str, now: Millis) -> Put:
        """The write that makes this daemon the region's writer; the store id is kept before it goes out.

        Raises:
            PreconditionFailed: Another store than before, an older one, or another database's fence.
        """
        present = Fence.decode(entry.value) if entry is not None else None
        reason = rollback_detection.loss(self._recovery, entry)
        another = present is not None and present.database_id != self._core.identity.database_id
        if reason is not None and (self._recovery.takes_over or not another):
            begin_anew(self._parts, BeginAnew(reason, present))
        elif not another:
            rebuild.begin_quiet(self._recovery)
        self._core.uncompared = self._core.uncompared.in_store_of(present, self._core.place.at)
        rebuilding = rebuild.phase_of(self._recovery) is Phase.HEARING
        fence = raised(entry, self._core.identity, fresh_id, now, rebuilding=rebuilding, at=self._core.place.at)
        with self._core.state.transaction() as tx:
            self._core.identity = tx.set_identity(mark=fence.mark)
            self._core.renaming = self._core.uncompared.place or bool(tx.outbox(1))
            if self._core.uncompared.place:
                tx.forget_revisions()  # those of another store say nothing, even where they are equal
        self._recovery.progress.tried.add(fence.number)
        self._recovery.progress.fresh |= present is None
        return Put(
            path=self._core.fence_path,
            value=fence.encode(),
            expected=entry.revision if entry else None,
            scaffold=scaffold(self._core.fence_path),
        )

    def activated(self, write: Put, answer: Written, now: Millis) -> int:
        """The fence is ours: settle what dead incarnations left open; how many writes that were."""
        fence = Fence.decode(write.value)
        apply.hold_fence(self._local, fence, answer)
        self._local.writes.clear()
        with self._core.state.transaction() as tx:
            landed = fence.landed[-1] if fence.landed else self._core.identity.landed or "0.0"
            self._core.identity = tx.set_identity(store_id=fence.store_id, landed=landed, marked=fence.mark)
        settled = apply.settle_former(self._local, fence, now)
        rescoping.settle(self._recovery, now)
        return settled

    # -- the watch

    def armed(self) -> Scan:
        """The watch is armed; a scan begins."""
        scan = full_scan.begin(self._local)
        self._local.watch.ledger.arm()  # not before: an armed watch without a scan would leave hidden what the gap hid
        return scan

    def gap(self) -> None:
        """The watch may have missed something, or another store stands there now: nothing is decided or written."""
        self._local.watch.ledger.disarm()
        self._local.watch.scanned, self._core.fence_unverified = (
            False,
            True,
        )  # until the watch is armed again, and the fence was read
        self._local.entry_cache.clear()
        self._local.own_writes.clear()
        if not self._local.watch.gap_floor:
            self._local.watch.gap_floor = self._local.watch.alive_until
        self._telemetry.tally["watch", "gap"] += 1

    def noticed(self, paths: Sequence[MetaPath], now: Millis, marks: Sequence[str] = ()) -> bool:
        """These paths may have changed, by the transactions of these names, where the store tells them.

        ``False``: too many are waiting already; take a gap and scan.
        """
        self.beat(now)
        return observe.notice(self._local, paths, marks)

    def beat(self, now: Millis) -> None:
        """The watch was whole just now."""
        if self._local.watch.ledger.armed:
            self._local.watch.alive_until = now

    # -- scans

    def issue_page(self) -> PageTicket:
        """The scan's next page is about to be asked for."""
        return full_scan.issue(self._local)

    def give_up_page(self, ticket: PageTicket) -> None:
        """The page will not come."""
        self._local.watch.ledger.close(ticket.read)

    def take_page(
        self, scan: Scan, ticket: PageTicket, entries: Sequence[Entry], fence: Entry | None, now: Millis
    ) -> None:
        """Take a page of the scan, with the fence as read after it."""
        full_scan.take_page(self._local, scan, ticket, entries, fence, now)

    def end_scan(self, scan: Scan) -> None:
        """Every page was taken: absences are now confirmed by reads."""
        full_scan.end(self._local, scan)

    def scan_complete(self, scan: Scan, now: Millis) -> bool:
        """Whether all that the scan has found was decided."""
        return full_scan.complete(self._local, scan, now)

    def know_clusters(self, names: Collection[str]) -> None:
        """The clusters that the store knows; what waits for one of them is looked at again by the next tick."""
        self._local.clusters.know(names)

    # -- reads

    def plan_reads(self, limit: int = READ_LIMIT) -> ReadPlan | None:
        """Paths to read now, the fence last."""
        return observe.plan_reads(self._local, limit)

    def take_answers(
        self, plan: ReadPlan, answers: Answers, now: Millis, undecided: Answers = observe.ALL_DECIDED
    ) -> None:
        """Decide by the answers of a plan."""
        observe.take_answers(self._local, plan, answers, now, undecided)

    def give_up(self, plan: ReadPlan) -> None:
        """The store did not answer a plan."""
        observe.give_up(self._local, plan)

    # -- topics below a path

    def questions(self) -> tuple[MetaPath, ...]:
        """Paths of which a guard wants to know whether topics exist below them."""
        return self._local.topics.take_questions()

    def answer_topics(self, path: MetaPath, topics: Topics, now: Millis) -> None:
        """Whether topics exist below a path."""
        topic_checks.answer(self._local, path, topics, now)

    def note_scalable(self, found: ScalableFound | None) -> None:
        """Which scalable topics the store has; ``None``: they are not seen in it."""
        self._local.topics.scalable = found

    def note_scalable_told(self, count: ScalableCount | None) -> None:
        """How many scalable topics brokers have told of; ``None``: they have not."""
        self._local.topics.told = count

    # -- topic policies in system topics

    def keep_overtaken(self, overtaken: Sequence[OvertakenPolicies], now: Millis) -> None:
        """Keep edits that were overwritten in a system topic and could not be put back."""
        keep_overtaken(self._local, overtaken, now)

    # -- versions and settings of the brokers

    def doubted_absences(self, now: Millis) -> dict[MetaPath, Revision] | None:
        """What waits until the brokers were asked for their versions; ``None``: it is not time to ask."""
        return broker_versions.want(self._local, now)

    def answer_versions(self, doubted: dict[MetaPath, Revision], told: BrokersTold, now: Millis) -> None:
        """Which versions the brokers have, asked for after these absences were read."""
        broker_versions.answer(self._local, doubted, told, now)

    def collection_question(self, now: Millis) -> Asked | None:
        """Deletes that wait until the brokers were asked for their settings; ``None``: it is not time to ask."""
        return questions.question(self._local, now)

    def answer_collection(self, asked: Asked, told: CollectionTold, namespaces: Answers, now: Millis) -> None:
        """Take the settings of brokers, asked for after these deletes were read, and the namespaces in the store."""
        questions.answer(self._local, asked, told, namespaces, now)

    @property
    def rescan_due(self) -> bool:
        """Whether all that the store holds is to be read again."""
        wanted = self._local.versions.rescan or self._core.going_over.wants_scan
        return wanted and self._local.watch.ledger.armed

    # -- writes

    def next_transaction(self) -> tuple[Batch, tuple[Write, ...]] | None:
        """The writes to send now, as one transaction; the same again until it is answered."""
        return apply.next_transaction(self._local)

    def answered(self, batch: Batch, answers: Sequence[Written]) -> Landing:
        """The transaction was applied: what to store about it, while the next one may be sent."""
        return apply.answered(self._local, batch, answers)

    def landed(self, landings: Sequence[Landing], now: Millis) -> None:
        """Store what was written by transactions that were applied."""
        apply.landed(self._local, landings, now)

    def refused(self, batch: Batch, refusal: BatchRefused, now: Millis) -> None:
        """The transaction was refused as a whole."""
        apply.refused(self._local, batch, refusal, now)

    def probe_lost(self, entry: Entry | None) -> Put | None:
        """The answer of a transaction was lost: the fence, rewritten so that it cannot land later; ``None``: it landed.

        Where that cannot be told yet, the fence names the batch.

        Raises:
            Fenced: The fence is not ours any more.
        """
        return apply.probe_lost(self._local, entry)

    def lost(self, batch: Batch, rewritten: Written | None, now: Millis) -> None:
        """What became of a transaction whose answer was lost: landed, or, the fence being rewritten, never to land.

        Or that cannot be told yet: its paths wait, and it is told by a later read of the fence.
        """
        if rewritten is not None and self._core.fence is not None:
            apply.hold_fence(self._local, self._core.fence.fence, rewritten)
        if rewritten is not None and batch.untold:
            apply.put_aside(self._local, batch)
        else:
            apply.lost(self._local, batch, applied=rewritten is None, now=now)

    # -- a migration of the store

    def note_store_migration(self, answers: Mapping[MetaPath, Entry | None]) -> None:
        """What stands where Pulsar says whether it migrates the store."""
        self._local.migration.take(answers, embedded=self._core.place.kind == "sqlite")

    def withdraw(self, now: Millis) -> int:
        """Take back what was decided and not sent, while nothing may be written; how many writes that were."""
        return apply.withdraw(self._local, now)

    # -- marks

    def rollback_counter_due(self, now: Millis) -> bool:
        """Whether the fence should be told that the database has gone on; only while no batch waits to be written."""
        unwritable = self._local.migration.holds or self._core.fence_unverified
        return self.may_advance_counter and not unwritable and self._local.rollback_counter.due(now)

    @property
    def may_advance_counter(self) -> bool:
        """Whether marks are set at all."""
        return self._core.fence is not None and not self.hearing

    def mark(self, now: Millis) -> Put | None:
        """Give a mark out: the fence with it, to be written; ``None`` when the fence is not ours."""
        return apply.advance_rollback_counter(self._local, now)

    def probe_rollback_counter(self, entry: Entry | None) -> Put | None:
        """The answer to a mark was lost: the fence, to be written with it once more; ``None``: it stands there."""
        return apply.probe_rollback_counter(self._local, entry)

    def marked(self, write: Put | None, answer: Written | None, now: Millis) -> None:
        """The mark stands in the fence, as written (``None``: as was read)."""
        del now
        apply.note_rollback_counter(self._local, write, answer)

    # -- the bus

    def prefetch(self, arrived: Sequence[Arrived]) -> Prefetch | None:
        """Paths to read before a delivery is folded; ``None``: there are none."""
        return isolation.plan_reads(self._inbound, arrived)

    def give_up_prefetch(self, planned: Prefetch) -> None:
        """The store did not answer in time: the delivery is folded without."""
        prefetch.give_up(self._inbound, planned)

    def consume(self, arrived: Sequence[Arrived], now: Millis, seen: Prefetched | None = None) -> Sequence[Arrived]:
        """Fold a delivery, with what was read ahead of it; it may be acknowledged once nothing of it is left.

        Returns:
            What is left of it, to be given to the next call: many messages were set aside, and others have their turn.
        """
        return isolation.consume(self._inbound, arrived, now, seen)

    def outbox(self, limit: int, after: int = 0) -> list[OutboxRow]:
        """The next events to publish; none while paused or observing."""
        progress = self._recovery.progress
        if self._group.paused is not None or self._core.observing or self.hearing:
            return []
        if progress.unheard or progress.lost is not None or self._group.names_untold or self.in_doubt:
            return []
        with self._core.state.transaction() as tx:
            rows = tx.outbox(limit, after)
        progress.sent = max([progress.sent, *(row.sequence for row in rows)])
        return rows

    def published(self, rows: Sequence[OutboxRow], now: Millis) -> None:
        """The bus has acknowledged these events: what they had frozen may be written."""
        with self._core.state.transaction() as tx:
            unit = self._units.begin(tx, now)
            unit.load([row.event.path for row in rows])
            tx.acknowledged([row.sequence for row in rows])
            self._recovery.progress.published = max(
                [self._recovery.progress.published, *(row.sequence for row in rows)]
            )
            unit.reread(row.event.path for row in rows if unit[row.event.path].due)
        unit.settle()
        self._telemetry.tally["published", "acknowledged"] += len(rows)

    def unsendable(self, row: OutboxRow, detail: str, now: Millis) -> None:
        """The bus will never take this event: it leaves the outbox for the quarantine; the path itself goes on."""
        with self._core.state.transaction() as tx:
            unit = self._units.begin(tx, now)
            tx.acknowledged([row.sequence])
            unit.quarantine(
                DeadLetter(
                    origin="outbox",
                    code="unsendable",
                    detail=detail,
                    position=f"{row.event.path} {row.event.stamp}",
                    path=row.event.path,
                    payload=row.event.value or b"",
                )
            )
            unit.store()
        unit.settle()

    def heartbeat(self, now: Millis, version: str) -> Heartbeat:
        """What to tell the peers now."""
        return heartbeat.heartbeat(self._control, now, version)

    # -- comparing with peers

    @property
    def comparing(self) -> bool:
        """Whether :meth:`compare` has something to do at once."""
        return self._antientropy.busy

    def compare(self, now: Millis) -> list[TreeMessage | Control]:
        """Do the next piece of work of anti-entropy; messages to publish, each of which may be lost."""
        return protocol.work(self._antientropy, now)

    # -- a lost database

    def answer_greeting(self) -> bool:
        """Whether a peer has just started, and waits to hear what is known here of its database."""
        greeted, self._recovery.progress.greeted = self._recovery.progress.greeted, False
        return greeted

    def correspond(self, now: Millis) -> list[StateRequest | StatePage | Control | Outgoing]:
        """Return questions and answers for peers by which a lost database is rebuilt; each may be lost.

        What is sealed already is published as it is: it is what a peer has sent.
        """
        return rebuild.work(self._recovery, now)

    # -- upkeep

    def tick(self, now: Millis, limit: int = DUE_PAGE) -> None:
        """Look again at what waits for time: events from the future, parked and due writes."""
        self._begin_anew_if_lost()
        self._local.rollback_counter.advanced |= rebuild.outgrow(self._recovery, now)
        rebuild.keep_quiet(self._recovery, now)
        doubt.look_again(self._recovery, now)
        forget.look_again(self._membership, now)
        isolation.release_future(self._inbound, now, limit)
        keep_misfits(self._inbound, now)
        quotas.weigh(self._rooms, now)
        collector.work(self._gc, now)
        gap_fill.work(self._gc, now)
        self._local.clusters.doubt(self._group.names.doubted)
        apply.release_answered(self._local, limit, now)
        topic_checks.take_answers(self._local, now)
        broker_versions.mark_incomplete(self._local, now)
        going_over.look_again(self._local, now)
        if self._local.migration.holds:
            with self._core.state.transaction() as tx:
                self._local.migration.waiting = tx.count_due()
        elif self._group.paused is None and not self.hearing:
            self._due_after = apply.mark_due(self._local, limit, self._due_after, now)

    def _begin_anew_if_lost(self) -> None:
        if self._recovery.progress.lost is None or self._core.observing:
            return
        if (asked := rebuild.on_hearsay(self._recovery)) is not None:
            begin_anew(self._parts, asked)
        if rebuild.phase_of(self._recovery) is Phase.HEARING:
            raise Fenced("this database was seen to be an old copy: it begins anew as another one")

    def operate(self, now: Millis, limit: int = OPERATIONS_PER_TICK) -> list[Effect]:
        """Perform what an operator asked for; what the shell has to do beside. Services perform what is of clusters."""
        with self._core.state.transaction() as tx:
            pending = tx.pending_operations(limit, without=OF_MIGRATIONS | OF_MOVE_RUNS)
        effects = [operations.perform(self._control, operation, now) for operation in pending]
        return [effect for effect in effects if effect is not None]

    def repair(self, now: Millis) -> repair.Turn:
        """Tell the next portion of what a person has asked to be told again; when to look again."""
        return repair.work(self._control, now)

    def report(self, now: Millis) -> None:
        """Keep this daemon's report of itself for the CLI and the REST API."""
        with self._core.state.transaction() as tx:
            if self._local.watch.alive_until > self._core.identity.alive_until:
                self._core.identity = tx.set_identity(alive_until=self._local.watch.alive_until)
            tx.save_status(report_of(self._control, now), now)

    def prune(self, journal_before: Millis, audit_before: Millis | None = None, limit: int = 5000) -> int:
        """Drop what is past its retention; see :meth:`~syncer.state.contract.transaction.Transaction.prune`."""
        with self._core.state.transaction() as tx:
            return tx.prune(journal_before, limit, audit_before)
