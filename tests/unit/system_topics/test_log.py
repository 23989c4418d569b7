"""The fold of a topic of policies: whose message counts, what is owed, and what was overtaken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.model import Millis
from syncer.system_topics.log import (
    GONE,
    NOTHING,
    FenceBound,
    Held,
    LogMessage,
    PolicyLog,
    UnreadablePolicy,
    WriterClaim,
    claim_in,
)

KEY = "__G__persistent://acme/orders/a"
OURS = WriterClaim(region="east", store_id="s", fence=3, database="d", batch="3.1", expected=NOTHING)


def message(number: int, value: Held, claim: WriterClaim | None = None, key: str = KEY) -> LogMessage:
    return LogMessage(id=f"m{number}", key=key, held=value, published_ms=Millis(number), claim=claim)


def folded(*messages: LogMessage) -> PolicyLog:
    log = PolicyLog()
    for each in messages:
        assert log.take(each) is None
    return log


def value_at(log: PolicyLog) -> object:
    standing = log.standing(KEY)
    return standing.held if standing is not None else "nothing was read"


def test_nothing_is_known_of_a_key_that_was_not_read() -> None:
    log = PolicyLog()
    assert (value_at(log), log.top(KEY), log.owes(KEY)) == ("nothing was read", NOTHING, False)
    assert (log.verdict(KEY, "m1"), log.landed(KEY, "3.1", "d")) == (None, False)


def test_what_brokers_write_stands() -> None:
    log = folded(message(1, b"a"), message(2, None), message(3, b"c"), message(4, b"x", key="other"))
    assert (value_at(log), log.top(KEY), list(log.seen())) == (b"c", "m3", [KEY, "other"])


def test_ours_counts_if_it_was_decided_on_what_stood_there() -> None:
    log = folded(message(1, b"a"), message(2, b"b", replace(OURS, expected="m1")))
    verdict, standing = log.verdict(KEY, "m2"), log.standing(KEY)
    assert verdict is not None
    assert standing is not None
    assert (verdict.valid, standing.ours, value_at(log)) == (True, True, b"b")
    assert log.landed(KEY, "3.1", "d")
    assert not log.landed(KEY, "3.1", "another")
    assert not log.landed(KEY, "3.2", "d")
    assert log.verdict(KEY, "m9") is None


def test_ours_is_void_if_a_broker_was_faster_and_what_it_overwrote_is_owed() -> None:
    log = folded(message(1, b"a"), message(2, b"theirs"), message(3, b"b", replace(OURS, expected="m1")))
    verdict = log.verdict(KEY, "m3")
    assert verdict is not None
    assert (verdict.valid, value_at(log), log.top(KEY), list(log.owed())) == (False, b"theirs", "m3", [KEY])
    assert log.owes(KEY)
    assert not log.landed(KEY, "3.1", "d")


def test_what_is_owed_is_put_back_as_the_brokers_own() -> None:
    log = folded(
        message(1, b"a"),
        message(2, b"theirs"),
        message(3, b"b", replace(OURS, expected="m1")),
        message(4, b"theirs", replace(OURS, expected="m3", restores=True)),
    )
    standing = log.standing(KEY)
    assert standing is not None
    assert (value_at(log), standing.ours, list(log.owed())) == (b"theirs", False, [])
    assert not log.landed(KEY, "3.1", "d")


def test_what_cannot_be_put_back_any_more_is_told() -> None:
    log = folded(message(1, b"a"), message(2, b"theirs"), message(3, b"b", replace(OURS, expected="m1")))
    overtaken = log.take(message(4, b"later"))
    assert overtaken is not None
    assert (overtaken.lost.held, overtaken.by.held, overtaken.key) == (b"theirs", b"later", KEY)
    late = log.take(message(5, b"theirs", replace(OURS, expected="m3", restores=True)))
    assert (late, value_at(log), list(log.owed())) == (None, b"later", [KEY])


def test_a_value_that_a_later_one_repeats_is_no_loss() -> None:
    log = folded(message(1, b"a"), message(2, b"theirs"), message(3, b"b", replace(OURS, expected="m1")))
    assert log.take(message(4, b"theirs")) is None


def test_a_value_of_ours_that_was_overwritten_is_known_and_no_loss() -> None:
    log = folded(
        message(1, b"a", OURS),
        message(2, b"b", replace(OURS, fence=2, expected="m1")),
    )
    assert (value_at(log), list(log.owed())) == (b"a", [KEY])
    assert log.take(message(3, b"later")) is None


def test_a_change_of_ours_over_what_is_owed_tells_of_it() -> None:
    log = folded(message(1, b"a"), message(2, b"b", replace(OURS, expected="m0")))
    overtaken = log.take(message(3, b"c", replace(OURS, expected="m2")))
    assert overtaken is not None
    assert (overtaken.lost.held, value_at(log)) == (b"a", b"c")


def test_a_former_writer_is_void_whatever_it_expects() -> None:
    log = folded(message(1, b"a", OURS, key="other"), message(2, b"b", replace(OURS, fence=2)))
    assert (value_at(log), list(log.owed())) == ("nothing was read", [KEY])
    log.take(message(3, None, replace(OURS, expected="m2", restores=True)))
    assert (value_at(log), list(log.owed())) == (None, [])


def test_messages_of_two_partitions_have_no_order() -> None:
    """They are read one partition after the other, so the fences of one say nothing of when the others' came."""
    later = replace(message(1, b"a", replace(OURS, fence=9), key="other"), partition=0)
    earlier = replace(message(2, b"b", OURS), partition=1)
    assert value_at(folded(later, earlier)) == b"b"
    assert value_at(folded(later, replace(earlier, partition=0))) == "nothing was read"


def test_fences_of_another_store_are_not_compared() -> None:
    log = folded(message(1, b"a", OURS), message(2, b"b", replace(OURS, store_id="new", fence=1, expected="m1")))
    assert value_at(log) == b"b"


def test_a_fence_that_nobody_has_ever_had_makes_nothing_of_ours_void() -> None:
    log, bound = PolicyLog(), FenceBound("s", 3)
    for each in (
        message(1, b"a", OURS),
        message(2, b"forged", replace(OURS, fence=10**9, batch="3.2", expected="m0", restores=True)),
        message(3, b"b", replace(OURS, batch="3.3", expected="m2")),
    ):
        assert log.take(each, bound) is None
    assert (value_at(log), list(log.owed())) == (b"b", [])
    assert not log.landed(KEY, "3.2", "d")
    assert log.verdict(KEY, "m2") is None


def test_what_a_forged_claim_says_stands_as_a_brokers_edit() -> None:
    log = PolicyLog()
    log.take(message(1, b"forged", replace(OURS, fence=4)), FenceBound("s", 3))
    standing = log.standing(KEY)
    assert standing is not None
    assert (standing.held, standing.ours) == (b"forged", False)


def test_the_highest_fence_of_all_counts_and_those_of_other_stores_are_not_bounded() -> None:
    bound = FenceBound("s", 3)
    assert not bound.excludes(OURS)
    assert not bound.excludes(replace(OURS, store_id="former", fence=10**9))
    assert bound.excludes(replace(OURS, fence=4))


def test_the_last_message_of_a_compacted_key_counts() -> None:
    last = message(9, b"a", replace(OURS, expected="m8"))
    assert value_at(folded(last)) == b"a"
    newer = message(8, b"other", replace(OURS, fence=4), key="other")
    assert value_at(folded(newer, last)) == b"a", "void or not, nothing else is left of the key: it is no delete"


def test_a_value_that_cannot_be_read_stands_too() -> None:
    log = PolicyLog()
    log.take(replace(message(1, b""), held=UnreadablePolicy("why")))
    assert value_at(log) == UnreadablePolicy("why")


def test_a_topic_that_is_gone_leaves_the_value_that_stood_there_last() -> None:
    log = folded(message(1, b"a"), message(2, b"b"), message(3, GONE), message(4, GONE))
    standing = log.standing(KEY)
    assert standing is not None
    assert standing.last is not None
    assert (standing.id, standing.held, standing.last.id, standing.last.held) == ("m4", GONE, "m2", b"b")
    assert value_at(folded(message(1, b"a"), message(2, GONE), message(3, None))) is None
    for bare in (folded(message(1, GONE)), folded(message(1, None), message(2, GONE))):
        standing = bare.standing(KEY)
        assert standing is not None
        assert (standing.held, standing.last) == (GONE, None)


def test_what_is_put_back_where_a_topic_is_gone_stands_for_no_decision() -> None:
    void = message(3, b"b", replace(OURS, expected="m1"))
    back = message(4, None, replace(OURS, expected="m3", restores=True, gone=True))
    log = folded(message(1, b"a"), message(2, GONE), void, back)
    standing = log.standing(KEY)
    assert standing is not None
    assert standing.last is not None
    assert (standing.id, standing.held, standing.last.held, list(log.owed())) == ("m4", GONE, b"a", [])
    assert value_at(folded(back)) == GONE  # all that compaction has left


def test_a_topic_that_was_gone_before_an_edit_is_no_loss() -> None:
    log = folded(message(1, b"a"), message(2, GONE), message(3, b"b", replace(OURS, expected="m1")))
    assert log.take(message(4, b"later")) is None


def test_an_edit_that_goes_with_its_topic_before_it_is_put_back_is_told() -> None:
    log = folded(message(1, b"a"), message(2, b"theirs"), message(3, b"b", replace(OURS, expected="m1")))
    overtaken = log.take(message(4, GONE))
    assert overtaken is not None
    assert (overtaken.lost.held, overtaken.by.held) == (b"theirs", GONE)


def test_a_claim_goes_through_the_properties() -> None:
    for each in (OURS, replace(OURS, expected="m1", restores=True), replace(OURS, restores=True, gone=True)):
        assert claim_in(each.properties(), "east") == each
        assert claim_in(each.properties(), "west") is None


@pytest.mark.parametrize("fence", ["", "x", "-1", "²", "9" * 5_000])
def test_a_claim_without_a_number_is_none(fence: str) -> None:
    assert claim_in(OURS.properties() | {"syncer-fence": fence}, "east") is None


def test_a_claim_may_lack_all_but_region_and_fence() -> None:
    found = claim_in({"syncer-region": "east", "syncer-fence": "1"}, "east")
    assert found == WriterClaim(region="east", store_id="", fence=1, database="", batch="", expected=NOTHING)
