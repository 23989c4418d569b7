"""Patterns of paths, matched in a step for each letter of a path, whatever they are: a stranger may have written them.

In a pattern ``*`` stands for part of one segment, ``**`` for any number of letters, slashes among them. What the
letters read so far have matched is one number, with a bit for each place in each pattern; a letter moves all of them at
once. There is nothing to go back to, so no pattern takes longer than another of its length.

Source: Baeza-Yates and Gonnet, "A New Approach to Text Searching" (1992), with loops for the wildcards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

WILDCARD: Final = re.compile(r"\*\*|\*")


class PathPatterns:
    """Several patterns, matched together.

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
