"""A cursor's references to ledgers, and properties that look like some and are none."""

from __future__ import annotations

from syncer.ledgers.managed import ManagedCursor


def test_a_cursor_refers_to_ledgers_of_delayed_messages_and_to_a_compacted_one() -> None:
    cursor = ManagedCursor(
        ledger_id=None,
        properties={"CompactedTopicLedger": 7, "p": 9},
        texts={
            "#pulsar.internal.delayed.bucket_0_99": "42",
            "#pulsar.internal.delayed.bucket_100_199": "-1",
            "#pulsar.internal.delayed.bucket_200_299": "³",
            "#pulsar.internal.delayed.bucket_300_399": "",
            "mine": "43",
        },
    )
    assert list(cursor.delayed_ledger_ids()) == [42]
    assert cursor.compacted_ledger_id == 7
    assert ManagedCursor(ledger_id=3).compacted_ledger_id is None
