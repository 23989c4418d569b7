"""Retention of snapshots by region and extent: the latest, some more and young ones stay, others are deleted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spark_snapshot.format.extent import Extent
from spark_snapshot.format.layout import Snapshot, snapshots_in
from spark_snapshot.format.manifest import MANIFEST
from spark_snapshot.format.places import Place
from syncer.errors import PreconditionFailed

DAY_MS = 86_400_000


def expendable(
    snapshots: Iterable[Snapshot], *, now_ms: int, keep: int | None = None, keep_days: float | None = None
) -> list[Snapshot]:
    """Decide which snapshots may go. Pure.

    Args:
        snapshots: Of any regions; each is judged among those of its region and extent: one of a tenant takes no
            place of one of the whole region, nor the other way round.
        now_ms: Milliseconds since the epoch, UTC.
        keep: So many of the latest stay.
        keep_days: What is younger stays. With both, what either keeps stays. The latest always stays.

    Raises:
        PreconditionFailed: Neither is given, or one is not positive.
    """
    if (keep is None and keep_days is None) or (keep is not None and keep < 1) or (keep_days or 1) < 0:
        raise PreconditionFailed(
            "nothing says which snapshots to keep", hint="Say how many (at least 1), or how many days, or both."
        )
    alike: dict[tuple[str, Extent], list[Snapshot]] = {}
    for each in snapshots:
        alike.setdefault((each.region, each.extent), []).append(each)
    going: list[Snapshot] = []
    for group in alike.values():
        latest_first = sorted(group, key=lambda each: each.id, reverse=True)
        for each in latest_first[max(1, keep or 1) :]:
            age_ms = now_ms - each.manifest.about.taken_at_ms
            if keep_days is None or age_ms > keep_days * DAY_MS:
                going.append(each)
    return sorted(going, key=lambda each: (each.region, each.id))


def prune(
    folder: Place,
    *,
    now_ms: int,
    region: str | None = None,
    keep: int | None = None,
    keep_days: float | None = None,
    dry_run: bool = False,
) -> Sequence[Snapshot]:
    """Delete snapshots that need not be kept; what cannot be read is left for an operator.

    Returns:
        Those that went, or would go.

    Raises:
        PreconditionFailed: See :func:`expendable`.
    """
    going = expendable(snapshots_in(folder, region).snapshots, now_ms=now_ms, keep=keep, keep_days=keep_days)
    for each in going if not dry_run else ():
        remove(each.place)
    return going


def remove(where: Place) -> None:
    """Delete a snapshot, its manifest first: one that is half deleted is none."""
    manifest = where / MANIFEST
    if manifest.exists():
        where.files.delete_file(manifest.path)
    where.files.delete_dir(where.path)
