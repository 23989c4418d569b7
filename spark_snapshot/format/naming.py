"""Names of snapshots as operators give them: a folder, an id or its beginning, a region's newest or an older one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from spark_snapshot.format.extent import WHOLE, Extent
from spark_snapshot.format.layout import FolderListing, Snapshot, is_id, new_id, open_snapshot, snapshots_in
from spark_snapshot.format.manifest import MANIFEST
from spark_snapshot.format.places import Place, place
from syncer.config.durations import parse_duration
from syncer.errors import NotFound, PreconditionFailed
from syncer.model import Millis

_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LEAST_BEGINNING: Final = 8
"""Letters of an id that are enough to look for it: the day."""


def named(word: str, folder: Place | None, *, asked: Extent = WHOLE) -> Snapshot:
    """Open the snapshot that a word means.

    Args:
        word: A folder's absolute path or URI; else, in ``folder``: an id or its beginning, or a region for its newest.
        folder: Where snapshots lie.
        asked: Of a region the newest that holds all of this; the newest of all, if none does.

    Raises:
        NotFound: There is none.
        PreconditionFailed: Several begin like that.
        SnapshotError: It cannot be used.
    """
    if word.startswith("/") or "://" in word:
        return open_snapshot(word)
    if folder is None:
        raise PreconditionFailed(
            f"{word!r} is no absolute path, and no folder is known to look for it",
            hint="Name the folder with --folder, or set 'snapshots.folder'.",
        )
    listed = snapshots_in(folder)
    if any(each.region == word for each in listed.snapshots):
        return _newest(snapshots_in(folder, word), asked)
    begun = [each for each in listed.snapshots if each.id.startswith(word) and len(word) >= _LEAST_BEGINNING]
    if len(begun) > 1:
        raise PreconditionFailed(
            f"{len(begun)} snapshots begin with {word!r}: {begun[0].id} of {begun[0].region}, …",
            hint="Give more of its name, or its folder.",
        )
    if begun:
        return open_snapshot(begun[0].place)
    for where, why in listed.broken:
        if where.name == word or (is_id(where.name) and len(word) >= _LEAST_BEGINNING and where.name.startswith(word)):
            raise why
    raise NotFound(f"no region and no snapshot {word!r} in {folder}", hint="See 'syncer snapshot list'.")


def before(folder: Place, region: str, moment: Millis, *, asked: Extent = WHOLE) -> Snapshot:
    """Open the newest snapshot of a region that was taken at a moment or before it; ``asked`` as for :func:`named`.

    Raises:
        NotFound: There is none so old.
    """
    found = snapshots_in(folder, region)
    until = new_id(moment, "ffffff")
    older = FolderListing(
        snapshots=tuple(each for each in found.snapshots if each.id <= until),
        broken=tuple(each for each in found.broken if each[0].name <= until),
        unfinished=(),
    )
    if not older.snapshots:
        said = f"the oldest is {found.snapshots[0].id}" if found.snapshots else "there is none at all"
        raise NotFound(
            f"no snapshot of region {region} in {folder} is from {as_text(moment)} or before; {said}",
            hint="See 'syncer snapshot list'.",
        )
    return _newest(older, asked)


def removable(word: str, folder: Place | None) -> Place:
    """Find a snapshot that is to be removed, whether it can be used or not.

    Args:
        word: Its folder's absolute path or URI; else, in ``folder``, its whole id.
        folder: Where snapshots lie.

    Raises:
        NotFound: There is none.
        PreconditionFailed: Several regions have one of this name.
    """
    if word.startswith("/") or "://" in word:
        here = place(word)
        if is_id(here.name) and (here / MANIFEST).exists():
            return here
        raise NotFound(f"{here} is no snapshot", hint="See 'syncer snapshot list'.")
    listed = snapshots_in(folder) if folder is not None else FolderListing(snapshots=(), broken=(), unfinished=())
    there = (*(each.place for each in listed.snapshots), *(where for where, _ in listed.broken))
    found = [each for each in there if each.name == word]
    if not found:
        raise NotFound(f"no snapshot {word!r} in {folder}", hint="Give its whole id, see 'syncer snapshot list'.")
    if len(found) > 1:
        raise PreconditionFailed(f"{len(found)} snapshots are named {word}", hint="Give the folder of the one.")
    return found[0]


def _newest(found: FolderListing, asked: Extent) -> Snapshot:
    """Open the newest; never an older one in place of one that cannot be used."""
    newest = ([each for each in found.snapshots if each.extent.includes(asked)] or found.snapshots)[-1]
    for where, why in sorted(found.broken, key=lambda each: each[0].name, reverse=True):
        if where.name > newest.id:
            raise why
    return open_snapshot(newest.place)


def moment_of(text: str, now: datetime) -> Millis:
    """Read the moment that is meant: ISO 8601, a duration ago (``2d``), or a day of the week (its last midnight, UTC).

    Raises:
        PreconditionFailed: It is none of these.
    """
    word = text.strip().lower()
    if word in _WEEKDAYS:
        midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return _millis(midnight - timedelta(days=(midnight.weekday() - _WEEKDAYS.index(word)) % 7))
    try:
        ago = parse_duration(word)
        moment = now - ago if ago is not None else datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError) as exc:
        raise PreconditionFailed(
            f"{text!r} is no moment", hint="Write it like 2026-11-16, 2026-11-16T08:00Z, 36h, or Monday."
        ) from exc
    return _millis(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))


def as_text(moment: Millis) -> str:
    """A moment as people read it."""
    return datetime.fromtimestamp(moment / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _millis(moment: datetime) -> Millis:
    return Millis(int(moment.timestamp() * 1000))
