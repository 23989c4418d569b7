"""Repair plans before they are told: read, checked and shown by the command line and by REST alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from syncer.documents.snapshots import RepairChange, RepairPath, RepairPreview, RepairSnapshot
from syncer.documents.words import counted
from syncer.model import Region
from syncer.repair.loading import check_projections
from syncer.repair.preview import Preview, preview

if TYPE_CHECKING:
    from syncer.config.model import Config
    from syncer.repair.preconditions import Objection
    from syncer.repair.repair_file import RepairFile


def read_plan(file: RepairFile, config: Config) -> Preview:
    """Read a plan to its end, for a region of this configuration. Nobody is asked anything.

    Raises:
        PlanInvalid: It is no plan, or is damaged.
        PreconditionFailed: It was made by other projections than this version's, or cannot be read.
    """
    native = frozenset(map(Region, config.signing.native_regions if config.signing is not None else ()))
    found = preview(file, native=native)
    check_projections(found.head)
    return found


def plan_preview(found: Preview, refused: Sequence[Objection]) -> RepairPreview:
    """A plan as the contract has it.

    Args:
        found: What it would change.
        refused: Why the daemon here would not begin.
    """
    return RepairPreview(
        sha256=found.sha256,
        snapshots=[RepairSnapshot(region=each.region, taken_at_ms=each.taken_at_ms) for each in found.head.regions],
        paths=found.paths,
        deletes=found.deletes,
        taken_at_ms=found.head.taken_at_ms,
        changes=[
            RepairChange(region=region, what=what, paths=count)
            for (region, what), count in sorted(found.changes.items())
        ],
        unstamped=dict(sorted(found.unstamped.items())),
        native_may_ignore=dict(sorted(found.ignored.items())),
        objections=[each.why for each in refused],
        hints=[each.hint for each in refused],
        items=[
            RepairPath(
                path=each.path,
                cls=each.cls,
                found_in=each.found_in,
                stamp=str(each.event.stamp) if each.event is not None else None,
                losers=list(each.losers),
                held={**each.held},
            )
            for each in found.shown
        ],
    )


def words_of_telling(region: str, found: RepairPreview) -> str:
    """What telling a plan would lead to."""
    return f"The daemon of {region} would tell {counted(found.paths, 'path')} to all regions."
