"""The registry of operations: every kind that was ever stored is performed by somebody, any other is not found."""

from __future__ import annotations

import pytest

from syncer.errors import NotFound
from syncer.operations.contract import OF_MIGRATIONS, OF_MOVE_RUNS, OperationKind
from syncer.operations.registry import Registry
from syncer.replication.control.operations import HANDLERS

STORED = (
    "confirm reject undo restore conflicts-discard release decline pause resume regions-forget regions-admit"
    " regions-leave regions-join quarantine-retry quarantine-discard rebuild snapshot-sync snapshot-cancel"
    " migration-start migration-command migration-undoable job-take job-diff job-cancel"
    " moves-apply moves-dry-run moves-stop"
)


def test_kinds_keep_the_names_that_rows_of_other_releases_bear() -> None:
    assert {str(kind) for kind in OperationKind} == set(STORED.split())


def test_every_kind_has_a_handler() -> None:
    assert set(HANDLERS) | OF_MIGRATIONS | OF_MOVE_RUNS == set(OperationKind)
    assert not set(HANDLERS) & (OF_MIGRATIONS | OF_MOVE_RUNS)


def test_what_nobody_performs_is_not_found() -> None:
    with pytest.raises(NotFound, match="no such operation: dance"):
        Registry[int]({OperationKind.PAUSE: 1}).handler("dance")


def test_a_handler_is_found_by_the_name_that_was_stored() -> None:
    assert Registry({OperationKind.PAUSE: 1}).handler("pause") == 1


def test_what_needs_a_whole_database_waits_for_its_rebuild() -> None:
    registry = Registry({OperationKind.PAUSE: 1, OperationKind.CONFIRM: 2}, while_rebuilding={OperationKind.PAUSE})
    assert (registry.waits_for_rebuild("pause"), registry.waits_for_rebuild("confirm")) == (False, True)
