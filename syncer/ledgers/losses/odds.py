"""Odds: the probability that the loss of k bookies, drawn at random, harms a cluster.

Exact where all sets of k can be tried; else estimated from draws, with the dice of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final

TRIED: Final = 250_000
"""Sets that are all tried; where there are more, as many are not even drawn."""
DRAWN: Final = 20_000


@dataclass(frozen=True, slots=True)
class LossOdds:
    """Of how many sets of bookies how many are harmful; ``exact`` where these were all sets of that size."""

    size: int
    tried: int
    harmful: int
    exact: bool

    @property
    def probability(self) -> float:
        """Of harm, by the loss of as many bookies at random."""
        return self.harmful / self.tried if self.tried else 0.0


def loss_odds(sets: AbstractSet[int], bits: Iterable[int], size: int, pick: Callable[[int], int]) -> LossOdds:
    """Try sets of bookies.

    Args:
        sets: The least sets that are harmful.
        bits: Of all bookies that may be lost, a bit each.
        size: Number of bookies that are lost.
        pick: Gives a random number from 0 up to, and without, the one that it is given.
    """
    all_bits = list(bits)
    sizes = sorted({each.bit_count() for each in sets if each.bit_count() <= size})
    exact = comb(len(all_bits), size) <= TRIED
    tried = harmful = 0
    for lost in combinations(all_bits, size) if exact else _draws(all_bits, size, pick):
        tried += 1
        harmful += _is_harmful(lost, sets, sizes)
    return LossOdds(size, tried, harmful, exact)


def _is_harmful(lost: tuple[int, ...], sets: AbstractSet[int], sizes: list[int]) -> bool:
    whole = sum(lost)
    if len(sets) < sum(comb(len(lost), size) for size in sizes):
        return any(whole & each == each for each in sets)
    return any(sum(some) in sets for size in sizes for some in combinations(lost, size))


def _draws(bits: list[int], size: int, pick: Callable[[int], int]) -> Iterator[tuple[int, ...]]:
    """Sets at random: the first places of a shuffle that is not finished."""
    for _ in range(DRAWN):
        for place in range(size):
            other = place + pick(len(bits) - place)
            bits[place], bits[other] = bits[other], bits[place]
        yield tuple(bits[:size])
