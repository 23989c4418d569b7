"""Versions of Pulsar's clients, as they say them of themselves.

Source: clientVersion of producers and consumers in the statistics of topics.
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
