"""Questions about versions: when they are asked, what an answer changes, and what waits for one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from syncer.admin.version_probe import BrokersTold
from syncer.conflict.fields.brokers import Brokers
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.fields.table import VERSIONS, parse_version
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import Register
from syncer.conflict.replica import Replica
from syncer.conflict.settings import Settings
from syncer.model import Digest, MetaPath, Millis, Region, ResourceKind, Revision, Stamp, Version
from syncer.replication.local import absences, broker_versions
from syncer.replication.local.absences import AGAIN_MS, SOON_MS, Absences
from syncer.replication.local.broker_versions import DROPPED as DROPPED_FIELDS
from syncer.replication.local.broker_versions import NEWER, OLDER, PLACES_SHOWN, UNTOLD
from syncer.replication.local.dirty import ReadCause
from tests.support.driven_region import T0, DrivenRegion
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import Pair

HERE: Final = Region("here")
PATH: Final = MetaPath("/admin/policies/acme/orders")
PROOF: Final = "is_allow_auto_update_schema_with_replicator"
SCALING: Final = "scalableTopicAutoScalePolicy"
OF_5: Final = {PROOF: False, SCALING: {"enabled": True}}
WHOLE: Final = {"message_ttl_in_seconds": 1, **OF_5}
REMOVED: Final = {"message_ttl_in_seconds": 1, PROOF: False}
DROPPED: Final = {"message_ttl_in_seconds": 1}


def told(*versions: str, trouble: str = "") -> BrokersTold:
    return BrokersTold(versions={f"broker-{each}": text for each, text in enumerate(versions)}, trouble=trouble)


@dataclass
class VersionedRegion(DrivenRegion):
    """A region with one namespace, whose brokers have versions."""

    settings: Settings = field(default_factory=lambda: Settings(region=HERE, brokers=Brokers()))

    @property
    def brokers(self) -> Brokers | None:
        return self.local.core.replica.settings.brokers

    @property
    def register(self) -> Register:
        with self.state.transaction() as tx:
            return tx.registers([PATH])[PATH]

    def stands(self, document: dict[str, Any] = WHOLE) -> None:
        """Known and stored from the beginning; the watch is whole, and all was read."""
        revision = self.put(PATH, document)
        digest = PROJECTIONS[ResourceKind.NAMESPACE].digest(self.entries[PATH].value)
        by = self.settings.by
        known = Version(stamp=Stamp(T0, HERE), by=by, seen={by: T0}, digest=digest)
        kept = KeptFields({name: node for name, node in document.items() if name in OF_5})
        with self.state.transaction() as tx:
            tx.save([Register(path=PATH, known=known, own=T0, kept=kept).sit(known, revision)])
        self.scan()

    def edit(self, document: dict[str, Any]) -> None:
        """A broker writes, and the watch tells it."""
        self.edit_at(PATH, document)

    def ask(self, answer: BrokersTold) -> bool:
        """Ask if it is time; whether it was."""
        doubted = self.driver.doubted_absences(Millis(self.now))
        if doubted is None:
            return False
        self.driver.answer_versions(doubted, answer, Millis(self.now))
        return True

    def settled(self, *versions: str) -> None:
        """The brokers have told their versions, and all was read since."""
        self.now += AGAIN_MS
        assert self.ask(told(*versions))
        self.scan()


@pytest.fixture
def region() -> VersionedRegion:
    return VersionedRegion()


# -- when it is asked


def test_brokers_are_asked_at_once_and_each_minute_from_then_on(region: VersionedRegion) -> None:
    assert region.ask(told("4.2.4"))
    assert not region.ask(told("4.2.4"))
    region.now += AGAIN_MS - 1
    assert not region.ask(told("4.2.4"))
    region.now += 1
    assert region.ask(told("4.2.4"))


def test_they_are_asked_soon_again_while_no_answer_is_whole(region: VersionedRegion) -> None:
    assert region.ask(told(trouble="nobody is there"))
    region.now += SOON_MS - 1
    assert not region.ask(told("4.2.4"))
    region.now += 1
    assert region.ask(told("4.2.4"))
    region.now += SOON_MS
    assert not region.ask(told("4.2.4"))


def test_they_are_asked_soon_where_a_path_waits(region: VersionedRegion) -> None:
    region.stands()
    region.settled("5.0.0-M1")
    region.now += 1
    assert not region.ask(told("5.0.0-M1"))
    region.edit(REMOVED)
    region.now += SOON_MS
    assert region.ask(told("5.0.0-M1"))


def test_a_clock_that_was_set_back_keeps_no_question_waiting(region: VersionedRegion) -> None:
    assert region.ask(told("4.2.4"))
    region.now -= 10 * AGAIN_MS
    assert region.ask(told("4.2.4"))


# -- removals


def test_a_removal_waits_until_all_brokers_were_asked_after_it_was_read(region: VersionedRegion) -> None:
    region.stands()
    region.settled("5.0.0-M1", "5.0.0-M1")
    before = region.register
    region.edit(REMOVED)
    assert region.register == before
    assert region.published == []
    region.now += SOON_MS
    assert region.ask(told("5.0.0-M1", "5.0.0-M1"))
    region.work()
    assert [json.loads(event.value or b"") for event in region.published] == [REMOVED]
    assert (region.local.versions.waiting, region.local.versions.vouched) == ({}, {})


def test_an_answer_that_was_asked_for_before_the_removal_was_read_vouches_for_nothing(region: VersionedRegion) -> None:
    region.stands()
    region.settled("5.0.0-M1")
    region.now += AGAIN_MS
    doubted = region.driver.doubted_absences(Millis(region.now))
    assert doubted == {}
    region.edit(REMOVED)
    region.driver.answer_versions(doubted, told("5.0.0-M1"), Millis(region.now))
    region.work()
    assert region.published == []
    assert PATH in region.local.versions.waiting


def test_an_answer_about_an_earlier_state_vouches_for_no_later_one(region: VersionedRegion) -> None:
    region.stands()
    region.settled("5.0.0-M1")
    region.edit(REMOVED)
    region.now += SOON_MS
    doubted = region.driver.doubted_absences(Millis(region.now))
    assert doubted is not None
    region.edit({**REMOVED, "message_ttl_in_seconds": 2})
    region.driver.answer_versions(doubted, told("5.0.0-M1"), Millis(region.now))
    region.work()
    assert region.published == []
    region.now += SOON_MS
    assert region.ask(told("5.0.0-M1"))
    region.work()
    assert [json.loads(event.value or b"") for event in region.published] == [{**REMOVED, "message_ttl_in_seconds": 2}]


def test_trouble_keeps_it_waiting_and_is_shown_until_it_is_over(region: VersionedRegion) -> None:
    region.stands()
    region.settled("5.0.0-M1")
    region.edit(REMOVED)
    for _ in range(3):
        region.now += SOON_MS
        assert region.ask(told("5.0.0-M1", trouble="broker-1 does not answer"))
        region.work()
        assert region.published == []
        assert "broker-1 does not answer" in region.conditions[UNTOLD]
        assert "1 paths wait" in region.conditions[UNTOLD]
        assert region.brokers == Brokers(parse_version("5.0.0-M1")), "what was known stands"
    region.now += SOON_MS
    assert region.ask(told("5.0.0-M1"))
    region.work()
    assert UNTOLD not in region.conditions
    assert len(region.published) == 1


def test_a_removal_that_was_taken_back_waits_for_nothing_any_more(region: VersionedRegion) -> None:
    region.stands()
    region.settled("5.0.0-M1")
    region.edit(REMOVED)
    region.edit({**WHOLE, "message_ttl_in_seconds": 9})
    assert len(region.published) == 1
    assert region.local.versions.waiting == {}


def test_a_scan_that_meets_a_removal_which_waits_does_not_undo_it(region: VersionedRegion) -> None:
    """A notice has found it, and it has stood there since."""
    region.stands()
    region.settled("5.0.0-M1")
    region.edit(REMOVED)
    region.driver.gap()
    region.scan()
    assert json.loads(region.entries[PATH].value) == REMOVED, "it is not written back"
    region.now += SOON_MS
    assert region.ask(told("5.0.0-M1"))
    region.work()
    assert [json.loads(event.value or b"") for event in region.published] == [REMOVED]


def test_what_a_scan_alone_has_found_is_written_back(region: VersionedRegion) -> None:
    region.stands()
    region.settled("5.0.0-M1")
    region.driver.gap()
    region.put(PATH, REMOVED)
    region.scan()
    assert json.loads(region.entries[PATH].value) == WHOLE
    assert region.published == []


def test_what_is_read_for_another_reason_after_a_gap_is_no_better_known_than_by_a_scan(region: VersionedRegion) -> None:
    region.stands()
    region.settled("5.0.0-M1")
    region.driver.gap()
    region.put(PATH, REMOVED)
    region.driver.armed()
    region.local.dirty.add([PATH], ReadCause.DUE)
    region.work()
    assert region.local.versions.waiting == {}
    assert json.loads(region.entries[PATH].value) == WHOLE


# -- versions that change


def test_after_a_rise_all_is_read_once_before_anything_that_lacks_counts(region: VersionedRegion) -> None:
    region.stands()
    region.settled("4.2.4")
    region.edit(DROPPED)
    assert (region.published, region.register.kept) == ([], KeptFields({}, OF_5))
    region.now += AGAIN_MS
    assert region.ask(told("5.0.0-M1"))
    assert region.driver.rescan_due
    assert region.local.versions.unsettled
    region.edit(REMOVED)
    assert region.local.versions.waiting == {}, "it may be of a broker that is older, and has gone since"
    region.scan()
    assert not region.driver.rescan_due
    assert not region.local.versions.unsettled
    assert json.loads(region.entries[PATH].value) == WHOLE, "it is written back"
    region.edit(REMOVED)
    region.now += SOON_MS
    assert region.ask(told("5.0.0-M1"))
    region.work()
    assert [json.loads(event.value or b"") for event in region.published] == [REMOVED]


def test_a_rise_during_a_scan_needs_another_one(region: VersionedRegion) -> None:
    region.stands()
    scan = region.driver.armed()
    region.now += AGAIN_MS
    assert region.ask(told("5.0.0-M1"))
    region.scan(scan)
    assert region.local.versions.unsettled
    region.scan()
    assert not region.local.versions.unsettled


def test_without_a_watch_nothing_is_read_again(region: VersionedRegion) -> None:
    assert region.ask(told("5.0.0-M1"))
    assert not region.driver.rescan_due
    region.stands()
    assert not region.driver.rescan_due


def test_a_fall_takes_effect_at_once(region: VersionedRegion) -> None:
    region.stands()
    region.settled("5.0.0-M1")
    region.now += AGAIN_MS
    assert region.ask(told("5.0.0-M1", "4.2.4"))
    assert region.brokers == Brokers(parse_version("4.2.4"), parse_version("5.0.0-M1"))
    assert not region.driver.rescan_due
    region.edit(REMOVED)
    assert region.local.versions.waiting == {}
    assert region.register.kept == KeptFields({PROOF: False}, {SCALING: {"enabled": True}})


def test_a_fall_that_is_told_when_a_removal_waits_undoes_it(region: VersionedRegion) -> None:
    """A broker that does not know the field has come: perhaps it is the one that dropped it."""
    region.stands()
    region.settled("5.0.0-M1")
    region.edit(REMOVED)
    region.now += SOON_MS
    assert region.ask(told("5.0.0-M1", "4.0.8"))
    region.work()
    assert region.published == []
    assert region.register.kept == KeptFields({PROOF: False}, {SCALING: {"enabled": True}})


@pytest.mark.parametrize(
    "answer",
    [told("nonsense"), told(trouble="the clusters list no broker"), told("5.0.0-M1", trouble="why")],
    ids=["nonsense", "no broker", "trouble"],
)
def test_an_answer_without_a_version_leaves_what_is_known(region: VersionedRegion, answer: BrokersTold) -> None:
    region.settled("4.2.4")
    region.now += AGAIN_MS
    assert region.ask(answer)
    assert region.brokers == Brokers(parse_version("4.2.4"))


def test_a_version_that_is_newer_than_the_table_is_shown(region: VersionedRegion) -> None:
    numbers = [int(each) for each in VERSIONS[-1].partition("-")[0].split(".")]
    assert region.ask(told(VERSIONS[-1], f"{numbers[0]}.{numbers[1]}.99"))
    assert NEWER not in region.conditions, "of the same minor version"
    region.now += AGAIN_MS
    assert region.ask(told(VERSIONS[0], f"{numbers[0]}.{numbers[1] + 1}.0"))
    assert NEWER in region.conditions
    assert region.brokers is not None
    assert region.brokers.beyond
    region.now += AGAIN_MS
    assert region.ask(told(VERSIONS[0], "nonsense"))
    assert NEWER not in region.conditions


@pytest.mark.parametrize(("version", "code"), [("2.9.5", OLDER), ("5.1.0", NEWER)])
def test_a_field_that_a_broker_beyond_the_table_drops_is_kept(version: str, code: str) -> None:
    region = VersionedRegion()
    region.stands()
    region.settled("4.2.4")
    region.settled(version, "4.2.4")
    assert code in region.conditions
    assert "upgrade" in region.conditions[code]
    region.edit({PROOF: False})
    region.now += AGAIN_MS
    assert region.ask(told(version, "4.2.4"))
    region.work()
    assert region.published == []
    assert region.register.kept is not None
    assert region.register.kept.gone == {name: WHOLE[name] for name in ("message_ttl_in_seconds", SCALING)}
    region.settled("4.2.4")
    assert code not in region.conditions
    region.now += AGAIN_MS
    broker_versions.mark_incomplete(region.local, Millis(region.now))
    region.work()
    assert json.loads(region.entries[PATH].value)["message_ttl_in_seconds"] == 1, "its brokers know it"
    assert region.published == []


def test_where_nobody_drops_fields_nobody_need_tell_a_version() -> None:
    region = VersionedRegion(Settings(region=HERE))
    assert region.ask(told(trouble="no [admin] is configured"))
    assert UNTOLD not in region.conditions


# -- what lacks by then


def test_what_the_store_lacks_is_looked_at_page_by_page_and_written_back(
    region: VersionedRegion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_versions, "INCOMPLETE_PAGE", 2)
    region.settled("4.2.4")
    paths = [MetaPath(f"{PATH}{number}") for number in range(5)]
    for path in paths:
        region.put(path, DROPPED)
    digest = PROJECTIONS[ResourceKind.NAMESPACE].digest(json.dumps(WHOLE).encode())
    known = Version(stamp=Stamp(T0, HERE), by=region.settings.by, seen={region.settings.by: T0}, digest=digest)
    with region.state.transaction() as tx:
        tx.save(
            [
                Register(path=path, known=known, own=T0, kept=KeptFields({}, OF_5)).sit(
                    known, region.entries[path].revision
                )
                for path in paths
            ]
        )
    for _ in range(4):
        broker_versions.mark_incomplete(region.local, Millis(region.now))
    assert len(region.local.dirty) == 0, "who has 4.2 does not know it"
    region.settled("5.0.0-M1")
    region.now += AGAIN_MS
    marked = []
    for _ in range(4):
        broker_versions.mark_incomplete(region.local, Millis(region.now))
        marked.append(len(region.local.dirty))
    assert marked == [2, 4, 5, 5], "not again before a minute is over"
    region.work()
    assert all(json.loads(region.entries[path].value) == WHOLE for path in paths)
    assert region.published == []


def test_what_has_left_the_scope_is_not_looked_at_for_it(region: VersionedRegion) -> None:
    path = MetaPath("/admin/policies/pulsar/left")
    region.settled("5.0.0-M1")
    known = Version(stamp=Stamp(T0, HERE), by=region.settings.by, seen={region.settings.by: T0}, digest=Digest(b"d"))
    register = Register(path=path, known=known, own=T0, kept=KeptFields({}, OF_5)).sit(known, Revision("7"))
    with region.state.transaction() as tx:
        tx.save([register])
    region.now += AGAIN_MS
    assert region.local.core.replica.owes(register)
    broker_versions.mark_incomplete(region.local, Millis(region.now))
    assert path not in region.local.dirty


@pytest.mark.parametrize("state", ["untold", "unsettled"])
def test_nothing_is_written_back_before_the_versions_are_known_and_all_was_read(
    region: VersionedRegion, state: str
) -> None:
    region.stands()
    region.settled("4.2.4")
    region.edit(DROPPED)
    if state == "untold":
        region.local.core.replica = Replica(Settings(region=HERE, brokers=Brokers()))
    else:
        region.now += AGAIN_MS
        assert region.ask(told("5.0.0-M1"))
    region.now += AGAIN_MS
    broker_versions.mark_incomplete(region.local, Millis(region.now))
    assert PATH not in region.local.dirty


def test_an_observer_writes_nothing_back(region: VersionedRegion, monkeypatch: pytest.MonkeyPatch) -> None:
    region.stands()
    region.settled("4.2.4")
    region.edit(DROPPED)
    region.local.core.replica = Replica(Settings(region=HERE, brokers=Brokers(parse_version("5.0.0-M1"))))
    monkeypatch.setattr(region.local.core, "observing", True)
    region.now += AGAIN_MS
    broker_versions.mark_incomplete(region.local, Millis(region.now))
    assert PATH not in region.local.dirty
    region.edit(DROPPED)
    assert region.register.intent is None
    assert json.loads(region.entries[PATH].value) == DROPPED


# -- what is told of it


def drop_everywhere(region: VersionedRegion, gone: dict[str, Any], count: int = 5) -> None:
    """Have so many paths whose store lacks these fields."""
    region.settled("4.2.4")
    paths = [MetaPath(f"{PATH}{number}") for number in range(count)]
    digest = PROJECTIONS[ResourceKind.NAMESPACE].digest(json.dumps(WHOLE).encode())
    known = Version(stamp=Stamp(T0, HERE), by=region.settings.by, seen={region.settings.by: T0}, digest=digest)
    for path in paths:
        region.put(path, DROPPED)
    with region.state.transaction() as tx:
        tx.save(
            [
                Register(path=path, known=known, own=T0, kept=KeptFields({}, gone)).sit(
                    known, region.entries[path].revision
                )
                for path in paths
            ]
        )


def look_at_all(region: VersionedRegion) -> None:
    """Look at all paths whose store lacks fields, a minute later."""
    region.now += AGAIN_MS
    broker_versions.mark_incomplete(region.local, Millis(region.now))
    while region.local.versions.incomplete_after is not None:
        assert DROPPED_FIELDS not in region.conditions, "told before all was seen"
        broker_versions.mark_incomplete(region.local, Millis(region.now))


def test_fields_that_the_brokers_drop_are_told_with_their_versions_until_they_know_them(
    region: VersionedRegion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_versions, "INCOMPLETE_PAGE", 2)
    drop_everywhere(region, OF_5)
    look_at_all(region)
    said = region.conditions[DROPPED_FIELDS]
    assert said.startswith(f"not all brokers here (4.2.4) know fields that 5 paths have: namespace {PROOF}, ")
    assert f"namespace {SCALING}; they are not in the store" in said
    region.settled("5.0.0-M1")
    region.now += AGAIN_MS
    for _ in range(3):
        broker_versions.mark_incomplete(region.local, Millis(region.now))
    assert DROPPED_FIELDS not in region.conditions, "what the brokers know is written back, and no reason to come"


def test_a_field_in_an_object_that_the_brokers_know_is_told_by_its_place(region: VersionedRegion) -> None:
    region.settled("3.0.7")
    drop_everywhere(region, {"persistence": {"managedLedgerStorageClassName": "bookkeeper"}, "migrated": {}}, 1)
    region.settled("3.0.7")
    look_at_all(region)
    assert (
        "(3.0.7) know fields that 1 path has: namespace migrated, namespace persistence.managed"
        in (region.conditions[DROPPED_FIELDS])
    )


def test_what_is_told_of_dropped_fields_is_bounded(region: VersionedRegion) -> None:
    drop_everywhere(region, {f"{number:03}" + "n" * 100_000: 1 for number in range(1_000)}, 2)
    look_at_all(region)
    said = region.conditions[DROPPED_FIELDS]
    assert f", and {absences.PLACES_KEPT - PLACES_SHOWN} more; " in said
    assert len(said) < 2_000
    assert len(region.local.versions.dropped.places) == absences.PLACES_KEPT


def test_of_brokers_beyond_the_table_no_field_is_said_to_be_unknown(region: VersionedRegion) -> None:
    drop_everywhere(region, OF_5)
    region.settled("5.9.0")
    look_at_all(region)
    assert NEWER in region.conditions
    assert DROPPED_FIELDS not in region.conditions


# -- memory


def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absences, "KEPT", 2)
    memory = Absences()
    for number in range(3):
        memory.doubt(MetaPath(f"{PATH}{number}"), Revision("1"))
    memory.doubt(MetaPath(f"{PATH}0"), Revision("2"))
    assert memory.waiting == {f"{PATH}0": "2", f"{PATH}1": "1"}
    memory.vouched.update(memory.waiting)
    memory.begin_anew()
    assert (memory.waiting, memory.vouched) == ({}, {})


def test_only_the_very_state_that_was_read_is_vouched_for() -> None:
    memory = Absences(vouched={PATH: Revision("7")})
    assert memory.vouches(PATH, Revision("7"))
    assert not memory.vouches(PATH, Revision("8"))
    assert not memory.vouches(PATH, None)
    assert memory.noticed(PATH, Revision("7"))
    assert not memory.noticed(PATH, Revision("8"))
    memory.judged(PATH)
    assert not memory.vouches(PATH, Revision("7"))


# -- what brokers cannot read


def test_what_brokers_could_not_read_is_written_once_others_are_here() -> None:
    pair = Pair()
    pair.beat(2)
    pair.east.driver.know_clusters(["east"])
    pair.east.driver.tick(Millis(pair.now))
    for region, version in ((pair.east, VERSIONS[-1]), (pair.west, VERSIONS[0])):
        core = parts_of(region.driver).core
        core.replica = Replica(replace(core.replica.settings, brokers=Brokers(parse_version(version))))
    tenant = MetaPath("/admin/policies/acme")
    pair.west.put(tenant, b'{"allowedClusters":["east"]}')
    pair.west.put(PATH, json.dumps({"replication_clusters": ["east"], SCALING: 5}).encode())
    pair.west.driver.noticed([tenant, PATH], Millis(pair.now))
    pair.west.work(Millis(pair.now))
    pair.east.hear(pair.west.said, Millis(pair.now))
    pair.east.work(Millis(pair.now))
    assert tenant in pair.east.entries
    pair.east.driver.tick(Millis(pair.now))
    pair.east.work(Millis(pair.now))
    assert PATH not in pair.east.entries, "a broker that knows the field could not read it"
    assert pair.east.driver.doubted_absences(Millis(pair.now)) == {}
    pair.east.driver.answer_versions({}, told(VERSIONS[0]), Millis(pair.now))
    pair.east.driver.tick(Millis(pair.now))
    pair.east.work(Millis(pair.now))
    assert PATH in pair.east.entries, "none of those that are here now knows it"
