"""Standing: sums are the sums of judgements, bytes are whole, and each ledger is kept for one reason."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncer.ledgers.auditing.standing import NO_TOPIC, KeptFor, ReplicaTally, by_topic, standing
from syncer.ledgers.decoding.messages import MESSAGES
from syncer.ledgers.judging.ledger import ReplicaClass, judge
from syncer.ledgers.metadata import LedgerState
from tests.support.stored_ledgers import StoredLedgers
from tests.unit.ledgers.judging.test_ledger import ledger

T, U = "persistent://acme/orders/t", "persistent://acme/bills/u"


def test_groups_sum_up_to_the_whole() -> None:
    stored = StoredLedgers().bookies("abc").topic(T, 1, 2).topic(U, 3)
    stored.ledger(1, (3, 2, 2), (0, "abc")).ledger(2, (3, 2, 2), (0, "abd"), last=None)
    stored.ledger(3, (2, 2, 2), (0, "de"), last=9, length=100).ledger(4, (1, 1, 1), (0, "d"))
    picture = stored.picture()
    found = standing(picture, picture.lost())
    assert found.lost == {"d", "e"}
    assert {name: each.ledgers for name, each in found.groups.items()} == {
        "acme/orders": 2,
        "acme/bills": 1,
        NO_TOPIC: 1,
    }
    whole = found.whole
    assert (whole.ledgers, whole.states) == (4, {LedgerState.CLOSED: 3, LedgerState.OPEN: 1})
    assert whole.entries_left == {0: 110, 2: 100}
    assert whole.bytes_left == {0: 1100, 2: 1000}
    assert (whole.bytes, whole.unknown_bytes, whole.entries_lacking) == (2100, 1, 110)
    assert found.by_class[ReplicaClass.NO_REPLICA] == [3, 4]
    assert found.lost_single_copies == [4]
    assert set(standing(picture, set(), by_topic).groups) == {T, U, NO_TOPIC}


def test_each_ledger_is_kept_for_one_reason() -> None:
    cursor = MESSAGES["ManagedCursorInfo"](cursorsLedgerId=2)
    cursor.properties.add(name=b"CompactedTopicLedger", value=3)
    cursor.cursorProperties.add(name=b"#pulsar.internal.delayed.bucket.0", value=b"4")
    schema = MESSAGES["SchemaLocator"]()
    schema.info.version, schema.info.hash = 0, b"h"
    schema.info.position.ledgerId, schema.info.position.entryId = 5, 0
    stored = StoredLedgers().topic(T, 1, 6, offloaded=[6])
    stored.put("/managed-ledgers/acme/orders/persistent/t/s", cursor.SerializeToString())
    stored.put("/schemas/acme/orders/t", schema.SerializeToString())
    for ledger_id in range(1, 8):
        stored.ledger(ledger_id, (3, 2, 2), (0, "abc"), length=10)
    stored.ledger(8, (3, 3, 2), (0, "abc"), length=10, custom={}).ledger(9, (3, 3, 2), (0, "abc"), last=None, custom={})
    found = standing(stored.picture(), set())
    told = {reason: (kept.ledgers, kept.bytes, kept.stored_bytes) for reason, kept in found.kept.items()}
    assert told.pop(KeptFor.FOREIGN) == (2, 10, 30)
    assert told == dict.fromkeys(set(KeptFor) - {KeptFor.FOREIGN}, (1, 10, 20))
    assert found.kept[KeptFor.FOREIGN].unknown_bytes == 1


@given(
    st.integers(1, 5).flatmap(lambda e: st.tuples(st.just(e), st.integers(1, e))),
    st.integers(0, 50),
    st.integers(0, 1000),
    st.sets(st.sampled_from("abcde")),
)
def test_no_byte_and_no_entry_gets_lost_in_sums(shape: tuple[int, int], last: int, size: int, lost: set[str]) -> None:
    ensemble, write = shape
    one = ledger((ensemble, write, write), (0, "abcde"[:ensemble]), last=last, length=size)
    tally = ReplicaTally()
    tally.take(one, judge(one, lost))
    assert (tally.entries, tally.bytes) == (last + 1, size)
    assert tally.harmed == bool(tally.entries_lacking)
    assert all(count > 0 for count in tally.bytes_left.values())
