"""Orphans are proven by two looks; nothing that a broker makes or deletes meanwhile is taken for one."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from syncer.ledgers.auditing.picture import LedgersPicture
from syncer.ledgers.auditing.unreferenced import COMPACTION_MS, READINGS, Unproven, audit_references
from syncer.wanted.ledgers import LedgerPart
from tests.support.stored_ledgers import PULSAR, StoredLedgers

T = "persistent://acme/orders/t%"
PARTS = (LedgerPart.LEDGERS, LedgerPart.REFERENCES)


def looks(stored: StoredLedgers) -> tuple[LedgersPicture, LedgersPicture]:
    return stored.picture(*PARTS), stored.picture(*PARTS)


def test_orphans_missing_and_foreign_ledgers_are_apart() -> None:
    stored = StoredLedgers().topic(T, 1, 2, 3, offloaded=[3]).ledger(1, (1, 1, 1), (0, "a"))
    named = {**PULSAR, "pulsar/managed-ledger": b"acme/orders/persistent/t%25"}
    stored.ledger(7, (1, 1, 1), (0, "a"), custom=named).ledger(8, (1, 1, 1), (0, "a"), custom={})
    found = audit_references(*looks(stored), whole=True)
    assert [(each.ledger.ledger_id, each.topic, each.topic_exists) for each in found.orphans] == [(7, T, True)]
    assert found.orphans[0].component == "managed-ledger"
    assert [(each.ledger_id, each.references[0].topic) for each in found.missing] == [(2, T)]
    assert [each.ledger_id for each in found.foreign] == [8]
    assert found.passing == 0


def test_a_look_takes_references_that_were_read_after_a_rest() -> None:
    before = StoredLedgers().ledger(1, (1, 1, 1), (0, "a")).ledger(7, (1, 1, 1), (0, "a"))
    first = before.picture(LedgerPart.LEDGERS)
    later = StoredLedgers().topic(T, 1).put("/managed-ledgers/a/b/persistent/t", b"\xff").picture(LedgerPart.REFERENCES)
    first.take_references(later)
    assert (set(first.ledgers), set(first.references)) == ({1, 7}, {1})
    assert T in first.topics
    assert [part for part, _ in first.incomplete()] == [LedgerPart.REFERENCES]


def test_nothing_is_proven_where_others_may_refer() -> None:
    stored = StoredLedgers().ledger(7, (1, 1, 1), (0, "a"))
    found = audit_references(*looks(stored), whole=False)
    assert [each.unproven for each in found.unreferenced] == [Unproven.OTHER_CLUSTERS]
    assert found.orphans == ()


def test_nothing_is_proven_where_references_were_not_read() -> None:
    stored = StoredLedgers().ledger(7, (1, 1, 1), (0, "a")).put("/managed-ledgers/a/b/persistent/t", b"\xff")
    found = audit_references(*looks(stored), whole=True)
    assert [each.unproven for each in found.unreferenced] == [Unproven.REFERENCES_INCOMPLETE]
    only_ledgers = stored.picture(LedgerPart.LEDGERS)
    found = audit_references(only_ledgers, only_ledgers, whole=True)
    assert [each.unproven for each in found.unreferenced] == [Unproven.REFERENCES_INCOMPLETE]


def test_a_compacted_ledger_of_a_topic_that_is_there_is_not_proven() -> None:
    custom = {"application": b"pulsar", "component": b"compacted-ledger", "pulsar/compactedTopic": T.encode()}
    stored = StoredLedgers().topic(T).ledger(7, (1, 1, 1), (0, "a"), custom=custom)
    (found,) = audit_references(*looks(stored), whole=True).unreferenced
    assert found.unproven is Unproven.COMPACTED_WHILE_LOADED


def test_a_compacted_ledger_of_a_topic_that_is_gone_is_proven_once_no_compaction_can_be_at_work() -> None:
    custom = {"application": b"pulsar", "component": b"compacted-ledger", "pulsar/compactedTopic": T.encode()}
    first, second = looks(StoredLedgers().ledger(7, (1, 1, 1), (0, "a"), custom=custom))
    (found,) = audit_references(first, second, whole=True).unreferenced
    assert found.unproven is Unproven.COMPACTION_MAY_WORK
    first.taken_ms += COMPACTION_MS - 1
    assert audit_references(first, second, whole=True).orphans == ()
    first.taken_ms += 1
    assert len(audit_references(first, second, whole=True).orphans) == 1


def test_a_ledger_of_another_make_under_the_same_id_is_another_ledger() -> None:
    before = StoredLedgers().ledger(7, (1, 1, 1), (0, "a"))
    after = StoredLedgers().ledger(7, (1, 1, 1), (0, "a"), custom={**PULSAR, "pulsar/cursor": b"s"})
    found = audit_references(before.picture(*PARTS), after.picture(*PARTS), whole=True)
    assert (found.unreferenced, found.passing) == ((), 1)


class Life(NamedTuple):
    """When a ledger is made, referred to, no longer referred to, and deleted; the last two may never come."""

    made: int
    referred: int
    let_go: int
    deleted: int


NEVER = 10_000
LONGEST = 50
"""A broker needs at most so long between a ledger and its reference, at either end."""
REST = 60
"""Between two readings; more than a broker needs."""
READS = 100
"""The reading of a part takes so long."""


def looks_began() -> tuple[int, int, int, int]:
    """When the reading of ledgers and of references begins, at the first look and at the second."""
    found: list[int] = []
    now_at = 100
    for parts in READINGS:
        for part in parts:
            assert part is PARTS[len(found) % 2]
            found.append(now_at)
            now_at += READS
        now_at += REST
    first_seen, first_asked, second_seen, second_asked = found
    return first_seen, first_asked, second_seen, second_asked


lives = st.builds(
    lambda made, first, use, last, ends: Life(
        made, made + first, made + first + use if ends else NEVER, made + first + use + last if ends else NEVER
    ),
    st.integers(0, 620),
    st.integers(1, LONGEST),
    st.integers(0, 400),
    st.integers(1, LONGEST),
    st.booleans(),
)
moments = st.tuples(*(st.integers(0, READS) for _ in range(4)))
"""When a ledger, or its reference, is read, after the reading of the part has begun."""


@given(st.lists(st.tuples(lives, moments), max_size=8), st.integers(0, 3))
@example([(Life(made=151, referred=201, let_go=311, deleted=361), (51, 0, 0, 0))], 0)
@example([(Life(made=100 + READS, referred=250, let_go=260, deleted=310), (READS, 0, 0, 0))], 0)
@example([(Life(made=200, referred=250, let_go=260 + READS, deleted=410), (READS, READS, 0, 0))], 0)
def test_no_ledger_is_taken_for_an_orphan_while_a_broker_makes_or_deletes_it(
    worlds: list[tuple[Life, tuple[int, ...]]], orphans: int
) -> None:
    first, second = StoredLedgers(), StoredLedgers()
    for number, (life, after) in enumerate(worlds):
        read = [began + later for began, later in zip(looks_began(), after, strict=True)]
        for stored, seen, asked in ((first, read[0], read[1]), (second, read[2], read[3])):
            if life.made <= seen < life.deleted:
                stored.ledger(number, (1, 1, 1), (0, "a"))
            if life.referred <= asked < life.let_go:
                stored.topic(f"persistent://a/b/{number}", number)
    for number in range(orphans):
        for stored in (first, second):
            stored.ledger(1000 + number, (1, 1, 1), (0, "a"))
    found = audit_references(first.picture(*PARTS), second.picture(*PARTS), whole=True)
    assert [each.ledger.ledger_id for each in found.orphans] == [1000 + number for number in range(orphans)]
    assert found.missing == ()
