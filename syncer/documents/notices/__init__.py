"""JSON documents of notices: the body of a webhook, versioned, and what ``syncer notify test`` tells.

The envelope is that of the Standard Webhooks specification 1.0.0: ``type``, ``timestamp``, ``data``. Fields may be
added to version 1; none is taken away or changes its meaning. No field ever holds a value of the store, a payload or a
secret; paths are named, and are names of tenants, namespaces and topics.

Units: ``*_ms`` milliseconds since the epoch, UTC; ``*_s`` seconds.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from syncer.documents.document import Document
from syncer.documents.words import moment
from syncer.notices.rules import NoticeEvent, NoticeKind, Outstanding
from syncer.terminal import visible, visible_json

VERSION: Final = 1
MAX_PATH_CHARS: Final = 256
MAX_DETAIL_CHARS: Final = 300

STEPS: Final = {
    NoticeKind.HOLDS: ("look at each, then confirm or reject it", "syncer holds list"),
    NoticeKind.CONFLICTS: ("when there is time: restore or discard what lost", "syncer conflicts list"),
    NoticeKind.DIVERGENCE: ("see what is held or in quarantine in both regions", "syncer regions list"),
    NoticeKind.QUARANTINE: ("see why, mend it, then retry or discard", "syncer quarantine list"),
    NoticeKind.JOBS_FAILED: ("mend what the message says; the next one comes by itself", "syncer status"),
}
"""By kind: what an operator does next, and the command to begin with."""

_WORDS: Final = {
    NoticeKind.HOLDS: ("change is held", "changes are held", "no change is held any more"),
    NoticeKind.CONFLICTS: (
        "change that lost a conflict is kept",
        "changes that lost a conflict are kept",
        "no change that lost a conflict is kept any more",
    ),
    NoticeKind.DIVERGENCE: (
        "region differs for too long",
        "regions differ for too long",
        "all regions that were compared are equal again",
    ),
    NoticeKind.QUARANTINE: ("entry is in quarantine", "entries are in quarantine", "the quarantine is empty again"),
    NoticeKind.JOBS_FAILED: ("job has failed", "jobs have failed", "jobs end well again"),
}


class NoticeReason(Document):
    """How many stand for one reason."""

    reason: str
    count: int


class NoticeData(Document):
    """What a notice tells."""

    version: Literal[1] = Field(description="Of this form.")
    id: str = Field(description="As the header webhook-id: the same over retries and restarts.")
    region: str
    kind: Literal["holds", "conflicts", "divergence", "quarantine", "jobs-failed"]
    event: Literal["raised", "more", "reminder", "cleared", "test"] = Field(
        description="raised: something stands. more: more, or newer. reminder: it lasts. cleared: it is over."
    )
    count: int = Field(description="How many stand; 0 when it is over.")
    since_ms: int | None = Field(description="Since when the oldest stands; null: not known.")
    reasons: list[NoticeReason] = Field(description="The most frequent first, at most 20.")
    paths: list[str] = Field(description="The first paths, at most 10; long ones are cut.")
    detail: str = Field(description="More in words; empty: nothing.")
    message: str = Field(description="All of it in one line, without paths.")
    next: str = Field(description="What an operator does about it.")
    command: str = Field(description="The command to begin with.")


class NoticeDocument(Document):
    """The body of a webhook without a template."""

    type: str = Field(description="'syncer', kind and event, with full stops between; for filters of receivers.")
    timestamp: str = Field(description="When the notice was made: ISO 8601, UTC.")
    data: NoticeData


class AttemptDocument(Document):
    """One webhook's answer to a test."""

    webhook: str
    place: str = Field(description="Scheme, host and port.")
    ok: bool
    outcome: Literal["delivered", "failed", "refused", "gone", "not-sent"]
    status: int | None = Field(description="HTTP status; null: there was no answer.")
    took_s: float
    cause: str = Field(description="What went wrong; of an answer's body only a few escaped characters.")


class NotifyTestDocument(Document):
    """``syncer notify test``."""

    ok: bool
    notice: NoticeDocument = Field(description="What was sent, where a webhook has no template.")
    items: list[AttemptDocument]


def notice_document(
    region: str, kind: NoticeKind, event: NoticeEvent, standing: Outstanding, notice_id: str, at_ms: int
) -> NoticeDocument:
    """A notice as the contract has it.

    Args:
        region: Id of the region.
        kind: What it tells of.
        event: The occasion.
        standing: What stands.
        notice_id: Its id.
        at_ms: When it is made, milliseconds since the epoch.
    """
    step, command = STEPS[kind]
    return NoticeDocument(
        type=f"syncer.{kind.value.replace('-', '_')}.{event.value}",
        timestamp=moment(at_ms).replace(" ", "T"),
        data=NoticeData(
            version=VERSION,
            id=notice_id,
            region=region,
            kind=kind.value,
            event=event.value,
            count=standing.count,
            since_ms=standing.since_ms,
            reasons=[NoticeReason(reason=visible(reason), count=count) for reason, count in standing.reasons],
            paths=[_cut(path, MAX_PATH_CHARS) for path in standing.paths],
            detail=_cut(standing.detail, MAX_DETAIL_CHARS),
            message=message_of(region, kind, event, standing),
            next=step if standing.count else "nothing to do",
            command=command if standing.count else "",
        ),
    )


def message_of(region: str, kind: NoticeKind, event: NoticeEvent, standing: Outstanding) -> str:
    """A notice in one line, without paths."""
    one, several, over = _WORDS[kind]
    if event is NoticeEvent.TEST:
        return f"{region}: this is a test; nothing is wrong"
    if not standing.count:
        return f"{region}: {over}"
    still = "still, " if event is NoticeEvent.REMINDER else ""
    said = f"{region}: {still}{standing.count} {one if standing.count == 1 else several}"
    why = ", ".join(f"{visible(reason)} {count}" for reason, count in standing.reasons)
    since = f"since {moment(standing.since_ms)}" if standing.since_ms is not None else ""
    detail = _cut(standing.detail, MAX_DETAIL_CHARS)
    more = ", ".join(part for part in (why, since, detail) if part)
    return f"{said}: {more}" if more else said


def body_of(document: NoticeDocument) -> bytes:
    """The body of a webhook without a template."""
    return visible_json(document.model_dump_json()).encode()


def template_values(document: NoticeDocument) -> dict[str, str]:
    """What stands in place of the names of a template."""
    data = document.data
    return {
        "text": data.message,
        "kind": data.kind,
        "event": data.event,
        "region": data.region,
        "count": str(data.count),
        "since": moment(data.since_ms),
        "reasons": ", ".join(f"{each.reason} {each.count}" for each in data.reasons),
        "paths": ", ".join(data.paths),
        "next": data.next,
        "command": data.command,
        "id": data.id,
        "at": document.timestamp,
    }


def _cut(text: str, chars: int) -> str:
    shown = visible(text)
    return shown if len(shown) <= chars else shown[: chars - 1] + "…"
