"""What an operator was shown, as text in an operation and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.register import Hold, HoldReason, Shown
from syncer.conflict.shown import arguments, check_look, check_shown, look_at, look_in, shown_in, stamp_in, until_in
from syncer.errors import PreconditionFailed
from syncer.model import Digest, Millis, Region, Stamp
from tests.property.strategies import NOW
from tests.unit.registers import THERE, X, Y, at, register, stored, version

HOLD = Hold(reason=HoldReason.FLAPPING, stamp=at(5, THERE), since_ms=NOW, detail="why")
STATE = register(known=version(Y, at(5, THERE)), stored=stored(X, at(0)), hold=HOLD)
TOLD = arguments(STATE.shows, HOLD)

stamps = st.none() | st.builds(
    Stamp, st.integers(0, 10**15).map(Millis), st.text(min_size=1).filter(str.strip).map(Region)
)


@given(st.builds(Shown, known=stamps, stored=stamps, digest=st.none() | st.binary(min_size=1).map(Digest)))
def test_what_was_shown_survives_as_text(shown: Shown) -> None:
    assert shown_in(arguments(shown)) == shown


def test_without_a_hold_the_path_alone_is_shown() -> None:
    nothing = {"known": "", "stored": "", "digest": ""}
    assert arguments(Shown(known=None, stored=None, digest=None)) == nothing
    assert arguments(STATE.shows).keys() == nothing.keys()


def test_a_look_survives_as_text() -> None:
    assert look_in(TOLD) == look_at(STATE, HOLD)
    check_look(STATE, look_in(TOLD))


def test_what_is_shown_of_a_path_that_nobody_knows() -> None:
    nothing = Shown(known=None, stored=None, digest=None)
    assert register().shows == nothing
    check_shown(register(), nothing, "")


@pytest.mark.parametrize("missing", TOLD)
def test_an_operation_that_does_not_say_what_was_shown_is_refused_with_a_hint(missing: str) -> None:
    with pytest.raises(PreconditionFailed, match="does not say") as refused:
        look_in({name: text for name, text in TOLD.items() if name != missing})
    assert "look again" in refused.value.hint
    with pytest.raises(PreconditionFailed, match="does not say"):
        until_in({})


@pytest.mark.parametrize(
    ("name", "text"),
    [("stamp", "soon"), ("stamp", ""), ("known", "²@here"), ("stored", "5@"), ("digest", "xy"), ("since", "-1")],
)
def test_what_is_no_stamp_or_digest_is_refused(name: str, text: str) -> None:
    with pytest.raises(PreconditionFailed):
        look_in({**TOLD, name: text})


def test_a_region_may_have_a_sign_of_its_own() -> None:
    assert stamp_in("5@us@east") == Stamp(Millis(5), Region("us@east"))
    assert until_in({"until": "17"}) == 17


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"known": version(X, at(9, THERE))}, "the newest change is .*9@there now, and was .*5@there"),
        ({"known": None}, "the newest change is nothing now"),
        ({"stored": stored(X, at(9))}, "the store holds .* now, and held"),
        ({"stored": stored(Y, at(0))}, "the store holds another value"),
        ({"hold": None}, "nothing is held"),
        ({"hold": replace(HOLD, reason=HoldReason.FIRST_CONTACT)}, "another change is held now"),
    ],
)
def test_a_refusal_says_what_is_different(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PreconditionFailed, match=words):
        check_look(replace(STATE, **changes), look_in(TOLD))
