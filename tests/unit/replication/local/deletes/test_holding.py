"""Deletes of declarations that a broker may have made: asked about, held, released with their namespace."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from syncer.conflict.deletes.collected import BrokerCollection, CollectedTopics, CollectionTold
from syncer.conflict.fields.brokers import Brokers
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import Hold, HoldReason, Register
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction, Limits, Settings
from syncer.model import EventType, MetaPath, Millis, Region, Stamp, Version
from syncer.paths import kind_at
from syncer.replication.local import absences
from syncer.replication.local.absences import AGAIN_MS, AT_ONCE_MS, SOON_MS
from syncer.replication.local.deletes import questions
from tests.support.driven_region import T0, DrivenRegion

HERE: Final = Region("here")
TENANT: Final = MetaPath("/admin/policies/acme")
NAMESPACE: Final = MetaPath("/admin/policies/acme/orders")
TOPIC: Final = MetaPath("/admin/partitioned-topics/acme/orders/persistent/created")
OTHER: Final = MetaPath("/admin/partitioned-topics/acme/orders/persistent/paid")
ON: Final = CollectionTold(brokers={"b0:8080": BrokerCollection(deletes_declarations=True)})
OFF: Final = CollectionTold(brokers={"b0:8080": BrokerCollection()})
AWAY: Final = CollectionTold(trouble="b0:8080 does not answer")
REFUSED: Final = CollectionTold(trouble="b0:8080 answers 403", refused=True)


def settings(**more: Any) -> Settings:
    return Settings(region=HERE, **{"brokers": Brokers(), "collected_topics": CollectedTopics.HOLD, **more})


class CollectingRegion(DrivenRegion):
    """A region with two topics in a namespace; all was read."""

    def __init__(self, scope: Scope | None = None, **more: Any) -> None:
        super().__init__(settings=settings(**more), scope=scope or Scope())
        values: dict[MetaPath, dict[str, Any]] = {
            TENANT: {"adminRoles": []},
            NAMESPACE: {"replication_clusters": ["here"]},
            TOPIC: {"partitions": 3},
            OTHER: {"partitions": 3},
        }
        by = self.settings.by
        for path, document in values.items():
            revision = self.put(path, document)
            digest = PROJECTIONS[kind_at(path)].digest(self.entries[path].value)
            known = Version(stamp=Stamp(T0, HERE), by=by, seen={by: T0}, digest=digest)
            with self.state.transaction() as tx:
                tx.save([Register(path=path, known=known, own=T0).sit(known, revision)])
        self.now += 1_000
        self.scan()

    def delete(self, *paths: MetaPath) -> None:
        """They go from the store, and the watch tells it."""
        for path in paths:
            del self.entries[path]
        self.driver.noticed(list(paths), Millis(self.now))
        self.work()

    def told(self, told: CollectionTold) -> bool:
        """Ask if it is time; whether it was."""
        asked = self.driver.collection_question(Millis(self.now))
        if asked is None:
            return False
        namespaces = {each: self.entries.get(each) for each in questions.namespaces_of(asked)}
        self.driver.answer_collection(asked, told, namespaces, Millis(self.now))
        self.work()
        return True

    def hold(self, path: MetaPath = TOPIC) -> Hold | None:
        with self.state.transaction() as tx:
            return tx.registers([path])[path].hold

    @property
    def deletes(self) -> list[MetaPath]:
        """What was published."""
        return [each.path for each in self.published if each.type is EventType.DELETED]


@pytest.fixture
def region() -> CollectingRegion:
    return CollectingRegion()


# -- when it is asked


def test_brokers_are_asked_at_once_each_minute_and_soon_after_no_answer(region: CollectingRegion) -> None:
    assert region.told(AWAY)
    region.now += SOON_MS - 1
    assert not region.told(OFF)
    region.now += 1
    assert region.told(OFF)
    region.now += AGAIN_MS - 1
    assert not region.told(OFF)
    region.delete(TOPIC)
    assert region.told(OFF)
    region.now -= 10 * AGAIN_MS
    assert region.told(OFF)


def test_a_refusal_is_repeated_no_sooner_than_an_answer(region: CollectingRegion) -> None:
    assert region.told(REFUSED)
    region.now += AGAIN_MS - 1
    assert not region.told(REFUSED)
    region.now += 1
    assert region.told(REFUSED)


# -- what becomes of a delete


def test_a_delete_is_held_while_a_broker_collects(region: CollectingRegion) -> None:
    region.delete(TOPIC)
    assert (region.deletes, region.hold()) == ([], None)
    assert region.told(ON)
    hold = region.hold()
    assert region.deletes == []
    assert hold is not None
    assert (hold.reason, hold.local, hold.stamp.updated_at_ms) == (HoldReason.COLLECTED_TOPIC, True, region.now)
    assert "b0:8080" in hold.detail


@pytest.mark.parametrize("told", [OFF, REFUSED])
def test_a_delete_is_carried_where_no_broker_collects_or_none_can_be_asked(
    region: CollectingRegion, told: CollectionTold
) -> None:
    region.delete(TOPIC)
    at = region.now
    region.now += 30_000
    assert region.told(told)
    assert region.deletes == [TOPIC]
    assert region.published[-1].stamp.updated_at_ms == at  # as it was seen, however late the answer
    assert (region.local.versions.deletes.waiting, region.local.versions.deletes.answered) == ({}, {})


def test_a_delete_waits_while_no_broker_answers_and_no_earlier_answer_counts(region: CollectingRegion) -> None:
    assert region.told(OFF)
    region.now += AT_ONCE_MS
    region.delete(TOPIC)
    assert region.deletes == []
    assert region.told(AWAY)
    assert (region.deletes, region.hold()) == ([], None)
    assert "1 deletes of partitioned topics wait" in region.conditions[questions.UNTOLD]
    region.now += SOON_MS
    assert region.told(ON)
    assert region.hold() is not None


def test_an_answer_that_was_asked_for_before_a_delete_decides_nothing(region: CollectingRegion) -> None:
    asked = region.driver.collection_question(Millis(region.now))
    assert asked == {}
    region.delete(TOPIC)
    region.driver.answer_collection(asked, OFF, {}, Millis(region.now))
    region.work()
    assert region.deletes == []
    region.now += AT_ONCE_MS
    assert region.told(ON)
    assert region.hold() is not None


def test_an_answer_about_an_earlier_delete_decides_no_later_one(region: CollectingRegion) -> None:
    region.delete(TOPIC)
    asked = region.driver.collection_question(Millis(region.now))
    assert asked is not None
    region.now += 1
    region.edit_at(TOPIC, {"partitions": 3})
    region.now += 1
    region.delete(TOPIC)
    region.driver.answer_collection(asked, OFF, {}, Millis(region.now))
    region.work()
    assert region.deletes == []
    region.now += AT_ONCE_MS
    assert region.told(ON)
    assert region.hold() is not None


def test_a_topic_that_is_made_again_before_the_answer_was_never_deleted(region: CollectingRegion) -> None:
    region.delete(TOPIC)
    region.edit_at(TOPIC, {"partitions": 3})
    assert region.told(ON)
    assert (region.deletes, region.hold()) == ([], None)
    assert region.local.versions.deletes.waiting == {}


@pytest.mark.parametrize(("collects", "held"), [(True, True), (False, False)])
def test_a_namespace_may_keep_its_topics(region: CollectingRegion, *, collects: bool, held: bool) -> None:
    policies = {"deleteWhileInactive": collects, "maxInactiveDurationSeconds": 60}
    region.edit_at(NAMESPACE, {"replication_clusters": ["here"], "inactive_topic_policies": policies})
    region.delete(TOPIC)
    assert region.told(ON)
    assert (region.hold() is not None, TOPIC in region.deletes) == (held, not held)


def test_a_namespace_that_cannot_be_read_keeps_nothing(region: CollectingRegion) -> None:
    region.delete(TOPIC)
    asked = region.driver.collection_question(Millis(region.now))
    assert asked is not None
    broken = {NAMESPACE: replace(region.entries[NAMESPACE], value=b"[")}
    region.driver.answer_collection(asked, ON, broken, Millis(region.now))
    region.work()
    assert region.hold() is not None


@pytest.mark.parametrize("told", [OFF, ON])
def test_a_hold_stands_whatever_the_brokers_say_later(region: CollectingRegion, told: CollectionTold) -> None:
    region.delete(TOPIC)
    assert region.told(ON)
    region.now += AGAIN_MS
    assert region.told(told)
    assert region.hold() is not None
    assert region.deletes == []


@pytest.mark.parametrize("wanted", [None, CollectedTopics.CARRY])
def test_nothing_is_asked_where_all_is_carried(wanted: CollectedTopics | None) -> None:
    region = CollectingRegion(collected_topics=wanted)
    region.delete(TOPIC)
    assert region.deletes == [TOPIC]


def test_other_deletes_wait_for_no_answer(region: CollectingRegion) -> None:
    region.told(ON)
    region.delete(TOPIC, OTHER, NAMESPACE, TENANT)
    assert set(region.deletes) == {NAMESPACE, TENANT}


# -- namespaces


@pytest.mark.parametrize("told", [ON, OFF, AWAY, REFUSED])
def test_a_topic_whose_namespace_is_gone_was_deleted_by_an_operator(
    region: CollectingRegion, told: CollectionTold
) -> None:
    region.delete(TOPIC, NAMESPACE)
    assert region.told(told)
    assert set(region.deletes) == {TOPIC, NAMESPACE}


def test_a_namespace_that_was_made_again_and_not_read_yet_is_not_gone(region: CollectingRegion) -> None:
    region.delete(TOPIC, OTHER, NAMESPACE)
    region.told(ON)
    region.now += AT_ONCE_MS
    region.edit_at(TOPIC, {"partitions": 3})
    region.put(NAMESPACE, {"replication_clusters": ["here"]})  # no notice of it has come
    region.delete(TOPIC)
    region.told(ON)
    assert region.hold() is not None


def test_a_namespace_that_the_store_withholds_keeps_nothing(region: CollectingRegion) -> None:
    region.delete(TOPIC)
    asked = region.driver.collection_question(Millis(region.now))
    assert asked is not None
    region.driver.answer_collection(asked, ON, {}, Millis(region.now))
    region.work()
    assert region.hold() is not None


def test_a_namespace_that_is_deleted_releases_what_is_held_of_its_topics(region: CollectingRegion) -> None:
    region.delete(TOPIC)
    region.told(ON)
    hold = region.hold()
    assert hold is not None
    region.now += 60_000
    region.delete(OTHER)
    region.delete(NAMESPACE)
    region.told(ON)
    assert region.hold() is None
    assert set(region.deletes) == {TOPIC, OTHER, NAMESPACE}
    assert next(each.stamp for each in region.published if each.path == TOPIC) == hold.stamp


def test_what_is_released_counts_as_a_delete_of_many() -> None:
    region = CollectingRegion(limits=Limits(max_deletes=1, min_deletes=1))
    region.delete(TOPIC)
    region.told(ON)
    region.delete(NAMESPACE)
    assert region.deletes == []
    assert [each and each.reason for each in (region.hold(), region.hold(NAMESPACE))] == [HoldReason.MASS_DELETE] * 2


def test_what_was_released_counts_after_a_restart(region: CollectingRegion) -> None:
    region.delete(TOPIC)
    region.told(ON)
    region.delete(NAMESPACE)
    with region.state.transaction() as tx:
        assert len(tx.deletes_passed(Millis(0), 10)) == 2


def test_many_that_are_held_are_no_mass_delete() -> None:
    region = CollectingRegion(limits=Limits(max_deletes=1, min_deletes=1))
    region.delete(TOPIC, OTHER)
    region.told(ON)
    assert {each and each.reason for each in (region.hold(), region.hold(OTHER))} == {HoldReason.COLLECTED_TOPIC}


def test_what_may_not_leave_the_region_is_not_released_by_its_namespace(region: CollectingRegion) -> None:
    region.delete(TOPIC)
    region.told(ON)
    region.local.core.scope = Scope((Rule(TOPIC, Direction.APPLY), *DEFAULT_RULES))
    region.delete(NAMESPACE)
    assert region.hold() is not None
    assert TOPIC not in region.deletes


def test_a_topic_whose_namespace_nobody_carries_is_held() -> None:
    scope = Scope((Rule("/admin/partitioned-topics/**", Direction.BOTH), Rule("/admin/**", Direction.IGNORE)))
    region = CollectingRegion(scope=scope)
    region.delete(TOPIC)
    region.told(ON)
    assert region.hold() is not None


def test_pages_of_held_topics_are_all_released(region: CollectingRegion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syncer.replication.local.deletes.holding._PAGE", 1)
    region.delete(TOPIC, OTHER)
    region.told(ON)
    region.delete(NAMESPACE)
    assert set(region.deletes) == {TOPIC, OTHER, NAMESPACE}


# -- what is said


def test_the_status_says_who_collects_and_what_becomes_of_it(region: CollectingRegion) -> None:
    region.told(ON)
    assert "b0:8080" in region.conditions[questions.COLLECTED]
    assert "held" in region.conditions[questions.COLLECTED]
    region.now += AGAIN_MS
    region.told(OFF)
    assert questions.COLLECTED not in region.conditions
    region.now += AGAIN_MS
    region.told(REFUSED)
    assert "403" in region.conditions[questions.UNTOLD]
    assert "carried" in region.conditions[questions.UNTOLD]


def test_the_status_says_that_they_are_carried() -> None:
    region = CollectingRegion(collected_topics=CollectedTopics.CARRY)
    region.told(ON)
    assert "scope.collected_topics" in region.conditions[questions.COLLECTED]
    region.now += AGAIN_MS
    region.told(REFUSED)
    assert questions.UNTOLD not in region.conditions


def test_a_store_without_brokers_says_nothing() -> None:
    region = CollectingRegion(brokers=None, collected_topics=None)
    region.told(REFUSED)
    assert questions.UNTOLD not in region.conditions


# -- bounds


def test_deletes_beyond_the_bound_are_found_by_reading_all_again(
    region: CollectingRegion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absences, "DELETES_KEPT", 1)
    region.delete(TOPIC, OTHER)
    assert list(region.local.versions.deletes.waiting) == [TOPIC]
    assert not region.driver.rescan_due
    assert region.told(ON)
    assert region.driver.rescan_due
    region.scan()
    region.now += AT_ONCE_MS
    assert region.told(ON)
    assert {each and each.reason for each in (region.hold(), region.hold(OTHER))} == {HoldReason.COLLECTED_TOPIC}


def test_a_database_that_begins_anew_waits_for_nothing(region: CollectingRegion) -> None:
    region.delete(TOPIC)
    region.local.versions.deletes.begin_anew()
    assert region.told(ON)
    assert region.hold() is None
