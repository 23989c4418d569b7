"""The scope, a replication filter: rules by path and direction. The first that matches decides; no match: ignored."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from syncer.conflict.settings import Direction
from syncer.errors import ConfigError
from syncer.memoizing import memoized
from syncer.model import MetaPath
from syncer.paths import classify, is_under

ALLOWED_PREFIXES: Final = (
    "/admin/policies",
    "/admin/partitioned-topics",
    "/admin/resourcegroups",
    "/admin/clusters",
    "/admin/topic-policies/global",
)
"""Nothing outside is ever replicated, whatever the rules say."""

DIRECTIONS_BYTES: Final = 24 << 20
"""Memory for the directions of paths that were asked for."""
WILDCARD: Final = re.compile(r"\*\*|\*")


@dataclass(frozen=True, slots=True)
class Rule:
    """Paths that match ``pattern`` flow in ``direction``.

    In a pattern ``*`` stands for part of one segment and ``**`` for any number of segments.
    """

    pattern: str
    direction: Direction


DEFAULT_RULES: Final = (
    Rule("/admin/policies/pulsar/**", Direction.IGNORE),
    Rule("/admin/policies/pulsar", Direction.IGNORE),
    Rule("/admin/policies/sla-monitor/**", Direction.IGNORE),
    Rule("/admin/policies/sla-monitor", Direction.IGNORE),
    Rule("/admin/policies/**", Direction.BOTH),
    Rule("/admin/partitioned-topics/pulsar/**", Direction.IGNORE),
    Rule("/admin/partitioned-topics/*/*/*/__*", Direction.IGNORE),
    Rule("/admin/partitioned-topics/**", Direction.BOTH),
    Rule("/admin/resourcegroups/**", Direction.BOTH),
)
"""Tenants, namespaces, partitioned topics and resource groups, without Pulsar's own."""


class PathPatterns:
    """Several patterns, matched together in a step for each letter of a path: a stranger may have written them.

    What the letters read so far have matched is one number, with a bit for each place in each pattern; a letter moves
    all of them at once. There is nothing to go back to, so no pattern takes longer than another of its length.

    Source: Baeza-Yates and Gonnet, "A New Approach to Text Searching" (1992), with loops for the wildcards.

    Args:
        patterns: As in the rules of a scope.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        size = sum(map(len, patterns)) + len(patterns)
        letters: dict[str, _Places] = {}
        first, last, anywhere, within = (_Places(size) for _ in range(4))
        self._last: dict[int, int] = {}
        at = 0
        for number, pattern in enumerate(patterns):
            first.add(at)
            end = 0
            for star in (*WILDCARD.finditer(pattern), None):
                for letter in pattern[end : star.start() if star else None]:
                    at += 1
                    if letter not in letters:
                        letters[letter] = _Places(size)
                    letters[letter].add(at)
                if star is not None:
                    (anywhere if star[0] == "**" else within).add(at)
                    end = star.end()
            last.add(at)
            self._last[at] = number
            at += 1
        self._letters = {letter: places.number for letter, places in letters.items()}
        self._first, self._ends = first.number, last.number
        self._stays, self._stays_at_slash = anywhere.number | within.number, anywhere.number

    def first(self, path: str) -> int | None:
        """The number of the first pattern that matches a whole path; ``None``: none does."""
        ended = self._after(path)
        return self._last[(ended & -ended).bit_length() - 1] if ended else None

    def all(self, path: str) -> tuple[int, ...]:
        """The numbers of all patterns that match a whole path."""
        return tuple(self._last[place] for place in _places_in(self._after(path)))

    def _after(self, path: str) -> int:
        """The ends of patterns that a path has come to."""
        places, letters = self._first, self._letters.get
        stays, stays_at_slash = self._stays, self._stays_at_slash
        for letter in path:
            places = (places << 1) & letters(letter, 0) | places & (stays_at_slash if letter == "/" else stays)
            if not places:
                break
        return places & self._ends


class _Places:
    """Places of which a number is made at once: bit by bit it would take a time that goes with their square."""

    def __init__(self, size: int) -> None:
        self._bytes = bytearray(size // 8 + 1)

    def add(self, place: int) -> None:
        self._bytes[place >> 3] |= 1 << (place & 7)

    @property
    def number(self) -> int:
        return int.from_bytes(self._bytes, "little")


def _places_in(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


class Scope:
    """The ordered rules of one region, compiled.

    What others have told is matched by :class:`PathPatterns` alone; an expression, which is quicker, is made of a
    region's own rules where no path can take it long.

    Args:
        rules: In order.
        told: Another region has told them, and they were checked when they were read: it may carry what lies outside
            the allow-list of this version.

    Raises:
        ConfigError: A pattern lies outside the allow-list, or is not a path pattern.
    """

    def __init__(self, rules: Sequence[Rule] = DEFAULT_RULES, *, told: bool = False) -> None:
        self.rules = tuple(rules)
        for rule in () if told else self.rules:
            check_rule(rule)
        self._compiled: re.Pattern[str] | None = None
        if not told and all(_is_linear(rule.pattern) for rule in self.rules):
            expressions = "|".join(f"({_expression(rule.pattern)})" for rule in self.rules)
            self._compiled = re.compile(expressions, re.DOTALL)
        self.direction = memoized(DIRECTIONS_BYTES)(self._direction)

    def _direction(self, path: MetaPath) -> Direction:
        return Direction.IGNORE if classify(path) is None else self.direction_of_resource(path)

    def direction_of_resource(self, path: MetaPath) -> Direction:
        """As ``direction`` for a path that is known to be a resource; not remembered, for millions are asked for."""
        at = self.deciding(path)
        return Direction.IGNORE if at is None else self.rules[at].direction

    def deciding(self, path: MetaPath) -> int | None:
        """The place among ``rules`` of the one that decides about a resource; ``None``: no rule matches it."""
        if self._compiled is None:
            return self._patterns.first(path)
        match = self._compiled.fullmatch(path) if self.rules else None  # alternatives are tried in their order
        return match.lastindex - 1 if match and match.lastindex else None

    def matching(self, path: MetaPath) -> tuple[int, ...]:
        """The places among ``rules`` of all that match a path; the first of them decides."""
        return self._patterns.all(path)

    @cached_property
    def _patterns(self) -> PathPatterns:
        return PathPatterns([rule.pattern for rule in self.rules])

    def direction_below(self, folder: MetaPath) -> Direction | None:
        """The direction of every resource directly below a path, or ``None`` where that goes by its name.

        A pattern that ends in a star and matches the path with its slash matches it with any name behind, too.
        """
        start = f"{folder}/"
        for at, rule in enumerate(self.rules):
            literal, star, _ = rule.pattern.partition("*")
            if star and start.startswith(literal):
                every = rule.pattern.endswith("*") and at in self._patterns.all(start)
                return rule.direction if every else None
            if literal.startswith(start):
                return None
        return Direction.IGNORE

    def contains(self, path: MetaPath) -> bool:
        """Whether the path takes part at all."""
        return self.direction(path) is not Direction.IGNORE

    def carries_resource(self, path: MetaPath) -> bool:
        """As ``contains`` for a path that is known to be a resource; not remembered."""
        return self.direction_of_resource(path) is not Direction.IGNORE

    @property
    def prefixes(self) -> tuple[MetaPath, ...]:
        """The fewest prefixes that cover every path in scope, for watches and scans."""
        used = {
            MetaPath(prefix)
            for prefix in ALLOWED_PREFIXES
            for rule in self.rules
            if rule.direction is not Direction.IGNORE and _overlaps(rule.pattern, prefix)
        }
        return tuple(sorted(used))

    @cached_property
    def fingerprint(self) -> str:
        """A short name that is equal exactly for equal rules; regions tell it to each other."""
        return fingerprint_of(self.text)

    @property
    def text(self) -> str:
        """The rules as one text: a line each, the direction before the pattern."""
        return "\n".join(f"{rule.direction} {rule.pattern}" for rule in self.rules)


def fingerprint_of(text: str) -> str:
    """The fingerprint of the scope whose rules are this text."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=6).hexdigest()


def check_rule(rule: Rule) -> None:
    """Check a rule of a region's own configuration, or of what was written by one.

    Raises:
        ConfigError: The pattern lies outside the allow-list, or is not a path pattern.
    """
    if not rule.pattern.startswith("/") or rule.pattern.endswith("/") or "//" in rule.pattern:
        raise ConfigError(
            f"scope pattern {rule.pattern!r} is no path pattern", hint="Write it like '/admin/policies/*/**'."
        )
    if rule.direction is not Direction.IGNORE and not any(
        _overlaps(rule.pattern, prefix) for prefix in ALLOWED_PREFIXES
    ):
        raise ConfigError(
            f"scope pattern {rule.pattern!r} lies outside what may be replicated",
            hint=f"Use a path below one of: {', '.join(ALLOWED_PREFIXES)}.",
        )


def _overlaps(pattern: str, prefix: str) -> bool:
    literal = pattern.split("*", 1)[0].rstrip("/")
    return is_under(literal, prefix)


def _is_linear(pattern: str) -> bool:
    """Whether an expression tries each letter of a path only a few times: no two wildcards share what they match.

    One at the very end takes all that is left, and never has to give any of it back.
    """
    body = pattern.removesuffix("**")
    return "**" not in body and all(segment.count("*") <= 1 for segment in body.split("/"))


def _expression(pattern: str) -> str:
    parts: Iterable[str] = re.split(r"(\*\*|\*)", pattern)
    return "".join({"**": ".*", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts)
