"""The rules of the product: a sentence, the field's words for it, the code that holds it, the test that proves it.

A rule names code and test as objects, so that neither can be renamed or taken away without it. The first of its words
finds its file, by the file's name or by the first line of its docstring; ``tests/unit/test_rules.py`` sees to that.
``python -m docs.rules`` writes the page ``docs/reference/rules.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from docs.finding import Rule, file_of, name_of
from spark_snapshot.format import layout
from syncer.bus import window
from syncer.bus.trust import region_keys, signing
from syncer.conflict import apply as applying
from syncer.conflict import (
    completing,
    digest_tree,
    folding,
    guards,
    observing,
    projection,
    reads,
    rebuilding,
    scope,
    shown,
    tombstones,
    withholding,
)
from syncer.conflict.causality import consumed, order, skew, vectors
from syncer.plan import diffing, losses
from syncer.planning import whole_file
from syncer.repair import rules as repair_rules
from syncer.replication import bisection, fence, quotas, unit_of_work
from syncer.replication.antientropy import exchanges, protocol
from syncer.replication.control import heartbeat
from syncer.replication.gc import collector, gap_fill
from syncer.replication.group import bus_lag, evidence, hearsay
from syncer.replication.inbound import admission, isolation, prefetch, quarantine, write_through
from syncer.replication.local import apply as writes
from syncer.replication.local import full_scan, own_writes
from syncer.replication.membership import leave
from syncer.replication.recovery import generations, missing_values, rebuild, rollback_detection, state_transfer
from syncer.replication.runtime import backoff, bus_loop, leadership
from syncer.state.sql import opening
from tests.contract import store_fencing
from tests.golden import test_disk
from tests.property import (
    test_consumed_laws,
    test_digest_tree,
    test_folding_laws,
    test_order_laws,
    test_plan_laws,
    test_projection_laws,
    test_skew_laws,
    test_tombstone_laws,
    test_two_regions,
    test_vector_laws,
)
from tests.shell import test_lifecycle, test_rooms
from tests.simulation import test_schedules
from tests.unit.bus import test_window
from tests.unit.bus.trust import test_region_keys, test_signing
from tests.unit.conflict import (
    test_apply,
    test_completing,
    test_guards,
    test_observing,
    test_reads,
    test_rebuilding,
    test_scope,
    test_withholding,
)
from tests.unit.plan import test_losses
from tests.unit.repair import test_repair_file, test_rules
from tests.unit.replication import test_bisection
from tests.unit.replication.antientropy import test_exchanges, test_protocol
from tests.unit.replication.gc import test_gap_fill
from tests.unit.replication.group import test_hearsay, test_newcomers
from tests.unit.replication.inbound import test_isolation, test_write_through
from tests.unit.replication.membership import test_membership
from tests.unit.replication.recovery import (
    test_missing_values,
    test_rollback_detection,
    test_state_transfer,
)
from tests.unit.replication.runtime import test_backoff, test_leadership
from tests.unit.spark_snapshot.format import test_layout

PAGE: Final = Path(__file__).resolve().parent / "reference" / "rules.md"


RULES: Final[Mapping[str, tuple[Rule, ...]]] = {
    "Order and conflicts": (
        Rule(
            says="Of two versions the later stamp wins, the same one everywhere.",
            words=("last writer wins", "LWW", "total order", "tie break"),
            code=order.later,
            test=test_order_laws.test_exactly_one_of_two_different_stamps_wins,
        ),
        Rule(
            says="Changes that could not see each other are concurrent: a conflict, whose loser is kept.",
            words=("concurrent", "happened before", "causality", "conflict detection"),
            code=order.relate,
            test=test_folding_laws.test_only_changes_that_could_not_see_each_other_conflict,
        ),
        Rule(
            says="An author has seen what its vector covers, as far as that can be true.",
            words=("version vector", "vector clock", "causal history"),
            code=vectors.believed,
            test=test_vector_laws.test_what_is_believed_is_what_somebody_can_have_seen,
        ),
        Rule(
            says="Any order and any number of deliveries of the same changes ends in the same state.",
            words=("merge", "CRDT", "LWW register", "convergence", "commutative fold"),
            code=folding.fold_version,
            test=test_folding_laws.test_any_delivery_ends_in_the_greatest_stamp,
        ),
        Rule(
            says="No message carries a path further ahead of the clock than the skew that is allowed.",
            words=("clock skew", "clock drift", "future timestamp"),
            code=skew.admitted_at,
            test=test_skew_laws.test_no_sequence_of_messages_carries_a_path_further_ahead,
        ),
        Rule(
            says="A local change is stamped above what it replaces, whatever the clock says.",
            words=("hybrid logical clock", "HLC", "hybrid time", "monotonic timestamp"),
            code=observing.observe,
            test=test_observing.test_the_time_of_a_local_change,
        ),
        Rule(
            says="What an operator was not shown is not overruled by the operator's decision.",
            words=("lost update", "optimistic lock", "If-Match"),
            code=shown.check_shown,
            test=test_two_regions.test_what_an_operator_was_not_shown_is_never_lost,
        ),
    ),
    "Values and paths": (
        Rule(
            says="Two values are equal when their canonical projections are; bytes are never compared.",
            words=("canonical form", "normalization", "content hash", "digest"),
            code=projection.canonical,
            test=test_projection_laws.test_bytes_do_not_matter,
        ),
        Rule(
            says="The first rule that matches a path decides whether it takes part, and which way.",
            words=("replication filter", "allow list", "scope"),
            code=scope.Scope,
            test=test_scope.test_the_first_rule_that_matches_decides,
        ),
        Rule(
            says="The author completes: what its brokers do not know was not removed by their writes.",
            words=("version skew", "unknown field preservation", "schema evolution", "rolling upgrade"),
            code=completing.reading,
            test=test_completing.test_an_edit_by_a_broker_that_does_not_know_a_field_is_published_whole,
        ),
        Rule(
            says="Secrets of a cluster never leave its store.",
            words=("redaction", "masking", "secret"),
            code=withholding.carried_value,
            test=test_withholding.test_a_local_change_leaves_without_its_secrets,
        ),
    ),
    "The own store": (
        Rule(
            says="A valid read that differs from what is stored is a local change; nothing else is.",
            words=("change capture", "CDC", "change data capture"),
            code=observing.observe,
            test=test_observing.test_the_seated_revision_says_it_all,
        ),
        Rule(
            says="A read from before a gap of the watch, or overtaken by a notice, decides nothing.",
            words=("stale read", "read validation", "watch gap"),
            code=reads.ReadLedger,
            test=test_reads.test_a_read_from_before_a_gap_never_decides,
        ),
        Rule(
            says="After every arming of the watch the whole scope is read once.",
            words=("resync", "list then watch", "full scan", "reconciliation"),
            code=full_scan.complete,
            test=test_schedules.test_schedule_06_found_by_a_scan,
        ),
        Rule(
            says="A write names the revision that was read; a refusal means read again, decide again.",
            words=("compare and set", "CAS", "optimistic concurrency", "conditional write"),
            code=applying.apply_due,
            test=test_apply.test_a_write_is_an_intent_at_the_revision_just_read,
        ),
        Rule(
            says="An intent is stored before each write; after a crash the fence's receipts show which have landed.",
            words=("write-ahead", "WAL", "intent log", "exactly once"),
            code=writes.settle_former,
            test=test_apply.test_a_write_that_a_receipt_proves_is_read_again,
        ),
        Rule(
            says="What the daemon wrote itself is no change and is not sent back.",
            words=("echo suppression", "loop prevention", "replication loop"),
            code=own_writes.OwnWrites,
            test=test_write_through.test_the_notice_of_an_own_write_costs_no_read,
        ),
        Rule(
            says="What the store holds at arriving paths is read before they are folded, and serves one fold only.",
            words=("prefetch", "read ahead"),
            code=prefetch.prefetch,
            test=test_write_through.test_a_read_ahead_serves_one_fold_only,
        ),
        Rule(
            says="A write that needs no other read is decided at once, if nothing was noticed since the last one.",
            words=("write-through", "entry cache"),
            code=write_through.writable_at_once,
            test=test_write_through.test_an_update_of_what_cannot_be_remembered_is_written_behind_a_read_ahead,
        ),
    ),
    "One writer": (
        Rule(
            says="Every write rewrites the fence in the same transaction: a former writer's fails as a whole.",
            words=("fencing token", "zombie writer", "split brain", "STONITH"),
            code=fence.raised,
            test=store_fencing.FencingSuite.test_a_raised_fence_stops_a_former_writer,
        ),
        Rule(
            says="The bus says who should try to be active; only the fence makes it so.",
            words=("leader election", "failover", "active/standby", "lease"),
            code=leadership.Leadership,
            test=test_leadership.test_a_fenced_one_tries_again_only_when_the_bus_has_said_anew_that_it_is_the_one,
        ),
        Rule(
            says="A standby on the same database takes over from an active daemon that is gone, and loses nothing.",
            words=("failover", "high availability", "hot standby"),
            code=leadership.Leadership,
            test=test_lifecycle.test_a_standby_on_the_same_database_takes_over_when_the_active_one_is_killed,
        ),
    ),
    "The bus": (
        Rule(
            says="Registers, outbox and journal of a step are stored in one transaction, or none of them.",
            words=("unit of work", "atomic commit", "transaction"),
            code=unit_of_work.UnitOfWork,
            test=test_isolation.test_a_heartbeat_that_breaks_what_hears_it_leaves_nothing_half_heard,
        ),
        Rule(
            says="A change is published from the outbox, and leaves it once the bus has acknowledged it.",
            words=("outbox", "transactional outbox", "at-least-once publication"),
            code=bus_loop.BusPumps,
            test=test_lifecycle.test_what_was_written_right_before_a_graceful_stop_is_published_once_after_it,
        ),
        Rule(
            says="A message is acknowledged after its fold is stored, in order whatever the order of the folds.",
            words=("at-least-once", "cumulative acknowledgement", "backpressure"),
            code=window.Window,
            test=test_window.test_the_mark_never_passes_an_open_delivery,
        ),
        Rule(
            says="A number of a sender counts once; a second delivery changes nothing.",
            words=("deduplication", "idempotent consumer", "idempotence"),
            code=consumed.Consumed,
            test=test_consumed_laws.test_batches_order_and_repetition_do_not_matter,
        ),
        Rule(
            says="For messages that never came every delete is published again, then the gap counts as closed.",
            words=("gap detection", "sequence gap", "gap fill", "retransmission"),
            code=gap_fill.work,
            test=test_gap_fill.test_a_lost_delete_of_an_unknown_path_is_told_again_until_it_has_come,
        ),
        Rule(
            says="A message that cannot be handled is kept with its reason, never dropped in silence.",
            words=("dead letter", "DLQ", "quarantine"),
            code=quarantine.set_aside,
            test=test_isolation.test_the_guilty_change_alone_is_set_aside,
        ),
        Rule(
            says="One message that breaks its batch keeps no other one from being taken.",
            words=("poison message", "poison pill"),
            code=isolation.consume,
            test=test_isolation.test_many_guilty_ones_are_each_set_aside,
        ),
        Rule(
            says="Of many items that fail together each one at fault is found, and given up once.",
            words=("bisection", "delta debugging", "binary search"),
            code=bisection.narrowed,
            test=test_bisection.test_each_guilty_one_is_given_up_once_and_the_others_are_taken_in_order,
        ),
        Rule(
            says="What members may make a region keep is bounded in bytes; beyond it, it is refused.",
            words=("quota", "resource limit", "load shedding"),
            code=quotas.weigh,
            test=test_rooms.test_a_flood_of_conflicts_takes_no_more_room_than_there_is,
        ),
        Rule(
            says="Repeats pause longer and longer up to a limit, each a little by chance.",
            words=("exponential backoff", "jitter", "retry"),
            code=backoff.Backoff,
            test=test_backoff.test_pauses_double_up_to_a_limit_each_a_little_longer_by_chance,
        ),
    ),
    "Anti-entropy": (
        Rule(
            says="Equal sums mean equal registers; unequal ones lead to exactly the buckets that differ.",
            words=("Merkle tree", "hash tree", "digest tree"),
            code=digest_tree.DigestTree,
            test=test_digest_tree.test_two_trees_differ_in_exactly_the_buckets_of_differing_paths,
        ),
        Rule(
            says="Two regions whose roots differ walk down their trees, and only what differs travels.",
            words=("anti-entropy", "set reconciliation", "active repair"),
            code=protocol.take,
            test=test_protocol.test_the_greater_stamp_travels_whichever_side_has_it,
        ),
        Rule(
            says="No exchange begins with a peer that is still catching up, but one in the longest pause.",
            words=("exchange", "session pacing"),
            code=exchanges.Exchange,
            test=test_exchanges.test_no_comparison_begins_with_who_catches_up_but_one_in_the_longest_pause,
        ),
        Rule(
            says="A region is behind as long as its own heartbeat has not come back to it.",
            words=("bus lag", "consumer lag", "replication lag"),
            code=bus_lag.BusLag,
            test=test_exchanges.test_a_region_is_behind_while_what_it_said_has_not_come_back,
        ),
    ),
    "Deletes": (
        Rule(
            says="A tombstone is forgotten after two rounds of reports by all members, by no clock alone.",
            words=("tombstone garbage collection", "gc grace", "stable cut"),
            code=tombstones.advance,
            test=test_tombstone_laws.test_nothing_goes_before_both_rounds_hold,
        ),
        Rule(
            says="No delete is forgotten while members disagree about who belongs to the group.",
            words=("tombstone collector", "stability detection", "quorum of all"),
            code=collector.work,
            test=test_hearsay.test_no_delete_is_forgotten_while_members_do_not_agree,
        ),
        Rule(
            says="More deletes at once than the limit wait for an operator.",
            words=("mass delete", "mass-delete guard", "blast radius", "circuit breaker"),
            code=guards.DeleteWindow,
            test=test_guards.test_deletes_pass_up_to_the_bound_of_the_window,
        ),
        Rule(
            says="A path that flips between two values too often waits for an operator.",
            words=("flapping", "flap damping", "ping-pong writes"),
            code=guards.flapping,
            test=test_guards.test_a_path_may_flip_that_often,
        ),
    ),
    "Recovery": (
        Rule(
            says="A region whose database is lost learns all from its peers before it judges what its store holds.",
            words=("bootstrap", "rebuild", "replica recovery"),
            code=rebuild.work,
            test=test_state_transfer.test_it_begins_anew_above_the_generation_of_the_fence_and_asks_who_is_expected,
        ),
        Rule(
            says="A value found beside a register of unknown origin is kept, and stamped by nobody.",
            words=("lost database", "initial sync", "baseline"),
            code=rebuilding.unknown_provenance,
            test=test_rebuilding.test_a_differing_value_is_kept_and_not_stamped,
        ),
        Rule(
            says="Peers send all their registers in pages; one that is missing is asked for again.",
            words=("state transfer", "SST", "catch-up"),
            code=state_transfer.answers,
            test=test_state_transfer.test_a_page_that_is_missing_is_asked_for_again,
        ),
        Rule(
            says="A value that is due and missing is asked of each member, and given up only once all have none.",
            words=("missing value", "hinted read", "anti-entropy fetch"),
            code=missing_values.work,
            test=test_missing_values.test_what_nobody_has_any_more_gives_way_to_what_the_store_holds,
        ),
        Rule(
            says="A store or a database that was put back from a backup is recognised before anything is published.",
            words=("rollback detection", "stale restore", "amnesia"),
            code=rollback_detection.loss,
            test=test_rollback_detection.test_an_old_store_is_known_after_a_rebuild_too_by_the_former_database_that_its_fence_names,
        ),
        Rule(
            says="Two databases of one region never count under one generation.",
            words=("incarnation number", "generation", "boot epoch"),
            code=generations.claim,
            test=test_rollback_detection.test_a_generation_that_another_database_had_is_left,
        ),
        Rule(
            says="A version of an old snapshot is published again only if nothing here has outgrown it.",
            words=("read repair", "repair", "resync from snapshot"),
            code=repair_rules.retell,
            test=test_rules.test_what_is_outgrown_here_is_never_told,
        ),
    ),
    "The group": (
        Rule(
            says="A region says in its heartbeats what it knows, has read and refuses, within bounds.",
            words=("heartbeat", "gossip", "liveness"),
            code=heartbeat.heartbeat,
            test=test_newcomers.test_names_without_end_leave_room_in_what_a_region_tells,
        ),
        Rule(
            says="A region is taken for gone by its silence on a bus that is heard, not by a timeout alone.",
            words=("failure detection", "failure detector", "suspicion"),
            code=evidence.Evidence,
            test=test_hearsay.test_evidence_is_what_comes_back_of_what_was_said,
        ),
        Rule(
            says="What others say of a region is obeyed where the own evidence agrees, and held where it does not.",
            words=("gossip", "hearsay", "Byzantine claim"),
            code=hearsay.judge,
            test=test_hearsay.test_a_living_region_is_not_refused_because_somebody_says_so,
        ),
        Rule(
            says="A region leaves once every member has all that it said; one that is forgotten never returns.",
            words=("membership change", "reconfiguration", "decommission"),
            code=leave.leave,
            test=test_membership.test_a_region_leaves_once_every_member_has_all_that_it_said,
        ),
        Rule(
            says="A message of a region that is not expected, refused or gone is not taken.",
            words=("admission", "admission control", "access control"),
            code=admission.unwelcome,
            test=test_membership.test_exactly_the_named_databases_are_refused_and_a_later_one_speaks_on,
        ),
        Rule(
            says="A message that is not signed by the group's key is not believed.",
            words=("message signature", "HMAC", "message authentication"),
            code=signing.unseal,
            test=test_signing.test_no_byte_of_the_payload_can_be_changed,
        ),
        Rule(
            says="A member that speaks as another region is refused, where regions have keys.",
            words=("public key signature", "Ed25519", "non-repudiation"),
            code=region_keys.RegionKeys,
            test=test_region_keys.test_a_member_that_speaks_as_another_one_is_refused,
        ),
    ),
    "Plans, files, databases": (
        Rule(
            says="A plan brings a region to the other side; performed twice it is performed once.",
            words=("diffing", "reconciliation plan", "desired state"),
            code=diffing.diff,
            test=test_plan_laws.test_a_performed_plan_projects_to_the_other_side,
        ),
        Rule(
            says="A plan that takes away more than a share and a number is not performed by itself.",
            words=("loss limit", "safety limit", "max deletes"),
            code=losses.LossBounds.exceeded,
            test=test_losses.test_both_bounds_must_be_exceeded,
        ),
        Rule(
            says="A file is written whole or not at all.",
            words=("atomic file", "write then rename", "crash safety"),
            code=whole_file.whole,
            test=test_repair_file.test_a_failure_while_writing_leaves_nothing,
        ),
        Rule(
            says="A database of a newer schema is refused and left as it is; an older one is brought up to date.",
            words=("schema migration", "schema version", "downgrade"),
            code=opening.bring_up_to_date,
            test=test_disk.test_a_database_of_a_newer_revision_is_refused,
        ),
        Rule(
            says="A snapshot whose manifest or files are not what was sealed is not believed.",
            words=("layout of snapshots", "manifest", "checksum", "integrity"),
            code=layout.open_snapshot,
            test=test_layout.test_any_byte_that_is_another_is_found,
        ),
    ),
}


def every() -> Iterator[Rule]:
    """All rules, in the order of the page."""
    for rules in RULES.values():
        yield from rules


def page() -> str:
    """The page, as Markdown."""
    lines = [
        "# Rules, by the field's words",
        "",
        "Each rule of the product: what the field calls it, the code that holds it, and a test that would fail without",
        "it. The first word finds the file, by its name or by the first line of its docstring. Our own words stand in",
        "the [glossary](glossary.md). This page is written by `make rules`; a test fails when it is stale.",
    ]
    for heading, rules in RULES.items():
        lines += ["", f"## {heading}", "", "| Rule | In the field | Code | Test |", "| --- | --- | --- | --- |"]
        for rule in rules:
            code = f"`{rule.file}`: `{name_of(rule.code)}`"
            test = f"`{file_of(rule.test)}::{name_of(rule.test).replace('.', '::')}`"
            lines.append(f"| {rule.says} | {', '.join(rule.words)} | {code} | {test} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
