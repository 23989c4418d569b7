"""Nodes that BookKeeper keeps beside ledgers: bookies, cookies, marks, locks, the auditor, the layout.

Source: DataFormats, LedgerLayout, Cookie, ZkLedgerUnderreplicationManager, BookKeeper 4.17.2; the same of Pulsar's
metadata driver 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class AuditorPlace(StrEnum):
    """Where an auditor is elected; leaders in both are two auditors at once."""

    NATIVE = "bookkeeper"
    PULSAR = "pulsar"


class AuditorTask(StrEnum):
    """A periodic check of the auditor, the end of whose last run is kept."""

    ALL_LEDGERS = "all-ledgers"
    PLACEMENT = "placement-policy"
    REPLICAS = "replicas"


class BookieState(StrEnum):
    """How a bookie stands; one that ledgers or cookies name, and that is not up, is away.

    Files of a store may not tell who is up.
    """

    WRITABLE = "writable"
    READ_ONLY = "read-only"
    AWAY = "away"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class UnderReplicationMark:
    """A ledger that is to be copied; without bookies it was marked for its placement, or by hand."""

    ledger_id: int
    bookies: tuple[str, ...]
    marked_ms: int | None


@dataclass(frozen=True, slots=True)
class RecoveryLock:
    """A ledger that a worker is copying; the worker is named by its host, not by its bookie."""

    ledger_id: int
    host: str


@dataclass(frozen=True, slots=True)
class AuditorVote:
    """A bookie's vote for itself; the lowest number leads. Pulsar's driver has one leader, whose number is 0."""

    place: AuditorPlace
    number: int
    bookie: str


@dataclass(frozen=True, slots=True)
class AuditorCheck:
    """The end of the last run of a periodic check; None where none has ended."""

    task: AuditorTask
    ended_ms: int | None


@dataclass(frozen=True, slots=True)
class RecoveryDelay:
    """The time that one lost bookie is waited for before its ledgers are marked."""

    delay_s: int


@dataclass(frozen=True, slots=True)
class RecoveryDisabled:
    """Auto-recovery is switched off."""


@dataclass(frozen=True, slots=True)
class ReplicationLayout:
    """How marks of under-replication are laid out."""

    kind: str
    version: int


@dataclass(frozen=True, slots=True)
class LedgerLayout:
    """Which manager lays ledgers out; Pulsar's driver writes none."""

    format_version: int
    factory: str
    factory_version: int


@dataclass(frozen=True, slots=True)
class InstanceId:
    """The identity of a BookKeeper cluster."""

    instance_id: str


@dataclass(frozen=True, slots=True)
class BookieEndpoint:
    """An address at which a bookie answers."""

    endpoint_id: str
    host: str
    port: int
    protocol: str
    auth: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BookieRegistration:
    """A bookie that is up; one that tells no endpoint is known by its id alone."""

    bookie: str
    read_only: bool
    endpoints: tuple[BookieEndpoint, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BookieCookie:
    """The identity of a bookie's disks: it was there once, be it up or not."""

    bookie: str
    layout_version: int
    host: str
    journal_directories: str
    ledger_directories: tuple[str, ...]
    index_directories: tuple[str, ...] = ()
    instance_id: str | None = None


StoreNode = (
    UnderReplicationMark
    | RecoveryLock
    | AuditorVote
    | AuditorCheck
    | RecoveryDelay
    | RecoveryDisabled
    | ReplicationLayout
    | LedgerLayout
    | InstanceId
    | BookieRegistration
    | BookieCookie
)
