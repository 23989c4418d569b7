"""Bounds that every bus keeps, and the refusal of a message that is over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from syncer.bus.contract import Outgoing
from syncer.errors import PayloadInvalid
from syncer.model import MetaPath

MAX_MESSAGE_BYTES: Final = 5 * 1024 * 1024
"""Pulsar's default ``maxMessageSize``: payload and properties together."""

DELIVERY_BYTES: Final = 16 * 1024 * 1024
"""A delivery that has so many takes no further message: what is folded at once is bounded whatever a message holds."""

ENVELOPE_BYTES: Final = 1024
"""Kept free for what a transport itself adds to the properties."""


PATHS_BYTES: Final = 512 * 1024
"""Of paths in one message: JSON writes a sign with up to six bytes, and all must stay far below what a bus takes."""


def portions(paths: Sequence[MetaPath], most: int) -> Iterator[Sequence[MetaPath]]:
    """Paths in their order, as many to a message as there may be; one that is long takes the room of many."""
    start, room = 0, PATHS_BYTES
    for at, path in enumerate(paths):
        size = len(path.encode())
        if at > start and (at - start >= most or size > room):
            yield paths[start:at]
            start, room = at, PATHS_BYTES
        room -= size
    if start < len(paths):
        yield paths[start:]


def message_bytes(message: Outgoing) -> int:
    """Size of a message as a bus counts it: payload and properties."""
    return len(message.payload) + sum(len(name) + len(text) for name, text in message.properties.items())


def too_large(index: int, size_bytes: int, limit_bytes: int) -> PayloadInvalid:
    """Make the refusal of message ``index`` of a publish; the index stands in ``args[1]``."""
    refusal = PayloadInvalid(
        f"message {index} of the batch has {size_bytes} bytes, the bus takes {limit_bytes}",
        hint="See 'syncer quarantine list'; make the value smaller, or raise the bus's limit in every region.",
    )
    refusal.args = (refusal.message, index)
    return refusal


def check_sizes(messages: Sequence[Outgoing], limit_bytes: int) -> None:
    """Refuse a batch with a message that the bus cannot carry, before anything of it is published.

    Raises:
        PayloadInvalid: Names the first such message; its index is in ``args[1]``.
    """
    room = limit_bytes - ENVELOPE_BYTES
    for index, message in enumerate(messages):
        size = message_bytes(message)
        if size > room:
            raise too_large(index, size, room)
