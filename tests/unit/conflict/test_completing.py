"""The author completes: what a region makes of a namespace whose brokers drop, know or remove newer fields."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from syncer.conflict.acts import Decision, FillConflict, Moment, Need, Outcome, Publish, RecordConflict
from syncer.conflict.completing import (
    AWAITING,
    DROPPED,
    completed_value,
    completes,
    keeps_more,
    kept_of,
    missing_fields,
    owes,
)
from syncer.conflict.fields.brokers import Brokers
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.fields.table import parse_version
from syncer.conflict.guards import Facts, Topics
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.rebuilding import UNKNOWN_PROVENANCE, learn, unsupplied
from syncer.conflict.register import Hold, HoldReason, Parked, ParkReason, Register, Stored, Wish
from syncer.conflict.replica import Replica
from syncer.conflict.settings import Settings
from syncer.conflict.shown import look_at
from syncer.model import (
    Digest,
    EventType,
    MetadataChangeEvent,
    Millis,
    Region,
    ResourceKind,
    Revision,
    Stamp,
    Version,
    baseline_time,
    counter_of,
)
from syncer.replacing import replace
from syncer.stores.contract import Entry, Put, Written
from tests.property.strategies import NOW, PATH_OF_KIND, encoded
from tests.unit.registers import BY_HERE, HERE, THERE, THIRD, at, decisions, moment, none_of, only, seen

KIND: Final = ResourceKind.NAMESPACE
PATH: Final = PATH_OF_KIND[KIND]
PROJECTION: Final = PROJECTIONS[KIND]
PROOF: Final = "is_allow_auto_update_schema_with_replicator"
"""What a broker of 5.0 always writes, and no other one ever does."""
SCALING: Final = "scalableTopicAutoScalePolicy"
KEYS: Final = "allowed_topic_property_keys_for_metrics"
"""Known since 4.2."""
POLICY: Final = {"enabled": True, "minSegments": 2}
OF_5: Final = {PROOF: False, SCALING: POLICY}
BASE: Final = Stamp(baseline_time(1), HERE)


def core(brokers: str | None = "4.2.4", **changes: Any) -> Replica:
    version = parse_version(brokers) if brokers is not None else None
    return Replica(Settings(**{"region": HERE, "brokers": Brokers(version), **changes}))


def value(ttl: int, **fields: object) -> bytes:
    return encoded({"message_ttl_in_seconds": ttl, **fields})


def digest(value: bytes) -> Digest:
    return PROJECTION.digest(value)


def version(value: bytes | None, stamp: Stamp, *also: Stamp, kept: bool = True) -> Version:
    return Version(
        stamp=stamp,
        by=counter_of(stamp.region, 1),
        seen=seen(*also, stamp),
        digest=None if value is None else digest(value),
        value=value if kept else None,
    )


def stored(value: bytes | None, stamp: Stamp, *also: Stamp, revision: str | None = "7") -> Stored:
    known = version(value, stamp, *also)
    token = None if revision is None or value is None else Revision(revision)
    return Stored(stamp=stamp, by=known.by, seen=known.seen, digest=known.digest, revision=token)


def settled_on(value: bytes, stamp: Stamp, *also: Stamp, kept: KeptFields | None = None) -> Register:
    """``value``: the whole one."""
    known = version(value, stamp, *also, kept=False)
    return Register(path=PATH, known=known, stored=stored(value, stamp, *also), own=stamp.updated_at_ms, kept=kept)


def event(
    value: bytes | None, stamp: Stamp, *also: Stamp, kind: EventType = EventType.MODIFIED, whole: bool = True
) -> MetadataChangeEvent:
    return MetadataChangeEvent(
        type=EventType.DELETED if value is None else kind,
        resource=KIND,
        resource_name="acme/orders",
        path=PATH,
        value=value,
        stamp=stamp,
        by=counter_of(stamp.region, 1),
        seen=seen(*also, stamp),
        whole=whole,
    )


def entry(value: bytes, revision: str = "8", modified: int | None = 0) -> Entry:
    time = None if modified is None else Millis(NOW + modified)
    return Entry(path=PATH, value=value, revision=Revision(revision), modified_at_ms=time)


def facts(**changes: Any) -> Facts:
    return Facts(**{"now": Millis(NOW), **changes})


def by_scan(offset: int = 0) -> Moment:
    return replace(moment(offset), by_scan=True)


def vouched(offset: int = 0) -> Moment:
    return replace(moment(offset), vouched=True)


def published(outcome: Outcome) -> dict[str, Any]:
    """The value of the only event."""
    told = only(outcome, Publish).event.value
    assert told is not None
    return dict(json.loads(told))


WHOLE: Final = value(60, **OF_5)
THERE_5: Final = settled_on(WHOLE, at(0, THERE), kept=KeptFields(OF_5))
"""What a region of 5.0 has made, as it was written here."""


# -- edits by brokers that do not know a field


@pytest.mark.parametrize("brokers", ["4.0.8", "4.2.4", None])
def test_an_edit_by_a_broker_that_does_not_know_a_field_is_published_whole(brokers: str | None) -> None:
    outcome = core(brokers).observe(THERE_5, entry(value(90), modified=5), moment(5))
    assert published(outcome) == json.loads(value(90, **OF_5))
    after = outcome.register
    assert after.kept == KeptFields({}, OF_5)
    assert after.known == version(value(90, **OF_5), at(5), at(0, THERE), kept=False)
    assert after.stored == stored(value(90, **OF_5), at(5), at(0, THERE), revision="8")
    assert not after.due


def test_a_rewrite_that_drops_fields_and_changes_nothing_is_no_change() -> None:
    outcome = core().observe(THERE_5, entry(value(60)), moment())
    assert outcome.acts == ()
    assert outcome.register.stored == stored(WHOLE, at(0, THERE), revision="8")
    assert outcome.register.kept == KeptFields({}, OF_5)
    again = core().observe(outcome.register, entry(value(60), "9"), moment())
    assert again.acts == ()
    assert again.register.kept == KeptFields({}, OF_5)


def test_what_is_present_counts_whoever_has_written_it() -> None:
    gone = core().observe(THERE_5, entry(value(60)), moment()).register
    outcome = core().observe(gone, entry(value(60, **{SCALING: {"enabled": False}}), "9"), moment(1))
    assert published(outcome)[SCALING] == {"enabled": False, "minSegments": 2}
    assert published(outcome)[PROOF] is False
    assert outcome.register.kept == KeptFields(
        {SCALING: {"enabled": False}}, {SCALING: {"minSegments": 2}, PROOF: False}
    )
    null = core().observe(outcome.register, entry(value(60, **{SCALING: None}), "10"), moment(2))
    assert published(null)[SCALING] is None


def test_where_nobody_drops_fields_what_lacks_was_removed() -> None:
    outcome = core(brokers=None).observe(THERE_5, entry(value(60)), moment(1))
    assert none_of(outcome, Publish), "the version is not known: nothing newer than the oldest one is believed"
    nobody = Replica(Settings(region=HERE)).observe(replace(THERE_5, kept=None), entry(value(60)), moment(1))
    assert published(nobody) == {"message_ttl_in_seconds": 60}
    assert nobody.register.kept is None


def test_a_local_delete_clears_what_was_kept_and_a_new_value_begins_anew() -> None:
    deleted = core().observe(THERE_5, None, moment(1))
    assert only(deleted, Publish).event.type is EventType.DELETED
    assert deleted.register.kept is None
    again = core().observe(deleted.register, entry(value(5), modified=2), moment(2))
    assert published(again) == {"message_ttl_in_seconds": 5}
    assert again.register.kept is None


def test_a_value_that_cannot_be_read_leaves_what_is_kept() -> None:
    outcome = core().observe(THERE_5, entry(b"{"), moment(1))
    assert outcome.register.kept == KeptFields(OF_5)
    healed = core().observe(outcome.register, entry(value(70), "9"), moment(2))
    assert published(healed)[SCALING] == POLICY


def test_a_value_that_a_former_version_of_the_program_took_is_looked_at_once_more() -> None:
    replica, before = core(), replace(THERE_5, kept=None)
    assert replica.keeps_more(before, entry(WHOLE, "7"))
    outcome = replica.observe(before, entry(WHOLE, "7"), by_scan())
    assert (outcome.register, outcome.acts) == (THERE_5, ())
    for nothing in (entry(b"", "7"), entry(b"{", "7"), entry(value(60), "7")):
        assert not keeps_more(replica.settings, before, nothing)
    assert not keeps_more(replica.settings, Register(path=PATH), entry(WHOLE))
    assert not keeps_more(Settings(region=HERE), before, entry(WHOLE))


# -- removals


REMOVED: Final = value(60, **{PROOF: False})


def test_a_removal_is_asked_for_before_it_is_believed_and_nothing_is_changed() -> None:
    outcome = core("5.0.0-M1").observe(THERE_5, entry(REMOVED), moment(1))
    assert outcome == Outcome(THERE_5, (), Need.BROKERS)


def test_a_removal_that_was_asked_for_is_published() -> None:
    outcome = core("5.0.0-M1").observe(THERE_5, entry(REMOVED, modified=1), vouched(1))
    assert published(outcome) == json.loads(REMOVED)
    assert outcome.register.kept == KeptFields({PROOF: False})
    assert outcome.need is Need.NOTHING


def test_a_document_that_no_5_0_broker_wrote_removes_nothing_whoever_was_asked() -> None:
    """A broker of 4.2 that nobody lists, or that has gone since."""
    outcome = core("5.0.0-M1").observe(THERE_5, entry(value(61)), vouched(1))
    assert published(outcome) == json.loads(value(61, **OF_5))
    assert outcome.register.kept == KeptFields({}, OF_5)


def test_what_a_scan_has_found_removes_nothing_and_is_written_back_where_it_is_known() -> None:
    replica = core("5.0.0-M1")
    outcome = replica.observe(THERE_5, entry(REMOVED), by_scan())
    assert outcome.acts == ()
    assert outcome.register.kept == KeptFields({PROOF: False}, {SCALING: POLICY})
    assert replica.owes(outcome.register)


def test_a_removed_field_of_4_2_is_believed_of_brokers_of_4_2_alone() -> None:
    before = settled_on(value(60, **{KEYS: ["k"]}), at(0, THERE), kept=KeptFields({KEYS: ["k"]}))
    assert core("4.2.4").observe(before, entry(value(60)), moment(1)).need is Need.BROKERS
    assert published(core("4.2.4").observe(before, entry(value(60)), vouched(1))) == {"message_ttl_in_seconds": 60}
    assert core("4.0.8").observe(before, entry(value(60)), vouched(1)).acts == ()


def test_a_removed_field_of_a_topic_policy_is_believed_of_brokers_that_write_nothing_derived() -> None:
    """As out of a system topic; a document of the metadata store tells by what it derives who wrote it."""
    path, expires = PATH_OF_KIND[ResourceKind.TOPIC_POLICY], "subscriptionExpirationTimeInMinutes"
    for derived, removed in (({}, True), ({f"{expires}Set": False}, True), ({"messageTTLSet": False}, False)):
        replica = core("4.2.4")
        less = {"isGlobal": True, "maxProducerPerTopic": 5}
        first = replica.observe(
            Register(path=path), replace(entry(encoded({**less, **derived, expires: 9})), path=path), moment()
        ).register
        assert first.kept is not None
        assert first.kept.store[expires] == 9
        read = replace(entry(encoded({**less, **derived}), "9"), path=path)
        assert (replica.observe(first, read, moment(1)).need is Need.BROKERS) is removed
        then = replica.observe(first, read, vouched(1))
        assert bool([each for each in then.acts if isinstance(each, Publish)]) is removed
        assert replica.owes(then.register) is not removed


def test_a_removal_by_another_region_clears_what_is_kept_here() -> None:
    replica = core()
    gone = replica.observe(THERE_5, entry(value(60)), moment()).register
    told = replica.fold(gone, event(REMOVED, at(9, THERE), at(0, THERE)), NOW).register
    outcome = replica.apply_due(told, entry(value(60)), facts(), "b")
    assert isinstance(outcome.write, Put)
    assert json.loads(outcome.write.value) == json.loads(REMOVED)
    landed = replica.written(outcome.register, Written(path=PATH, revision=Revision("9")), NOW).register
    assert landed.kept == KeptFields({PROOF: False})
    edited = replica.observe(landed, entry(value(70), "10"), moment(20))
    assert published(edited) == json.loads(value(70, **{PROOF: False})), "it does not rise again"


def test_a_removed_value_of_another_region_clears_all_and_its_absence_too() -> None:
    replica = core()
    gone = replica.observe(THERE_5, entry(value(60)), moment()).register
    told = replica.fold(gone, event(None, at(9, THERE), at(0, THERE)), NOW).register
    outcome = replica.apply_due(told, entry(value(60)), facts(topics=Topics.NONE), "b")
    landed = replica.written(outcome.register, Written(path=PATH, revision=None), NOW).register
    assert (landed.kept, landed.stored_alive) == (None, False)


# -- writing back


def gone_here() -> Register:
    return core("4.2.4").observe(THERE_5, entry(value(60)), moment()).register


def test_what_the_store_lacks_is_written_back_once_all_brokers_know_it_and_then_its_removal_is_believed() -> None:
    before, replica = gone_here(), core("5.0.0-M1")
    assert not core("4.2.4").owes(before)
    assert replica.owes(before)
    outcome = replica.apply_due(before, entry(value(60)), facts(), "b")
    assert isinstance(outcome.write, Put)
    assert json.loads(outcome.write.value) == json.loads(WHOLE)
    assert outcome.write.expected == "8"
    assert decisions(outcome) == [Decision.COMPLETED]
    assert none_of(outcome, Publish, RecordConflict, FillConflict)
    assert not replica.owes(outcome.register), "it is under way"
    landed = replica.written(outcome.register, Written(path=PATH, revision=Revision("9")), NOW)
    assert (landed.acts, landed.need) == ((), Need.NOTHING)
    assert landed.register.kept == KeptFields(OF_5)
    assert not landed.register.due
    assert not replica.owes(landed.register)
    removed = replica.observe(landed.register, entry(REMOVED, "10"), vouched(9))
    assert published(removed) == json.loads(REMOVED)


def test_what_a_broker_here_cannot_read_is_not_written_back() -> None:
    before = gone_here()
    odd = replace(before, kept=KeptFields(gone={"scalableTopicAutoScalePolicy": 5}))
    replica = core("5.0.0-M1")
    assert replica.owes(odd)
    outcome = replica.apply_due(odd, entry(value(60)), facts(), "b")
    assert (outcome.write, outcome.register, outcome.acts) == (None, odd, ())


def test_what_is_written_back_again_and_again_is_no_flipping() -> None:
    replica, register = core("5.0.0-M1"), gone_here()
    for _ in range(9):
        outcome = replica.apply_due(register, entry(value(60)), facts(), "b")
        register = replica.written(outcome.register, Written(path=PATH, revision=Revision("9")), NOW).register
        register = replica.observe(register, entry(value(60), "8"), by_scan()).register
    assert register.flips == ()


def test_what_is_written_back_and_answered_by_a_receipt_alone_is_read() -> None:
    replica = core("5.0.0-M1")
    sent = replica.apply_due(gone_here(), entry(value(60)), facts(), "b").register
    landed = replica.written(sent, None, NOW)
    assert landed.need is Need.READ
    read = replica.observe(landed.register, entry(WHOLE, "9"), moment())
    assert (read.acts, read.register.kept) == ((), KeptFields(OF_5))


@pytest.mark.parametrize(
    ("changes", "entries", "what", "need"),
    [
        ({}, entry(value(60)), {"outbox_open": True}, Need.NOTHING),
        ({}, entry(value(60)), {"applies": False}, Need.NOTHING),
        ({}, entry(value(60), "9"), {}, Need.NOTHING),
        ({}, None, {}, Need.NOTHING),
        ({"stored": stored(WHOLE, at(0, THERE), revision=None)}, entry(value(60), "9"), {}, Need.READ),
        ({"stored": stored(WHOLE, at(0, THERE), revision=None)}, None, {}, Need.NOTHING),
    ],
)
def test_nothing_is_written_back_over_what_was_not_just_read(
    changes: dict[str, Any], entries: Entry | None, what: dict[str, Any], need: Need
) -> None:
    before = replace(gone_here(), **changes)
    assert core("5.0.0-M1").apply_due(before, entries, facts(**what), "b") == Outcome(before, (), need)


def test_nothing_is_owed_where_something_else_is_due_or_held_or_on_its_way() -> None:
    settings, before = core("5.0.0-M1").settings, gone_here()
    hold = Hold(reason=HoldReason.FLAPPING, stamp=at(0), since_ms=NOW, detail="")
    assert owes(settings, before)
    for changes in (
        {"known": version(value(1), at(9, THERE))},
        {"hold": hold},
        {"kept": None},
        {"kept": KeptFields(OF_5)},
        {"stored": stored(None, at(0, THERE))},
    ):
        assert not owes(settings, replace(before, **changes))
    assert not owes(Settings(region=HERE), before)


# -- first contact


def first(replica: Replica, entry: Entry, *events: MetadataChangeEvent) -> Outcome:
    """The first read of a path, after these were told."""
    register = Register(path=PATH)
    for each in events:
        register = replica.fold(register, each, NOW).register
    return replica.observe(register, entry, moment(first_scan_done=False))


def base(region: Region) -> Stamp:
    return Stamp(baseline_time(1), region)


def test_a_value_found_equal_but_for_a_newer_field_is_settled_at_once() -> None:
    outcome = first(core(), entry(value(60)), event(WHOLE, base(THERE), kind=EventType.CREATED))
    assert decisions(outcome) == [Decision.MET]
    assert none_of(outcome, Publish, RecordConflict)
    assert not outcome.register.due
    assert outcome.register.kept == KeptFields({}, OF_5)
    assert outcome.register.stored_digest == digest(WHOLE)


@pytest.mark.parametrize("region", [THERE, Region("almost")], ids=["wins", "loses"])
def test_a_value_found_equal_but_for_a_newer_field_is_settled_when_that_is_told(region: Region) -> None:
    """Whoever of the two wins: no hold, and where this region does, its value is published whole."""
    replica = core()
    before = first(replica, entry(value(60), "8", -99)).register
    assert before.stored is not None
    told = replica.fold(before, event(WHOLE, base(region)), NOW)
    assert told.need is Need.READ
    assert told.register.stored is not None
    assert told.register.stored.revision is None, "a scan after a restart finds it too"
    read = replica.observe(told.register, entry(value(60), "8", -99), moment(5))
    assert not read.register.due
    assert read.register.hold is None
    assert read.register.kept == KeptFields({}, OF_5)
    if region is THERE:
        assert published(read) == json.loads(WHOLE)
        assert only(read, Publish).event.stamp == Stamp(Millis(BASE.updated_at_ms + 1), HERE)
    else:
        assert decisions(read) == [Decision.MET]
        fill = only(read, FillConflict)
        assert (fill.digest, fill.value) == (digest(value(60)), json_of(value(60)))


def json_of(value: bytes) -> bytes:
    return json.dumps(json.loads(value), separators=(",", ":")).encode()


def test_a_completed_baseline_is_weaker_than_any_change_and_stronger_than_itself() -> None:
    replica = core()
    before = first(replica, entry(value(60), "8", 500)).register
    told = replica.fold(before, event(value(5, **OF_5), base(THERE)), NOW).register
    for modified in (500, None):  # a store without times of its own tells none
        completed = replica.observe(told, entry(value(60), "8", modified), moment(900))
        change = only(completed, Publish).event
        assert published(completed) == json.loads(value(60, **OF_5))
        assert change.stamp == Stamp(Millis(BASE.updated_at_ms + 1), HERE)
        assert change.stamp.is_baseline
        assert change.seen == {BY_HERE: BASE.updated_at_ms + 1}


@pytest.mark.parametrize("generation", [1, 2, 1_795_000_000])
def test_the_completed_baselines_of_two_generations_never_have_one_stamp(generation: int) -> None:
    replica = core(generation=generation)
    register, times = first(replica, entry(value(60))).register, [baseline_time(generation)]
    for number in range(9):
        stranger = Stamp(Millis(100 + number), THERE)
        told = replica.fold(register, event(value(5, **{f"new{number}": 1}), stranger), NOW).register
        completed = replica.observe(told, entry(value(60)), moment(900))
        times.append(only(completed, Publish).event.stamp.updated_at_ms)
        register = completed.register
    assert times == list(range(times[0], times[0] + 10))
    assert times[-1] < baseline_time(generation - 1)


def test_what_differs_at_first_contact_is_held_still_once_the_found_value_was_completed() -> None:
    replica = core()
    before = first(replica, entry(value(60))).register
    told = replica.fold(before, event(value(5, **OF_5), base(THERE)), NOW).register
    completed = replica.observe(told, entry(value(60)), moment(900)).register
    changed = replica.fold(completed, event(value(8), at(1000, THIRD)), Millis(NOW + 1000)).register
    read = replica.observe(changed, entry(value(60)), moment(1001))
    outcome = replica.apply_due(read.register, entry(value(60)), facts(), "b")
    assert outcome.write is None
    assert outcome.register.hold is not None
    assert outcome.register.hold.reason is HoldReason.FIRST_CONTACT


def test_what_differs_at_first_contact_is_held_where_it_loses_and_the_loser_is_kept_whole() -> None:
    replica = core()
    winner = Region("almost")
    before = first(replica, entry(value(60))).register
    told = replica.fold(before, event(value(5, **OF_5), base(winner)), NOW)
    record = only(told, RecordConflict)
    assert (record.loser_digest, record.value) == (digest(value(60)), None)
    read = replica.observe(told.register, entry(value(60)), moment(900))
    assert none_of(read, Publish, RecordConflict)
    assert only(read, FillConflict).digest == digest(value(60)), "the row waits for the digest that it was made with"
    assert read.register.stored_digest == digest(value(60, **OF_5))
    outcome = replica.apply_due(read.register, entry(value(60)), facts(), "b")
    assert outcome.register.hold is not None
    assert outcome.register.hold.reason is HoldReason.FIRST_CONTACT
    again = replica.observe(outcome.register, entry(value(60)), moment(901))
    assert (again.acts, again.register) == ((), outcome.register)


def test_what_was_found_is_completed_by_every_peer_in_turn_and_nobody_has_changed_it() -> None:
    """The first has completed it already when the second one comes, and the third one wins."""
    replica, winner = core("4.0.8"), Region("almost")
    register = first(replica, entry(value(60))).register
    for told in (event(value(1, **OF_5), base(THERE)), event(value(2, **{KEYS: ["k"]}), base(THIRD))):
        register = replica.fold(register, told, NOW).register
        outcome = replica.observe(register, entry(value(60)), moment(900))
        assert only(outcome, Publish).event.stamp.is_baseline
        register = outcome.register
    assert register.kept == KeptFields({}, {**OF_5, KEYS: ["k"]})
    stamp = Stamp(Millis(BASE.updated_at_ms + 2), HERE)
    assert register.stored == stored(value(60, **OF_5, **{KEYS: ["k"]}), stamp, revision="8")
    late = replica.fold(register, event(value(3, foreign=1), at(-50, winner)), NOW).register
    read = replica.observe(late, entry(value(60)), moment(901))
    assert none_of(read, Publish), "that it is completed once more is no local change"
    assert read.register.due
    assert read.register.kept == KeptFields({}, {**OF_5, KEYS: ["k"], "foreign": 1})


def test_an_edit_between_what_is_told_and_the_read_is_a_change() -> None:
    replica = core()
    before = first(replica, entry(value(60))).register
    told = replica.fold(before, event(value(5, **OF_5), base(THERE)), NOW).register
    outcome = replica.observe(told, entry(value(61), "9", 700), moment(900))
    assert only(outcome, Publish).event.stamp == at(700)
    assert published(outcome) == json.loads(value(61, **OF_5))


def test_a_value_that_was_read_before_is_not_completed_by_what_it_has() -> None:
    replica, mine = core("5.0.0-M1"), value(60, **{SCALING: {"enabled": False}})
    before = first(replica, entry(mine)).register
    told = replica.fold(before, event(WHOLE, base(THERE)), NOW).register
    assert told.kept == KeptFields({SCALING: {"enabled": False}}, {}, {SCALING: {"minSegments": 2}, PROOF: False})
    read = replica.observe(told, entry(mine), moment(1))
    assert published(read)[SCALING] == {"enabled": False, "minSegments": 2}


def test_a_path_that_may_not_leave_is_completed_and_not_published() -> None:
    replica, winner = core(), Region("almost")
    register = replica.fold(Register(path=PATH), event(value(5), base(winner)), NOW).register
    drifted = replica.observe(register, entry(value(60)), moment(first_scan_done=False), publishes=False).register
    assert drifted.stored is not None
    told = replica.fold(drifted, event(value(5, **OF_5), at(-9, winner), base(winner)), NOW).register
    read = replica.observe(told, entry(value(60)), moment(3), publishes=False)
    assert none_of(read, Publish)
    assert read.register.due
    outcome = replica.apply_due(read.register, entry(value(60)), facts(), "b")
    assert outcome.register.hold is not None
    assert outcome.register.hold.reason is HoldReason.FIRST_CONTACT


def test_a_path_that_may_not_leave_and_was_read_before_it_is_known_is_completed_by_what_is_told() -> None:
    replica = core("4.0.8")
    mine = value(60, **{KEYS: ["k"]})
    unknown = replica.observe(Register(path=PATH), entry(mine), moment(), publishes=False).register
    assert unknown.stored is None
    told = replica.fold(unknown, event(value(60, **OF_5, **{KEYS: ["k"]}), at(0, THERE)), NOW).register
    read = replica.observe(told, entry(mine), moment(1), publishes=False)
    assert decisions(read) == [Decision.MET]


# -- what is owed, and what is not


def test_what_a_peer_has_that_had_seen_a_value_of_ours_may_have_been_removed_here_since() -> None:
    """It would rise again: the peer's edit and the removal have not seen each other, and the later one stands."""
    replica = core("5.0.0-M1")
    before = settled_on(WHOLE, at(0), kept=KeptFields(OF_5))
    removed = replica.observe(before, entry(REMOVED, modified=9), vouched(9)).register
    concurrent = replica.fold(removed, event(value(90, **OF_5), at(5, THERE), at(0)), Millis(NOW + 9))
    assert concurrent.register.kept == KeptFields({PROOF: False})
    assert (concurrent.need, concurrent.register.due) == (Need.NOTHING, False)
    assert only(concurrent, RecordConflict).loser == at(5, THERE)


def test_what_another_region_has_made_is_not_completed_here() -> None:
    """Its author completes it: else each member of the group would stamp a change of its own."""
    plain = settled_on(value(60), at(0, THERE))
    outcome = core().fold(plain, event(value(5, **OF_5), at(-3, THIRD)), NOW)
    assert outcome.register.kept is None
    assert outcome.need is Need.NOTHING


def test_what_has_met_others_is_not_completed_either() -> None:
    plain = settled_on(value(60), at(0), at(-9, THERE))
    outcome = core().fold(plain, event(value(5, **OF_5), at(-3, THIRD)), NOW)
    assert outcome.register.kept is None


def test_what_was_made_here_at_the_same_time_is_completed() -> None:
    plain, replica = settled_on(value(60), at(0)), core()
    told = replica.fold(plain, event(value(5, **OF_5), at(-3, THERE)), NOW).register
    read = replica.observe(told, entry(value(60)), moment(50))
    change = only(read, Publish).event
    assert (change.stamp, change.seen) == (at(1), seen(at(1))), "nobody changed it: it is as late as it was"
    again = replica.fold(read.register, event(value(5, **OF_5), at(-3, THERE)), NOW)
    assert again.need is Need.NOTHING
    assert again.register.kept == read.register.kept


def test_what_was_changed_here_is_not_completed_by_what_its_brokers_know() -> None:
    """It may be what was removed: a peer may have it of this region's own first value, which it has not claimed to see.

    What they do not know nobody here can have removed.
    """
    replica = core("5.0.0-M1")
    found = first(replica, entry(WHOLE)).register
    removed = replica.observe(found, entry(REMOVED, "9", 9), vouched(9)).register
    told = replica.fold(removed, event(value(5, **OF_5), Stamp(Millis(BASE.updated_at_ms + 9), THERE)), NOW)
    assert told.need is Need.NOTHING
    assert told.register.kept == KeptFields({PROOF: False})
    foreign = replica.fold(removed, event(value(5, **OF_5, of_6_0=1), at(3, THERE)), Millis(NOW + 9)).register
    assert foreign.kept == KeptFields({PROOF: False}, {}, {"of_6_0": 1})


@pytest.mark.parametrize(
    "told",
    [event(None, at(-3, THERE)), event(value(5), at(-3, THERE)), event(value(5, **OF_5), at(0))],
    ids=["delete", "nothing newer", "the same"],
)
def test_nothing_is_owed_for_nothing(told: MetadataChangeEvent) -> None:
    assert core().fold(settled_on(value(60), at(0)), told, NOW).register.kept is None


# -- authors that do not complete


def test_what_an_author_drops_that_does_not_complete_is_kept_and_the_value_is_taken_as_it_is() -> None:
    replica = core()
    told = replica.fold(THERE_5, event(value(90), at(9, THERE), at(0, THERE), whole=False), NOW)
    record = only(told, RecordConflict)
    assert (record.reason, record.value) == (DROPPED, None)
    assert (record.loser, record.loser_digest, record.winner) == (at(0, THERE), digest(WHOLE), at(9, THERE))
    outcome = replica.apply_due(told.register, entry(WHOLE, "7"), facts(), "b")
    fill = only(outcome, FillConflict)
    assert (fill.digest, fill.value) == (digest(WHOLE), WHOLE)
    assert isinstance(outcome.write, Put)
    assert json.loads(outcome.write.value) == json.loads(value(90))


def test_what_it_drops_that_the_store_lacks_already_is_kept_whole() -> None:
    replica, before = core(), gone_here()
    told = replica.fold(before, event(value(90), at(9, THERE), at(0, THERE), whole=False), NOW)
    assert only(told, RecordConflict).reason == DROPPED
    outcome = replica.apply_due(told.register, entry(value(60)), facts(), "b")
    assert json.loads(only(outcome, FillConflict).value) == json.loads(WHOLE)


@pytest.mark.parametrize(
    "told",
    [
        event(value(90), at(9, THERE), at(0, THERE)),
        event(value(90, **OF_5), at(9, THERE), at(0, THERE), whole=False),
        event(None, at(9, THERE), at(0, THERE), whole=False),
        event(value(90), at(-9, THERE), whole=False),
    ],
    ids=["whole", "nothing dropped", "a delete", "seen before"],
)
def test_nothing_is_recorded_where_nothing_is_dropped(told: MetadataChangeEvent) -> None:
    assert none_of(core().fold(THERE_5, told, NOW), RecordConflict)


# -- a lost database


def rebuilding(offset: int = 0) -> Moment:
    return replace(moment(offset, first_scan_done=False), rebuilding=True, by_scan=True)


def listed(value: bytes, stamp: Stamp) -> Register:
    settings = core(generation=2).settings
    return learn(settings, Register(path=PATH), version(value, stamp, kept=False)).register


def test_a_rebuild_waits_for_the_value_that_may_complete_what_it_finds_and_then_settles() -> None:
    replica = core(generation=2)
    found = replica.observe(listed(WHOLE, at(0, THERE)), entry(value(60)), rebuilding())
    assert found.acts == ()
    assert found.register.stored is None
    parked = replica.apply_due(found.register, entry(value(60)), facts(), "b").register
    assert parked.parked is not None
    assert parked.parked.reason is ParkReason.VALUE_MISSING
    told = replica.fold(parked, event(WHOLE, at(0, THERE)), NOW)
    assert told.need is Need.READ
    read = replica.observe(told.register, entry(value(60)), moment(9))
    assert decisions(read) == [Decision.MET]
    assert none_of(read, Publish, RecordConflict)
    assert (read.register.due, read.register.kept) == (False, KeptFields({}, OF_5))


def test_what_differs_is_of_unknown_provenance_also_when_the_value_comes_after_the_rebuild() -> None:
    """It was never stamped: who wrote it, and before or after what, nobody can tell any more."""
    replica = core(generation=2)
    waits = replica.observe(listed(WHOLE, at(0, THERE)), entry(value(61), modified=77), rebuilding()).register
    assert waits.kept == AWAITING
    still = replica.observe(waits, entry(value(61), modified=77), moment(80))
    assert (still.register, still.acts) == (waits, ())
    told = replica.fold(waits, event(WHOLE, at(0, THERE)), NOW).register
    read = replica.observe(told, entry(value(61), modified=77), moment(90))
    record = only(read, RecordConflict)
    assert (record.reason, json.loads(record.value)) == (UNKNOWN_PROVENANCE, json.loads(value(61, **OF_5)))
    assert none_of(read, Publish)
    assert read.register.due


def test_what_was_found_whole_needs_no_value() -> None:
    read = core(generation=2).observe(listed(WHOLE, at(0, THERE)), entry(WHOLE), rebuilding())
    assert decisions(read) == [Decision.MET]


def test_what_nobody_can_supply_does_not_leave_the_path_unread() -> None:
    replica = core(generation=2)
    waits = replica.observe(listed(WHOLE, at(0, THERE)), entry(value(61), modified=77), rebuilding()).register
    waits = replace(waits, parked=Parked(reason=ParkReason.VALUE_MISSING, since_ms=NOW))
    given_up = unsupplied(waits, publishes=True)
    assert given_up.need is Need.READ
    assert given_up.register == Register(path=PATH, own=waits.own)
    read = replica.observe(given_up.register, entry(value(61), modified=77), moment(99))
    assert published(read) == json.loads(value(61))
    absent = replica.observe(given_up.register, None, moment(99))
    assert absent == Outcome(given_up.register)


def test_what_waits_and_is_absent_by_then_is_written() -> None:
    replica = core(generation=2)
    waits = replica.observe(listed(WHOLE, at(0, THERE)), entry(value(61)), rebuilding()).register
    absent = replica.observe(waits, None, moment(5)).register
    assert absent.kept is None
    told = replica.fold(absent, event(WHOLE, at(0, THERE)), NOW).register
    assert isinstance(replica.apply_due(told, None, facts(), "b").write, Put)


# -- an operator's decisions


def test_what_an_operator_has_win_is_completed() -> None:
    replica = core()
    told = replica.fold(gone_here(), event(value(90), at(9, THERE), at(0, THERE)), NOW).register
    hold = Hold(reason=HoldReason.FLAPPING, stamp=at(9, THERE), since_ms=NOW, detail="")
    held = replace(told, hold=hold)
    wished = replica.reject(held, look_at(held, hold)).register
    assert wished.wish is Wish.REASSERT
    outcome = replica.apply_due(wished, entry(value(60)), facts(), "b")
    assert published(outcome) == json.loads(WHOLE)
    assert outcome.register.kept == KeptFields({}, OF_5)
    assert not outcome.register.due
    after = replica.observe(outcome.register, entry(value(60), "9"), moment(50))
    assert after.acts == ()


def test_what_is_restored_is_written_as_it_was_kept_and_keeps_its_fields() -> None:
    replica = core()
    plain = settled_on(value(90), at(9, THERE))
    restored = replica.restore(plain, WHOLE, seen(at(0, THERE)), NOW)
    assert published(restored) == json.loads(WHOLE)
    outcome = replica.apply_due(restored.register, entry(value(90), "7"), facts(), "b")
    assert outcome.register.intent is not None
    assert outcome.register.intent.kept == KeptFields(OF_5)


# -- values


def test_what_cannot_be_completed_stays_as_it_is() -> None:
    before = gone_here()
    assert json.loads(completes(before, value(60))) == json.loads(WHOLE)
    assert completes(before, b"{") == b"{"
    assert completes(before, WHOLE) == WHOLE
    assert completes(THERE_5, value(60)) == value(60), "what the store holds is not kept for it"
    assert completed_value(PATH, value(60), None) == value(60)
    assert missing_fields(PATH, value(60), before.kept) == OF_5
    assert missing_fields(PATH, WHOLE, before.kept) == {}


def test_what_is_written_is_kept_by_what_the_oldest_version_does_not_know() -> None:
    settings = core().settings
    assert kept_of(settings, KIND, json.loads(WHOLE)) == KeptFields(OF_5)
    assert kept_of(settings, KIND, json.loads(value(60))) is None
    assert kept_of(settings, KIND, None) is None
    assert kept_of(settings, ResourceKind.CLUSTER, {"aSecretToCome": "pw"}) is None, "it stays in its store"
    assert kept_of(Settings(region=HERE), KIND, json.loads(WHOLE)) is None


def test_what_is_owed_while_a_write_back_is_under_way_is_not_lost_when_that_lands() -> None:
    replica = core("5.0.0-M1")
    own = replace(gone_here(), stored=stored(WHOLE, at(0), revision="8"), known=version(WHOLE, at(0), kept=False))
    sent = replica.apply_due(own, entry(value(60)), facts(), "b").register
    assert sent.intent is not None
    told = replica.fold(sent, event(value(5, another=1), at(-5, THERE)), NOW).register
    assert told.intent is not None
    assert told.intent.kept is not None
    assert told.intent.kept.owed == {"another": 1}
    landed = replica.written(told, Written(path=PATH, revision=Revision("9")), NOW).register
    assert landed.kept is not None
    assert landed.kept.owed == {"another": 1}


def test_a_baseline_that_loses_is_published_where_the_winner_lacks_newer_fields_of_it() -> None:
    winner = event(value(60), base(Region("a")))
    outcome = first(core(), entry(value(70, **OF_5), "8", 500), winner)
    assert published(outcome) == json.loads(value(70, **OF_5))
