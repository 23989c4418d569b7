"""JSON documents of a history of load: how much there is, who changed the broker, how far predictions were off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from syncer.balancer.cost.calibration import calibration
from syncer.balancer.history.outcomes import prediction_ratio
from syncer.documents.document import Document

if TYPE_CHECKING:
    from syncer.balancer.cost.calibration import Calibration
    from syncer.balancer.history.changes import OwnerChange
    from syncer.balancer.history.outcomes import MoveOutcome
    from syncer.balancer.recording.reading import HistoryExtent


class OwnerChangeDocument(Document):
    """An unload that was observed; it happened between the two times."""

    bundle: str
    source: str
    target: str
    after_ms: int
    by_ms: int


class CalibrationDocument(Document):
    """By which factor seconds are corrected, and what that rests on."""

    ratio: float = Field(description="Observed seconds over those of the tariff, the median.")
    moves: int
    since_ms: int
    until_ms: int


class LoadHistoryDocument(Document):
    """``syncer balancer history show``."""

    cluster: str = Field(description="Name of its table.")
    file: str
    size_bytes: int
    samples: int
    first_ms: int | None
    last_ms: int | None
    owner_changes: int = Field(description="All that are kept.")
    latest_changes: list[OwnerChangeDocument] = Field(description="The last ones, the latest first.")
    moves: int = Field(description="Our own moves whose outcome is kept.")
    prediction_ratio: float | None = Field(description="Observed over predicted seconds of them, the median.")
    calibration: CalibrationDocument | None = Field(description="Null where too few moves were observed.")


def calibration_document(found: Calibration | None) -> CalibrationDocument | None:
    """Tell a calibration as the contract has it.

    Args:
        found: The factor; None where there is none.
    """
    if found is None:
        return None
    return CalibrationDocument(ratio=found.ratio, moves=found.count, since_ms=found.since_ms, until_ms=found.until_ms)


def load_history_document(
    table: str,
    file: str,
    extent: HistoryExtent,
    latest: Sequence[OwnerChange],
    outcomes: Sequence[MoveOutcome],
) -> LoadHistoryDocument:
    """Tell a history as the contract has it.

    Args:
        table: Of the cluster.
        file: Where it is.
        extent: How much there is.
        latest: Changes of owner, the latest first.
        outcomes: Of our own moves.
    """
    return LoadHistoryDocument(
        cluster=table,
        file=file,
        size_bytes=extent.size_bytes,
        samples=extent.samples,
        first_ms=extent.first_ms,
        last_ms=extent.last_ms,
        owner_changes=extent.changes,
        latest_changes=[
            OwnerChangeDocument(
                bundle=each.bundle, source=each.source, target=each.target, after_ms=each.after_ms, by_ms=each.by_ms
            )
            for each in latest
        ],
        moves=len(outcomes),
        prediction_ratio=prediction_ratio(outcomes),
        calibration=calibration_document(calibration(outcomes)),
    )
