"""JSON documents of a migration: its plan, what checks find, what it would do, how it is, and what has happened."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from syncer.documents.document import Document


class MigrationClusterDocument(Document):
    """One of the two clusters."""

    table: str = Field(description="Name of its table in the configuration: cluster.NAME.")
    name: str = Field(description="As it calls itself.")
    service_url: str = Field(description="Its addresses for clients; empty: it has none.")
    service_url_tls: str
    broker_service_url: str
    broker_service_url_tls: str


class MigrationStepDocument(Document):
    """A namespace that is moved."""

    namespace: str
    wave: int = Field(description="0: the canary.")
    topics: int = Field(description="Persistent ones that blue stores, each partition for itself.")
    subscriptions: int = Field(description="Durable ones of these topics.")


class MigrationPlanDocument(Document):
    """``syncer migration plan``."""

    file: str
    sha256: str = Field(description="Fingerprint of the plan: names exactly this one.")
    made_at_ms: int
    blue: MigrationClusterDocument
    green: MigrationClusterDocument
    namespaces: list[MigrationStepDocument] = Field(description="In the order in which they are moved.")
    whole_cluster: bool = Field(description="Whether the mark of the cluster itself is set at the end.")
    overrides: dict[str, str] = Field(description="Check that is passed over → reason.")
    replication_backlog: int = Field(description="Bound: entries that a topic may have yet to send to other clusters.")


class PreflightFindingDocument(Document):
    """What a check has found."""

    severity: Literal["block", "never", "warn"] = Field(
        description="block: an override passes over it. never: none does. warn: to know."
    )
    subject: str = Field(description="A broker, namespace, topic, subscription, client or cluster.")
    evidence: str
    remedy: str


class PreflightCheckDocument(Document):
    """One check: what was asked, and what was found."""

    name: str = Field(description="By which an override names it.")
    asks: str
    stage: Literal["before", "prepared", "guarded"] = Field(
        description="From when on it has to hold: before anything is changed, once green is prepared, once blue is "
        "guarded."
    )
    due: bool = Field(description="Whether it has to hold at the stage that was asked for.")
    holds: bool = Field(description="Whether nothing was found but warnings.")
    blocks: bool
    override: str | None = Field(description="Why it is passed over; null: it is not.")
    findings: list[PreflightFindingDocument]


class PreflightDocument(Document):
    """``syncer migration preflight``."""

    plan: str | None = Field(description="Fingerprint of the plan; null: without one.")
    stage: Literal["before", "prepared", "guarded"]
    may_begin: bool
    blue: MigrationClusterDocument
    green: MigrationClusterDocument
    read_at_ms: int = Field(description="When blue was read.")
    namespaces: int
    topics: int
    checks: list[PreflightCheckDocument]


class MigrationStopDocument(Document):
    """Why a migration has stopped."""

    code: str
    message: str
    hint: str = Field(description="What an operator does next.")


class MigrationWaveDocument(Document):
    """What moving a wave has done."""

    wave: int = Field(description="0: the canary.")
    namespaces: list[str]
    outcome: str | None = Field(description="migrated, refused, taken-back or unfinished; null: it was not moved yet.")
    reasons: dict[str, str] = Field(description="Topic, namespace or call → why it has not gone through.")
    longest_gap_s: float | None = Field(description="Producers' longest gap, as was said before.")
    held_s: float | None = Field(description="From sending producers away until they were let in; null: nobody was.")
    closing_s: float | None = Field(description="From the mark until the last topic showed it.")
    arrived: int = Field(description="Clients that stand at green.")
    missing: list[str] = Field(description="Clients that do not: role, name, topic, address, version.")


class MigrationDrainDocument(Document):
    """A subscription that has yet to be read at blue."""

    topic: str
    subscription: str
    left: int = Field(description="Entries.")
    eta_s: float | None = Field(description="Until nothing is left; null: it does not fall.")
    held_up: str | None = Field(
        description="nobody-reads, does-not-fall, unacknowledged or delayed; null: it falls, or is not known yet."
    )


class PreparationStepDocument(Document):
    """A call that green would be given."""

    kind: str = Field(description="What it is about: a tenant, namespace, policy, topic, subscription and so on.")
    subject: str
    method: str
    path: str
    body: Any = Field(description="Credentials are withheld. null: the call has none.")
    why: str


class UnpreparedDocument(Document):
    """Something that green lacks and no step gives it."""

    subject: str
    why: str
    remedy: str = Field(description="What the operator does.")


class PreparationDocument(Document):
    """``syncer migration prepare``."""

    plan: str = Field(description="Fingerprint of the plan.")
    blue: MigrationClusterDocument
    green: MigrationClusterDocument
    steps: list[PreparationStepDocument] = Field(description="In the order in which they would be taken.")
    unprepared: list[UnpreparedDocument]


class RehearsedCureDocument(Document):
    """How a topic would be kept still while its ledger is closed."""

    topic: str
    cure: Literal["brake", "gate", "gate-and-brake", "refused"] = Field(description="refused: nothing keeps it still.")
    why: str | None = Field(description="What a rate alone does not do, or why it is refused; null: nothing.")


class RehearsedConnectionDocument(Document):
    """A connection that would be stopped while others use it too."""

    address: str
    clients: list[str] = Field(description="Role, name and topic of everybody who is on it.")


class RehearsedSendingDocument(Document):
    """What a topic has yet to replicate: nobody could write it before that is sent."""

    topic: str
    remote: str = Field(description="The cluster.")
    left: int = Field(description="Entries.")
    eta_s: float | None = Field(description="Until nothing is left; null: nothing was sent while it was watched.")


class RehearsedWaveDocument(Document):
    """What would come of a wave."""

    wave: int = Field(description="0: the canary.")
    namespaces: list[str]
    longest_gap_s: float = Field(description="For which a producer would be without an answer, if nothing goes wrong.")
    cures: list[RehearsedCureDocument]
    shared: list[RehearsedConnectionDocument]
    drains: list[MigrationDrainDocument]
    sending: list[RehearsedSendingDocument]
    drained_s: float | None = Field(
        description="Until all is read and sent, if nobody wrote any more; null: something is not known to fall."
    )
    refused: dict[str, str] = Field(description="Topics that cannot be moved as they are → why.")
    stops: dict[str, str] = Field(description="Code → why it would stop before anything is set.")


class RehearsalDocument(Document):
    """``syncer migration rehearse``."""

    plan: str = Field(description="Fingerprint of the plan.")
    blue: MigrationClusterDocument
    green: MigrationClusterDocument
    may_begin: bool = Field(description="Whether checks would let it begin.")
    checks: list[PreflightCheckDocument]
    steps: int = Field(description="Steps that prepare green; 'syncer migration prepare' lists them.")
    unprepared: list[UnpreparedDocument]
    waves: list[RehearsedWaveDocument]


class MigrationBlueDocument(Document):
    """What the daemon has seen of blue last; lists have their first 20 entries."""

    topics: dict[str, int] = Field(description="Topics of marked namespaces by their state.")
    subscriptions_left: int = Field(description="Subscriptions that have yet to be read.")
    entries_left: int
    seconds_left: float | None = Field(description="Until all is read; null: something is not known to fall.")
    held_up: int = Field(description="Subscriptions that do not become empty by themselves.")
    drains: list[MigrationDrainDocument]
    to_send: dict[str, int] = Field(description="Topic and cluster → entries that have yet to be replicated.")
    healing: list[str] = Field(description="Namespaces whose mark is off until what they hold was read.")
    deadlocked: list[str] = Field(description="Brokers whose threads wait for each other for ever: restart them.")


class MigrationUndoDocument(Document):
    """What can be taken back of a namespace."""

    namespace: str
    rollback: Literal["yes", "partly", "no"]
    words: str = Field(description="What cannot.")


class MigrationBlockDocument(Document):
    """A finding of a check that does not hold."""

    check: str
    subject: str
    evidence: str
    remedy: str


class MigrationBrokerDocument(Document):
    """A broker that was not well when it was asked for its health last."""

    cluster: Literal["blue", "green"]
    broker: str = Field(description="Its address as the cluster lists it.")
    state: Literal["deadlocked", "unwell", "silent"] = Field(
        description="deadlocked: only a restart of it helps; silent: it does not answer."
    )
    said: str = Field(description="Its own words; of a silent one, why there are none.")


class MigrationStatusDocument(Document):
    """``syncer migration status``."""

    id: int
    sha256: str = Field(description="Fingerprint of its plan.")
    blue: MigrationClusterDocument
    green: MigrationClusterDocument
    phase: str
    wave: int = Field(description="That was begun last; 0: the canary, or none.")
    stopped_in: str | None = Field(description="The phase in which it was paused or has failed.")
    auto: bool = Field(description="Whether it goes on by itself as long as the bounds of the plan hold.")
    step: str = Field(description="What is done now, or waited for.")
    waits_for: list[str] = Field(description="Commands that end the wait; empty: something is being done.")
    undone: str = Field(description="What the step that is due cannot undo.")
    consequences: dict[str, list[str]] = Field(
        description="Each command that ends the wait → what it would lead to. Of a rollback as was said when it was "
        "looked at last; empty: the clusters were not asked yet."
    )
    stop: MigrationStopDocument | None
    trouble: MigrationStopDocument | None = Field(description="Why it is not carried on; null: it is, or is over.")
    moved: int = Field(description="Steps whose clients were moved; the canary is the first.")
    waves: list[MigrationWaveDocument]
    blue_seen: MigrationBlueDocument | None = Field(description="null: nothing is marked, or no daemon carries it.")
    ill: list[MigrationBrokerDocument] = Field(
        default=[], description="Brokers that are not well, which the migration may wait for: the first 20."
    )
    undoable: list[MigrationUndoDocument] = Field(description="As was said when a rollback was looked at last.")
    blocking: list[MigrationBlockDocument] = Field(description="Checks that do not hold: the first 20 findings.")
    asked_by: str
    reason: str
    since_ms: int = Field(description="When its phase began.")
    made_at_ms: int
    finished_at_ms: int | None = Field(description="null: it is not over.")


class MigrationRowDocument(Document):
    """A migration, in short."""

    id: int
    phase: str
    wave: int
    sha256: str
    asked_by: str
    reason: str
    made_at_ms: int
    changed_at_ms: int
    finished_at_ms: int | None = Field(description="null: it is not over.")


class MigrationList(Document):
    """``syncer migration list``, the latest first."""

    items: list[MigrationRowDocument]


class MigrationEventDocument(Document):
    """Something that has happened in a migration; a line of ``syncer migration events``."""

    migration: int
    number: int
    at_ms: int
    kind: str
    document: dict[str, Any] = Field(description="What belongs to it; its names depend on the kind.")


class MigrationEventList(Document):
    """What has happened in a migration, oldest first."""

    items: list[MigrationEventDocument]
    next: int = Field(description="Go on behind this number, for more or for what comes later.")
