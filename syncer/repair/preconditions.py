"""Terms of a repair, without which it does not begin: compared by our rules, not too old, not deleting too much.

The daemon asks before it tells anything; whoever only looks at a plan asks the same, so that both say the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from syncer.conflict.settings import Limits
from syncer.errors import PreconditionFailed
from syncer.model import Millis, Region
from syncer.state.contract.repairs import Repair

_SECOND_MS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A repair as a whole.

    Args:
        rules: Scopes (as :func:`scopes_text` has them) and order of ties that its snapshots were compared by.
        taken_at_ms: When the oldest of its snapshots was taken.
        paths: How many it names.
        deletes: How many of these are deletes.
    """

    rules: tuple[str, str]
    taken_at_ms: Millis
    paths: int
    deletes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a region asks of a repair.

    Args:
        region: Its id.
        rules: Fingerprint of its scope, and its order of ties.
        limits: Bounds of its guards.
        grace_ms: How long deletes are surely remembered.
    """

    region: Region
    rules: tuple[str, str]
    limits: Limits
    grace_ms: Millis


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a repair does not begin, and what to do."""

    why: str
    hint: str


def scopes_text(scopes: Mapping[Region, str]) -> str:
    """By which scopes regions were compared: the fingerprint of all, or those of each as a JSON object.

    Args:
        scopes: Fingerprints by region.
    """
    found = set(scopes.values())
    return found.pop() if len(found) == 1 else json.dumps(dict(scopes), sort_keys=True)


def require_open(repair: Repair) -> None:
    """Refuse to end what has ended.

    Raises:
        PreconditionFailed: The repair is over.
    """
    if repair.state.over:
        raise PreconditionFailed(f"repair {repair.id} is over: it is {repair.state}")


def objections(offer: Offer, terms: Terms, now: Millis, *, old: bool, deletes: bool) -> Iterator[Objection]:
    """Why a region would not begin to tell a repair; nothing: it would.

    Args:
        offer: The repair.
        terms: The region's.
        now: The time there.
        old: An operator lets pass however old the snapshots are.
        deletes: An operator lets pass however much is deleted.
    """
    limits = terms.limits
    if offer.rules[1] != terms.rules[1] or not _by_scope(offer.rules[0], terms.region, terms.rules[0]):
        yield Objection(
            "the snapshots were compared by another scope or tie order than this region's",
            "Make the configurations the same, take new snapshots, and compare those.",
        )
    if offer.taken_at_ms > now + limits.max_clock_skew_ms:
        yield Objection(
            f"a snapshot was taken {(offer.taken_at_ms - now) // _SECOND_MS} s from now, by this clock",
            "Set the clocks of the machines right.",
        )
    if not old and now - offer.taken_at_ms > terms.grace_ms:
        yield Objection(
            f"the oldest snapshot is {(now - offer.taken_at_ms) // _SECOND_MS} s old, and deletes may be forgotten "
            f"after {terms.grace_ms // _SECOND_MS} s (limits.tombstone_grace)",
            "Take new snapshots; --force-old tells these all the same, but for what may have been deleted.",
        )
    if not deletes and _deletes_too_much(offer, limits):
        yield Objection(
            f"{offer.deletes} of {offer.paths} paths would be deleted: more than {limits.max_deletes}, or more than "
            f"{limits.max_delete_fraction:.0%}",
            "Look at the plan ('--dry-run'); --allow-deletes lets it pass.",
        )


def _by_scope(compared: str, region: Region, scope: str) -> bool:
    """Whether a region was compared by its scope of now; one that was not compared may have that of any that was."""
    if compared == scope:
        return True
    try:
        scopes = json.loads(compared)
    except ValueError:
        return False
    if not isinstance(scopes, dict):
        return False
    return scopes[region] == scope if region in scopes else scope in scopes.values()


def _deletes_too_much(offer: Offer, limits: Limits) -> bool:
    if offer.deletes < limits.min_deletes:
        return False
    return offer.deletes > limits.max_deletes or offer.deletes > limits.max_delete_fraction * offer.paths
