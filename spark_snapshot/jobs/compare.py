"""The job that compares: snapshots in, what differs out, as numbers, as rows to read, as a plan to repair it.

Of different regions the greatest stamp wins; of one region at two times the later one is what it holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation, Row

from spark_snapshot.diff import history, picking
from spark_snapshot.diff.comparison import compared
from spark_snapshot.diff.fields import Differences, differences
from spark_snapshot.diff.regions import diff
from spark_snapshot.diff.summary import Summary, summarised
from spark_snapshot.diff.unknown import changed_surely, judged_anew, meant
from spark_snapshot.diff.values import with_winners
from spark_snapshot.format import tables
from spark_snapshot.format.extent import Extent, shared
from spark_snapshot.format.layout import Snapshot, comparable
from spark_snapshot.format.selection import Selection
from spark_snapshot.format.words import StampOrigin
from spark_snapshot.report.page import ReportedPath
from spark_snapshot.runtime.phases import Job
from spark_snapshot.runtime.session import fit
from syncer.errors import InvariantBroken
from syncer.model import (
    Counter,
    EventType,
    MetadataChangeEvent,
    MetaPath,
    Millis,
    Region,
    ResourceKind,
    Stamp,
)
from syncer.paths import classify
from syncer.repair import repair_file

DEFAULT_SHOWN: Final = 1_000
"""Paths that are named one by one; all are counted."""

_APART_MS: Final = 60_000
"""Snapshots that were taken so far apart show what was changed between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """What is wanted of a comparison.

    Args:
        selection: The part of the regions that is looked at.
        shown: How many paths are named one by one, in their order.
        fields: Say of those which fields differ.
        plan: Write what a repair would tell into this file.
    """

    selection: Selection = field(default_factory=Selection)
    shown: int = DEFAULT_SHOWN
    fields: bool = False
    plan: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What a comparison of regions has found.

    Args:
        snapshots: What was compared.
        selection: The part of them that was looked at: what was wished for, as far as all of them reach.
        summary: In numbers.
        findings: The first paths, in their order.
        plan: What was written into the plan; ``None``: none was wanted.
        notes: What a reader should know before believing it.
    """

    snapshots: tuple[Snapshot, ...]
    selection: Selection
    summary: Summary
    findings: tuple[ReportedPath, ...]
    plan: repair_file.Totals | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathChange:
    """One path that a region changed between two moments. Without a stamp: it is gone without a tombstone."""

    path: str
    kind: str
    change: str
    stamp: Stamp | None
    fields: Differences | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionChanges:
    """What a region changed between two snapshots.

    Args:
        before: The earlier one.
        after: The later one.
        selection: The part of them that was looked at.
        counts: Paths by change.
        changes: The first, in order of the paths.
    """

    before: Snapshot
    after: Snapshot
    selection: Selection
    counts: Mapping[str, int]
    changes: tuple[PathChange, ...]


def compare(job: Job, snapshots: Sequence[Snapshot], wish: CompareOptions, *, now: Millis, made_by: str) -> Compared:
    """Compare regions.

    Args:
        job: Where, and who is told.
        snapshots: One of each region.
        wish: What is wanted.
        now: The time of the plan.
        made_by: Program and version.

    Raises:
        SnapshotsIncomparable: A region is there twice, they were taken by different rules, or have nothing in common.
        SnapshotDamaged: A path is there twice.
        JobCancelled: It was asked to stop; no plan is left.
        PreconditionFailed: The plan cannot be written, or what is wished for is not in all of them.
    """
    ties = comparable(snapshots)
    unknown = _unknown(snapshots)
    selection = _within(snapshots, wish.selection)
    all_of_each = not selection.named and all(each.extent == selection.within for each in snapshots)
    regions = _rows(job, snapshots, selection)
    what = f"comparing {' and '.join(sorted(regions))}"
    with job.phase("compare", what, expected_rows=_total(snapshots, all_of_each=all_of_each)):
        seen = Observation()
        if all_of_each:
            whole = {each.region: each for each in snapshots}
            found = compared(job.session, whole, ties, observed=seen)
        else:
            found = diff(regions, ties, observed=seen)
        found = found.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            different = found.count()
            if unknown:
                raw, found = found, judged_anew(found, regions, unknown, ties).persist(StorageLevel.MEMORY_AND_DISK)
                different = found.count()
                raw.unpersist()
        except BaseException:
            found.unpersist()
            raise
    try:
        with job.phase("summarise", f"{what}: counting"):
            summary = summarised(found, seen.get["living"] - different)
            first = found.orderBy("path").limit(wish.shown).collect()
        values: Mapping[MetaPath, Mapping[str, bytes]] = {}
        if wish.fields and first:
            with job.phase("fields", f"{what}: reading what differs"):
                values = picking.living([row["path"] for row in first], regions)
        totals = None
        if wish.plan is not None:
            with job.phase("plan", f"{what}: writing the plan"):
                head = _head(snapshots, selection.within, now=now, made_by=made_by)
                totals = repair_file.write(wish.plan, head, _tellings(job, found, regions))
    finally:
        found.unpersist()
    return Compared(
        snapshots=tuple(sorted(snapshots, key=lambda each: each.region)),
        selection=selection,
        summary=summary,
        findings=tuple(_finding(row, values if wish.fields else None, unknown) for row in first),
        plan=totals,
        notes=tuple(_notes(snapshots, selection)),
    )


def between(job: Job, before: Snapshot, after: Snapshot, wish: CompareOptions) -> RegionChanges:
    """Find what a region changed between two snapshots.

    Raises:
        SnapshotsIncomparable: They were taken by different rules, are the same one, or have nothing in common.
        PreconditionFailed: What is wished for is not in both.
    """
    comparable([before, after], one_region=True)
    selection = _within([before, after], wish.selection)
    earlier, later = (picking.selected(tables.rows(job.session, each), selection) for each in (before, after))
    fit(job.session, before.manifest.rows + after.manifest.rows)
    what = f"what {after.region} changed from {before.id} to {after.id}"
    with job.phase("compare", what, expected_rows=_total([before, after], all_of_each=selection.everything)):
        found = history.changes(earlier, later)
        if unknown := _unknown_moments(before, after):
            found = changed_surely(found, earlier, later, unknown)
        found = found.persist(StorageLevel.MEMORY_AND_DISK)
        counts = {row["change"]: row["count"] for row in found.groupBy("change").count().collect()}
        first = found.orderBy("path").limit(wish.shown).collect()
    values: Mapping[MetaPath, Mapping[str, bytes]] = {}
    if wish.fields and first:
        with job.phase("fields", f"{what}: reading it"):
            paths = [row["path"] for row in first]
            values = picking.living(paths, {"before": earlier, "after": later})
    found.unpersist()
    return RegionChanges(
        before=before,
        after=after,
        selection=selection,
        counts={name: counts.get(name, 0) for name in history.CHANGES},
        changes=tuple(
            PathChange(
                path=row["path"],
                kind=row["kind"],
                change=row["change"],
                stamp=None if row["updated_ms"] is None else Stamp(Millis(row["updated_ms"]), Region(row["author"])),
                fields=_fields(row, values, unknown, "after") if wish.fields else None,
            )
            for row in first
        ),
    )


def _unknown(snapshots: Sequence[Snapshot]) -> frozenset[str]:
    """Regions whose snapshots were not completed."""
    return frozenset(each.region for each in snapshots if not each.manifest.about.registers)


def _unknown_moments(before: Snapshot, after: Snapshot) -> frozenset[str]:
    of = {"before": before, "after": after}
    return frozenset(name for name, each in of.items() if not each.manifest.about.registers)


def _rows(job: Job, snapshots: Sequence[Snapshot], selection: Selection) -> dict[str, DataFrame]:
    fit(job.session, sum(each.manifest.rows for each in snapshots))
    return {
        each.region: picking.selected(tables.rows(job.session, each), selection)
        for each in sorted(snapshots, key=lambda each: each.region)
    }


def _within(snapshots: Sequence[Snapshot], selection: Selection) -> Selection:
    """A selection as far as all of the snapshots reach: outside of it one of them says nothing."""
    return selection.inside(shared(each.extent for each in snapshots))


def _total(snapshots: Sequence[Snapshot], *, all_of_each: bool) -> int | None:
    """Rows that are read: paths and digests once, then what decides; nobody knows how many a selection leaves."""
    return 2 * sum(each.manifest.rows for each in snapshots) if all_of_each else None


def _finding(row: Row, values: Mapping[MetaPath, Mapping[str, bytes]] | None, unknown: frozenset[str]) -> ReportedPath:
    return ReportedPath(
        path=row["path"],
        kind=row["kind"],
        of_class=row["class"],
        underlying=row["underlying"] or "",
        winner=row["winner"],
        stamp=Stamp(Millis(row["winner_ms"]), Region(row["winner_author"])),
        reason=row["reason"],
        origin=row["origin"],
        losers=tuple(row["losers"]),
        holds=tuple(sorted((row["holds"] or {}).items())),
        fields=None if values is None else _fields(row, values, unknown, row["winner"]),
    )


def _fields(
    row: Row, values: Mapping[MetaPath, Mapping[str, bytes]], unknown: frozenset[str], first: str
) -> Differences:
    held = values.get(row["path"], {})
    if unknown:
        held = meant(MetaPath(row["path"]), held, unknown, first)
    return differences(ResourceKind(row["kind"]), held)


def _head(snapshots: Sequence[Snapshot], extent: Extent, *, now: Millis, made_by: str) -> repair_file.Head:
    about = snapshots[0].manifest.about
    return repair_file.Head(
        scope=about.scope_fingerprint,
        tie_order=about.ties.value,
        projections=about.projections,
        regions=tuple(
            repair_file.RegionPart(region=each.region, snapshot=each.id, taken_at_ms=each.manifest.about.taken_at_ms)
            for each in sorted(snapshots, key=lambda each: each.region)
        ),
        made_at_ms=now,
        made_by=made_by,
        tenants=None if extent.tenants is None else tuple(sorted(extent.tenants)),
    )


def _tellings(job: Job, found: DataFrame, regions: Mapping[str, DataFrame]) -> Iterator[repair_file.DifferingPath]:
    """What a plan says of each path, in order; a partition of values at a time is in memory."""
    won = (
        with_winners(found, regions)
        .join(picking.written(found, regions), "path", "left")
        .persist(StorageLevel.MEMORY_AND_DISK)
    )
    try:
        for row in won.orderBy("path").toLocalIterator():
            job.cancel.check()
            yield repair_file.DifferingPath(
                path=MetaPath(row["path"]),
                found_in=Region(row["winner"]),
                cls=row["class"],
                losers=tuple(map(Region, row["losers"])),
                held={Region(region): why for region, why in sorted((row["holds"] or {}).items())},
                written_ms={Region(region): at for region, at in sorted((row["written"] or {}).items())},
                event=_event(row) if row["origin"] == StampOrigin.REGISTER.value else None,
                origin=row["origin"],
            )
    finally:
        won.unpersist()


def _event(row: Row) -> MetadataChangeEvent:
    path = MetaPath(row["path"])
    resource = classify(path)
    if (row["value"] is None) != (row["winner_digest"] is None):
        raise InvariantBroken(f"{path}: the snapshot of {row['winner']} has not the value that its digest is of")
    return MetadataChangeEvent(
        type=EventType.DELETED if row["value"] is None else EventType.MODIFIED,
        resource=ResourceKind(row["kind"]),
        resource_name=resource.name if resource is not None else "",
        path=path,
        value=None if row["value"] is None else bytes(row["value"]),
        stamp=Stamp(Millis(row["winner_ms"]), Region(row["winner_author"])),
        by=Counter(row["by"]),
        seen={Counter(name): Millis(time) for name, time in json.loads(row["seen"]).items()},
    )


def _notes(snapshots: Sequence[Snapshot], selection: Selection) -> Iterator[str]:
    ordered = sorted(snapshots, key=lambda each: each.region)
    if not selection.within.whole:
        narrow = ", ".join(f"{each.region} ({each.extent})" for each in ordered if not each.extent.whole)
        yield f"Compared is {selection}: no further reach the snapshots of {narrow}."
    blind = [each.region for each in ordered if not each.manifest.about.registers]
    if blind:
        yield (
            f"Taken without the registers of a daemon: {', '.join(blind)}. Whose version is the newest is there the "
            "word of the store's own clock (or of nobody, where it keeps none), and deletes are not known: this is a "
            "picture of what differs, not of what should be done. Such rows are never told to other regions. A field "
            "that not every version of Pulsar knows, and that is absent there, counts as unknown, not as removed: its "
            "brokers may have dropped it, and its daemon may keep it."
        )
    for each in ordered:
        unstamped = sum(count.unstamped for count in each.manifest.kinds.values())
        if unstamped and each.manifest.about.registers:
            yield (
                f"{each.region}: its daemon has no register of {unstamped:,} resources; the store's own time stands "
                "in for their stamps (none, where it keeps none), and they are never told to other regions."
            )
        unseen = sum(count.unseen for count in each.manifest.kinds.values())
        if unseen:
            yield (
                f"{each.region}: its daemon had not taken {unseen:,} changes in its store yet when the snapshot was "
                "taken; their stamps are what it would give them at least."
            )
    times = [each.manifest.about.taken_at_ms for each in ordered]
    apart_ms = max(times) - min(times)
    if apart_ms > _APART_MS:
        yield (
            f"The snapshots were taken {apart_ms / 60_000:,.0f} minutes apart: what was changed between them differs "
            "here, and may be equal by now. A repair does no harm to it: what is later wins."
        )
