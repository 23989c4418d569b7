"""Repairs as the command line and REST show them: how far one is, and which there were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from syncer.documents.snapshots import RepairDocument, RepairList, UntoldDocument
from syncer.errors import NotFound
from syncer.inspection.proposals import DecisionProposal
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.repair.preconditions import require_open

if TYPE_CHECKING:
    from syncer.state.contract.repairs import RefusedTelling, Repair
    from syncer.state.views.region import Views

REFUSALS_SHOWN: Final = 100


def repair_of(views: Views, number: int) -> Repair:
    """A repair by its number.

    Raises:
        NotFound: There is none.
    """
    repair = views.repair(number)
    if repair is None:
        raise NotFound(f"no repair {number}", hint="See 'syncer snapshot repairs'.")
    return repair


def cancelling(views: Views, number: int) -> DecisionProposal:
    """End a repair; what was told stays told.

    Raises:
        NotFound: There is none.
        PreconditionFailed: It is over.
    """
    require_open(repair_of(views, number))
    request = OperationRequest(OperationKind.SNAPSHOT_CANCEL, {"repair": str(number)})
    return DecisionProposal(target=f"repair {number}", requests=(request,))


def repair_list(views: Views, limit: int) -> RepairList:
    """The latest repairs, without what was refused."""
    return RepairList(items=[_document(each, ()) for each in views.repairs(limit)])


def repair_status(views: Views, number: int) -> RepairDocument:
    """How far a repair is, with the first paths that were refused.

    Raises:
        NotFound: There is none.
    """
    return _document(repair_of(views, number), views.refused_tellings(number, REFUSALS_SHOWN))


def _document(repair: Repair, refusals: Sequence[RefusedTelling]) -> RepairDocument:
    return RepairDocument(
        id=repair.id,
        state=repair.state.value,
        regions=list(repair.regions),
        taken_at_ms=repair.taken_at_ms,
        total=repair.total,
        done=repair.done,
        told=repair.told,
        superseded=repair.superseded,
        reread=repair.reread,
        elsewhere=repair.elsewhere,
        refused=repair.refused,
        asked_by=repair.asked_by,
        reason=repair.reason,
        begun_at_ms=repair.begun_at_ms,
        finished_at_ms=repair.finished_at_ms,
        detail=repair.detail,
        refusals=[UntoldDocument(path=each.path, reason=each.reason) for each in refusals],
    )
