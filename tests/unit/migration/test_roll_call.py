"""The roll call: each client of the roll is found in exactly one place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncer.migration.evidence import ClientSeen, SubscriptionSeen, TopicSeen
from syncer.migration.roll_call import Who, added, call
from syncer.replacing import replace
from tests.unit.migration.pictures import CONSUMER, PRODUCER, SUBSCRIPTION, TOPIC, topic

BARE = replace(topic(), producers=(), subscriptions={})
WRITER = Who(TOPIC, "", "blue-0-1")
READER = Who(TOPIC, "audit", "ab1x")
ROLL = added({}, [topic()])


def with_clients(*producers: ClientSeen) -> TopicSeen:
    return replace(BARE, producers=producers)


def test_everybody_on_a_topic_is_on_the_roll_as_last_seen() -> None:
    assert set(ROLL) == {WRITER, READER}
    assert {who.role for who in ROLL} == {"producer", "consumer of audit"}
    moved = replace(PRODUCER, address="/10.0.0.9:6000")
    assert added(ROLL, [with_clients(moved)])[WRITER] == moved


def test_who_has_come_is_known_by_its_name_not_by_its_address() -> None:
    there = replace(topic(), producers=(replace(PRODUCER, address="/10.0.0.1:7777"),))
    answered = call(ROLL, [], [there])
    assert answered.complete
    assert answered.arrived == {WRITER, READER}


def test_who_has_stayed_and_who_is_missed_are_named() -> None:
    answered = call(ROLL, [with_clients(PRODUCER)], [])
    assert not answered.complete
    assert answered.staying == {WRITER: PRODUCER}
    assert answered.missed == {READER: CONSUMER}


def test_the_same_name_on_another_subscription_is_somebody_else() -> None:
    other = SubscriptionSeen(kind="Shared", backlog=0, consumers=(CONSUMER,))
    there = replace(BARE, producers=(PRODUCER,), subscriptions={"other": other})
    assert call(ROLL, [], [there]).missed == {READER: CONSUMER}


def test_who_was_started_anew_on_its_host_is_taken_for_the_one_that_is_missed() -> None:
    new = replace(PRODUCER, name="green-0-5", address="/10.0.0.1:9")
    answered = call(ROLL, [], [replace(with_clients(new), subscriptions={"audit": SUBSCRIPTION})])
    assert answered.started_anew == {WRITER: Who(TOPIC, "", "green-0-5")}
    assert answered.complete


def test_one_newcomer_stands_for_one_that_is_missed() -> None:
    two = added({}, [with_clients(PRODUCER, replace(PRODUCER, name="blue-0-2"))])
    new = replace(PRODUCER, name="green-0-5")
    answered = call(two, [], [with_clients(new)])
    assert len(answered.started_anew) == len(answered.missed) == 1


def test_a_newcomer_of_another_host_or_version_stands_for_nobody() -> None:
    for new in (
        replace(PRODUCER, name="n", address="/10.9.9.9:1"),
        replace(PRODUCER, name="n", version="Pulsar-CPP-v3.7.2"),
    ):
        assert WRITER in call(ROLL, [], [with_clients(new)]).missed


NAMES = st.sets(st.sampled_from("abcdefgh"))


@given(NAMES, NAMES, NAMES)
def test_each_is_in_one_place(before: set[str], blue: set[str], green: set[str]) -> None:
    def on(names: set[str]) -> list[TopicSeen]:
        return [with_clients(*(replace(PRODUCER, name=name) for name in sorted(names)))]

    roll = added({}, on(before))
    answered = call(roll, on(blue), on(green))
    places = [answered.arrived, answered.started_anew.keys(), answered.staying.keys(), answered.missed.keys()]
    assert sorted(who for place in places for who in place) == sorted(roll)
    assert {who.name for who in answered.arrived} == before & green
    assert {who.name for who in answered.staying} == (before & blue) - green
    assert len(set(answered.started_anew.values())) == len(answered.started_anew)
