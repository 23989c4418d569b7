"""The fields of a migration's report. Entries are as brokers count: a batch is one."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from syncer.documents.document import Document


class ReportedFigureDocument(Document):
    """A figure, and how it is known."""

    count: int | None = Field(description="null: it is not known.")
    basis: str = Field(description="How it is known, or why it is not.")


class ReportedSummaryDocument(Document):
    """What there is to say in one line."""

    lost: ReportedFigureDocument = Field(description="Stored entries that a subscription was never given.")
    doubled: ReportedFigureDocument
    out_of_order: ReportedFigureDocument
    clients_seen: int = Field(description="At blue before the mark.")
    clients_at_green: int
    clients_started_anew: int = Field(description="Of these, those that stand at green under another name.")
    clients_missing: int
    longest_foreseen_gap_s: float | None = Field(description="Of waves that were marked; null: none was.")
    longest_hold_s: float | None = Field(description="For which producers were sent away; null: none were.")
    longest_closing_s: float | None = Field(description="From a mark until the last topic was migrated.")


class ReportedWaveDocument(Document):
    """A wave, as it was planned."""

    wave: int = Field(description="0: the canary.")
    namespaces: list[str]


class ReportedTopicDocument(Document):
    """What was done to a topic before its namespace was marked."""

    topic: str
    cure: str = Field(description="brake, gate, gate-and-brake or refused.")
    why: str = Field(description="Why a rate alone did not do, or why it was refused.")
    rate: int | None = Field(description="Bytes a second that it was held to.")


class ReportedFlipDocument(Document):
    """An attempt to move a wave."""

    wave: int
    namespaces: list[str]
    begun_at_ms: int
    outcome: str = Field(
        description="migrated, unfinished, taken-back, refused; begun: it goes on, or the daemon was killed in it."
    )
    foreseen_gap_s: float = Field(description="For which a producer was to be without an answer at most.")
    marked_at_ms: int | None
    ended_at_ms: int | None
    closing_s: float | None = Field(description="From the mark until the last topic was migrated.")
    held_s: float | None = Field(description="From sending producers away until they were let in again.")
    reasons: dict[str, str] = Field(description="Topic, namespace or call → why it has not gone through.")
    moved: dict[str, str] = Field(description="Topics that were closed behind the last position that was seen → where.")
    topics: list[ReportedTopicDocument]
    shared: dict[str, list[str]] = Field(description="Connections that were stopped → who was on them.")


class ReportedSubscriptionDocument(Document):
    """A subscription, before the mark and after it; null: it was not noted."""

    topic: str
    subscription: str
    backlog_at_mark: int | None = Field(description="Entries that it had yet to read at blue.")
    read_at_blue: int | None = Field(description="Of these, those that it has read there since.")
    drained_at_ms: int | None = Field(description="When nothing was left for it at blue, as far as it was looked.")
    stored_at_green: int | None = Field(description="Entries that were published at green since then.")
    read_at_green: int | None
    consumers_at_green: int | None


class ReportedMissingDocument(Document):
    """A client of blue that was not seen at green."""

    topic: str
    subscription: str = Field(description="That it consumes from; empty: it is a producer.")
    name: str
    address: str
    version: str
    at_blue: bool = Field(description="Whether it is still there; else it is nowhere.")


class ReportedChangeDocument(Document):
    """Something that was set at one of the clusters for a while."""

    cluster: str = Field(description="`blue` or `green`.")
    setting: str
    subject: str
    value: str | None
    set_at_ms: int | None
    back_at_ms: int | None = Field(description="When the former value was put back; null: that was not noted.")


class ReportedAskDocument(Document):
    """What an operator has asked for."""

    at_ms: int
    command: str
    who: str
    why: str
    refused: str = Field(description="Why it was not followed; empty: it was, or will be.")


class ReportedReturnDocument(Document):
    """Whether the migration can be taken back, or was."""

    rollback: Literal["yes", "partly", "no"]
    words: str
    stays: dict[str, str] = Field(description="Namespace → what could not be taken back of it.")
    set_still: list[str] = Field(description="What is set, and has yet to be put back.")


class ReportedStopDocument(Document):
    """Why it does not go on."""

    code: str
    words: str
    hint: str
    fatal: bool = Field(description="Whether a rule of migrations was broken.")


class ReportedMomentDocument(Document):
    """Something that has happened."""

    at_ms: int
    words: str


class ReportedPlanDocument(Document):
    """What was planned."""

    sha256: str
    blue: str
    green: str
    waves: list[ReportedWaveDocument]
    whole_cluster: bool
    overrides: dict[str, str] = Field(description="Check that was passed over → reason.")


class MigrationReportDocument(Document):
    """``syncer migration report``."""

    id: int
    phase: str
    asked_by: str
    reason: str
    reverses: int | None = Field(description="Number of the migration that it takes back.")
    made_at_ms: int
    finished_at_ms: int | None = Field(description="null: it is not over.")
    plan: ReportedPlanDocument
    summary: ReportedSummaryDocument
    stop: ReportedStopDocument | None
    rollback: ReportedReturnDocument
    flips: list[ReportedFlipDocument]
    ill: dict[str, str] = Field(description="Topics that could not be read after the mark, and were healed.")
    subscriptions: list[ReportedSubscriptionDocument]
    missing: list[ReportedMissingDocument]
    changes: list[ReportedChangeDocument]
    asks: list[ReportedAskDocument]
    timeline: list[ReportedMomentDocument]
