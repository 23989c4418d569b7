"""Owners of ledgers: the topic that a ledger's own metadata names, and the topic of what refers to ledgers.

Pulsar writes both as paths with the last part encoded; here a topic has its full name, as Pulsar's tools show it.

Source: LedgerMetadataUtils, TopicName, Codec, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple
from urllib.parse import unquote_plus

MANAGED_LEDGERS: Final = "/managed-ledgers/"
SCHEMAS: Final = "/schemas/"
PULSAR: Final = b"pulsar"
"""The application of all ledgers that Pulsar makes for itself; a ledger without it is somebody else's."""

_DOMAINS: Final = frozenset({"persistent", "non-persistent"})
APPLICATION: Final = "application"
COMPONENT: Final = "component"
COMPACTED_COMPONENT: Final = b"compacted-ledger"
"""The component of the ledger of a topic's compacted messages."""


class ReferenceRole(StrEnum):
    """How a topic uses a ledger that it refers to."""

    DATA = "data"
    CURSOR = "cursor"
    COMPACTED = "compacted"
    DELAYED_INDEX = "delayed-index"
    SCHEMA = "schema"


class LedgerOwner(NamedTuple):
    """Who made a ledger, as its custom metadata tells; None where it does not."""

    application: str | None
    component: str | None
    topic: str | None


def owner_of(custom: Mapping[str, bytes]) -> LedgerOwner:
    """Read the owner out of a ledger's custom metadata.

    Args:
        custom: The metadata; a value that is no UTF-8 is shown with replacements.
    """
    application, component = custom.get(APPLICATION), custom.get(COMPONENT)
    return LedgerOwner(
        None if application is None else application.decode(errors="replace"),
        None if component is None else component.decode(errors="replace"),
        _topic(custom),
    )


def _topic(custom: Mapping[str, bytes]) -> str | None:
    for key, read in TOPIC_RULES:
        value = custom.get(key)
        if value is not None:
            return read(value.decode(errors="replace"))
    return None


def topic_of_managed_ledger(name: str) -> str | None:
    """The topic of a managed ledger; None where the name is none of a topic.

    Args:
        name: ``tenant/namespace/persistent/topic``, with a cluster behind the tenant for topics of old; what follows
            the topic, as a cursor, is passed over.
    """
    parts = name.split("/")
    for place in (2, 3):  # a namespace or a topic may be called like a domain
        if len(parts) > place + 1 and parts[place] in _DOMAINS:
            return f"{parts[place]}://{'/'.join(parts[:place])}/{_decoded(parts[place + 1])}"
    return None


def topic_of_schema(name: str) -> str | None:
    """The topic of a schema; None where the name is none of a topic.

    Args:
        name: ``tenant/namespace/topic``.
    """
    parts = name.split("/")
    return f"persistent://{parts[0]}/{parts[1]}/{_decoded(parts[2])}" if len(parts) == 3 else None


def topic_of_path(path: str) -> str | None:
    """The topic of a managed ledger, a cursor or a schema; None where the path is another's.

    Args:
        path: In the store.
    """
    if path.startswith(MANAGED_LEDGERS):
        return topic_of_managed_ledger(path.removeprefix(MANAGED_LEDGERS))
    return topic_of_schema(path.removeprefix(SCHEMAS)) if path.startswith(SCHEMAS) else None


def _decoded(name: str) -> str:
    return unquote_plus(name) if "%" in name or "+" in name else name


TOPIC_RULES: Final[tuple[tuple[str, Callable[[str], str | None]], ...]] = (
    ("pulsar/managed-ledger", topic_of_managed_ledger),
    ("pulsar/compactedTopic", str),
    ("pulsar/delayedIndexTopic", str),
    ("pulsar/schemaId", topic_of_schema),
)
"""Keys of custom metadata that name a topic, and how it is read out of their value; the first that is there decides."""
