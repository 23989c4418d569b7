"""Clients by their versions: who follows a broker that sends it to another cluster, and who takes which address.

A client that does not follow stays at blue and reconnects for ever; one that follows without a look-up arrives at
a broker that may not own it.
Source: PIP-188; Pulsar PRs 21356 and 23534, C++ client PRs 402 and 406, Go client PR 1210.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Language(StrEnum):
    """Client libraries, by the word that they begin their version with."""

    JAVA = "Java"
    CPP = "CPP"
    """Python, Node.js and PHP wrap it and tell its version."""
    GO = "Go"
    OTHER = "other"


Release = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientVersion:
    """What a client said of itself.

    Attributes:
        release: ``None``: it could not be read.
        said: Its own words.
    """

    language: Language
    release: Release | None
    said: str


_SAID: Final = re.compile(
    r"(?:pulsar[- ]?)?(?:client[- ]?)?(?P<language>java|cpp|c\+\+|go)?[- ]*"
    r"(?:version|v)?[- ]*(?P<release>\d+\.\d+(?:\.\d+)?)?",
    re.IGNORECASE,
)
_WORDS: Final = {"java": Language.JAVA, "cpp": Language.CPP, "c++": Language.CPP, "go": Language.GO}

FOLLOWS_SINCE: Final[dict[Language, Release]] = {
    Language.JAVA: (3, 2, 0),
    Language.CPP: (3, 5, 0),
    Language.GO: (0, 13, 0),
}
"""The first release that looks a topic up at the cluster that it was sent to."""

_BACKPORTED: Final = ((3, 0, 7), (3, 1, 0))
"""Java's 3.0 line has it from its seventh patch on; 3.1 never got it."""

CHECKS_ADDRESS_SINCE: Final[Release] = (4, 0, 1)
"""Older Java clients take the TLS address of a redirect unchecked, and fail where there is none."""


def parse(said: str) -> ClientVersion:
    """Read a client's version: ``Pulsar-Java-v4.0.8``, ``Pulsar-CPP-v3.5.1``, ``Pulsar Go 0.14.0``, or a bare number.

    A bare number is a Java client's of before 3.0, or a broker's own.
    """
    match = _SAID.fullmatch(said.strip().removesuffix("-SNAPSHOT"))
    if match is None or not said.strip():
        return ClientVersion(language=Language.OTHER, release=None, said=said)
    language = _WORDS.get((match["language"] or "").lower())
    release = release_of(match["release"]) if match["release"] else None
    if language is None:
        bare = release is not None and said.strip()[0].isdigit()
        return ClientVersion(language=Language.JAVA if bare else Language.OTHER, release=release, said=said)
    return ClientVersion(language=language, release=release, said=said)


def release_of(text: str) -> Release | None:
    """The three numbers at the beginning of a version; ``None``: it does not begin with numbers."""
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def follows(client: ClientVersion) -> bool:
    """Whether a client is known to go where a broker sends it, and to look its topic up there."""
    if client.release is None or client.language not in FOLLOWS_SINCE:
        return False
    if client.language is Language.JAVA and _BACKPORTED[0] <= client.release < _BACKPORTED[1]:
        return True
    return client.release >= FOLLOWS_SINCE[client.language]


def needs_every_address(client: ClientVersion) -> bool:
    """Whether a redirect without one of the four addresses harms a client."""
    if client.language is not Language.JAVA:
        return False
    return client.release is None or client.release < CHECKS_ADDRESS_SINCE
