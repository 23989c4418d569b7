"""Registers of paths that leave the scope, or come into it."""

from __future__ import annotations

import pytest

from syncer.conflict.acts import Decision, DropHeld, Journal
from syncer.conflict.classes.moving import entered, left
from syncer.conflict.register import Hold, HoldReason, Intent, Register
from syncer.model import Counter, Digest, MetaPath, Millis, Region, Stamp, Version

PATH = MetaPath("/admin/policies/acme")
BY, ANEW = Counter("east~1"), Counter("east~2")


def version(time: int, region: str = "east") -> Version:
    by = Counter(f"{region}~1")
    return Version(
        stamp=Stamp(Millis(time), Region(region)), by=by, seen={by: Millis(time)}, digest=Digest(b"%016d" % time)
    )


SEATED = Register(path=PATH, own=Millis(5)).sit(version(5), None)
DUE = Register(path=PATH, own=Millis(5), known=version(9, "west"), stored=SEATED.stored)


def held(*, local: bool) -> Hold:
    return Hold(reason=HoldReason.MASS_DELETE, stamp=version(5).stamp, since_ms=Millis(1), detail="", local=local)


@pytest.mark.parametrize("local", [True, False, None])
def test_what_waits_when_a_path_leaves_is_let_go_and_said(local: bool | None) -> None:
    hold = None if local is None else held(local=local)
    register = Register(path=PATH, own=DUE.own, known=DUE.known, stored=DUE.stored, hold=hold)
    outcome = left(register)
    assert outcome.register == Register(path=PATH, own=Millis(5)), "its own times go on"
    assert [type(act) for act in outcome.acts] == [*([DropHeld] if local else []), Journal]
    journal = outcome.acts[-1]
    assert isinstance(journal, Journal)
    assert (journal.decision, journal.stamp) == (Decision.IGNORED, version(9, "west").stamp)


def test_of_a_path_of_which_nothing_is_known_nothing_is_named() -> None:
    journal = left(Register(path=PATH)).acts[-1]
    assert isinstance(journal, Journal)
    assert (journal.stamp, journal.digest) == (None, None)


def test_what_was_sent_is_found_out_first() -> None:
    intent = Intent(batch="1.1", version=version(9, "west"), expected=None)
    register = Register(path=PATH, known=DUE.known, stored=DUE.stored, intent=intent)
    assert left(register).register is register
    assert left(register).acts == ()
    assert entered(register, ANEW) is register


def test_what_comes_in_is_met_at_first_but_for_what_was_heard_since() -> None:
    assert entered(SEATED, ANEW) == Register(path=PATH, own=Millis(5))
    assert entered(DUE, ANEW) == Register(path=PATH, own=Millis(5), known=version(9, "west"))


def test_what_is_unknown_met_already_or_held_back_stays() -> None:
    unknown = Register(path=PATH)
    assert entered(unknown, ANEW) is unknown
    assert entered(SEATED, BY) is SEATED
    register = Register(path=PATH, known=SEATED.known, stored=SEATED.stored, hold=held(local=True))
    assert entered(register, ANEW) is register
