"""JSON document of what was read of a cluster's ledgers, which every answer has: when, and how far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncer.documents.document import Document
from syncer.ledgers.decoding.undecodable import ValueKind
from syncer.wanted.ledgers import LedgerPart

if TYPE_CHECKING:
    from syncer.ledgers.auditing.picture import LedgersPicture, PartExtent

SHOWN: Final = 100
"""Paths that are named of each sort; all are counted."""


class UndecodableDocument(Document):
    """A value that was not understood; it is not shown."""

    kind: ValueKind
    path: str
    why: str


class PartReadDocument(Document):
    """A part of a store; ``whole`` is false where something was not read, or not understood.

    ``rows`` are paths; of the paths that are named there are at most a hundred of each sort, the counts are of all.
    """

    part: LedgerPart
    began_ms: int
    ended_ms: int
    rows: int
    whole: bool
    refused_count: int
    refused: list[str]
    undecodable_count: int
    undecodable: list[UndecodableDocument]
    unfamiliar_count: int
    unfamiliar: list[str]


class LedgersReadDocument(Document):
    """What an answer rests on; ``whole`` is false where it is a lower bound."""

    cluster: str
    taken_ms: int
    instance_id: str | None
    whole: bool
    parts: list[PartReadDocument]


def ledgers_read_document(picture: LedgersPicture) -> LedgersReadDocument:
    """Make the document of what was read.

    Args:
        picture: The picture.
    """
    parts = [_part(part, extent) for part, extent in picture.extents.items()]
    return LedgersReadDocument(
        cluster=picture.cluster,
        taken_ms=picture.taken_ms,
        instance_id=picture.instance_id,
        whole=all(each.whole for each in parts),
        parts=parts,
    )


def _part(part: LedgerPart, extent: PartExtent) -> PartReadDocument:
    return PartReadDocument(
        part=part,
        began_ms=extent.began_ms,
        ended_ms=extent.ended_ms,
        rows=extent.rows,
        whole=extent.whole,
        refused_count=len(extent.refused),
        refused=extent.refused[:SHOWN],
        undecodable_count=len(extent.undecodable),
        undecodable=[
            UndecodableDocument(kind=each.kind, path=each.path, why=each.why) for each in extent.undecodable[:SHOWN]
        ],
        unfamiliar_count=len(extent.unfamiliar),
        unfamiliar=extent.unfamiliar[:SHOWN],
    )
