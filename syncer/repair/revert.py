"""Revert a repair in one region: to what its snapshot holds, and only where the repair's version still stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from syncer.errors import PreconditionFailed
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Region, Stamp
from syncer.plan.diffing import Picture, fingerprint
from syncer.plan.operations import Plan, planned
from syncer.repair.preview import held_back
from syncer.repair.repair_file import RepairFile

StampOf = Callable[[MetaPath], Stamp | None]
"""The stamp of the version that the region knows of a path; ``None`` where it knows none."""


class Winner(NamedTuple):
    """The version that a repair gives a path.

    Args:
        digest: Fingerprint of its value; ``None``: a delete.
        stamp: Its own.
    """

    digest: Digest | None
    stamp: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a repair was to change in one region.

    Args:
        snapshot: Id of the region's snapshot that was compared: what it held before.
        winners: By path.
    """

    snapshot: str
    winners: Mapping[MetaPath, Winner]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reverse:
    """What takes a repair back.

    Args:
        plan: Back to the snapshot, of those paths where the repair's version stands.
        others: Paths that differ from the snapshot by another version: somebody has changed them since.
        unchanged: How many hold what the snapshot holds: the repair has not reached them, or was taken back there.
    """

    plan: Plan
    others: tuple[MetaPath, ...]
    unchanged: int


def given_to(region: Region, file: RepairFile) -> Given:
    """What a repair plan gives a region. In memory: some hundred bytes for each path.

    Raises:
        PlanInvalid: The file is no repair plan, or is damaged.
        PreconditionFailed: The region is not in it, it changes nothing there, or the file cannot be read.
    """
    with file.reading() as (head, findings):
        snapshots = {each.region: each.snapshot for each in head.regions}
        if region not in snapshots:
            raise PreconditionFailed(
                f"{file.path} compares {', '.join(sorted(snapshots))}, and not region {region}",
                hint="Name the configuration of one of these: each region takes back its own.",
            )
        winners = {
            each.path: _winner(each.event)
            for each in findings
            if region in each.losers and each.event is not None and not held_back(each)
        }
    if not winners:
        raise PreconditionFailed(
            f"{file.path} changes nothing in region {region}",
            hint="Look at it with 'syncer snapshot sync --dry-run'; the region that it changes takes it back.",
        )
    return Given(snapshot=snapshots[region], winners=winners)


def reverse_of(
    given: Given, found: Plan, standing: Picture, *, deletes: bool, stamp_of: StampOf | None = None
) -> Reverse:
    """Narrow a plan down to what the repair has done.

    Args:
        given: What the repair was to change.
        found: What would bring the region back to its snapshot, deletes included; of no other paths than the repair's.
        standing: What its paths hold now, as the group goes by it; a plan has own values of excluded fields.
        deletes: Delete what the repair has made; otherwise the plan names it as left.
        stamp_of: What the region knows; if nobody can say, a version is told by its value alone.
    """
    operations = [
        each
        for each in found.operations
        if _stands(each.path, standing.get(each.path), given.winners[each.path], stamp_of)
    ]
    stand = {each.path for each in operations}
    plan = planned(
        region=found.region,
        source=f"before the repair: {found.source}",
        made_at_ms=found.made_at_ms,
        operations=(each for each in operations if deletes or each.after is not None),
        left=(each.path for each in operations if not deletes and each.after is None),
    )
    return Reverse(
        plan=plan,
        others=tuple(sorted(each.path for each in found.operations if each.path not in stand)),
        unchanged=len(given.winners) - len(found.operations),
    )


def _stands(path: MetaPath, digest: Digest | None, winner: Winner, stamp_of: StampOf | None) -> bool:
    if digest != winner.digest:
        return False
    known = None if stamp_of is None else stamp_of(path)
    return known is None or known == winner.stamp


def _winner(event: MetadataChangeEvent) -> Winner:
    return Winner(None if event.value is None else fingerprint(event.path, event.value), event.stamp)
