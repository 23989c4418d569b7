"""Proof that the world can fail: each deliberate break of the algorithm must be caught within some seeds.

``python -m tests.simulation.mutants [--seeds 300] [--only NAME]`` prints the table; its exit status says whether all
were caught. Breaks are made at run time and undone again. ``--independent --seeds 2000 --start 1000003`` plays drawn
schedules alone, against the breaks that others have chosen.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import signature
from multiprocessing import get_context
from typing import Any, Final
from unittest import mock

from syncer.conflict import apply as decided_writes
from syncer.conflict import completing, folding, observing, replica
from syncer.conflict import tombstones as rules
from syncer.conflict.acts import Moment, Outcome, RecordConflict
from syncer.conflict.causality import order, skew, vectors
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.causality.order import Relation, later, relate
from syncer.conflict.digest_tree import note
from syncer.conflict.guards import DeleteWindow
from syncer.conflict.reads import ReadLedger
from syncer.conflict.rebuilding import Hearing, unknown_provenance
from syncer.conflict.register import Register, Wish
from syncer.conflict.replica import Replica
from syncer.conflict.settings import Direction, Settings
from syncer.conflict.tombstones import Epoch
from syncer.errors import InvariantBroken, RevisionMismatch, SyncerError, ValueInvalid
from syncer.model import Digest, MetaPath, Millis, Stamp, counter_of
from syncer.paths import OWN_PREFIX, is_under
from syncer.repair.rules import Bounds, Why, retell
from syncer.replication import publishing
from syncer.replication.antientropy import protocol, tree_state
from syncer.replication.antientropy.part import AntiEntropy
from syncer.replication.control import decisions, repair
from syncer.replication.driver import Driver
from syncer.replication.fence import Fence, HeldFence
from syncer.replication.gc import collector, gap_fill
from syncer.replication.inbound import receive, write_through
from syncer.replication.inbound.part import Inbound
from syncer.replication.inbound.prefetch import Prefetched
from syncer.replication.local import apply, full_scan, observe
from syncer.replication.local.dirty import DirtyPaths, ReadCause
from syncer.replication.local.own_writes import OwnWrites
from syncer.replication.recovery import missing_values, rebuild, rescoping, rollback_detection
from syncer.replication.unit_of_work import UnitOfWork
from tests.simulation import (
    classes,
    cluster_names,
    collecting,
    credulous,
    excluding,
    going_over,
    held_changes,
    incomplete,
    misread,
    offloading,
    overwriting,
)
from tests.simulation.bus import SimBus
from tests.simulation.disk import DiskState, DiskTransaction, _Block
from tests.simulation.history import Violation
from tests.simulation.region import Daemon
from tests.simulation.store import SimStore, StoreKind
from tests.simulation.world import play
from tests.support.parts import parts_of

FORGETTING = ("forgetting", "forgetting-storm")

SCHEDULES = (
    "test_schedules",
    "test_scanning",
    "test_putting_back",
    "test_restoring",
    "test_repairing",
    "test_deciding",
    "test_lying",
    "test_believing",
)
"""Modules of scripted schedules."""

Patches = Sequence[tuple[Any, str, Any]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One break, and the modes that are meant to find it.

    Args:
        rare: It takes a rare coincidence to do harm.
        schedule: The scripted schedule that finds it, where chance hardly ever does.
    """

    name: str
    modes: tuple[str, ...]
    patches: Callable[[], Patches]
    rare: bool = False
    schedule: str = ""


@contextmanager
def broken(mutant: Mutant) -> Iterator[None]:
    """The algorithm with this break."""
    with ExitStack() as stack:
        for owner, name, value in mutant.patches():
            stack.enter_context(mock.patch.object(owner, name, value))
        yield


def _no_compare_and_set() -> Patches:
    check = SimStore._check

    def passes(store: SimStore, path: MetaPath, present: Any, expected: Any) -> bool:
        if is_under(path, OWN_PREFIX):
            return check(store, path, present, expected)
        if present is None and expected is not None:
            raise RevisionMismatch(path)
        return False

    return [(SimStore, "_check", passes)]


def _stamp_from_known() -> Patches:
    change = observing._local_change

    def from_known(settings: Any, register: Register, *rest: Any) -> Outcome:
        known, stored = register.known, register.stored
        if known is not None and stored is not None:
            register = replace(register, stored=replace(stored, stamp=known.stamp, seen=known.seen))
        return change(settings, register, *rest)

    return [(observing, "_local_change", from_known)]


def _stamp_by_clock_alone() -> Patches:
    change = observing._local_change

    def by_clock(settings: Any, register: Register, *rest: Any) -> Outcome:
        if register.stored is not None:
            stamp = Stamp(Millis(0), register.stored.stamp.region)
            register = replace(register, own=Millis(0), stored=replace(register.stored, stamp=stamp))
        return change(settings, register, *rest)

    return [(observing, "_local_change", by_clock)]


def _any_read_decides() -> Patches:
    return [(ReadLedger, "valid", lambda *_: True)]


def _no_receipts() -> Patches:
    settle = apply.settle_former
    return [
        (
            apply,
            "settle_former",
            lambda local, fence, now: settle(local, replace(fence, landed=()), now),
        )
    ]


def _acknowledge_before_commit() -> Patches:
    return [(SimBus, "again", lambda *_: None)]


def _empty_outbox_before_acknowledgement() -> Patches:
    publish = Daemon.publish

    def early(daemon: Daemon) -> None:
        publish(daemon)
        if daemon.publishing is not None:
            daemon._call(lambda: daemon.driver.published(daemon.rows, daemon.now))

    return [(Daemon, "publish", early)]


def _ties_the_other_way() -> Patches:
    def flipped(left: Stamp, right: Stamp, ties: Any) -> bool:
        same = left.updated_at_ms == right.updated_at_ms and left.region != right.region
        return later(left, right, ties) is not same

    return [(folding, "later", flipped)]


def _last_arrival_wins() -> Patches:
    return [(folding, "later", lambda *_: True)]


def _drop_tombstones() -> Patches:
    save = DiskTransaction.save

    def dropping(transaction: DiskTransaction, registers: Any) -> None:
        kept = list(registers)
        save(transaction, kept)
        for register in kept:
            if not register.due and not register.stored_alive and register.intent is None and register.known:
                del transaction._write.registers[register.path]

    return [(DiskTransaction, "save", dropping)]


def _no_fence() -> Patches:
    check = SimStore._check

    def unfenced(store: SimStore, path: MetaPath, present: Any, expected: Any) -> bool:
        return False if is_under(path, OWN_PREFIX) else check(store, path, present, expected)

    return [(SimStore, "_check", unfenced), (observe, "check_fence", lambda *_: None)]


def _no_epoch() -> Patches:
    return [
        (DiskState, "transaction", lambda state: _Block(state._disk)),
        (observe, "check_fence", lambda *_: None),
        (full_scan, "check_fence", lambda *_: None),
    ]


def _ignore_seen() -> Patches:
    def blind(known: Any, incoming: Any) -> Relation:
        relation = relate(known, incoming)
        return Relation.SUCCESSOR if relation is Relation.CONCURRENT else relation

    conflict = folding._conflict

    def silent(*arguments: Any, **more: Any) -> Any:
        register, _ = conflict(*arguments, **more)
        return register, ()

    return [(folding, "relate", blind), (folding, "_conflict", silent)]


def _base_instead_of_seen() -> Patches:
    def by_base(known: Any, incoming: Any) -> Relation:
        relation = relate(known, incoming)
        return Relation.CONCURRENT if relation is Relation.ANCESTOR else relation

    return [(folding, "relate", by_base)]


def _remember_digests() -> Patches:
    observe = observing.observe
    digests: dict[tuple[str, MetaPath], set[Digest | None]] = {}

    def remembering(settings: Any, register: Register, entry: Any, *rest: Any, **more: Any) -> Outcome:
        seen = digests.setdefault((settings.region, register.path), set())
        outcome = observe(settings, register, entry, *rest, **more)
        digest = outcome.register.stored_digest
        if digest is not None and digest != register.stored_digest and digest in seen:
            return Outcome(register)
        seen.add(digest)
        return outcome

    return [(observing, "observe", remembering)]


def _own_write_looks_foreign() -> Patches:
    written = decided_writes.written

    def forgetting(settings: Any, register: Register, *rest: Any) -> Outcome:
        outcome = written(settings, register, *rest)
        return replace(outcome, register=replace(register, intent=None))

    return [(decided_writes, "written", forgetting)]


def _read_ahead_is_not_compared() -> Patches:
    def hasty(inbound: Inbound, unit: UnitOfWork, paths: Any, seen: Prefetched | None = None) -> Any:
        found = write_through.writable_at_once(inbound, unit, paths, seen)
        for path, entry in seen.answers.items() if seen is not None else ():
            if entry is not None and unit[path].due and unit[path].intent is None and path not in unit.opened:
                found[path] = entry
        return found

    return [(receive, "writable_at_once", hasty)]


def _every_named_notice_is_own() -> Patches:
    return [(OwnWrites, "__contains__", lambda _, mark: bool(mark))]


def _absent_from_scan_is_deleted() -> Patches:
    end = full_scan.end

    def believing(local: Any, scan: Any) -> None:
        with local.core.state.transaction() as tx:
            unmet = tx.unmet_standing(1000)
        absent = {path: None for path in unmet if path not in local.writes.in_flight}
        observe.decide(
            local, local.watch.ledger.issue(), absent, dict.fromkeys(absent, ReadCause.SCAN), local.watch.alive_until
        )
        end(local, scan)

    return [(full_scan, "end", believing)]


def _no_revive() -> Patches:
    return [(decided_writes, "_revives", lambda *_: False)]


def _loser_without_value() -> Patches:
    return [(decided_writes, "_keeping_loser", lambda *_: ())]


def _lost_answer_means_not_landed() -> Patches:
    def hasty(daemon: Daemon) -> None:
        batch = daemon.batch
        assert batch is not None
        if daemon._call(lambda: apply.lost(parts_of(daemon.driver).local, batch, applied=False, now=daemon.now)):
            daemon.probing = False
            daemon.batch = None

    return [(Daemon, "probe", hasty)]


def _no_comparisons() -> Patches:
    return [(protocol, "work", lambda antientropy, _: antientropy.tree_state.work(antientropy.core.state) or [])]


def _no_tombstones_told() -> Patches:
    send = protocol.send_known

    def living(antientropy: Any, paths: Any, *lacked: Any) -> None:
        with antientropy.core.state.transaction() as tx:
            registers = tx.registers(list(paths))
        send(antientropy, [path for path in paths if path in registers and registers[path].known.alive], *lacked)

    return [(protocol, "send_known", living)]


def _nothing_asked() -> Patches:
    return [(protocol, "_ask", lambda *_: None)]


def _deaths_not_summed() -> Patches:
    def living(changes: Any, path: Any, before: Any, after: Any) -> None:
        if after is not None:
            note(changes, path, before, after)

    return [(tree_state, "note", living)]


def _sums_not_logged() -> Patches:
    return [(tree_state, "packed", lambda _: b"")]


def _always_ask() -> Patches:
    return [(protocol, "later", lambda *_: True)]


def _forget_by_the_clock() -> Patches:
    def over(epoch: Epoch, *_: Any) -> Epoch:
        return replace(epoch, stored=frozenset(epoch.senders), consumed=frozenset(epoch.senders))

    return [(collector, "advance", over)]


def _forget_unseated() -> Patches:
    return [(rules, "applying_waits", lambda *_: None)]


def _forget_before_consumed() -> Patches:
    return [(rules, "consuming_waits", lambda *_: None)]


def _no_floor() -> Patches:
    load = UnitOfWork.load

    def grounded(unit: UnitOfWork, paths: Any) -> None:
        with mock.patch.object(unit._core, "floor", Millis(0)):
            load(unit, paths)

    return [(UnitOfWork, "load", grounded)]


def _never_tell_again() -> Patches:
    return [(gap_fill, "work", lambda *_: None)]


def _duplicates_are_taken_again() -> Patches:
    return [(Consumed, "__contains__", lambda *_: False)]


def _mtime_believed() -> Patches:
    def believed(settings: Any, entry: Any, moment: Any) -> Millis:
        del settings
        return Millis(moment.seen_at if entry is None or entry.modified_at_ms is None else entry.modified_at_ms)

    return [(observing, "_modified_at", believed)]


def _found_late_is_changed_late() -> Patches:
    modified_at = observing._modified_at
    return [(observing, "_modified_at", lambda s, e, moment: modified_at(s, e, replace(moment, seen_at=moment.now)))]


def _first_sight_is_a_change() -> Patches:
    observe = observing.observe

    def grown(settings: Any, register: Any, entry: Any, moment: Moment, *, publishes: bool) -> Outcome:
        return observe(settings, register, entry, replace(moment, first_scan_done=True), publishes=publishes)

    return [(observing, "observe", grown)]


def _absolute_skew_limit() -> Patches:
    def absolute(settings: Any, register: Register, version: Any, now: Millis) -> Millis:
        del register, now
        return Millis(version.stamp.updated_at_ms - settings.limits.max_clock_skew_ms)

    return [(module, "admitted_at", absolute) for module in (folding, replica)]


def _skew_counts_from_the_known() -> Patches:
    def ratchet(settings: Any, register: Register, version: Any, now: Millis) -> Millis:
        known = register.known.stamp.updated_at_ms if register.known is not None else 0
        free = version.stamp.updated_at_ms <= max(now, known) + settings.limits.max_clock_skew_ms
        return now if free else Millis(version.stamp.updated_at_ms)

    return [(module, "admitted_at", ratchet) for module in (folding, replica)]


def _held_until_its_stamp() -> Patches:
    def near_only(settings: Any, register: Register, version: Any, now: Millis) -> Millis:
        until = skew.admitted_at(settings, register, version, now)
        return until if until <= now else Millis(version.stamp.updated_at_ms)

    return [(module, "admitted_at", near_only) for module in (folding, replica)]


def _vectors_are_not_timed() -> Patches:
    def stamps_only(settings: Any, register: Register, version: Any, now: Millis) -> Millis:
        return skew.admitted_at(settings, register, replace(version, seen={}), now)

    return [(module, "admitted_at", stamps_only) for module in (folding, replica)]


def _vectors_beyond_their_change_count() -> Patches:
    def all_of_it(version: Any, by: Any, time: Millis) -> bool:
        return bool(version.seen.get(by, -1) >= time)

    return [(order, "covers", all_of_it)]


def _all_is_believed() -> Patches:
    return [(folding, "believed", lambda settings, register, version: version)]


def _vectors_are_not_bounded() -> Patches:
    return [(vectors, "bounded", lambda seen, *_: seen)]


def _own_changes_have_descendants() -> Patches:
    fold = folding.fold_version

    def as_any(settings: Any, register: Register, version: Any, *, own: bool) -> Any:
        if own and relate(register.known, version) is Relation.ANCESTOR:
            return register, ()
        return fold(settings, register, version, own=own)

    return [(observing, "fold_version", as_any)]


def _same_counters() -> Patches:
    return [(Settings, "by", property(lambda settings: counter_of(settings.region, 1)))]


def _overwrite_unpublished() -> Patches:
    return [(DiskTransaction, "open_paths", lambda *_: set())]


def _no_guards() -> Patches:
    return [(decided_writes, "examine", lambda _: None)]


def _no_delete_window() -> Patches:
    return [(DeleteWindow, "permits", lambda *_: True)]


def _delete_window_starts_empty() -> Patches:
    return [(DiskTransaction, "deletes_passed", lambda *_: [])]


def _decisions_compare_nothing() -> Patches:
    return [(replica, "check_look", lambda *_: None), (decisions, "check_shown", lambda *_: None)]


def _restoring_compares_nothing() -> Patches:
    return [(decisions, "check_shown", lambda *_: None)]


def _let_pass_over_anything() -> Patches:
    change = observing._local_change

    def keeping(settings: Any, register: Register, *rest: Any) -> Outcome:
        outcome = change(settings, register, *rest)
        known = outcome.register.known
        kept = register.allowed if known is not None and known.stamp == register.allowed else None
        return replace(outcome, register=replace(outcome.register, allowed=kept))

    return [(observing, "_local_change", keeping)]


def _decision_outlives_what_was_shown() -> Patches:
    """It stands whatever comes before the read; and what is asserted by it is what is found then."""
    wishless, shows = Register.without_wish, vars(Register)["shows"].fget

    def keeping(register: Register) -> Register:
        return register if register.wish is Wish.REASSERT and register.due else wishless(register)

    def as_ever(register: Register) -> Any:
        return register.shown or shows(register)

    return [(Register, "without_wish", keeping), (Register, "shows", property(as_ever))]


def _unreadable_is_absent() -> Patches:
    understand = completing.reading

    def blind(*given: Any, **more: Any) -> completing.Understood:
        try:
            return understand(*given, **more)
        except ValueInvalid:
            return completing.Understood(entry=None, digest=None, kept=None)

    return [(observing, "reading", blind), (observing, "readable_here", lambda _, __, ___, entry: entry)]


def _scope_does_not_bind_writes() -> Patches:
    return [(Direction, "applies", property(lambda _: True))]


def _scope_does_not_bind_publishing() -> Patches:
    return [(Direction, "publishes", property(lambda _: True))]


def _scope_does_not_bind_assertions() -> Patches:
    facts = observe.facts_of

    def willing(*arguments: Any) -> Any:
        return {path: replace(each, publishes=True) for path, each in facts(*arguments).items()}

    return [
        (observe, "facts_of", willing),
        (publishing, "admits", lambda _scope, _act: True),
        (publishing, "enqueue", lambda _scope, tx, events: tx.enqueue(events)),
    ]


def _outbox_outlives_the_scope() -> Patches:
    return [(rescoping, "retract", lambda _recovery, _now: None)]


def _scopes_that_were_never_met_are_forgotten() -> Patches:
    return [(rescoping, "is_unmet", lambda _register: False)]


def _drift_is_forgotten() -> Patches:
    drift = observing._drift

    def unkept(*arguments: Any) -> Outcome:
        outcome = drift(*arguments)
        return replace(outcome, acts=tuple(act for act in outcome.acts if not isinstance(act, RecordConflict)))

    return [(observing, "_drift", unkept)]


def _one_name_for_one_moment() -> Patches:
    def dated(register: Register, time: Millis) -> Register:
        return replace(register, own=time)

    return [(Register, "dated", dated)]


def _restored_below() -> Patches:
    restore = Replica.restore

    def seeing_nothing(replica: Replica, register: Register, value: Any, seen: Any, now: Millis) -> Outcome:
        return restore(replica, replace(register, known=None, own=Millis(0)), value, seen, now)

    return [(Replica, "restore", seeing_nothing)]


def _former_writer_still_stamps() -> Patches:
    return [(observe, "check_fence", lambda *_: None), (DiskState, "transaction", lambda state: _Block(state._disk))]


def _forgotten_is_raised() -> Patches:
    return [(repair, "Bounds", lambda **facts: Bounds(**{**facts, "floor_ms": Millis(0)}))]


def _young_knows_all() -> Patches:
    return [(repair, "Bounds", lambda **facts: Bounds(**{**facts, "knows_all": True}))]


def _what_came_in_is_told() -> Patches:
    return [(repair, "Bounds", lambda **facts: Bounds(**{**facts, "carried_since_ms": Millis(0)}))]


def _outgrown_is_told() -> Patches:
    real = retell

    def outgrown(settings: Settings, register: Register, *rest: Any) -> Outcome | Why:
        found = real(settings, register, *rest)
        return Outcome(register) if found is Why.SUPERSEDED else found

    return [(repair, "retell", outgrown)]


WITHOUT_SECOND_ROUND = Mutant(
    "forget deletes before all is consumed",
    (),
    _forget_before_consumed,
    schedule="schedule_22_older_change_overtaken_by_a_heartbeat",
)
"""Chance hardly ever finds the coincidence that it takes: a scripted schedule shows the harm."""

WITHOUT_FLOOR = Mutant(
    "start anew below what was forgotten",
    (),
    _no_floor,
    schedule="a_path_that_was_forgotten_starts_above_what_was_forgotten",
)
"""Likewise."""


def _hear_nobody() -> Patches:
    return [(Hearing, "over", property(lambda _: True)), (Driver, "hearing", property(lambda _: False))]


def _old_copies_pass() -> Patches:
    loss = rollback_detection.loss

    def another(recovery: Any, entry: Any) -> str | None:
        reason = loss(recovery, entry)
        return None if reason is not None and reason.startswith("an old copy") else reason

    return [(rollback_detection, "loss", another), (rebuild, "note_own", lambda *_: None)]


def _old_stores_pass() -> Patches:
    return [(Fence, "precedes", lambda *_: False), (rollback_detection, "_another", lambda _, fence: fence.database_id)]


def _generations_come_again() -> Patches:
    return [(rebuild, "_compare_generations", lambda *_: None)]


def _unknown_provenance_is_not_kept() -> Patches:
    meet = unknown_provenance

    def silent(*args: Any) -> Outcome:
        return Outcome(meet(*args).register)

    return [(observing, "unknown_provenance", silent)]


def _unknown_provenance_is_a_change() -> Patches:
    def stamped(settings: Any, register: Any, known: Any, entry: Any, digest: Any, modified_at: Any) -> Outcome:
        del known
        moment = Moment(now=modified_at, seen_at=modified_at, first_scan_done=True)
        return observing._local_change(settings, register, entry, digest, moment)

    return [(observing, "unknown_provenance", stamped)]


def _lacking_values_are_not_asked_for() -> Patches:
    return [(missing_values, "_ask", lambda *_: [])]


def _who_knows_less_does_not_say_so() -> Patches:
    note = missing_values.note

    def of_nothing(recovery: Any, paths: Any) -> None:
        note(recovery, {path: stamp for path, stamp in paths.items() if stamp is None})

    return [(missing_values, "note", of_nothing)]


def _sums_outlive_their_database() -> Patches:
    anew = AntiEntropy.begin_anew

    def keeping(antientropy: Any) -> None:
        kept = antientropy.tree_state
        anew(antientropy)
        antientropy.tree_state = kept

    return [(AntiEntropy, "begin_anew", keeping), (tree_state.DigestTreeState, "load", lambda *_: None)]


def _fence_known_by_its_revision() -> Patches:
    seen = HeldFence.seen

    def by_revision(held: HeldFence, entry: Any) -> Fence | None:
        return held.fence if entry is not None and entry.revision == held.revision else seen(held, entry)

    return [(HeldFence, "seen", by_revision)]


def _scan_waits_only_for_its_own() -> Patches:
    def own(dirty: DirtyPaths) -> int:
        return [*dirty._paths.values(), *dirty._aside.values()].count(ReadCause.SCAN)

    return [(DirtyPaths, "from_scan", property(own))]


MUTANTS = (
    Mutant("look at the store before the peers have told", ("wiped",), _hear_nobody, rare=True),
    Mutant("old copies pass", ("wiped",), _old_copies_pass, rare=True),
    Mutant("old stores pass", ("restored",), _old_stores_pass),
    Mutant(
        "generations come again",
        (),
        _generations_come_again,
        schedule="a_generation_that_a_former_database_had_is_given_up_when_a_peer_tells_so",
    ),
    Mutant("what is of unknown provenance is not kept", ("wiped",), _unknown_provenance_is_not_kept),
    Mutant("what is of unknown provenance is a change", ("wiped",), _unknown_provenance_is_a_change),
    Mutant("lacking values are not asked for", ("wiped", "wiped-storm"), _lacking_values_are_not_asked_for),
    Mutant("sums outlive their database", ("wiped",), _sums_outlive_their_database),
    Mutant(
        "a fence is known by its revision",
        (),
        _fence_known_by_its_revision,
        schedule="a_fence_at_the_revision_of_ours_is_not_ours",
    ),
    Mutant(
        "a scan waits only for what it alone has found",
        (),
        _scan_waits_only_for_its_own,
        schedule="a_rebuild_is_not_over_before_what_its_scan_has_found_is_decided",
    ),
    Mutant(
        "what was restored unseen is not kept",
        (),
        lambda: [(observing, "_unseen_here", lambda *_: ())],
        schedule="what_was_restored_is_kept_when_somebody_has_written_there_unseen",
    ),
    Mutant(
        "what was found in one moment has one name",
        (),
        _one_name_for_one_moment,
        schedule="two_edits_of_one_moment_that_may_not_leave_are_both_kept",
    ),
    Mutant("drop the compare-and-set", ("calm", "crashes"), _no_compare_and_set, rare=True),
    Mutant("stamp from known instead of seated", ("calm",), _stamp_from_known),
    Mutant("stamp by the clock alone", ("clocks",), _stamp_by_clock_alone),
    Mutant("any read decides", ("calm", "gaps"), _any_read_decides),
    Mutant("what is read ahead is not compared", ("calm", "crashes"), _read_ahead_is_not_compared),
    Mutant("every notice that names its write is an own one", ("calm",), _every_named_notice_is_own),
    Mutant("forget the intents of the dead", ("crashes", "storm"), _no_receipts, rare=True),
    Mutant("a lost answer means not landed", ("lost",), _lost_answer_means_not_landed, rare=True),
    Mutant("acknowledge before the commit", ("crashes",), _acknowledge_before_commit, rare=True),
    Mutant("empty the outbox before it is acknowledged", ("crashes", "lost"), _empty_outbox_before_acknowledgement),
    Mutant("ties the other way", ("found", "calm"), _ties_the_other_way, rare=True),
    Mutant("the last arrival wins", ("calm",), _last_arrival_wins),
    Mutant("drop tombstones at once", ("calm",), _drop_tombstones),
    Mutant("no fence", ("actives", "lost", "storm"), _no_fence, rare=True),
    Mutant("no epoch", ("actives",), _no_epoch),
    Mutant("ignore what authors had seen", ("calm",), _ignore_seen),
    Mutant("no ancestors", ("calm",), _base_instead_of_seen),
    Mutant("remember digests", ("calm",), _remember_digests),
    Mutant("own write looks foreign", ("calm",), _own_write_looks_foreign),
    Mutant("absent from a scan is deleted", ("gaps",), _absent_from_scan_is_deleted),
    Mutant("no revive", ("trees",), _no_revive),
    Mutant("the loser's value is not kept", ("calm",), _loser_without_value),
    Mutant("never compare", ("vanishing", "dark", "away"), _no_comparisons),
    Mutant("tell no tombstones", ("vanishing", "dark", "away"), _no_tombstones_told),
    Mutant("ask for nothing", ("vanishing", "dark", "away"), _nothing_asked),
    Mutant("do not take dead paths out of the sums", ("vanishing", "dark", "away"), _deaths_not_summed),
    Mutant("do not keep the sums with the registers", ("vanishing", "dark", "away"), _sums_not_logged),
    Mutant("always ask, never tell", ("vanishing", "dark", "away"), _always_ask),
    Mutant("forget deletes by the clock alone", FORGETTING, _forget_by_the_clock),
    Mutant("forget deletes that are not seated everywhere", FORGETTING, _forget_unseated, rare=True),
    Mutant(
        "a repair raises what was forgotten",
        ("repairs-forgetting",),
        _forgotten_is_raised,
        schedule="what_was_deleted_and_forgotten_since_a_snapshot_does_not_rise_again",
    ),
    Mutant("what came in late is told from old snapshots", ("repairs-opting-forgetting",), _what_came_in_is_told),
    Mutant("a repair tells what is outgrown", ("repairs",), _outgrown_is_told),
    Mutant(
        "a young database knows all",
        ("repairs-young",),
        _young_knows_all,
        schedule="a_database_that_was_made_since_a_snapshot_does_not_raise_what_it_never_heard_of",
    ),
    Mutant("never tell deletes again", ("forgetting-vanishing",), _never_tell_again),
    Mutant("overwrite what is not published yet", ("calm",), _overwrite_unpublished),
    Mutant("what is found at first is a change", ("found",), _first_sight_is_a_change),
    Mutant("no guards", ("people",), _no_guards),
    Mutant("no limit of deletes", ("people", "guards"), _no_delete_window),
    Mutant("each start begins with no deletes", ("guards", "people"), _delete_window_starts_empty),
    Mutant("a decision compares nothing", ("people", "repairs-people"), _decisions_compare_nothing),
    Mutant("restoring compares nothing", ("people", "repairs-people"), _restoring_compares_nothing),
    Mutant(
        "what is let pass may replace anything",
        (),
        _let_pass_over_anything,
        schedule="what_was_let_pass_is_asked_about_again_when_it_would_replace_another_value",
    ),
    Mutant(
        "a decision outlives what was shown",
        ("people", "scoped-people"),
        _decision_outlives_what_was_shown,
        schedule="what_is_written_elsewhere_before_a_decision_is_completed_ends_it",
    ),
    Mutant("what cannot be read is absent", ("people",), _unreadable_is_absent),
    Mutant("scopes do not bind writes", ("scopes",), _scope_does_not_bind_writes),
    Mutant("scopes do not bind publishing", ("scopes",), _scope_does_not_bind_publishing),
    Mutant("scopes do not bind assertions", ("opting-trees", "scoped-people"), _scope_does_not_bind_assertions),
    Mutant("the outbox outlives the scope", ("opting-trees", "opting"), _outbox_outlives_the_scope),
    Mutant(
        "scopes that were never met are forgotten",
        ("opting-trees",),
        _scopes_that_were_never_met_are_forgotten,
        rare=True,
    ),
    Mutant("edits that may not leave are not kept", ("scopes",), _drift_is_forgotten),
    Mutant("restore below what is known", ("people",), _restored_below),
    Mutant("a former writer still stamps", ("sleepers", "actives"), _former_writer_still_stamps),
    Mutant("duplicates are taken again", (), _duplicates_are_taken_again, schedule="schedule_01_late_base"),
    Mutant("modification times are believed", (), _mtime_believed, schedule="schedule_24_store_clock_a_year_ahead"),
    Mutant("found late is changed late", (), _found_late_is_changed_late, schedule="schedule_06_found_by_a_scan"),
    Mutant("the skew limit is absolute", (), _absolute_skew_limit, schedule="schedule_24_year_ahead_clock"),
    Mutant(
        "the skew limit counts from what is known",
        (),
        _skew_counts_from_the_known,
        schedule="two_hundred_changes_carry_a_path_no_further_ahead_than_one",
    ),
    Mutant(
        "what is held waits for its stamp alone",
        (),
        _held_until_its_stamp,
        schedule="the_last_of_many_edits_of_a_path_that_lies_ahead_needs_nobody",
    ),
    Mutant(
        "vectors may speak of the future",
        (),
        _vectors_are_not_timed,
        schedule="a_forged_vector_is_held_and_overwrites_nothing_in_silence",
    ),
    Mutant(
        "a vector counts beyond its own change",
        (),
        _vectors_beyond_their_change_count,
        schedule="what_was_believed_once_makes_no_later_loser_vanish",
    ),
    Mutant(
        "every vector is believed",
        (),
        _all_is_believed,
        schedule="a_claim_of_what_this_region_never_gave_out_is_seen_through",
    ),
    Mutant(
        "changes of this region have descendants before they are made",
        (),
        _own_changes_have_descendants,
        schedule="a_change_of_this_region_that_somebody_claims_to_have_seen_before_is_kept",
    ),
    Mutant(
        "vectors are of any size",
        (),
        _vectors_are_not_bounded,
        schedule="a_vector_that_fills_a_message_is_cut_before_anybody_inherits_it",
    ),
    Mutant("counters without generation", (), _same_counters, schedule="schedule_21_counter_of_a_lost_database"),
    Mutant(
        "who knows less does not say so",
        (),
        _who_knows_less_does_not_say_so,
        schedule="schedule_20_a_value_that_is_lost_with_its_region_while_another_one_knows_an_older_one",
    ),
    WITHOUT_SECOND_ROUND,
    WITHOUT_FLOOR,
    Mutant("every generation is believed", ("liar", "liar-wiped"), credulous.every_generation_is_believed),
    Mutant(
        "the first of two values of a stamp stands",
        (),
        credulous.the_first_of_two_values_stands,
        schedule="of_two_values_of_one_stamp_the_same_one_stands_everywhere_and_the_other_is_kept",
    ),
    Mutant(
        "who is said to be forgotten is refused",
        (),
        credulous.who_is_said_to_be_forgotten_is_refused,
        schedule="what_one_member_says_of_another_is_held_and_nobody_stands_still",
    ),
    Mutant(
        "who is said to be forgotten stands still",
        (),
        credulous.who_is_said_to_be_forgotten_stands_still,
        schedule="what_one_member_says_of_another_is_held_and_nobody_stands_still",
    ),
    Mutant(
        "a database is given up each time that somebody says so",
        (),
        credulous.a_database_is_given_up_each_time,
        schedule="a_database_is_given_up_once_for_a_change_that_nobody_can_tell_from_its_own",
    ),
    *(Mutant(name, (), patches, schedule=schedule) for name, schedule, patches in credulous.BREAKS),
    *(
        Mutant(name, modes, patches, rare=name in incomplete.RARELY_HARMFUL)
        for name, modes, patches in incomplete.BREAKS
    ),
    *(
        Mutant(name, modes, patches, rare=name in held_changes.RARELY_HARMFUL)
        for name, modes, patches in held_changes.BREAKS
    ),
    *(
        Mutant(name, modes, patches)
        for name, modes, patches in (
            *credulous.DRAWN,
            *going_over.BREAKS,
            *classes.BREAKS,
            *cluster_names.BREAKS,
            *misread.BREAKS,
            *collecting.BREAKS,
            *excluding.BREAKS,
            *offloading.BREAKS,
            *overwriting.BREAKS,
        )
    ),
)


INDEPENDENT: Final = (
    "each start begins with no deletes",
    "whatever lacks was removed",
    "kept fields are not written back",
    "nobody owes fields at first contact",
    "brokers are not asked anew",
    "what comes into the scope is as it was",
    "a class is all that a region carries",
    "a rule that went shares on a write",
    "a changed rule is not read again",
    "another table of names is not noticed",
    "edits that may not leave are not kept",
    "a repair raises what was forgotten",
    "a local hold ends by a remote change",
    "decisions compare only what is known",
    "any hold may be confirmed",
    "a decision outlives what was shown",
    "what was due is done though the path has left",
    "deletes found after a change of scope pass",
    "disputed names hold nothing",
    "a repair tells what is held back",
    "a young database knows all",
    "a restore goes over an unread store",
)
"""Breaks of the newer rules that others have chosen than those who wrote the rules: chance alone finds them."""


def hunt(mutant: Mutant, seeds: int, start: int = 0, *, drawn: bool = False) -> tuple[int, str] | None:
    """How many seeds it took and how the break showed, or ``None`` when no seed has caught it.

    Args:
        mutant: The break.
        seeds: How many to try.
        start: The first one.
        drawn: Chance has to find it, whether there is a scripted schedule or not.
    """
    if mutant.schedule and not drawn:
        return _hunt_by_schedule(mutant)
    with broken(mutant):
        for count in range(seeds):
            try:
                play(mutant.modes[count % len(mutant.modes)], start + count)
            except Violation as violation:
                return count + 1, violation.rule
            except InvariantBroken as bug:
                return count + 1, bug.code
    return None


def _hunt_by_schedule(mutant: Mutant) -> tuple[int, str] | None:
    """By the scripted schedule of that name, on a store without times; whole it passes, which the tests show."""
    modules = (import_module(f"tests.simulation.{name}") for name in SCHEDULES)
    (test,) = (found for module in modules if (found := getattr(module, f"test_{mutant.schedule}", None)) is not None)
    with broken(mutant):
        try:
            test(StoreKind.ETCD) if signature(test).parameters else test()
        except (AssertionError, SyncerError) as failure:
            return 0, getattr(failure, "rule", "not the expected end")
    return None


def _hunt_named(name: str, seeds: int, start: int, drawn: bool) -> tuple[int, str] | None:
    return hunt(next(mutant for mutant in MUTANTS if mutant.name == name), seeds, start, drawn=drawn)


def hunt_all(mutants: Sequence[Mutant], seeds: int, *, processes: int, start: int = 0, drawn: bool = False) -> int:
    """Hunt these, print the table, and tell how many were caught."""
    caught = 0
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        names = [mutant.name for mutant in mutants]
        found = pool.map(_hunt_named, names, [seeds] * len(names), [start] * len(names), [drawn] * len(names))
        for mutant, catch in zip(mutants, found, strict=True):
            caught += catch is not None
            script = "" if drawn else mutant.schedule
            mode = mutant.modes[(catch[0] - 1) % len(mutant.modes)] if catch and not script else ""
            by = script or f"{mode}, schedule {catch[0]:4}" if catch else ""
            verdict = f"caught by {by}: {catch[1]}" if catch else f"ESCAPED {script or f'{seeds} seeds'}"
            print(f"{mutant.name:45} {verdict}", flush=True)
    return caught


def main() -> int:
    """Hunt them all; print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__)
    parser.add_argument("--seeds", type=int, default=300, help="seeds to try per break")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--only", help="the break of this name")
    parser.add_argument(
        "--independent", action="store_true", help="those that others have chosen, by drawn schedules alone"
    )
    parser.add_argument("--processes", type=int, default=1, help="how many hunt at once")
    options = parser.parse_args()
    mutants = [mutant for mutant in MUTANTS if options.only in {None, mutant.name}]
    if options.independent:
        mutants = [mutant for mutant in mutants if mutant.name in INDEPENDENT]
    caught = hunt_all(
        mutants, options.seeds, processes=options.processes, start=options.start, drawn=options.independent
    )
    print(f"{caught} of {len(mutants)} breaks caught")
    return 0 if caught == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
