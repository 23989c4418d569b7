"""Registers of paths that leave the scope, or come into it."""

from __future__ import annotations

import pytest

from syncer.conflict.acts import Decision, DropHeld, Journal
from syncer.conflict.classes.moving import FROZEN, entered, frozen, is_unmet, left
from syncer.conflict.register import Hold, HoldReason, Intent, Register
from syncer.model import Counter, Digest, MetaPath, Millis, Region, Revision, Stamp, Version
from syncer.replacing import replace

PATH = MetaPath("/admin/policies/acme")


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
    assert replace(outcome.register, stored=None) == Register(path=PATH, own=Millis(5)), "its own times go on"
    assert is_unmet(outcome.register)
    assert [type(act) for act in outcome.acts] == [*([DropHeld] if local else []), Journal]
    journal = outcome.acts[-1]
    assert isinstance(journal, Journal)
    assert (journal.decision, journal.stamp) == (Decision.IGNORED, version(9, "west").stamp)


def test_of_a_path_of_which_nothing_is_known_nothing_is_named() -> None:
    journal = left(Register(path=PATH)).acts[-1]
    assert isinstance(journal, Journal)
    assert (journal.stamp, journal.digest) == (None, None)


@pytest.mark.parametrize("alive", [True, False])
def test_what_was_let_go_is_met_at_first_whatever_the_scope_is_then(alive: bool) -> None:
    register = left(DUE).register
    assert entered(register, alive=alive) == Register(path=PATH, own=Millis(5))
    assert left(register).register == register
    heard = replace(register, known=version(9, "west"))
    assert entered(heard, alive=True) == Register(path=PATH, own=Millis(5), known=version(9, "west"))
    assert not is_unmet(SEATED)
    assert is_unmet(frozen(SEATED))
    assert not is_unmet(Register(path=PATH))


def test_what_was_sent_is_found_out_first() -> None:
    intent = Intent(batch="1.1", version=version(9, "west"), expected=None)
    register = Register(path=PATH, known=DUE.known, stored=DUE.stored, intent=intent)
    assert left(register).register is register
    assert left(register).acts == ()
    stored = Register(path=PATH, known=SEATED.known, stored=SEATED.stored, intent=intent)
    assert frozen(stored) is stored


def test_what_comes_in_is_met_at_first_but_for_what_was_heard_since() -> None:
    assert entered(frozen(SEATED), alive=True) == Register(path=PATH, own=Millis(5))
    assert entered(frozen(DUE), alive=True) == Register(path=PATH, own=Millis(5), known=version(9, "west"))


def test_what_was_frozen_is_read_even_where_the_store_is_as_it_was() -> None:
    register = Register(path=PATH, own=Millis(5)).sit(version(5), Revision("7"))
    stored = frozen(register).stored
    assert stored is not None
    assert stored.revision is None
    assert frozen(frozen(register)) == frozen(register), "it is marked once"


def test_what_lacks_where_something_was_is_a_delete_of_that() -> None:
    found = entered(frozen(SEATED), alive=False)
    assert found == SEATED
    assert found.stored is not None
    assert not found.stored.by.startswith(FROZEN)


def test_what_was_written_since_the_path_was_met_is_not_met_again() -> None:
    written = Register(path=PATH, known=version(9, "west")).sit(version(9, "west"), Revision("8"))
    assert entered(written, alive=True) is written


def test_what_is_unknown_dead_or_held_back_stays() -> None:
    unknown = Register(path=PATH)
    assert frozen(unknown) is unknown
    assert entered(unknown, alive=True) is unknown
    dead = Register(path=PATH).sit(replace(version(5), digest=None), None)
    assert frozen(dead) is dead
    register = Register(path=PATH, known=SEATED.known, stored=SEATED.stored, hold=held(local=True))
    assert frozen(register) is register
    waits = Register(path=PATH, known=SEATED.known, stored=SEATED.stored, hold=held(local=False))
    assert frozen(waits) is not waits
