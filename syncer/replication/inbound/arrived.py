"""Messages as they arrive from the bus: checked and decoded, or with the reason why nothing can be made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from syncer.bus.trust.region_keys import Speaker
from syncer.bus.trust.signing import Keyring, unseal
from syncer.bus.wire.messages import Message
from syncer.errors import InvariantBroken, MessageUnreadable, PayloadInvalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A message with where it came from, and the region that has made it, where its own key proves that.

    ``message`` is the error when it was refused or could not be decoded.
    """

    message: Message | PayloadInvalid
    position: str
    payload: bytes = field(default=b"", repr=False)
    properties: dict[str, str] = field(default_factory=dict)
    speaker: Speaker | None = None


def arrived_of(
    payload: bytes, properties: Mapping[str, str], position: str, keyring: Keyring, trouble: str = ""
) -> Arrived:
    """Check and decode a message; one that is refused, or cannot be understood, carries the reason.

    Args:
        payload: As received.
        properties: As received.
        position: Where it stands on the bus.
        keyring: Whose messages are believed.
        trouble: What the bus could not read of it; empty: nothing.
    """
    message: Message | PayloadInvalid
    speaker: Speaker | None = None
    try:
        if trouble:
            raise MessageUnreadable(trouble)
        heard = unseal(payload, properties, keyring)
        message, speaker = heard.message, heard.speaker
    except PayloadInvalid as exc:
        message = _bare(exc)
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, InvariantBroken) as exc:
        message = PayloadInvalid(f"it cannot be decoded: {type(exc).__name__}: {exc}")
    return Arrived(message=message, position=position, payload=payload, properties=dict(properties), speaker=speaker)


def _bare(error: PayloadInvalid) -> PayloadInvalid:
    """The error without where it was raised: these frames hold all that was decoded, and, in a circle, the error."""
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error
