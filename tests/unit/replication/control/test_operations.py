"""Operations of the daemon itself are performed however many wait for its services."""

from __future__ import annotations

import pytest

from syncer.operations.contract import OF_MIGRATIONS, OF_MOVE_RUNS, OperationKind
from syncer.state.contract.operations import MAX_PENDING, OperationState
from tests.unit.replication.antientropy.test_protocol import T0, Pair


@pytest.mark.parametrize("kind", sorted(OF_MIGRATIONS | OF_MOVE_RUNS))
def test_what_waits_for_a_service_keeps_no_pause_waiting(kind: OperationKind) -> None:
    site = Pair().east
    for _ in range(MAX_PENDING):
        site.state.ask(kind, {}, "a script", "")
    number = site.state.ask(OperationKind.PAUSE, {}, "ann", "")
    site.driver.operate(T0)
    assert site.state.database.operations[number][0].state is OperationState.DONE
