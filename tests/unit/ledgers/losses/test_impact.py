"""Impact of a loss: topics by name, ledgers by class, bytes where they are known."""

from __future__ import annotations

from syncer.ledgers.judging.ledger import ReplicaClass
from syncer.ledgers.losses.impact import loss_impact
from tests.unit.ledgers.judging.test_ledger import ledger


def test_what_is_lost_and_what_cannot_be_loaded_are_apart() -> None:
    closed = ledger((2, 2, 2), (0, "ab"))._replace(ledger_id=1)
    open_one = ledger((2, 2, 2), (0, "ab"), last=None)._replace(ledger_id=2)
    broken = ledger((2, 2, 2), (0, "ab"), (50, "cd"), last=None)._replace(ledger_id=3)
    foreign = ledger((1, 1, 1), (0, "a"))._replace(ledger_id=4)
    found = loss_impact([closed, open_one, broken, foreign], {"a", "b"}, {1: "t1", 2: "t2", 3: "t3"})
    assert found.lost_ledgers == [1, 3, 4]
    assert found.blocked_ledgers == [2]
    assert found.topics_lost == {"t1", "t3"}
    assert found.topics_not_loadable == {"t2"}
    assert (found.lost_entries, found.lost_bytes, found.unknown_bytes) == (250, 2000, 1)
    assert found.classes == {ReplicaClass.NO_REPLICA: 3, ReplicaClass.EMPTY: 1}
