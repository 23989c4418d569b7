"""Events from the future: stamped beyond the allowed clock skew, kept aside until their time."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from syncer.model import MetadataChangeEvent, MetaPath, Millis, Stamp


class FutureEventTransaction(Protocol):
    """The part of a transaction that is about events from the future."""

    def hold_event(self, event: MetadataChangeEvent, until: Millis, now: Millis) -> None:
        """Keep an event from the future aside until then; the same path and stamp is kept once, the sooner."""
        ...

    def future_events(self, now: Millis, limit: int) -> list[MetadataChangeEvent]:
        """Held events whose time has come, the oldest stamps first."""
        ...

    def future_events_at(self, paths: Collection[MetaPath], limit: int) -> list[MetadataChangeEvent]:
        """Held events of these paths, whatever their time, the oldest stamps first."""
        ...

    def future_event(self, path: MetaPath, stamp: Stamp | None) -> MetadataChangeEvent | None:
        """The held event of a path (the oldest when no stamp is given)."""
        ...

    def drop_future(self, path: MetaPath, stamp: Stamp) -> None:
        """Forget a held event."""
        ...
