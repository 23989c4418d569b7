"""Errors of work on files: plans, backups, jobs on Spark, snapshots."""

from __future__ import annotations

from syncer.errors.base import SyncerError


class PlanError(SyncerError):
    """A plan cannot be used. Nothing was changed."""

    code = "plan-error"


class PlanInvalid(PlanError):
    """The file is no plan, is damaged, or was written by another version."""

    code = "plan-invalid"
    default_hint = "Make the plan again, with 'syncer diff --save'."


class PlanForeign(PlanError):
    """The plan was made for another region."""

    code = "plan-foreign"
    default_hint = "Name the configuration of the plan's own region with --config, or make a plan for this one."


class PlanStale(PlanError):
    """The store has changed since the plan was made; what no longer fits is not written."""

    code = "plan-stale"
    default_hint = "Make the plan again from what the store holds now ('syncer diff'), look at it, apply that one."


class BackupError(SyncerError):
    """A backup cannot be used. Nothing was changed."""

    code = "backup-error"


class BackupInvalid(BackupError):
    """The directory is no backup, or one that this version cannot read."""

    code = "backup-invalid"
    default_hint = "Name the directory that 'syncer backup create' made; it holds a MANIFEST.json."


class BackupDamaged(BackupError):
    """Files of the backup are missing, extra or changed."""

    code = "backup-damaged"
    default_hint = "See 'syncer backup verify' for every file; use another backup, or put the files back as they were."


class JobError(SyncerError):
    """A job on Spark failed. Nothing that it was writing is taken for a snapshot."""

    code = "job-failed"
    default_hint = "The cause stands in the message; with 'SPARK_LOG_LEVEL=info' Spark says more."


class DiskFull(JobError):
    """No room is left, or no file may become so large. Nothing that the job was writing is left."""

    code = "disk-full"
    default_hint = (
        "Make room where the snapshot is written, or name a larger directory for temporary files (--scratch)."
    )


class SparkMissing(JobError):
    """The packages that jobs on Spark need are not installed."""

    code = "spark-missing"
    default_hint = (
        "Install them: pip install 'pulsar-syncer[spark]', or what requirements/spark.lock pins. "
        "The daemon itself does not need them."
    )


class JavaMissing(JobError):
    """There is no Java, or it is too old for Spark."""

    code = "java-missing"
    default_hint = "Install Java 17 or newer (a headless runtime is enough) and put it on PATH, or set JAVA_HOME."


class JobCancelled(JobError):
    """The job was asked to stop. Nothing that it was writing is taken for a snapshot."""

    code = "job-cancelled"
    default_hint = "Start it again when it suits."


class SnapshotError(SyncerError):
    """A bulk snapshot cannot be taken or used. Nothing was changed, nothing is published."""

    code = "snapshot-error"


class SnapshotInvalid(SnapshotError):
    """The folder is no snapshot, an unfinished one, or one of a version that this program cannot read."""

    code = "snapshot-invalid"
    default_hint = "See 'syncer snapshot list' for those that can be used; what is unfinished is cleared by the next."


class SnapshotDamaged(SnapshotError):
    """Files of the snapshot are missing, extra, cut off or changed, or a path is there twice."""

    code = "snapshot-damaged"
    default_hint = "Name another snapshot by its id, or take a new one; remove this one: 'syncer snapshot remove ID'."


class SnapshotsIncomparable(SnapshotError):
    """The snapshots were not taken by the same rules, or a region is there twice. Nothing was compared."""

    code = "snapshots-incomparable"
    default_hint = "Take them anew, with the same order of ties and program version in all regions."


class SnapshotRefused(SnapshotError):
    """The store holds nothing, and the snapshot before had many paths. Nothing was kept."""

    code = "snapshot-refused"
    default_hint = "Check that the store is the right one; if it is meant to be empty, take it with --allow-empty."


class SnapshotShrunken(SnapshotRefused):
    """Most of what was held before is gone, and no operator has accepted that. Nothing was kept or written."""

    code = "snapshot-shrunken"
    default_hint = (
        "Check that the store is the right one, and whole; if so much was meant to go, say --accept-shrunken."
    )


class SnapshotUnwritten(SnapshotError):
    """The place of the snapshots cannot be written. Nothing of the snapshot was left."""

    code = "snapshot-unwritten"
    default_hint = "Make the folder writable, free some space, or name another place."
