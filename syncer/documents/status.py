"""JSON documents of a region's status, for ``syncer status`` and ``/api/v1/status``, and of the verdict on it.

Units: ``*_ms`` milliseconds since the epoch, UTC; ``*_s`` seconds.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from syncer.documents.document import Document

NOT_CARRIED: Final = (
    "topic policies kept in system topics (__change_events) that [topic_policies] does not select",
    "schemas",
    "subscriptions and their cursors",
    "messages and ledgers",
    "scalable topics (topic://)",
)
"""What pulsar-syncer leaves where it is; Pulsar's geo-replication or a migration is the tool for those."""


class Outbox(Document):
    """Local changes that wait for the bus."""

    depth: int
    oldest_age_s: float | None = Field(description="Age of the oldest one; null when nothing waits.")


class Waiting(Document):
    """How much waits, for the daemon or for a person."""

    due: int = Field(description="Paths whose store is not known to hold what the group knows.")
    holds: int
    unreadable: int = Field(
        default=0, description="Holds of paths whose value in the store cannot be read, so that nothing compares it."
    )
    future_events: int
    parked: int
    conflicts: int = Field(description="Conflicts whose loser nobody has restored.")
    quarantine: int
    operations: int


class Condition(Document):
    """Something that a person should look at."""

    code: str
    message: str
    severity: Literal["alarm", "advice"] = Field(
        description="alarm: an operator is needed. advice: it can wait, and a region is well with it."
    )
    next: str = Field(description="What an operator does about it.")
    command: str = Field(description="The command to begin with; empty: there is none.")

    @property
    def line(self) -> str:
        """The code and the message; the code once only where the message begins with it."""
        return self.message if self.message.startswith(f"{self.code}: ") else f"{self.code}: {self.message}"


class RegionDocument(Document):
    """A region of the group, as this one sees it."""

    region: str
    here: bool = Field(description="Whether this is the region that was asked.")
    mode: str | None
    version: str | None
    brokers: list[str] = Field(
        default=[], description="Versions of its Pulsar brokers, each once, the oldest first; empty: not known."
    )
    heard_at_ms: int | None
    heard_age_s: float | None
    away: bool = Field(default=False, description="It counts, and was not heard for longer than 'peers.silence'.")
    skew_s: float | None = Field(
        description="Its clock minus ours as the heartbeat arrived; delivery time makes it smaller."
    )
    watermark_ms: int | None = Field(description="All its changes up to this time are published.")
    compared: str | None = Field(
        description="How its digest tree and that of this region stand: equal, differs, not-compared, unknown."
    )
    shared_class: str | None = Field(
        default=None, description="Label of what both carry, the only paths that are compared; null: not known."
    )
    shared_paths: int | None = Field(default=None, description="How many living paths of these there are here.")
    differing_paths: int | None = Field(description="Paths that the last comparison found to differ.")
    equal_at_ms: int | None = Field(description="When both trees were last seen to be equal.")
    member: bool = Field(default=True, description="Whether it counts: it has neither left nor been forgotten.")
    same_rules: bool | None = Field(description="Whether scope and tie order are the same as here; null: not known.")
    said_forgotten_by: list[str] = Field(
        default=[], description="Regions that say that it was forgotten, which is held here until it was silent."
    )
    held: str | None = Field(
        default=None, description="Why it does not count until an operator decides; null: it does."
    )
    key_id: str | None = Field(
        default=None, description="Id of the region's own key that its last message was signed with; null: none was."
    )


class DaemonDocument(Document):
    """A daemon of this region, active or standing by, as its database knows it."""

    id: str = Field(description="Made at each start.")
    host: str
    pid: int
    version: str
    role: Literal["active", "standby", "observer", "former"] = Field(
        description="former: it was active, and another one has become active since; what it writes is refused."
    )
    since_ms: int = Field(description="When it took the role.")
    seen_at_ms: int
    seen_age_s: float = Field(description="By the database's clock; a running daemon is seen every few seconds.")
    silent: bool = Field(description="Not seen for long: it was killed, hangs, or is cut off from the database.")


class SnapshotsDocument(Document):
    """Snapshots on schedule."""

    running: bool
    began_at_ms: int | None = Field(default=None, description="When the running one was begun.")
    phase: str | None = Field(default=None, description="What it does now, in its own words.")
    rows: int | None = None
    rate: float | None = Field(default=None, description="Rows per second.")
    eta_s: float | None = Field(default=None, description="Until the phase ends, as far as that can be said.")
    last_began_at_ms: int | None = None
    last_ended_at_ms: int | None = None
    last_succeeded: bool | None = Field(default=None, description="null: there was none.")
    trouble: str = Field(default="", description="Why the last one failed, or none can be begun.")
    next_at_ms: int | None = Field(default=None, description="When the next one is due.")


class RepairProgress(Document):
    """The telling of snapshots that is under way."""

    id: int
    done: int
    total: int


class ScalableTopicsDocument(Document):
    """Scalable topics (``topic://``) of the region's cluster: they are its own, and never carried.

    Seen in the store that is watched; or told by brokers every ten minutes, where the cluster's own is another one.
    """

    total: int
    namespaces: dict[str, int] = Field(description="How many each namespace has; of more than 1,000 the first ones.")
    whole: bool = Field(description="Whether all were counted; a cluster with very many is counted in part.")


class SystemTopicsDocument(Document):
    """Topic policies that brokers keep in system topics (``[topic_policies]``)."""

    namespaces: int = Field(description="Selected namespaces that exist.")
    followed: int = Field(description="Of how many the topic is open; the others are looked at in rotation.")
    unread: int = Field(description="How many were not read yet.")
    replicated: list[str] = Field(description="Geo-replicated: Pulsar carries their global topic policies itself.")
    withheld: dict[str, str] = Field(description="Those that cannot be answered now, and why; nothing is taken there.")
    overtaken: int = Field(description="Brokers' edits that were lost in races since the start: kept as conflicts.")


class StatusDocument(Document):
    """``syncer status``."""

    region: str
    daemon: Literal["running", "silent", "never-started"] = Field(
        description="By its last report: fresh, too old, or none ever."
    )
    mode: str
    reported_at_ms: int | None
    reported_age_s: float | None
    rebuilding: str | None = Field(
        default=None, description="How far the rebuild of a lost database has got; null: none goes on."
    )
    paused: str | None = Field(description="Why nothing is written or published; null: not paused.")
    baseline_done: bool = Field(description="Whether the first full scan of the store has finished.")
    watch_whole: bool | None
    watch_whole_until_ms: int | None = Field(
        default=None, description="Up to when no change of the store can have been missed; null: not known."
    )
    scalable_topics: ScalableTopicsDocument | None = Field(
        default=None,
        description="null: the watched store is no cluster's own, and no broker has told: no [admin] is configured, or "
        "it has not answered yet.",
    )
    store_migration: str | None = Field(
        default=None,
        description="Whether Pulsar migrates the store to another one (PIP-454): the phase, as Pulsar names it, and "
        "where to; or why it is not seen. null: it was not looked at.",
    )
    topic_policies: SystemTopicsDocument | None = Field(
        default=None, description="null: none are carried from system topics."
    )
    joining: bool = Field(
        default=False, description="Whether it is paused for an operator has to confirm that it joins the group."
    )
    silence_s: float = Field(
        default=300.0, description="A region that was not heard for so long is away ('peers.silence')."
    )
    epoch: int
    fence: int | None
    brokers: dict[str, str] = Field(
        default={}, description="Address of each Pulsar broker of this region, and its version; empty: not known."
    )
    paths: int = Field(description="Paths in scope that the store is known to hold.")
    signing_key: str | None = Field(
        default=None, description="Id of the group's key that messages are signed with; null: of none."
    )
    region_key: str | None = Field(
        default=None, description="Id of this region's own key that messages are signed with; null: of none."
    )
    region_keys_required: bool = Field(
        default=False, description="Whether only messages are taken that a key of their region has signed."
    )
    outbox: Outbox
    waiting: Waiting
    snapshots: SnapshotsDocument | None = Field(default=None, description="null: none are taken on schedule.")
    repair: RepairProgress | None = Field(default=None, description="See 'syncer snapshot progress'; null: none.")
    daemons: list[DaemonDocument] = Field(description="The active one first.")
    peers: list[RegionDocument]
    unheard: list[str] = Field(
        default=[],
        description="Regions of 'peers.expected' that were never heard, as those never are that run Pulsar's own.",
    )
    held_regions: list[RegionDocument] = Field(
        default=[], description="Regions that do not count until an operator decides, or were only heard of."
    )
    conditions: list[Condition]
    not_carried: list[str]


class ReasonDocument(Document):
    """One thing that speaks for a verdict, or is said beside it."""

    code: str
    severity: Literal["alarm", "advice"] = Field(
        description="alarm: an operator is needed. advice: it can wait, and a region is well with it."
    )
    message: str
    next: str = Field(description="What an operator does about it.")
    command: str = Field(description="The command to begin with; empty: there is none.")


class VerdictDocument(Document):
    """``syncer status --check``."""

    region: str
    verdict: Literal["well", "operator-needed", "silent", "no-database", "unreachable", "not-allowed"]
    exit_status: int = Field(
        description="Of the command: 0 well, 1 operator-needed, 4 silent, no-database or unreachable, 6 not-allowed."
    )
    message: str = Field(description="The verdict in a line.")
    next: str = Field(description="What an operator does next.")
    command: str = Field(description="The command to begin with; empty: there is none.")
    reasons: list[ReasonDocument] = Field(description="Alarms first; then what can wait.")
