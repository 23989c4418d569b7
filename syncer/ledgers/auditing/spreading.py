"""Spread of ledgers over racks, or regions: as they are configured, and as BookKeeper's auditor counts it.

Nothing is said where nobody configured racks, or they could not be read. The auditor looks at closed ledgers alone, and
takes a bookie that cannot be written to now for one without a place; under a region-aware policy it finds no fault.

Source: AuditorPlacementPolicyCheckTask, BookKeeper 4.17.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from syncer.ledgers.auditing.picture import LedgersPicture
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.placement.adherence import (
    RackPolicy,
    adheres_as_configured,
    adheres_as_counted,
    spans_regions,
)
from syncer.ledgers.placement.racks import RackMap
from syncer.wanted.ledgers import RACKS, LedgerPart

_Rule: TypeAlias = Callable[[Sequence[str], int], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRules:
    """How brokers place ledgers.

    Args:
        policy: Over how many racks a write quorum is spread, and whether a bookie without one is refused.
        regions: Their policy is region-aware: a write quorum is spread over two regions.
    """

    policy: RackPolicy = field(default_factory=RackPolicy)
    regions: bool = False

    @property
    def held_against(self) -> RackPolicy:
        """Over how many places a write quorum is to be spread: racks by the policy, or two regions."""
        return RackPolicy() if self.regions else self.policy


USUAL_RULES: Final = PlacementRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgersSpread:
    """How ledgers are spread.

    Args:
        rules: Those that they are held against.
        ledgers: How many were looked at.
        closed: Of these, the closed ones.
        not_spread: Ids of those with a segment that is not spread, by the racks that are configured.
        counted: How many closed ones the auditor would count; ``None``: which bookies are up is not known.
    """

    rules: PlacementRules
    ledgers: int
    closed: int
    not_spread: tuple[int, ...]
    counted: int | None


def racks_are_known(picture: LedgersPicture) -> bool:
    """Tell whether the racks of bookies were configured, and read without a flaw.

    Args:
        picture: The picture.
    """
    extent = picture.extents.get(LedgerPart.BOOKIES)
    return extent is not None and racks_were_read(picture.racks, extent.refused)


def racks_were_read(racks: RackMap, refused: Iterable[str]) -> bool:
    """Tell whether racks of bookies are there, and were read without a flaw.

    Args:
        racks: What was read of them.
        refused: Paths that may not be read, nor what lies below them.
    """
    read = not any(f"{RACKS}/".startswith(f"{path}/") for path in refused)
    return read and bool(racks.racks) and not racks.flaws


def ledgers_spread(picture: LedgersPicture, rules: PlacementRules = USUAL_RULES) -> LedgersSpread | None:
    """Tell how a cluster's ledgers are spread; ``None`` where its racks are not known.

    Args:
        picture: The picture.
        rules: How brokers place ledgers.
    """
    if not racks_are_known(picture):
        return None
    configured = _remembered(_as_configured(picture, rules))
    counted = _remembered(_as_counted(picture, rules)) if picture.bookies_known else None
    closed = [each for each in picture.ledgers.values() if each.is_closed]
    return LedgersSpread(
        rules=rules,
        ledgers=len(picture.ledgers),
        closed=len(closed),
        not_spread=tuple(sorted(each.ledger_id for each in picture.ledgers.values() if not _holds(each, configured))),
        counted=None if counted is None else sum(not _holds(each, counted) for each in closed),
    )


def segment_is_spread(
    picture: LedgersPicture, ensemble: Sequence[str], write: int, rules: PlacementRules = USUAL_RULES
) -> bool | None:
    """Tell whether a segment is spread, by the racks that are configured; ``None`` where these are not known.

    Args:
        picture: The picture that it is in.
        ensemble: Its bookies.
        write: The write quorum.
        rules: How brokers place ledgers.
    """
    return _as_configured(picture, rules)(ensemble, write) if racks_are_known(picture) else None


def _as_configured(picture: LedgersPicture, rules: PlacementRules) -> _Rule:
    racks = picture.racks
    if rules.regions:
        return lambda ensemble, write: spans_regions(ensemble, write, racks)
    return lambda ensemble, write: adheres_as_configured(ensemble, write, racks, rules.policy)


def _as_counted(picture: LedgersPicture, rules: PlacementRules) -> _Rule:
    if rules.regions:
        return lambda ensemble, write: True  # noqa: ARG005 - whatever they are
    racks, writable = picture.racks, frozenset(picture.writable)
    return lambda ensemble, write: adheres_as_counted(ensemble, write, racks, writable, rules.policy)


def _remembered(rule: _Rule) -> _Rule:
    """The same; most ensembles are those of many segments."""
    known: dict[tuple[tuple[str, ...], int], bool] = {}

    def told(ensemble: Sequence[str], write: int) -> bool:
        key = (tuple(ensemble), write)
        found = known.get(key)
        if found is None:
            found = known[key] = rule(*key)
        return found

    return told


def _holds(ledger: LedgerMetadata, rule: _Rule) -> bool:
    write = ledger.quorums.write
    return all(rule(bookies, write) for _, bookies in ledger.segments)
