"""Every error that the product raises on purpose, drawn whole.

    SyncerError
    ├── BalancerError               what was read of a cluster's load cannot be reckoned with
    │   ├── SettingInvalid            a property of the load balancer has a value that Pulsar could not take
    │   ├── LoadDataInvalid           a figure or a pattern that was read of a cluster cannot be true
    │   ├── BoundariesInvalid         a namespace's boundaries do not cut the ring of hashes into ranges
    │   ├── TopicUnservable           a topic's hash lies in no bundle
    │   ├── SplitRefused              Pulsar refuses these boundaries for a split
    │   ├── VersionUnknown            the rules of this version of Pulsar are not known
    │   └── InquiriesFull             as many ask about clusters as may wait
    ├── HistoryError                the history of a cluster's load
    │   ├── HistoryMissing            nothing was recorded, or nothing of that time
    │   ├── HistoryUnavailable        the file cannot be read or written now
    │   └── HistoryForeign            the file is no history, damaged, another cluster's or of a newer version
    ├── IllegalTransition           a state machine was asked for a step that it does not have
    ├── InvariantBroken             a bug of this program: stop, never retry
    ├── ConfigError                 the configuration cannot be used
    │   └── ConfigDenied              this user may not read it
    ├── StoreError                  the region's metadata store
    │   ├── StoreUnavailable          no connection, or no answer in time
    │   │   └── TopicPoliciesWithheld     topic policies in a system topic that cannot be told
    │   ├── RevisionMismatch          the path is not at the expected revision
    │   ├── ParentMissing             the parent of a path does not exist
    │   ├── NotEmpty                  a path with children cannot be deleted
    │   ├── Fenced                    another writer has raised the fence
    │   ├── AccessDenied              credentials or ACL do not allow it; read-only store
    │   ├── ValueRefused              the store cannot hold this path or value
    │   └── StoreFilesDamaged         files of a store that are read without it are not whole
    ├── TransportError              the bus
    │   ├── BusUnavailable            no connection, or no answer in time
    │   ├── SubscriptionShared        another region reads by the same subscription
    │   └── PayloadInvalid            a message that cannot be understood
    │       ├── ProtocolUnknown         a message of a newer version of the program
    │       ├── SignatureInvalid        a message that is not signed with a key of the group
    │       │   └── SpeakerInvalid        a message that a member has signed in the name of another one
    │       └── MessageUnreadable       a message that the bus itself cannot read whole
    ├── StateError                  the sidecar database
    │   ├── StateUnavailable          it cannot be read or written now (locked, full disk, gone)
    │   │   ├── StateMissing            no daemon has made it yet
    │   │   └── StateDenied             this user has no right to it
    │   ├── StateForeign              it belongs to another region or to a newer version
    │   └── LedgerAuditTooLarge       an audit of ledgers has more bytes than it keeps
    ├── ValueInvalid                a stored value that is not what its path calls for
    ├── AdminError                  Pulsar's admin REST API answered with an error
    │   ├── AdminUnreachable          it did not answer; the outcome is unknown
    │   ├── AdminDenied               it does not take the credentials, or the role may not do this
    │   └── AdminRedirectRefused      it sent the call on to where no credentials may go
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
    ├── AccessError                 somebody who asks over HTTP does not get what was asked for
    │   ├── Unauthorized              without a credential, or with none that is known
    │   ├── Forbidden                 the credential is good, and its role may not do this
    │   ├── TooManyFailures           too many credentials from one address were refused
    │   ├── RightsUnreadable          the file that says who may do what cannot be used
    │   ├── HostUnknown               the request is for a host that this daemon is not
    │   ├── BodyTooLarge              the body of the request has more bytes than its route takes
    │   ├── TooManyStreams            one client follows as many streams as it may
    │   ├── StreamsFull               as many streams are followed as the daemon serves
    │   ├── StreamTooSlow             a stream grows faster than its client reads
    │   └── DaemonStopping            the daemon stops, and a stream with it
    ├── PreconditionFailed          the request is understood, but its conditions do not hold
    │   ├── MigrationClaimed          another migration moves the same namespaces
    │   └── BalancingOwned            a run of moves or a migration holds the cluster's balancing
    ├── NotFound                    the thing asked for does not exist
    ├── RequestInvalid              a request over HTTP cannot be understood
    │   ├── PreconditionRequired      it decides without saying what was looked at
    │   ├── RequestKeyReused          its Idempotency-Key was used for another request
    │   └── EventIdAhead              its Last-Event-ID is of what has not happened yet
    ├── OperationsFull              as many operations of a kind wait as may
    ├── NotInTime                   what was waited for did not come in time
    └── ServerError                 a daemon that is asked over HTTP
        ├── ServerUnreachable         no connection, no trust, or no answer in time
        └── AnswerInvalid             what answers is no daemon, or of another mind about its documents

Each class has a stable ``code`` (kebab-case), whether a repeat can help (``retryable``), and a ``hint``: what the
operator does next. :mod:`syncer.dispositions` alone maps a class to an HTTP status, an exit code, a log level.
"""

from __future__ import annotations

from syncer.errors.balancing import (
    BalancerError,
    BoundariesInvalid,
    HistoryError,
    HistoryForeign,
    HistoryMissing,
    HistoryUnavailable,
    InquiriesFull,
    LoadDataInvalid,
    SettingInvalid,
    SplitRefused,
    TopicUnservable,
    VersionUnknown,
)
from syncer.errors.base import SyncerError
from syncer.errors.bugs import IllegalTransition, InvariantBroken
from syncer.errors.dependencies import (
    AccessDenied,
    AdminDenied,
    AdminError,
    AdminRedirectRefused,
    AdminUnreachable,
    BusUnavailable,
    ConfigDenied,
    ConfigError,
    Fenced,
    LedgerAuditTooLarge,
    MessageUnreadable,
    NotEmpty,
    ParentMissing,
    PayloadInvalid,
    ProtocolUnknown,
    RevisionMismatch,
    SignatureInvalid,
    SpeakerInvalid,
    StateDenied,
    StateError,
    StateForeign,
    StateMissing,
    StateUnavailable,
    StoreError,
    StoreFilesDamaged,
    StoreUnavailable,
    SubscriptionShared,
    TopicPoliciesWithheld,
    TransportError,
    ValueInvalid,
    ValueRefused,
)
from syncer.errors.jobs import (
    BackupDamaged,
    BackupError,
    BackupInvalid,
    DiskFull,
    JavaMissing,
    JobCancelled,
    JobError,
    PlanError,
    PlanForeign,
    PlanInvalid,
    PlanStale,
    SnapshotDamaged,
    SnapshotError,
    SnapshotInvalid,
    SnapshotRefused,
    SnapshotShrunken,
    SnapshotsIncomparable,
    SnapshotUnwritten,
    SparkMissing,
)
from syncer.errors.refusals import (
    AccessError,
    BodyTooLarge,
    DaemonStopping,
    Forbidden,
    HostUnknown,
    RightsUnreadable,
    StreamsFull,
    StreamTooSlow,
    TooManyFailures,
    TooManyStreams,
    Unauthorized,
)
from syncer.errors.requests import (
    BalancingOwned,
    EventIdAhead,
    MigrationClaimed,
    NotFound,
    NotInTime,
    OperationsFull,
    PreconditionFailed,
    PreconditionRequired,
    RequestInvalid,
    RequestKeyReused,
)
from syncer.errors.servers import AnswerInvalid, ServerError, ServerUnreachable

__all__ = [
    "AccessDenied",
    "AccessError",
    "AdminDenied",
    "AdminError",
    "AdminRedirectRefused",
    "AdminUnreachable",
    "AnswerInvalid",
    "BackupDamaged",
    "BackupError",
    "BackupInvalid",
    "BalancerError",
    "BalancingOwned",
    "BodyTooLarge",
    "BoundariesInvalid",
    "BusUnavailable",
    "ConfigDenied",
    "ConfigError",
    "DaemonStopping",
    "DiskFull",
    "EventIdAhead",
    "Fenced",
    "Forbidden",
    "HistoryError",
    "HistoryForeign",
    "HistoryMissing",
    "HistoryUnavailable",
    "HostUnknown",
    "IllegalTransition",
    "InquiriesFull",
    "InvariantBroken",
    "JavaMissing",
    "JobCancelled",
    "JobError",
    "LedgerAuditTooLarge",
    "LoadDataInvalid",
    "MessageUnreadable",
    "MigrationClaimed",
    "NotEmpty",
    "NotFound",
    "NotInTime",
    "OperationsFull",
    "ParentMissing",
    "PayloadInvalid",
    "PlanError",
    "PlanForeign",
    "PlanInvalid",
    "PlanStale",
    "PreconditionFailed",
    "PreconditionRequired",
    "ProtocolUnknown",
    "RequestInvalid",
    "RequestKeyReused",
    "RevisionMismatch",
    "RightsUnreadable",
    "ServerError",
    "ServerUnreachable",
    "SettingInvalid",
    "SignatureInvalid",
    "SnapshotDamaged",
    "SnapshotError",
    "SnapshotInvalid",
    "SnapshotRefused",
    "SnapshotShrunken",
    "SnapshotUnwritten",
    "SnapshotsIncomparable",
    "SparkMissing",
    "SpeakerInvalid",
    "SplitRefused",
    "StateDenied",
    "StateError",
    "StateForeign",
    "StateMissing",
    "StateUnavailable",
    "StoreError",
    "StoreFilesDamaged",
    "StoreUnavailable",
    "StreamTooSlow",
    "StreamsFull",
    "SubscriptionShared",
    "SyncerError",
    "TooManyFailures",
    "TooManyStreams",
    "TopicPoliciesWithheld",
    "TopicUnservable",
    "TransportError",
    "Unauthorized",
    "ValueInvalid",
    "ValueRefused",
    "VersionUnknown",
]
