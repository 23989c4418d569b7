"""JSON documents of repairs: re-publishing from snapshots, before, while and after it is done."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from syncer.documents.document import Document


class UntoldDocument(Document):
    """A path that was not told, and why."""

    path: str
    reason: str


class RepairDocument(Document):
    """``syncer snapshot sync`` and ``progress``, an entry of ``repairs``: what is told again, and how far it is."""

    id: int
    state: Literal["loading", "ready", "running", "done", "cancelled", "failed"]
    regions: list[str] = Field(description="Whose snapshots were compared.")
    taken_at_ms: int = Field(description="When the oldest of these was taken.")
    total: int = Field(description="Paths; 0 while they are brought in.")
    done: int
    told: int = Field(description="Told on the bus; every region decides by the usual order and guards.")
    superseded: int = Field(description="Left out: this region knows a later change.")
    reread: int = Field(description="This region's own paths that no daemon had stamped: they are read again.")
    elsewhere: int = Field(description="Likewise of other regions: their own daemons find these.")
    refused: int = Field(description="Not told; see refusals.")
    asked_by: str
    reason: str
    begun_at_ms: int | None
    finished_at_ms: int | None
    detail: str
    refusals: list[UntoldDocument] = Field(description="The first refused paths.")


class RepairList(Document):
    """``syncer snapshot repairs``, the latest first."""

    items: list[RepairDocument]


class RepairChange(Document):
    """How much a repair changes in a region."""

    region: str
    what: str
    paths: int


class RepairPath(Document):
    """One path of a repair."""

    path: str
    cls: str = Field(description="only-in, differs, deleted or held.")
    found_in: str
    stamp: str | None = Field(description="Of the version that is told; null: no daemon has stamped it.")
    losers: list[str]
    held: dict[str, str]


class RepairPreview(Document):
    """``syncer snapshot sync --dry-run``."""

    paths: int
    deletes: int
    taken_at_ms: int
    changes: list[RepairChange]
    unstamped: dict[str, int] = Field(description="By region: what its own daemon has to find in its store.")
    native_may_ignore: dict[str, int] = Field(description="By native region: tellings that it may ignore.")
    objections: list[str] = Field(description="Why the daemon here would refuse it as it stands, by its configuration.")
    items: list[RepairPath] = Field(description="The first 1000.")
