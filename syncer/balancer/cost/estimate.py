"""Estimates: figures with their basis. Unknown ones have no value, and stay unknown in every sum and product."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from syncer.errors import LoadDataInvalid

if TYPE_CHECKING:
    from collections.abc import Iterable


class Basis(StrEnum):
    """On what a figure rests, the weakest last."""

    KNOWN = "known"
    CALIBRATED = "calibrated"
    """By default, times what moves that were observed here have told."""
    ASSUMED = "assumed"
    UNKNOWN = "unknown"


_WEAKNESS: Final = list(Basis)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure that is not below zero, and its basis; None where it is unknown."""

    value: float | None
    basis: Basis

    def __post_init__(self) -> None:
        """Refuse a figure that cannot be true, or that has a value while it is unknown.

        Raises:
            LoadDataInvalid: It is one.
        """
        if (self.value is None) != (self.basis is Basis.UNKNOWN):
            raise LoadDataInvalid(f"a figure of {self.value} cannot be {self.basis}: only unknown ones have no value")
        if self.value is not None and not 0 <= self.value < math.inf:
            raise LoadDataInvalid(f"a figure of {self.value} cannot be true: it is below zero, infinite or NaN")

    def times(self, other: Estimate) -> Estimate:
        """Multiply two figures; what is unknown times anything is unknown."""
        if self.value is None or other.value is None:
            return UNKNOWN
        return Estimate(self.value * other.value, weakest((self, other)))


UNKNOWN: Final = Estimate(None, Basis.UNKNOWN)


def known(value: float) -> Estimate:
    """Take a figure that was measured or configured."""
    return Estimate(value, Basis.KNOWN)


def assumed(value: float) -> Estimate:
    """Take a figure that holds by default, and may be another one here."""
    return Estimate(value, Basis.ASSUMED)


def weakest(figures: Iterable[Estimate]) -> Basis:
    """Name the basis of what rests on all of the figures."""
    return max((figure.basis for figure in figures), key=_WEAKNESS.index, default=Basis.KNOWN)


def total(figures: Iterable[Estimate]) -> Estimate:
    """Add figures; one that is unknown makes the sum unknown."""
    every = list(figures)
    basis = weakest(every)
    if basis is Basis.UNKNOWN:
        return UNKNOWN
    return Estimate(math.fsum(figure.value for figure in every if figure.value is not None), basis)
