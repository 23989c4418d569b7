"""Writing a snapshot: rows first, then what is known of them, and its name last.

Until the manifest stands in a folder of the snapshot's own name, no reader takes it for a snapshot. On a disk the
folder has another name until then; in an object store, where renaming is copying, the manifest alone decides. A folder
that was given up is cleared by the next one that is taken: on a disk a lock tells whether its writer still lives.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from spark_snapshot import tables
from spark_snapshot.files import bucket_of, examine
from spark_snapshot.layout import DATA, PARTIAL, Snapshot, is_id, latest, listing, new_id, region_folder
from spark_snapshot.manifest import MANIFEST, Count, Described, FileRecord, Manifest
from spark_snapshot.places import Place
from spark_snapshot.words import Origin
from syncer.errors import SnapshotDamaged, SnapshotRefused, SnapshotUnwritten

DEFAULT_BUCKETS: Final = 16
MANY: Final = 10
"""So many paths in the previous snapshot make an empty one suspicious."""

LOCK: Final = ".lock"
GIVEN_UP_AFTER_MS: Final = 24 * 3_600_000
"""In an object store there are no locks: an unfinished folder of this age is given up."""

_EXAMINERS: Final = 2


def write_snapshot(
    frame: DataFrame,
    folder: Place,
    described: Described,
    *,
    buckets: int = DEFAULT_BUCKETS,
    allow_empty: bool = False,
    completed: Callable[[Described], Described] = lambda described: described,
) -> Snapshot:
    """Write a snapshot and read back what was written.

    Args:
        frame: Rows of ``SNAPSHOT``, each path once. Whatever it raises goes through, and nothing is left.
        folder: Where snapshots lie.
        described: What is known of it before its rows are read.
        buckets: Files; snapshots that are compared should have equally many. One is in memory at a time, per core.
        allow_empty: Take it although the region holds nothing and the previous snapshot had many paths.
        completed: Adds what is known only when all rows are read (the store's revision of then).

    Raises:
        SnapshotRefused: The region holds nothing, see ``allow_empty``.
        SnapshotUnwritten: The place refuses files.
        SnapshotDamaged: A path was there twice, or what was written reads differently.
    """
    spark = frame.sparkSession
    home = region_folder(folder, described.region)
    with _refused(home):
        before = latest(folder, described.region)
        clear(folder, described.region, now_ms=described.taken_at_ms)
        with _draft(home, new_id(described.taken_at_ms, secrets.token_hex(3))) as draft:
            tables.write_buckets(frame, draft / DATA, buckets)
            files = _examined(draft / DATA)
            manifest = Manifest(
                id=_name(draft),
                taken_at=_moment(_name(draft)),
                about=completed(described),
                buckets=buckets,
                kinds={},
                files=files,
            )
            counted = _counted(spark, Snapshot(draft, manifest))
            manifest = manifest.model_copy(update={"kinds": counted}).sealed()
            _guard(manifest, before, allow_empty=allow_empty)
            return Snapshot(_publish(draft, home / manifest.id, manifest), manifest)


def clear(folder: Place, region: str, *, now_ms: int) -> list[Place]:
    """Remove what was given up unfinished; folders that somebody still writes are left. Says what was removed."""
    removed = []
    for each in listing(folder, region).unfinished:
        if each.local is None:
            if is_id(each.name) and each.name >= new_id(now_ms - GIVEN_UP_AFTER_MS, "000000"):
                continue
        elif not _lock_is_free(each.local):
            continue
        each.files.delete_dir(each.path)
        removed.append(each)
    return removed


@contextmanager
def _draft(home: Place, name: str) -> Iterator[Place]:
    """A folder that nobody takes for a snapshot; gone afterwards, unless it was published."""
    local = home.local
    draft = home / (name if local is None else f".{name}{PARTIAL}")
    draft.files.create_dir((draft / DATA).path)
    with contextlib.ExitStack() as stack:
        if local is not None and draft.local is not None:
            lock = os.open(draft.local / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            stack.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Spark makes the folder of the rows itself, and refuses one that is there.
        draft.files.delete_dir((draft / DATA).path)
        try:
            yield draft
        except BaseException:
            with contextlib.suppress(OSError):
                draft.files.delete_dir(draft.path)
            raise


def _lock_is_free(directory: Path) -> bool:
    try:
        lock = os.open(directory / LOCK, os.O_RDWR)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _examined(data: Place) -> tuple[FileRecord, ...]:
    """Read back what Spark has written, and remove what it has left beside."""
    names = data.file_names()
    buckets: dict[int, str] = {}
    for name in names:
        bucket = None if name.startswith(("_", ".")) else bucket_of(name)
        if bucket is None:
            data.files.delete_file((data / name).path)
        elif bucket in buckets:
            raise SnapshotDamaged(f"{data}: bucket {bucket} has two files, {buckets[bucket]} and {name}")
        else:
            buckets[bucket] = name
    with ThreadPoolExecutor(_EXAMINERS) as pool:
        return tuple(pool.map(lambda each: examine(data / each[1], each[0]), sorted(buckets.items())))


def _counted(spark: SparkSession, draft: Snapshot) -> dict[str, Count]:
    frame = tables.rows(spark, draft)
    found = frame.groupBy("kind").agg(
        F.count("digest").alias("alive"),
        F.count(F.when(F.col("digest").isNull(), 1)).alias("dead"),
        F.count(F.when(F.col("origin") == Origin.UNSEEN.value, 1)).alias("unseen"),
        F.count(F.when(F.col("origin") == Origin.STORE.value, 1)).alias("unstamped"),
        F.count("hold").alias("held"),
    )
    return {
        row["kind"]: Count(**{name: row[name] for name in Count.model_fields})
        for row in sorted(found.collect(), key=lambda row: str(row["kind"]))
    }


def _guard(manifest: Manifest, before: Snapshot | None, *, allow_empty: bool) -> None:
    had = before.manifest.alive if before is not None else 0
    if manifest.alive == 0 and had >= MANY and not allow_empty:
        raise SnapshotRefused(
            f"the store of region {manifest.about.region} holds nothing; the snapshot before had {had} paths"
        )


def _publish(draft: Place, target: Place, manifest: Manifest) -> Place:
    directory = draft.local
    if directory is None:
        with draft.files.open_output_stream((draft / MANIFEST).path) as stream:
            stream.write(manifest.text().encode())
        return draft
    for file in sorted((directory / DATA).iterdir()):
        _flush(file)
    with (directory / MANIFEST).open("x", encoding="utf-8", newline="\n") as stream:
        stream.write(manifest.text())
        stream.flush()
        os.fsync(stream.fileno())
    _flush(directory / DATA)
    (directory / LOCK).unlink()
    _flush(directory)
    directory.rename(target.path)
    _flush(Path(target.path).parent)
    return target


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _name(draft: Place) -> str:
    return draft.name.removeprefix(".").removesuffix(PARTIAL)


def _moment(name: str) -> str:
    return f"{name[:4]}-{name[4:6]}-{name[6:8]}T{name[9:11]}:{name[11:13]}:{name[13:15]}Z"


@contextmanager
def _refused(where: Place) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise SnapshotUnwritten(f"{where} cannot be written: {exc.strerror or exc}") from exc
