"""Releases: the order of brokers' versions, and the filter that prefers later ones.

Versions are semantic ones, in the order of the library that Pulsar reads them with: numbers first; a release after its
own pre-releases; of two parts of a pre-release, as numbers where both are, otherwise as text; builds never count.

Source: BrokerVersionFilter, Pulsar 4.0.8; com.github.zafarkhaja:java-semver 0.9.0, MetadataVersion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncer.balancer.placement.decision import DropReason, Filter, FilterAnswer, Spared, kept

if TYPE_CHECKING:
    from syncer.balancer.placement.decision import BrokerTraits

_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_PART: Final = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD: Final = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_RELEASE: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_PART}(?:\.{_PART})*))?(?:\+{_BUILD})?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Release:
    """A version without its build: numbers, and the parts of its pre-release."""

    numbers: tuple[int, int, int]
    pre: tuple[str, ...] = ()

    def after(self, other: Release) -> bool:
        """Say whether this one is later than another."""
        if self.numbers != other.numbers:
            return self.numbers > other.numbers
        if not self.pre or not other.pre:
            return not self.pre and bool(other.pre)
        for own, its in zip(self.pre, other.pre, strict=False):
            if own != its:
                return int(own) > int(its) if own.isdecimal() and its.isdecimal() else own > its
        return len(self.pre) > len(other.pre)


def release(version: str | None) -> Release | None:
    """Read a version as brokers register it; None where it is none."""
    found = _RELEASE.fullmatch(version or "")
    if found is None:
        return None
    numbers = (int(found[1]), int(found[2]), int(found[3]))
    return Release(numbers, tuple(found[4].split(".")) if found[4] else ())


def of_latest_release(candidates: Sequence[str], traits: Mapping[str, BrokerTraits]) -> FilterAnswer:
    """Keep brokers of the latest version among them; all where one's version cannot be read.

    Args:
        candidates: The brokers.
        traits: What each registers.
    """
    releases: dict[str, Release] = {}
    latest: Release | None = None
    for broker in candidates:
        known = traits.get(broker)
        own = release(known.version) if known is not None else None
        if own is None:
            return FilterAnswer(filter=Filter.VERSION, left=tuple(candidates), spared=Spared.VERSION_UNREADABLE)
        releases[broker] = own
        latest = own if latest is None or own.after(latest) else latest
    return kept(Filter.VERSION, candidates, lambda broker: releases[broker] == latest, DropReason.OLDER_VERSION)
