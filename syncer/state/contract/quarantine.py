"""The quarantine (dead-letter queue): what cannot be handled, kept with its reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from syncer.errors import MessageUnreadable, SignatureInvalid, SpeakerInvalid
from syncer.model import MetaPath, Millis
from syncer.state.contract.conflicts import Amount

STRANGE_CODES: Final = (SignatureInvalid.code, SpeakerInvalid.code, MessageUnreadable.code)
"""Why messages stand in quarantine that anybody may have sent who can publish on the topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """Something that cannot be handled, kept with its reason.

    ``payload`` and ``properties`` are those of a bus message; for a value of the local store ``path`` and the value.
    """

    origin: str
    code: str
    detail: str
    position: str
    path: MetaPath | None = None
    payload: bytes = field(default=b"", repr=False)
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterRow:
    """A quarantined thing as kept."""

    id: int
    poison: DeadLetter
    recorded_at_ms: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAside:
    """How much of the bus is kept aside; bytes are those of payloads, values, and what stands beside them.

    Args:
        strangers: Messages in quarantine that were not signed with a key of the group, or in the name of another one.
        poison: All other messages of the bus in quarantine.
        future: Events that wait for their time.
    """

    strangers: Amount
    poison: Amount
    future: Amount


class QuarantineTransaction(Protocol):
    """The part of a transaction that is about the quarantine."""

    def quarantine(self, poison: DeadLetter, now: Millis) -> None:
        """Keep something that cannot be handled; the same origin and position is kept once."""
        ...

    def kept_aside(self) -> KeptAside:
        """How much of what came by the bus is kept aside."""
        ...

    def unfolded(self) -> int:
        """How many changes of this region stand in quarantine because the bus will never take them."""
        ...

    def dead_letter(self, number: int) -> DeadLetterRow | None:
        """A quarantined thing by its number."""
        ...

    def drop_dead_letter(self, number: int) -> None:
        """Remove a quarantined thing."""
        ...
