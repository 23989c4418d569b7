"""Changes: bundles that another broker served than before.

Seen from outside, by samples: a bundle that was unloaded and came to the same broker between two samples is not among
them, nor is one that came back between two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.picture import Tenure

if TYPE_CHECKING:
    from syncer.balancer.history.sample import LoadSample
    from syncer.balancer.picture import Ownership


@dataclass(frozen=True, slots=True)
class OwnerChange:
    """An unload that was observed: the bundle changed its owner after ``after_ms`` and by ``by_ms``."""

    bundle: str
    source: str
    target: str
    after_ms: int
    by_ms: int


@dataclass(frozen=True, slots=True)
class LastHeld:
    """The broker that was last seen to own a bundle, and when."""

    broker: str
    seen_ms: int


def follow(
    known: Mapping[str, LastHeld], holdings: Mapping[str, Ownership | None], taken_ms: int
) -> tuple[dict[str, LastHeld], list[OwnerChange]]:
    """Follow owners to the next look; while a bundle moves, or its owner is unknown, the last one stands.

    A bundle that is not there any more was split, merged or deleted, and is forgotten.

    Args:
        known: Bundle → its last owner.
        holdings: Bundle → how it is held now; None where that is not known.
        taken_ms: When that was seen.
    """
    last: dict[str, LastHeld] = {}
    changes = []
    for bundle, held in holdings.items():
        before = known.get(bundle)
        if held is None or held.tenure is not Tenure.OWNED or held.broker is None:
            if before is not None:
                last[bundle] = before
            continue
        last[bundle] = LastHeld(held.broker, taken_ms)
        if before is not None and before.broker != held.broker:
            changes.append(OwnerChange(bundle, before.broker, held.broker, before.seen_ms, taken_ms))
    return last, changes


def owner_changes(samples: Iterable[LoadSample]) -> list[OwnerChange]:
    """Find all changes that samples show.

    Args:
        samples: Oldest first.
    """
    known: dict[str, LastHeld] = {}
    found: list[OwnerChange] = []
    for sample in samples:
        holdings = {name: each.held for name, each in sample.bundles.items()}
        known, changes = follow(known, holdings, sample.taken_ms)
        found.extend(changes)
    return found
