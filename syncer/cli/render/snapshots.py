"""Rendering of snapshots and of what differs between them: rows for operators, documents for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast

from syncer.cli.render import output
from syncer.cli.render.output import say
from syncer.documents.snapshots import (
    ChangedDocument,
    CountsDocument,
    DifferenceDocument,
    FieldDocument,
    RepairPlanDocument,
    SharedPathsDocument,
    SnapshotChangesDocument,
    SnapshotDiffDocument,
    SnapshotDocument,
)
from syncer.documents.words import counted, moment, stamped_apart
from syncer.model import MetaPath
from syncer.paths import classify

if TYPE_CHECKING:
    from spark_snapshot.diff.fields import Differences
    from spark_snapshot.diff.summary import ClassCounts
    from spark_snapshot.format.extent import Extent
    from spark_snapshot.format.layout import Snapshot
    from spark_snapshot.jobs.compare import Compared, RegionChanges
    from spark_snapshot.report.page import ReportedPath


def snapshot_document(found: Snapshot) -> SnapshotDocument:
    """A snapshot as the contract has it."""
    manifest = found.manifest
    about, kinds = manifest.about, manifest.kinds
    return SnapshotDocument(
        id=found.id,
        region=found.region,
        place=str(found.place),
        extent=_tenants(found.extent),
        taken_at_ms=about.taken_at_ms,
        made_by=about.made_by,
        store=about.store.kind,
        store_id=about.store.identity,
        revision_before=about.store.revision_before,
        revision_after=about.store.revision_after,
        registers=about.registers,
        watermark=about.watermark,
        alive={kind: count.alive for kind, count in kinds.items()},
        dead=manifest.dead,
        unseen=sum(each.unseen for each in kinds.values()),
        unstamped=sum(each.unstamped for each in kinds.values()),
        held=sum(each.held for each in kinds.values()),
        files=len(manifest.files),
        size_bytes=sum(each.bytes for each in manifest.files),
    )


def snapshot_facts(found: SnapshotDocument) -> list[tuple[str, object]]:
    """A snapshot for people."""
    facts: list[tuple[str, object]] = [
        ("snapshot", found.id),
        ("region", found.region),
        ("place", found.place),
        ("extent", _extent(found)),
        ("taken", moment(found.taken_at_ms)),
        ("store", " ".join(word for word in (found.store, found.store_id) if word)),
    ]
    if found.revision_after:
        facts.append(("revision", f"{found.revision_before} to {found.revision_after}"))
    facts += [(kind, count) for kind, count in found.alive.items()]
    facts += [
        ("tombstones", found.dead),
        ("registers", "took part" if found.registers else "none: no stamp is the group's"),
        ("not taken yet", f"{found.unseen} changes that the daemon had not taken"),
        ("unstamped", found.unstamped),
        ("held", found.held),
        ("size", f"{found.size_bytes} bytes in {found.files} files"),
    ]
    return facts


def snapshot_rows(items: Sequence[SnapshotDocument]) -> list[output.Row]:
    """Snapshots, one line each."""
    return [
        (
            each.region,
            each.id,
            moment(each.taken_at_ms),
            _extent(each),
            sum(each.alive.values()),
            each.dead,
            each.unseen + each.unstamped,
            each.held,
            each.registers,
            each.size_bytes,
        )
        for each in items
    ]


SNAPSHOT_HEADINGS = (
    "region",
    "snapshot",
    "taken",
    "extent",
    "alive",
    "dead",
    "unstamped",
    "held",
    "registers",
    "bytes",
)


def diff_document(found: Compared, *, plan: str | None, report: str | None) -> SnapshotDiffDocument:
    """A comparison of regions as the contract has it."""
    summary = found.summary
    return SnapshotDiffDocument(
        snapshots=[snapshot_document(each) for each in found.snapshots],
        different=summary.different,
        same=summary.same,
        by_class=dict(summary.by_class),
        kinds=_counts(summary.kinds),
        tenants=_counts(summary.tenants),
        more_tenants=summary.more_tenants,
        winners=dict(summary.winners),
        losers=dict(summary.losers),
        origins=dict(summary.origins),
        reasons=dict(summary.reasons),
        holds=dict(summary.holds),
        notes=list(found.notes),
        extent=_tenants(found.selection.within),
        excluded=summary.excluded,
        unshared_paths=summary.unshared,
        pairs=[
            SharedPathsDocument(
                regions=list(each.regions),
                shared_class=each.label,
                shared_paths=each.shared,
                unshared_paths=each.unshared,
            )
            for each in summary.pairs
        ],
        items=[_difference(each) for each in found.findings],
        plan=None
        if plan is None or found.plan is None
        else RepairPlanDocument(
            file=plan, paths=found.plan.paths, deletes=found.plan.deletes, unstamped=found.plan.unstamped
        ),
        report=report,
    )


def show_diff(found: SnapshotDiffDocument) -> None:
    """A comparison of regions for people."""
    output.table(
        ("class", "resource", "name", "newest in", "by", "would change"),
        [
            (
                each.cls if each.underlying is None else f"{each.cls} ({each.underlying})",
                each.resource,
                _name(each.path),
                each.winner,
                each.reason if each.origin == "register" else f"{each.reason}, {each.origin}",
                ", ".join(f"{loser} (held)" if loser in each.holds else loser for loser in each.losers),
            )
            for each in found.items
        ],
        empty="no difference",
    )
    for item in found.items:
        _show_fields(item.path, item.fields, sorted(each.region for each in found.snapshots))
    if found.different > len(found.items):
        say(f"… and {found.different - len(found.items)} more; --limit names more, --report shows all in numbers")
    classes = ", ".join(f"{count} {name}" for name, count in found.by_class.items() if count) or "none"
    say(f"{found.same} paths are the same; different: {classes}")
    for kind in found.kinds:
        say(f"  {kind.name}: {', '.join(f'{count} {name}' for name, count in kind.by_class.items() if count)}")
    if found.excluded:
        say(f"{counted(found.excluded, 'path')} excluded: only fields differ that a region has for itself")
    for pair in found.pairs:
        shared = counted(pair.shared_paths, "shared path")
        say(f"{' and '.join(pair.regions)}: {shared}, {pair.unshared_paths} not shared")
    for note in found.notes:
        say(f"note: {note}")
    if found.report is not None:
        say(f"wrote {found.report}")
    if found.plan is not None:
        say(
            f"wrote {found.plan.file}: {found.plan.paths} paths, {found.plan.deletes} deletes, {found.plan.unstamped} "
            f"without a stamp; look at it with: syncer snapshot sync {found.plan.file} --dry-run"
        )


def changes_document(found: RegionChanges) -> SnapshotChangesDocument:
    """What one region changed, as the contract has it."""
    return SnapshotChangesDocument(
        before=snapshot_document(found.before),
        after=snapshot_document(found.after),
        extent=_tenants(found.selection.within),
        unshared_paths=found.unshared,
        counts=dict(found.counts),
        items=[
            ChangedDocument(
                path=each.path,
                resource=each.kind,
                change=cast("Literal['created', 'modified', 'deleted']", each.change),
                stamp=None if each.stamp is None else str(each.stamp),
                fields=_fields(each.fields),
            )
            for each in found.changes
        ],
    )


def show_changes(found: SnapshotChangesDocument) -> None:
    """What one region changed, for people."""
    signs = {"created": "+", "modified": "~", "deleted": "-"}
    output.table(
        ("", "resource", "name", "when", "by"),
        [(signs[each.change], each.resource, _name(each.path), *_when(each.stamp)) for each in found.items],
        empty="nothing was changed",
    )
    for item in found.items:
        _show_fields(item.path, item.fields, ("before", "after"))
    if found.extent is not None:
        say(f"note: Compared is only what both snapshots hold: {', '.join(f'tenant {each}' for each in found.extent)}.")
    if found.unshared_paths:
        say(f"note: {counted(found.unshared_paths, 'path')} not shared: the scope was another one at one of the times.")
    total = sum(found.counts.values())
    if total > len(found.items):
        say(f"… and {total - len(found.items)} more; --limit names more")
    say(
        f"{found.after.region}, {moment(found.before.taken_at_ms)} to {moment(found.after.taken_at_ms)}: "
        + ", ".join(f"{count} {name}" for name, count in found.counts.items())
    )


def _tenants(extent: Extent) -> list[str] | None:
    return None if extent.tenants is None else sorted(extent.tenants)


def _extent(found: SnapshotDocument) -> str:
    return "all" if found.extent is None else ", ".join(f"tenant {each}" for each in found.extent)


def _when(stamp: str | None) -> tuple[str, str]:
    if stamp is None:
        return "-", "-"
    return stamped_apart(stamp)


def _difference(each: ReportedPath) -> DifferenceDocument:
    return DifferenceDocument(
        path=each.path,
        resource=each.kind,
        cls=cast("Literal['only-in', 'differs', 'deleted', 'held']", each.of_class),
        underlying=each.underlying or None,
        winner=each.winner,
        stamp=str(each.stamp),
        origin=cast("Literal['register', 'unseen', 'store']", each.origin),
        reason=each.reason,
        losers=list(each.losers),
        holds=dict(each.holds),
        fields=_fields(each.fields),
    )


def _fields(found: Differences | None) -> list[FieldDocument] | None:
    if found is None:
        return None
    return [
        FieldDocument(pointer=each.pointer, local=local, excluded=excluded, values=dict(each.values))
        for local, excluded, fields in (
            (False, False, found.replicated),
            (True, False, found.local),
            (False, True, found.excluded),
        )
        for each in fields
    ]


def _show_fields(path: str, fields: Sequence[FieldDocument] | None, order: Sequence[str]) -> None:
    """Fields that differ, with a column for each that holds the path, in this order."""
    if not fields:
        return
    output.out("")
    output.out(path)
    holding = [name for name in order if any(name in each.values for each in fields)]
    output.table(
        ("field", *holding),
        [(f"{each.pointer or '(whole)'}{_whose(each)}", *(each.values.get(of) for of in holding)) for each in fields],
    )


def _whose(each: FieldDocument) -> str:
    return " (local)" if each.local else " (excluded)" if each.excluded else ""


def _counts(found: Sequence[ClassCounts]) -> list[CountsDocument]:
    return [CountsDocument(name=each.name, by_class=dict(each.by_class)) for each in found]


def _name(path: str) -> str:
    resource = classify(MetaPath(path))
    return path if resource is None else resource.name
