"""The hub of the status: the document as it is, told when it changes; who is slow is told the latest alone."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from api.shared_status import SharedStatus
from api.streams import framing
from api.streams.hub import Hub, StreamPace
from syncer.errors import RequestInvalid
from syncer.terminal import json_text

ID_CHARACTERS: Final = 16
_ID: Final = re.compile(rf"[0-9a-f]{{{ID_CHARACTERS}}}")
_AGE: Final = "age_s"
"""End of the names of what goes on by itself: that alone is no change."""


class StatusHub(Hub):
    """Looks at the status for all who follow it.

    Args:
        name: Of the stream.
        shared: Knows the status.
        pace: How often it looks.

    Attributes:
        number: Digest of the document, without ages.
        frame: The document.
    """

    def __init__(self, name: str, shared: SharedStatus, pace: StreamPace) -> None:
        super().__init__(name, pace)
        self._shared = shared
        self.number = ""
        self.frame = b""

    async def follow(self, last_event_id: str) -> StatusFollower:
        """Begin to follow: with the document as it is, unless it is that of the id.

        Raises:
            RequestInvalid: That is no id of an event.
        """
        if last_event_id and not _ID.fullmatch(last_event_id):
            raise RequestInvalid(
                "Last-Event-ID is no id of an event of this stream",
                hint="Send the id of the last event unchanged, or none.",
            )
        return StatusFollower(self, last_event_id)

    async def _begin(self) -> None:
        await self._look()

    async def _look(self) -> bool:
        found = (await self._shared.told()).document
        number = hashlib.sha256(json_text(_lasting(found)).encode()).hexdigest()[:ID_CHARACTERS]
        if number == self.number:
            return False
        self.number, self.frame = number, framing.event("status", found)
        return True


class StatusFollower:
    """One reader of the status.

    Args:
        hub: Of the status.
        number: Of the document that it has.
    """

    def __init__(self, hub: StatusHub, number: str) -> None:
        self._hub = hub
        self.number = number

    async def take(self) -> bytes:
        """The document, if it is another one than was told."""
        if self.number == self._hub.number:
            return b""
        self.number = self._hub.number
        return framing.numbered(self.number, self._hub.frame)


def _lasting(found: Any) -> Any:  # noqa: ANN401 - plain data
    if isinstance(found, dict):
        return {name: _lasting(each) for name, each in found.items() if not name.endswith(_AGE)}
    return [_lasting(each) for each in found] if isinstance(found, list) else found
