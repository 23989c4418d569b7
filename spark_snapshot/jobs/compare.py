"""The job that compares: snapshots in, what differs out, as numbers, as rows to read, as a plan to repair it.

Of different regions the greatest stamp wins; of one region at two times the later one is what it holds. Either way only
that is judged which the scopes of both carry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation, Row
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from spark_snapshot.diff import history, picking
from spark_snapshot.diff.carried import parted, shared_rows
from spark_snapshot.diff.comparison import compared, compared_rows
from spark_snapshot.diff.excluded import ExcludedFields
from spark_snapshot.diff.fields import Differences, differences, differing_parts
from spark_snapshot.diff.sharing import NOT_SHARED, carrying, shared_paths
from spark_snapshot.diff.summary import Summary, summarised
from spark_snapshot.diff.unknown import UncompletedSides, changed_surely, judged_anew
from spark_snapshot.diff.values import with_winners
from spark_snapshot.format import tables
from spark_snapshot.format.extent import Extent, shared
from spark_snapshot.format.layout import Snapshot, comparable
from spark_snapshot.format.selection import Selection
from spark_snapshot.format.words import EXCLUDED, StampOrigin
from spark_snapshot.jobs.notes import notes_of
from spark_snapshot.report.page import ReportedPath
from spark_snapshot.runtime.phases import Job
from spark_snapshot.runtime.session import fit
from syncer.conflict.classes.pairs import RegionScopes
from syncer.conflict.classes.telling import told_rules
from syncer.conflict.scope import Scope
from syncer.errors import InvariantBroken, PreconditionFailed
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
from syncer.replacing import replace

DEFAULT_SHOWN: Final = 1_000
"""Paths that are named one by one; all are counted."""


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
        unshared: Paths that are not counted, since only one of the snapshots' scopes carries them.
    """

    before: Snapshot
    after: Snapshot
    selection: Selection
    counts: Mapping[str, int]
    changes: tuple[PathChange, ...]
    unshared: int = 0


def compare(job: Job, snapshots: Sequence[Snapshot], wish: CompareOptions, *, now: Millis, made_by: str) -> Compared:
    """Compare regions.

    Args:
        job: Where, and who is told.
        snapshots: One of each region.
        wish: What is wanted.
        now: The time of the plan.
        made_by: Program and version.

    Raises:
        SnapshotsIncomparable: See :func:`spark_snapshot.format.layout.comparable`.
        SnapshotDamaged: A path is there twice.
        JobCancelled: It was asked to stop; no plan is left.
        PreconditionFailed: The plan cannot be written, or what is wished for is not in all of them.
    """
    ties = comparable(snapshots)
    of = {each.region: each for each in snapshots}
    scopes, judged_by = _scopes(of), _compared_by(of)
    carriers = carrying(scopes)
    if wish.plan is not None and carriers is not None:
        check_told(scopes)
    selection = _within(snapshots, wish.selection)
    all_of_each = not selection.named and all(each.extent == selection.within for each in snapshots)
    regions = _rows(job, snapshots, selection)
    what = f"comparing {' and '.join(sorted(regions))}"
    with ExitStack() as kept:
        with job.phase("compare", what, expected_rows=_total(snapshots, all_of_each=all_of_each)):
            seen = Observation()
            if all_of_each:
                found = compared(job.session, of, ties, carriers=carriers, observed=seen)
            else:
                found = compared_rows(regions, ties, carriers, observed=seen)
            found, tally = _kept(found, kept), dict[str, int]()
            if carriers is not None:
                found, tally = parted(found)
            different, excluded = found.count(), 0
            if judged_by.unknown:
                every = _kept(judged_anew(found, regions, judged_by, ties, carriers), kept)
                found = every.where(F.col("class") != EXCLUDED)
                different = found.count()
                excluded = every.count() - different
        with job.phase("summarise", f"{what}: counting"):
            living, unshared = seen.get["living"], tally.get(NOT_SHARED, 0)
            summary = summarised(
                found,
                living - different - excluded - unshared,
                excluded=excluded,
                unshared=unshared,
                pairs=() if carriers is None else shared_paths(scopes, tally, living),
            )
            first = found.orderBy("path").limit(wish.shown).collect()
        values: Mapping[MetaPath, Mapping[str, bytes]] = {}
        if wish.fields and first:
            with job.phase("fields", f"{what}: reading what differs"):
                values = picking.living([row["path"] for row in first], regions)
        totals = None
        if wish.plan is not None:
            with job.phase("plan", f"{what}: writing the plan"):
                head = _head(snapshots, selection.within, scopes, now=now, made_by=made_by)
                changing = found if carriers is None else found.where(F.size("losers") > 0)
                totals = repair_file.write(wish.plan, head, _tellings(job, changing, regions))
    return Compared(
        snapshots=tuple(sorted(snapshots, key=lambda each: each.region)),
        selection=selection,
        summary=summary,
        findings=tuple(_finding(row, values if wish.fields else None, judged_by) for row in first),
        plan=totals,
        notes=tuple(notes_of(snapshots, selection, scopes)),
    )


def between(job: Job, before: Snapshot, after: Snapshot, wish: CompareOptions) -> RegionChanges:
    """Find what a region changed between two snapshots.

    Raises:
        SnapshotsIncomparable: See :func:`spark_snapshot.format.layout.comparable`.
        PreconditionFailed: What is wished for is not in both.
    """
    comparable([before, after], one_region=True)
    of = {"before": before, "after": after}
    carriers, judged_by = carrying(_scopes(of)), _compared_by(of)
    selection = _within([before, after], wish.selection)
    earlier, later = (picking.selected(tables.rows(job.session, each), selection) for each in (before, after))
    fit(job.session, before.manifest.rows + after.manifest.rows)
    what = f"what {after.region} changed from {before.id} to {after.id}"
    with ExitStack() as kept:
        with job.phase("compare", what, expected_rows=_total([before, after], all_of_each=selection.everything)):
            found, unshared = history.changes(earlier, later), 0
            if carriers is not None:
                every = _kept(found, kept)
                found = _kept(shared_rows(every, carriers), kept)
                unshared = every.count() - found.count()
            if judged_by.unknown:
                found = changed_surely(found, earlier, later, judged_by)
            found = _kept(found, kept)
            counts = {row["change"]: row["count"] for row in found.groupBy("change").count().collect()}
            first = found.orderBy("path").limit(wish.shown).collect()
        values: Mapping[MetaPath, Mapping[str, bytes]] = {}
        if wish.fields and first:
            with job.phase("fields", f"{what}: reading it"):
                paths = [row["path"] for row in first]
                values = picking.living(paths, {"before": earlier, "after": later})
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
                fields=_fields(row, values, judged_by, "after") if wish.fields else None,
            )
            for row in first
        ),
        unshared=unshared,
    )


def check_told(scopes: RegionScopes) -> None:
    """Refuse a plan whose readers could not be told who carries what.

    Raises:
        PreconditionFailed: The rules of a region are too many, or too long.
    """
    for region, scope in sorted(scopes.scopes.items()):
        if not told_rules(scope):
            raise PreconditionFailed(
                f"the rules of region {region} are too many, or too long, to be told in a plan",
                hint="Say the same with fewer rules and wildcards; without --plan they are compared all the same.",
            )


def _scopes(snapshots: Mapping[str, Snapshot]) -> RegionScopes:
    """The scopes that snapshots were taken by."""
    return RegionScopes(
        {Region(name): Scope(each.manifest.about.rules, told=True) for name, each in sorted(snapshots.items())}
    )


def _compared_by(snapshots: Mapping[str, Snapshot]) -> UncompletedSides:
    """Which snapshots were not completed, and what these have for themselves."""
    blind = {name: each.manifest.about for name, each in sorted(snapshots.items()) if not each.manifest.about.registers}
    own = tuple((name, about.own_fields) for name, about in blind.items() if about.own_fields)
    return UncompletedSides(unknown=frozenset(blind), excluded=ExcludedFields(own))


def _kept(rows: DataFrame, kept: ExitStack) -> DataFrame:
    """Rows that are computed once, and let go with the rest."""
    rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
    kept.callback(rows.unpersist)
    return rows


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


def _finding(
    row: Row, values: Mapping[MetaPath, Mapping[str, bytes]] | None, judged_by: UncompletedSides
) -> ReportedPath:
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
        fields=None if values is None else _fields(row, values, judged_by, row["winner"]),
    )


def _fields(
    row: Row, values: Mapping[MetaPath, Mapping[str, bytes]], judged_by: UncompletedSides, first: str
) -> Differences:
    path, kind = MetaPath(row["path"]), ResourceKind(row["kind"])
    whole = judged_by.meant(path, values.get(path, {}), first)
    found = differences(kind, judged_by.excluded.left_out(path, whole, first))
    own = frozenset[str]().union(*(judged_by.excluded.at(path, name) for name in whole))
    return replace(found, excluded=differing_parts(kind, whole, own)) if own else found


def _head(
    snapshots: Sequence[Snapshot], extent: Extent, scopes: RegionScopes, *, now: Millis, made_by: str
) -> repair_file.Head:
    about = snapshots[0].manifest.about
    return repair_file.Head(
        scope=about.scope_fingerprint if scopes.alike else "",
        scopes=None if scopes.alike else {region: told_rules(scope) for region, scope in scopes.scopes.items()},
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
