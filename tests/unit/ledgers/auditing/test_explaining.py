"""One ledger drawn, one topic explained: why it cannot be loaded, and what was not there to be read."""

from __future__ import annotations

from syncer.ledgers.auditing.explaining import RANGES, explain_ledger, explain_topic
from syncer.ledgers.auditing.loading import NoLoading, not_recoverable_topics, usual_quorums
from syncer.ledgers.judging.ledger import ReplicaClass
from syncer.ledgers.metadata import Quorums
from syncer.ledgers.owners import ReferenceRole
from syncer.wanted.ledgers import LedgerPart
from tests.support.stored_ledgers import StoredLedgers

T = "persistent://acme/orders/t"


def test_a_ledger_is_drawn_segment_by_segment() -> None:
    stored = StoredLedgers().bookies("ac").topic(T, 1).ledger(1, (3, 2, 2), (0, "abc"), (10, "acd"), last=11)
    stored.mark(1, "b", locked_by="host")
    picture = stored.picture()
    found = explain_ledger(picture, picture.ledgers[1])
    first, second = found.segments
    assert [(each.bookie, each.up, each.entries) for each in first.bookies] == [
        ("a", True, 7),
        ("b", False, 7),
        ("c", True, 6),
    ]
    assert first.write_sets == ((0, 1), (1, 2), (2, 0))
    assert (first.last_entry, second.first_entry, second.last_entry) == (9, 10, 11)
    assert (first.by_replicas_left, second.by_replicas_left) == ((0, 7, 3), (0, 2, 0))
    assert found.lost == ()
    assert found.mark is not None
    assert found.lock is not None
    assert found.path == "/ledgers/00/0000/L0001"


def test_lost_ranges_are_told_up_to_a_number() -> None:
    picture = StoredLedgers().bookies("ab").ledger(1, (3, 1, 1), (0, "abx"), last=999).picture()
    found = explain_ledger(picture, picture.ledgers[1])
    assert (len(found.lost), found.more_lost, found.lost[0]) == (RANGES, True, (2, 2))


def test_a_topic_tells_all_its_ledgers() -> None:
    stored = StoredLedgers().bookies("abc").topic(T, 1, 2, cursors={"s": 3, "none": -1})
    stored.ledger(1, (2, 2, 2), (0, "ab")).ledger(2, (2, 2, 2), (0, "ab"), last=None)
    found = explain_topic(stored.picture(), T)
    assert found is not None
    assert [(each.ledger_id, each.role, each.cursor) for each in found.parts] == [
        (1, ReferenceRole.DATA, ""),
        (2, ReferenceRole.DATA, ""),
        (3, ReferenceRole.CURSOR, "s"),
    ]
    assert [each.judgement is None for each in found.parts] == [False, False, True]
    assert found.parts[0].judgement is not None
    assert found.parts[0].judgement.replica_class is ReplicaClass.WHOLE
    assert found.reason is None
    assert explain_topic(stored.picture(), "persistent://a/b/other") is None


def why(stored: StoredLedgers) -> NoLoading | None:
    found = explain_topic(stored.picture(), T)
    assert found is not None
    return found.reason


def test_why_a_topic_cannot_be_loaded() -> None:
    base = StoredLedgers().bookies("abc").topic(T, 1)
    assert why(base.ledger(1, (3, 2, 2), (0, "xyc"), last=None)) is NoLoading.LAST_LEDGER_NOT_RECOVERABLE
    assert [each.topic for each in not_recoverable_topics(base.picture(), {"x", "y"})] == [T]
    assert not_recoverable_topics(base.picture(), set()) == []
    assert why(base.ledger(1, (3, 2, 2), (0, "xab"), last=None)) is None
    assert why(base.ledger(1, (4, 2, 2), (0, "xabc"), last=None)) is NoLoading.LAST_LEDGER_SHORT_OF_BOOKIES
    assert why(base.ledger(1, (3, 2, 2), (0, "xyc"))) is None
    assert why(base.ledger(1, (4, 2, 2), (0, "abcx"))) is NoLoading.NO_NEW_LEDGER
    assert why(base.put("/ledgers/00/0000/L0001", b"junk")) is NoLoading.LAST_LEDGER_UNDECODABLE
    assert why(StoredLedgers().bookies("abc").topic(T, 1)) is NoLoading.LAST_LEDGER_MISSING
    refused = StoredLedgers().bookies("abc").topic(T, 1)
    refused.refused.append("/ledgers/00")
    assert why(refused) is NoLoading.LAST_LEDGER_NOT_READ
    assert why(StoredLedgers().topic(T)) is None


def test_of_bookies_that_were_not_read_none_is_too_few() -> None:
    stored = StoredLedgers().topic(T, 1).ledger(1, (3, 2, 2), (0, "abc"))
    picture = stored.picture(LedgerPart.LEDGERS, LedgerPart.REFERENCES)
    picture.writable = set("abc")
    found = explain_topic(picture, T)
    assert found is not None
    assert found.reason is None


def test_the_usual_quorums_are_those_of_most_open_ledgers() -> None:
    stored = StoredLedgers().ledger(1, (3, 2, 2), (0, "abc")).ledger(2, (3, 2, 2), (0, "abc"))
    assert usual_quorums(stored.picture()) == Quorums(3, 2, 2)
    assert usual_quorums(stored.ledger(3, (2, 2, 1), (0, "ab"), last=None).picture()) == Quorums(2, 2, 1)
    assert usual_quorums(StoredLedgers().picture()) is None
