"""Taking a repair back in one region: to what its snapshot holds, and only where the repair's version still stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from syncer.errors import PlanInvalid, PreconditionFailed
from syncer.model import Digest, MetaPath, Region
from syncer.plan.diffing import fingerprint
from syncer.plan.operations import Plan, planned
from syncer.planning.repair_file import Finding, RepairFile
from syncer.planning.repairing import held_back


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a repair was to change in one region.

    Args:
        snapshot: Id of the region's snapshot that was compared: what it held before.
        winners: Fingerprint of the version that each path was given; ``None``: it was deleted.
    """

    snapshot: str
    winners: Mapping[MetaPath, Digest | None]


def given_to(region: Region, file: RepairFile) -> Given:
    """What a repair plan gives a region. In memory: some hundred bytes for each path.

    Raises:
        PlanInvalid: The file is no repair plan, or is damaged, or changes nothing in the region.
        PreconditionFailed: The region is not in it, or the file cannot be read.
    """
    with file.reading() as (head, findings):
        snapshots = {each.region: each.snapshot for each in head.regions}
        if region not in snapshots:
            raise PreconditionFailed(
                f"{file.path} compares {', '.join(sorted(snapshots))}, and not region {region}",
                hint="Name the configuration of one of these: each region takes back its own.",
            )
        winners = {each.path: _winner(each) for each in findings if region in each.losers and not _never_told(each)}
    if not winners:
        raise PlanInvalid(
            f"{file.path} changes nothing in region {region}",
            hint="Look at it with 'syncer snapshot sync --dry-run'; the region that it changes takes it back.",
        )
    return Given(snapshot=snapshots[region], winners=winners)


def still_standing(found: Plan, given: Given) -> tuple[Plan, list[MetaPath]]:
    """Narrow a plan down to what the repair has done.

    Args:
        found: What would bring the region back to its snapshot; of no other paths than the repair's.
        given: What the repair was to change.

    Returns:
        The plan of those paths that hold the repair's version, and the other paths of ``found``: somebody has changed
        them since, or the repair never reached them.
    """
    stands = {
        each.path for each in found.operations if _fingerprint(each.path, each.before) == given.winners[each.path]
    }
    others = sorted(each.path for each in found.operations if each.path not in stands)
    plan = planned(
        region=found.region,
        source=f"before the repair: {found.source}",
        made_at_ms=found.made_at_ms,
        operations=(each for each in found.operations if each.path in stands),
        left=found.left,
    )
    return plan, others


def _never_told(finding: Finding) -> bool:
    return finding.event is None or held_back(finding)


def _winner(finding: Finding) -> Digest | None:
    return None if finding.event is None else _fingerprint(finding.path, finding.event.value)


def _fingerprint(path: MetaPath, value: bytes | None) -> Digest | None:
    return None if value is None else fingerprint(path, value)
