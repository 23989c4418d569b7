"""Every error that the product raises on purpose, drawn whole.

    SyncerError
    ├── ConfigError                 the configuration cannot be used
    │   └── ConfigDenied              this user may not read it
    ├── StoreError                  the region's metadata store
    │   ├── StoreUnavailable          no connection, or no answer in time
    │   ├── RevisionMismatch          the path is not at the expected revision
    │   ├── ParentMissing             the parent of a path does not exist
    │   ├── NotEmpty                  a path with children cannot be deleted
    │   ├── Fenced                    another writer has raised the fence
    │   ├── AccessDenied              credentials or ACL do not allow it; read-only store
    │   ├── ValueRefused              the store cannot hold this path or value
    │   └── StoreFilesDamaged         files of a store that are read without it are not whole
    ├── TransportError              the bus
    │   ├── BusUnavailable            no connection, or no answer in time
    │   └── PayloadInvalid            a message that cannot be understood
    │       ├── SignatureInvalid        a message that is not signed with a key of the group
    │       │   └── SpeakerInvalid        a message that a member has signed in the name of another one
    │       └── MessageUnreadable       a message that the bus itself cannot read whole
    ├── StateError                  the sidecar database
    │   ├── StateUnavailable          it cannot be read or written now (locked, full disk, gone)
    │   │   ├── StateMissing            no daemon has made it yet
    │   │   └── StateDenied             this user has no right to it
    │   └── StateForeign              it belongs to another region or to a newer version
    ├── ValueInvalid                a stored value that is not what its path calls for
    ├── AdminError                  Pulsar's admin REST API answered with an error
    │   ├── AdminUnreachable          it did not answer; the outcome is unknown
    │   └── AdminRedirectRefused      it sent the call on to where no credentials may go
    ├── PreconditionFailed          the request is understood, but its conditions do not hold
    ├── NotFound                    the thing asked for does not exist
    ├── NotInTime                   what was waited for did not come in time
    ├── PlanError                   a plan cannot be used
    │   ├── PlanInvalid               the file is no plan, is damaged, or is of another version
    │   ├── PlanForeign               it was made for another region
    │   └── PlanStale                 the store has changed since it was made
    ├── BackupError                 a backup cannot be used
    │   ├── BackupInvalid             the directory is no backup, or one of another version
    │   └── BackupDamaged             files are missing, extra or changed
    ├── JobError                    a job on Spark did not end as it should
    │   ├── DiskFull                  no room is left where it writes
    │   ├── SparkMissing              the packages that such jobs need are not installed
    │   ├── JavaMissing               there is no Java, or one that is too old
    │   └── JobCancelled              it was asked to stop
    ├── SnapshotError               a bulk snapshot cannot be taken or used
    │   ├── SnapshotInvalid           the folder is no snapshot, an unfinished one, or one of another version
    │   ├── SnapshotDamaged           files are missing, extra or changed, or a path is there twice
    │   ├── SnapshotsIncomparable     a region is there twice, or they were taken by different rules
    │   ├── SnapshotRefused           the store holds nothing, and had much before
    │   │   └── SnapshotShrunken          most of what the last one held is gone
    │   └── SnapshotUnwritten         the place of the snapshots refuses files
    ├── IllegalTransition           a state machine was asked for a step that it does not have
    └── InvariantBroken             a bug of this program: stop, never retry

Each class has a stable ``code`` (kebab-case), whether a repeat can help (``retryable``), and a ``hint``: what the
operator does next. :mod:`syncer.dispositions` alone maps a class to an HTTP status, an exit code, a log level.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    DIFFERENT = 3
    UNREACHABLE = 4
    REFUSED = 5
    NOT_ALLOWED = 6
    BAD_CONFIG = 78


class SyncerError(Exception):
    """Base of all errors that are raised on purpose.

    Args:
        message: What is wrong, naming the thing and the place.
        hint: What the operator does next; the class's own hint when not given.
    """

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False
    default_hint: ClassVar[str] = "See the log of the daemon for the cause."

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint


class ConfigError(SyncerError):
    """The configuration cannot be used."""

    code = "bad-configuration"
    default_hint = "Run 'syncer config check' and correct the named field."


class ConfigDenied(ConfigError):
    """This user may not read the configuration, or a file that it names.

    Args:
        message: What is closed, and where.
        owner: The user whose it is.
        hint: What the operator does next.
    """

    code = "configuration-access-denied"
    default_hint = "Run the command as the user whose file it is."

    def __init__(self, message: str, *, owner: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint or (f"Run it as that user: sudo -u {owner} syncer …." if owner else None))
        self.owner = owner


class StoreError(SyncerError):
    """The region's metadata store did not do what was asked."""

    code = "store-error"


class StoreUnavailable(StoreError):
    """No connection to the store, or no answer before the deadline."""

    code = "store-unavailable"
    retryable = True
    default_hint = "Check that the store is up and that its address is right; the daemon keeps trying."


class RevisionMismatch(StoreError):
    """The path is not at the revision that the caller expected. Nothing was written."""

    code = "revision-mismatch"
    retryable = True
    default_hint = "Read the path again and decide again."


class ParentMissing(StoreError):
    """The parent of the path does not exist in the store. Nothing was written."""

    code = "parent-missing"
    retryable = True
    default_hint = "The parent must be created first; the daemon parks the change until then."


class NotEmpty(StoreError):
    """The path has children and cannot be deleted. Nothing was deleted."""

    code = "not-empty"
    retryable = True
    default_hint = "The children must be deleted first; the daemon parks the change until then."


class Fenced(StoreError):
    """Another writer holds the fence of this region. Nothing was written."""

    code = "fenced"
    default_hint = "Another daemon of this region has become active; this one steps back to standby."


class AccessDenied(StoreError):
    """The store refused the credentials, or they do not allow the call."""

    code = "store-access-denied"
    default_hint = "Check user, password, certificate and ACL of the store, and that it is not read-only."


class ValueRefused(StoreError):
    """The store cannot hold this path or this value (too large, illegal path)."""

    code = "value-refused"
    default_hint = "See 'syncer quarantine list'; raise the store's limit or make the value smaller, then retry."


class StoreFilesDamaged(StoreError):
    """Files that a store has written are read without it, and are damaged, cut, or not all there. Nothing was taken."""

    code = "store-files-damaged"
    default_hint = (
        "Copy the files again when the server is at rest (of etcd by 'etcdctl snapshot save'), or read the live server."
    )


class TransportError(SyncerError):
    """The bus did not do what was asked."""

    code = "bus-error"


class BusUnavailable(TransportError):
    """No connection to the bus, or no answer before the deadline."""

    code = "bus-unavailable"
    retryable = True
    default_hint = "Check that the broker is up and the topic exists ('syncer topic init'); the daemon keeps trying."


class PayloadInvalid(TransportError):
    """A message of the bus that cannot be understood; it goes to the quarantine."""

    code = "payload-invalid"
    default_hint = "See 'syncer quarantine list' for the message and its origin."


class SignatureInvalid(PayloadInvalid):
    """A message that is not signed with a key of the group. Nothing of it was taken."""

    code = "signature-invalid"
    default_hint = (
        "Give its region the key of the group ('signing.key_files'), then 'syncer quarantine retry'; a message that no "
        "region of yours has sent is thrown away by 'syncer quarantine discard'."
    )


class SpeakerInvalid(SignatureInvalid):
    """A member of the group has signed a message in the name of another member. Nothing of it was taken."""

    code = "speaks-for-another"
    default_hint = (
        "The key that signed it is in the wrong place, or in wrong hands: find that out before anything else. Its "
        "region's public half is taken out of 'peers.keys' to stop it; the message is thrown away by 'syncer "
        "quarantine discard'."
    )


class MessageUnreadable(PayloadInvalid):
    """A message that the bus itself cannot read whole. Nothing of it was taken, and nothing ever can be."""

    code = "message-unreadable"
    default_hint = "No daemon sends such a message: find out who may publish on the topic; 'syncer quarantine discard'."


class StateError(SyncerError):
    """The sidecar database did not do what was asked."""

    code = "state-error"


class StateUnavailable(StateError):
    """The sidecar database cannot be read or written now."""

    code = "state-unavailable"
    retryable = True
    default_hint = "Check free space and permissions of the sidecar database; nothing is acknowledged until it works."


class StateMissing(StateUnavailable):
    """There is no sidecar database: no daemon has made it yet, or it is looked for in the wrong place."""

    code = "state-missing"
    default_hint = "The daemon makes the database when it starts: start it, or wait with 'syncer status --wait 60'."


class StateDenied(StateUnavailable):
    """This user has no right to the sidecar database: its directory, its file, or what stands beside it is closed.

    Args:
        message: What is closed, and where.
        owner: The user whose it is.
        hint: What the operator does next.
    """

    code = "state-access-denied"
    default_hint = "Run the command as the user of the daemon, whose database it is."

    def __init__(self, message: str, *, owner: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint or (f"Run it as that user: sudo -u {owner} syncer …." if owner else None))
        self.owner = owner


class StateForeign(StateError):
    """The sidecar database belongs to another region, or to a newer version of this program."""

    code = "state-foreign"
    default_hint = "Point 'state.url' at this region's own database, or start the version that wrote it."


class ValueInvalid(SyncerError):
    """A stored value is not what its path calls for (no JSON, wrong shape)."""

    code = "value-invalid"
    default_hint = "Correct the value in the store; until then the path is quarantined and left as it is."


class AdminError(SyncerError):
    """Pulsar's admin REST API answered with an error."""

    code = "admin-error"
    default_hint = "Check the admin URL and the rights of the token; the answer of the broker is in the message."


class AdminUnreachable(AdminError):
    """Pulsar's admin REST API did not answer; the outcome is unknown."""

    code = "admin-unreachable"
    retryable = True
    default_hint = "Check that a broker is up at the admin URL."


class AdminRedirectRefused(AdminError):
    """Pulsar's admin REST API sent a call on to an address that is not known to be a broker of the cluster."""

    code = "admin-redirect-refused"
    default_hint = (
        "If it is a broker of the cluster, name it in 'admin.brokers' (in the bus's table: 'admin_brokers'), or give "
        "the role the right to list brokers."
    )


class PreconditionFailed(SyncerError):
    """The request is understood, but its conditions do not hold. Nothing was changed."""

    code = "precondition-failed"


class NotFound(SyncerError):
    """The thing that was asked for does not exist."""

    code = "not-found"
    default_hint = "List what exists with the 'list' verb of the same noun."


class NotInTime(SyncerError):
    """What was waited for did not come within the given time. Nothing was changed."""

    code = "not-in-time"
    retryable = True
    default_hint = "Wait longer, or see in the log of the daemon what keeps it."


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
    default_hint = "Take them anew, with the same scope, order of ties and program version in all regions."


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


class IllegalTransition(SyncerError):
    """A state machine was asked for a step that it does not have. Nothing was changed."""

    code = "illegal-transition"


class InvariantBroken(SyncerError):
    """A bug of this program. It stops at once; repeating cannot help."""

    code = "invariant-broken"
    default_hint = "This is a bug: keep the sidecar database and the log, and report it."
