"""Adherence to a placement policy: each write quorum of an ensemble is spread over racks, or over regions.

BookKeeper counts only bookies that are writable now, so that a lost or a read-only one makes an ensemble fail which is
laid as it should be. Both are told: as BookKeeper counts, and by the racks that are configured. A region-aware policy
always says that all is well; by the configured regions there is an answer.

Source: RackawareEnsemblePlacementPolicyImpl, RegionAwareEnsemblePlacementPolicy, BookKeeper 4.17.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from syncer.ledgers.placement.racks import DEFAULT_RACK, RackMap

MIN_RACKS: Final = 2


@dataclass(frozen=True, slots=True)
class RackPolicy:
    """Over how many racks a write quorum is to be spread, and whether a bookie without a rack is refused."""

    min_racks: int = MIN_RACKS
    enforced: bool = False


def adheres_as_counted(
    ensemble: Sequence[str], write: int, racks: RackMap, writable: AbstractSet[str], policy: RackPolicy
) -> bool:
    """Tell whether BookKeeper would say that an ensemble adheres.

    Args:
        ensemble: Its bookies.
        write: The write quorum.
        racks: Of the bookies.
        writable: Bookies that take entries now; all others are unknown to the policy.
        policy: The brokers', or the auditor's.
    """
    known = [racks.rack(bookie) if bookie in writable else None for bookie in ensemble]
    return is_spread(known, write, policy)


def adheres_as_configured(ensemble: Sequence[str], write: int, racks: RackMap, policy: RackPolicy) -> bool:
    """Tell whether an ensemble is spread over racks, be its bookies up or not.

    Args:
        ensemble: Its bookies.
        write: The write quorum.
        racks: Of the bookies.
        policy: The brokers', or the auditor's.
    """
    return is_spread([racks.rack(bookie) for bookie in ensemble], write, policy)


def spans_regions(ensemble: Sequence[str], write: int, racks: RackMap, min_regions: int = MIN_RACKS) -> bool:
    """Tell whether each write quorum of an ensemble is spread over regions.

    Args:
        ensemble: Its bookies.
        write: The write quorum.
        racks: Of the bookies; a region is the first part of a rack.
        min_regions: Over how many.
    """
    return is_spread([racks.region(bookie) for bookie in ensemble], write, RackPolicy(min_regions))


def is_spread(places: Sequence[str | None], write: int, policy: RackPolicy) -> bool:
    """Tell whether each run of as many places as the write quorum, round the end too, has enough that are known.

    Args:
        places: Racks, or regions, of an ensemble's bookies; ``None``: not known.
        write: The write quorum.
        policy: The brokers', or the auditor's.
    """
    if write < 1 or not places:
        return True
    wanted = min(write, policy.min_racks)
    run: Counter[str] = Counter()
    for step in range(len(places) + write - 1):
        entering = places[step % len(places)]
        if entering is not None:
            run[entering] += 1
        if step < write - 1:
            continue
        if len(run) < wanted or (policy.enforced and DEFAULT_RACK in run):
            return False
        leaving = places[step - write + 1]
        if leaving is not None:
            run[leaving] -= 1
            if not run[leaving]:
                del run[leaving]
    return True
