"""The picture: who refers to what, who is away, and what could not be read or understood."""

from __future__ import annotations

from syncer.ledgers.auditing.picture import LedgerReference
from syncer.ledgers.decoding.messages import MESSAGES
from syncer.ledgers.nodes import BookieState
from syncer.ledgers.owners import ReferenceRole
from syncer.wanted.ledgers import LedgerPart
from tests.support.stored_ledgers import StoredLedgers

T = "persistent://acme/orders/in%voices"


def schema(*ledger_ids: int) -> bytes:
    message = MESSAGES["SchemaLocator"]()
    for version, ledger_id in enumerate(ledger_ids):
        entry = message.info if not version else message.index.add()
        entry.version, entry.hash = version, b"h"
        entry.position.ledgerId, entry.position.entryId = ledger_id, 0
    data: bytes = message.SerializeToString()
    return data


def test_all_that_refers_to_ledgers_is_gathered() -> None:
    cursor = MESSAGES["ManagedCursorInfo"](cursorsLedgerId=-1)
    cursor.properties.add(name=b"CompactedTopicLedger", value=5)
    cursor.cursorProperties.add(name=b"#pulsar.internal.delayed.bucket.0", value=b"6")
    stored = StoredLedgers().topic(T, 1, 2, cursors={"s/1": 3})
    stored.put("/managed-ledgers/acme/orders/persistent/in%25voices/__compaction", cursor.SerializeToString())
    stored.put("/schemas/acme/orders/in%25voices", schema(4, 4, 7))
    picture = stored.picture()
    roles = {ledger_id: [(each.topic, each.role) for each in found] for ledger_id, found in picture.references.items()}
    assert roles == {
        1: [(T, ReferenceRole.DATA)],
        2: [(T, ReferenceRole.DATA)],
        3: [(T, ReferenceRole.CURSOR)],
        4: [(T, ReferenceRole.SCHEMA)],
        5: [(T, ReferenceRole.COMPACTED)],
        6: [(T, ReferenceRole.DELAYED_INDEX)],
        7: [(T, ReferenceRole.SCHEMA)],
    }
    assert picture.topics[T].last_ledger_id == 2
    assert list(picture.topics[T].cursors) == ["s/1", "__compaction"]
    assert set(picture.schemas[T]) == {4, 7}
    assert picture.topic_of(6) == T
    assert picture.topic_of(99) is None
    assert picture.topics_by_ledger()[3] == T


def test_topics_of_old_have_their_cluster_in_their_names() -> None:
    picture = StoredLedgers().topic("persistent://acme/west/orders/t", 1).picture()
    assert list(picture.topics) == ["persistent://acme/west/orders/t"]


def test_bookies_are_writable_read_only_or_away() -> None:
    stored = StoredLedgers().bookies("ab", read_only="c").ledger(1, (3, 2, 2), (0, "abd"))
    stored.put("/bookies", b'{"g": {"a": {"rack": "/r1"}}}')
    picture = stored.picture()
    assert [picture.state_of(name) for name in "abcd"] == [
        BookieState.WRITABLE,
        BookieState.WRITABLE,
        BookieState.READ_ONLY,
        BookieState.AWAY,
    ]
    assert picture.lost() == {"d"}
    assert picture.racks.rack("a") == "/r1"
    assert set(picture.cookies) == {"a", "b", "c"}


def test_what_is_refused_damaged_or_at_an_unknown_place_makes_a_part_incomplete() -> None:
    stored = StoredLedgers().bookies("a").put("/ledgers/00/0000/L0001", b"junk").put("/managed-ledgers/plain", b"x")
    stored.put("/managed-ledgers/a/b/persistent/t", b"\xff").put("/managed-ledgers/a/b/persistent/t/s", b"\xff")
    stored.put("/schemas/a/b/t", b"\xff")
    stored.refused.append("/ledgers/00/0001")
    picture = stored.picture()
    unclear = dict(picture.incomplete())
    assert set(unclear) == {LedgerPart.LEDGERS, LedgerPart.REFERENCES}
    assert [each.path for each in unclear[LedgerPart.LEDGERS].undecodable] == ["/ledgers/00/0000/L0001"]
    assert unclear[LedgerPart.LEDGERS].refused == ["/ledgers/00/0001"]
    assert len(unclear[LedgerPart.REFERENCES].undecodable) == 3
    assert unclear[LedgerPart.REFERENCES].unfamiliar == ["/managed-ledgers/plain"]
    assert picture.ledgers == {}


def test_an_empty_schema_refers_to_nothing() -> None:
    picture = StoredLedgers().put("/schemas/a/b/t", b"").picture()
    assert (picture.references, picture.schemas) == ({}, {})
    assert picture.extents[LedgerPart.REFERENCES].whole


def test_another_cluster_refers_too_and_what_is_unclear_there_is_unclear() -> None:
    gathered = StoredLedgers().topic(T, 1)
    other = StoredLedgers().topic(T, 1, 2).put("/managed-ledgers/plain", b"x").picture(LedgerPart.REFERENCES)
    picture = gathered.gathering()
    picture.refer(other)
    found = picture.picture.references
    assert found[2] == (LedgerReference(T, ReferenceRole.DATA, found[2][0].listed, "lab"),)
    assert not picture.picture.extents[LedgerPart.REFERENCES].whole
