"""Peers: what each told last."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from syncer.model import Millis, Region


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRow:
    """What a peer told last in its heartbeat, and when it came. ``document`` is the heartbeat as JSON."""

    region: Region
    sender: str
    heard_at_ms: Millis
    sent_at_ms: Millis
    document: dict[str, object]


class PeerTransaction(Protocol):
    """The part of a transaction that is about peers."""

    def save_peer(self, peer: PeerRow) -> None:
        """Keep what a peer told last."""

    def drop_peer(self, region: Region) -> None:
        """Keep nothing of a peer."""

    def peers(self, regions: Collection[Region] | None = None) -> list[PeerRow]:
        """All peers that were ever heard, or those of these regions."""
