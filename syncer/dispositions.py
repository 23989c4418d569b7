"""The one table of how an error leaves the program: HTTP status, exit code, log level. A test proves it total."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from syncer.errors import (
    AccessDenied,
    AccessError,
    AdminDenied,
    AdminError,
    AdminRedirectRefused,
    AdminUnreachable,
    AnswerInvalid,
    BackupDamaged,
    BackupError,
    BackupInvalid,
    BalancerError,
    BalancingOwned,
    BodyTooLarge,
    BoundariesInvalid,
    BusUnavailable,
    ConfigDenied,
    ConfigError,
    DaemonStopping,
    DiskFull,
    EventIdAhead,
    Fenced,
    Forbidden,
    HistoryError,
    HistoryForeign,
    HistoryMissing,
    HistoryUnavailable,
    HostUnknown,
    IllegalTransition,
    InquiriesFull,
    InvariantBroken,
    JavaMissing,
    JobCancelled,
    JobError,
    LedgerAuditTooLarge,
    LoadDataInvalid,
    MessageUnreadable,
    MigrationClaimed,
    NotEmpty,
    NotFound,
    NotInTime,
    OperationsFull,
    ParentMissing,
    PayloadInvalid,
    PlanError,
    PlanForeign,
    PlanInvalid,
    PlanStale,
    PreconditionFailed,
    PreconditionRequired,
    ProtocolUnknown,
    RequestInvalid,
    RequestKeyReused,
    RevisionMismatch,
    RightsUnreadable,
    ServerError,
    ServerUnreachable,
    SettingInvalid,
    SignatureInvalid,
    SnapshotDamaged,
    SnapshotError,
    SnapshotInvalid,
    SnapshotRefused,
    SnapshotShrunken,
    SnapshotsIncomparable,
    SnapshotUnwritten,
    SparkMissing,
    SpeakerInvalid,
    SplitRefused,
    StateDenied,
    StateError,
    StateForeign,
    StateMissing,
    StateUnavailable,
    StoreError,
    StoreFilesDamaged,
    StoreUnavailable,
    StreamsFull,
    StreamTooSlow,
    SubscriptionShared,
    SyncerError,
    TooManyFailures,
    TooManyStreams,
    TopicPoliciesWithheld,
    TopicUnservable,
    TransportError,
    Unauthorized,
    ValueInvalid,
    ValueRefused,
    VersionUnknown,
)


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


@dataclass(frozen=True, slots=True)
class Disposition:
    """How an error leaves the program: HTTP status, exit code, log level."""

    http_status: int
    exit_code: ExitCode
    log_level: str


DISPOSITIONS: Final[dict[type[SyncerError], Disposition]] = {
    SyncerError: Disposition(500, ExitCode.FAILED, "error"),
    ConfigError: Disposition(500, ExitCode.BAD_CONFIG, "error"),
    ConfigDenied: Disposition(500, ExitCode.NOT_ALLOWED, "error"),
    StoreError: Disposition(502, ExitCode.FAILED, "error"),
    StoreUnavailable: Disposition(503, ExitCode.UNREACHABLE, "warning"),
    TopicPoliciesWithheld: Disposition(503, ExitCode.UNREACHABLE, "warning"),
    RevisionMismatch: Disposition(409, ExitCode.FAILED, "info"),
    ParentMissing: Disposition(409, ExitCode.FAILED, "info"),
    NotEmpty: Disposition(409, ExitCode.FAILED, "info"),
    Fenced: Disposition(409, ExitCode.REFUSED, "warning"),
    AccessDenied: Disposition(502, ExitCode.NOT_ALLOWED, "error"),
    ValueRefused: Disposition(422, ExitCode.FAILED, "error"),
    StoreFilesDamaged: Disposition(502, ExitCode.FAILED, "error"),
    TransportError: Disposition(502, ExitCode.FAILED, "error"),
    BusUnavailable: Disposition(503, ExitCode.UNREACHABLE, "warning"),
    SubscriptionShared: Disposition(409, ExitCode.REFUSED, "error"),
    PayloadInvalid: Disposition(422, ExitCode.FAILED, "warning"),
    ProtocolUnknown: Disposition(422, ExitCode.NOT_ALLOWED, "warning"),
    SignatureInvalid: Disposition(422, ExitCode.NOT_ALLOWED, "warning"),
    SpeakerInvalid: Disposition(422, ExitCode.NOT_ALLOWED, "error"),
    MessageUnreadable: Disposition(422, ExitCode.FAILED, "warning"),
    StateError: Disposition(500, ExitCode.FAILED, "error"),
    StateUnavailable: Disposition(503, ExitCode.FAILED, "error"),
    StateMissing: Disposition(503, ExitCode.UNREACHABLE, "error"),
    StateDenied: Disposition(503, ExitCode.NOT_ALLOWED, "error"),
    LedgerAuditTooLarge: Disposition(413, ExitCode.FAILED, "error"),
    StateForeign: Disposition(500, ExitCode.BAD_CONFIG, "error"),
    ValueInvalid: Disposition(422, ExitCode.FAILED, "warning"),
    AdminError: Disposition(502, ExitCode.FAILED, "error"),
    AdminUnreachable: Disposition(503, ExitCode.UNREACHABLE, "warning"),
    AdminDenied: Disposition(502, ExitCode.NOT_ALLOWED, "error"),
    AdminRedirectRefused: Disposition(502, ExitCode.NOT_ALLOWED, "error"),
    PreconditionFailed: Disposition(412, ExitCode.REFUSED, "warning"),
    BalancingOwned: Disposition(412, ExitCode.REFUSED, "warning"),
    MigrationClaimed: Disposition(412, ExitCode.REFUSED, "warning"),
    RequestInvalid: Disposition(422, ExitCode.FAILED, "info"),
    PreconditionRequired: Disposition(428, ExitCode.FAILED, "info"),
    RequestKeyReused: Disposition(422, ExitCode.FAILED, "info"),
    EventIdAhead: Disposition(422, ExitCode.FAILED, "info"),
    NotFound: Disposition(404, ExitCode.FAILED, "info"),
    OperationsFull: Disposition(503, ExitCode.REFUSED, "warning"),
    NotInTime: Disposition(504, ExitCode.UNREACHABLE, "warning"),
    PlanError: Disposition(422, ExitCode.REFUSED, "warning"),
    PlanInvalid: Disposition(422, ExitCode.FAILED, "warning"),
    PlanForeign: Disposition(409, ExitCode.REFUSED, "warning"),
    PlanStale: Disposition(409, ExitCode.REFUSED, "warning"),
    BalancerError: Disposition(422, ExitCode.FAILED, "warning"),
    SettingInvalid: Disposition(422, ExitCode.FAILED, "warning"),
    HistoryError: Disposition(500, ExitCode.FAILED, "warning"),
    HistoryMissing: Disposition(404, ExitCode.FAILED, "info"),
    HistoryUnavailable: Disposition(503, ExitCode.FAILED, "warning"),
    HistoryForeign: Disposition(500, ExitCode.FAILED, "error"),
    LoadDataInvalid: Disposition(422, ExitCode.FAILED, "warning"),
    BoundariesInvalid: Disposition(422, ExitCode.FAILED, "warning"),
    TopicUnservable: Disposition(422, ExitCode.FAILED, "warning"),
    SplitRefused: Disposition(422, ExitCode.FAILED, "warning"),
    VersionUnknown: Disposition(422, ExitCode.REFUSED, "warning"),
    InquiriesFull: Disposition(503, ExitCode.REFUSED, "info"),
    BackupError: Disposition(422, ExitCode.FAILED, "warning"),
    BackupInvalid: Disposition(422, ExitCode.FAILED, "warning"),
    BackupDamaged: Disposition(422, ExitCode.FAILED, "error"),
    JobError: Disposition(500, ExitCode.FAILED, "error"),
    SparkMissing: Disposition(501, ExitCode.FAILED, "error"),
    JavaMissing: Disposition(501, ExitCode.FAILED, "error"),
    DiskFull: Disposition(507, ExitCode.FAILED, "error"),
    JobCancelled: Disposition(503, ExitCode.FAILED, "info"),
    SnapshotError: Disposition(422, ExitCode.FAILED, "warning"),
    SnapshotInvalid: Disposition(422, ExitCode.FAILED, "warning"),
    SnapshotDamaged: Disposition(422, ExitCode.FAILED, "error"),
    SnapshotsIncomparable: Disposition(409, ExitCode.REFUSED, "warning"),
    SnapshotRefused: Disposition(412, ExitCode.REFUSED, "warning"),
    SnapshotShrunken: Disposition(412, ExitCode.REFUSED, "warning"),
    SnapshotUnwritten: Disposition(507, ExitCode.FAILED, "error"),
    AccessError: Disposition(403, ExitCode.NOT_ALLOWED, "info"),
    Unauthorized: Disposition(401, ExitCode.NOT_ALLOWED, "info"),
    Forbidden: Disposition(403, ExitCode.NOT_ALLOWED, "info"),
    TooManyFailures: Disposition(429, ExitCode.NOT_ALLOWED, "debug"),
    RightsUnreadable: Disposition(503, ExitCode.NOT_ALLOWED, "error"),
    HostUnknown: Disposition(421, ExitCode.NOT_ALLOWED, "debug"),
    BodyTooLarge: Disposition(413, ExitCode.FAILED, "debug"),
    TooManyStreams: Disposition(429, ExitCode.REFUSED, "info"),
    StreamsFull: Disposition(503, ExitCode.REFUSED, "warning"),
    StreamTooSlow: Disposition(503, ExitCode.FAILED, "info"),
    DaemonStopping: Disposition(503, ExitCode.FAILED, "debug"),
    ServerError: Disposition(502, ExitCode.FAILED, "error"),
    ServerUnreachable: Disposition(503, ExitCode.UNREACHABLE, "warning"),
    AnswerInvalid: Disposition(502, ExitCode.FAILED, "error"),
    IllegalTransition: Disposition(409, ExitCode.REFUSED, "error"),
    InvariantBroken: Disposition(500, ExitCode.FAILED, "critical"),
}


def error_class(code: str) -> type[SyncerError]:
    """Look up the class of errors with this code; of an unknown one, the base."""
    return next((cls for cls in DISPOSITIONS if cls.code == code), SyncerError)


def disposition_of_code(code: str) -> Disposition:
    """Look up how the error with this code leaves the program; an unknown code is an ordinary failure."""
    return next((row for cls, row in DISPOSITIONS.items() if cls.code == code), DISPOSITIONS[SyncerError])


def disposition(error: SyncerError | type[SyncerError]) -> Disposition:
    """Look up how an error leaves the program; a subclass without an entry of its own has its parent's."""
    cls = error if isinstance(error, type) else type(error)
    for base in cls.__mro__:
        if issubclass(base, SyncerError) and base in DISPOSITIONS:
            return DISPOSITIONS[base]
    return DISPOSITIONS[SyncerError]
