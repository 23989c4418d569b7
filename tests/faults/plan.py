"""Which faults, in which order, at which places: drawn from one seed, so that a plan can be played again."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

from tests.faults.steps import FAULTS, Step

ANYWHERE: Final = frozenset({"cut-links", "silence-links", "slow-links", "kill-everything"})
"""Faults that have no place of their own."""
SIZED: Final = frozenset({"pile-up"})
SHORT: Final = (
    "kill-daemon",
    "kill-active-with-standby",
    "cut-links",
    "freeze-daemon",
    "slow-links",
    "fill-disk",
    "pile-up",
)
"""Faults of the short form that strike one place, drawn, or all."""


def short(seed: int, regions: Sequence[str], *, amount: int) -> Iterator[Step]:
    """Each fault that a few minutes have room for, once; every kind of store is killed, and one broker.

    Args:
        seed: Draws order and places.
        regions: The first one's cluster is on ZooKeeper, which forgets a killed bookie sooner than etcd does.
        amount: Messages of the pile.
    """
    source = random.Random(seed)
    steps = [_drawn(fault, source, regions, amount) for fault in SHORT]
    steps += [Step(fault="kill-store", place=place) for place in regions[:2]]
    steps.append(Step(fault="kill-broker", place=regions[0]))
    source.shuffle(steps)
    yield from steps


def long(seed: int, regions: Sequence[str], *, amount: int) -> Iterator[Step]:
    """Rounds without end; in each round every fault, in a new order and place. The first has the whole pile."""
    source = random.Random(seed)
    first = True
    while True:
        faults = list(FAULTS)
        source.shuffle(faults)
        for fault in faults:
            yield _drawn(fault, source, regions, amount if first else amount // 10)
        first = False


def _drawn(fault: str, source: random.Random, regions: Sequence[str], amount: int) -> Step:
    place = "" if fault in ANYWHERE else source.choice(regions)
    return Step(fault=fault, place=place, amount=amount if fault in SIZED else 0)


def named(word: str, regions: Sequence[str], *, amount: int) -> Step:
    """One step by its name, ``FAULT`` or ``FAULT@REGION``; the first region when none is given.

    Raises:
        ValueError: There is no such fault or region.
    """
    fault, _, place = word.partition("@")
    if fault not in FAULTS or (place and place not in regions):
        raise ValueError(f"what is {word!r}? Faults: {', '.join(FAULTS)}; regions: {', '.join(regions)}")
    return Step(
        fault=fault, place="" if fault in ANYWHERE else place or regions[0], amount=amount if fault in SIZED else 0
    )
