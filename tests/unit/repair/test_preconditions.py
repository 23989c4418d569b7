"""On what terms a repair begins: each objection at its bound, and what a person may let pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.conflict.settings import Limits
from syncer.errors import PreconditionFailed
from syncer.model import Millis, Region
from syncer.repair.preconditions import Offer, Terms, objections, require_open, scopes_text
from syncer.state.contract.repairs import Repair, RepairState

NOW = Millis(1_700_000_000_000)
RULES = ("scope", "smaller")
LIMITS = Limits()
TERMS = Terms(region=Region("east"), rules=RULES, limits=LIMITS, grace_ms=Millis(60_000))
OFFER = Offer(rules=RULES, taken_at_ms=Millis(NOW - 1_000), paths=10_000, deletes=0)
SKEW_MS = LIMITS.max_clock_skew_ms


def said(offer: Offer, *, old: bool = False, deletes: bool = False) -> list[str]:
    return [each.why for each in objections(offer, TERMS, NOW, old=old, deletes=deletes)]


def test_a_repair_within_all_bounds_begins() -> None:
    assert said(OFFER) == []


def test_other_rules_are_objected_to_whatever_a_person_lets_pass() -> None:
    for rules in (("another", "smaller"), ("scope", "native")):
        (why,) = said(replace(OFFER, rules=rules), old=True, deletes=True)
        assert "another scope or tie order" in why


@pytest.mark.parametrize(
    ("scopes", "begins"),
    [
        ({"east": "scope", "west": "other"}, True),
        ({"east": "former", "west": "scope"}, False),
        ({"north": "scope", "west": "other"}, True),
        ({"north": "former", "west": "other"}, False),
        ({"north": "scope", "west": "scope"}, True),
    ],
)
def test_regions_of_different_scopes_are_repaired_by_those_that_were_compared(
    scopes: dict[str, str], begins: bool
) -> None:
    text = scopes_text({Region(name): scope for name, scope in scopes.items()})
    assert (said(replace(OFFER, rules=(text, "smaller"))) == []) is begins


@pytest.mark.parametrize("text", ["{", "[]", "7", ""])
def test_what_names_no_scopes_is_another_scope(text: str) -> None:
    assert len(said(replace(OFFER, rules=(text, "smaller")))) == 1


def test_a_snapshot_from_the_future_is_objected_to_beyond_the_skew_that_clocks_may_have() -> None:
    assert said(replace(OFFER, taken_at_ms=Millis(NOW + SKEW_MS))) == []
    (why,) = said(replace(OFFER, taken_at_ms=Millis(NOW + SKEW_MS + 1_000)), old=True, deletes=True)
    assert why == f"a snapshot was taken {SKEW_MS // 1000 + 1} s from now, by this clock"


def test_a_snapshot_older_than_deletes_are_remembered_is_objected_to_unless_a_person_lets_it_pass() -> None:
    assert said(replace(OFFER, taken_at_ms=Millis(NOW - 60_000))) == []
    late = replace(OFFER, taken_at_ms=Millis(NOW - 61_000))
    (why,) = said(late)
    assert why.startswith("the oldest snapshot is 61 s old, and deletes may be forgotten after 60 s")
    assert said(late, old=True) == []


@pytest.mark.parametrize(
    ("paths", "deletes", "objected"),
    [
        (1, LIMITS.min_deletes - 1, False),
        (1_000_000, LIMITS.max_deletes, False),
        (1_000_000, LIMITS.max_deletes + 1, True),
        (int(LIMITS.min_deletes / LIMITS.max_delete_fraction), LIMITS.min_deletes, False),
        (int(LIMITS.min_deletes / LIMITS.max_delete_fraction) - 1, LIMITS.min_deletes, True),
    ],
)
def test_deletes_are_objected_to_by_number_and_by_share(paths: int, deletes: int, *, objected: bool) -> None:
    offer = replace(OFFER, paths=paths, deletes=deletes)
    assert [why.startswith(f"{deletes} of {paths} paths would be deleted") for why in said(offer)] == [True] * objected
    assert said(offer, deletes=True) == []


@pytest.mark.parametrize("state", RepairState)
def test_only_what_is_not_over_can_be_ended(state: RepairState) -> None:
    repair = Repair(
        id=4,
        state=state,
        regions=(),
        taken_at_ms=NOW,
        rules=RULES,
        asked_by="ann",
        reason="",
        made_at_ms=NOW,
    )
    if not state.over:
        require_open(repair)
        return
    with pytest.raises(PreconditionFailed, match=f"repair 4 is over: it is {state}"):
        require_open(repair)
