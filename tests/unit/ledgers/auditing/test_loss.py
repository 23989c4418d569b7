"""Loss: beside those that are away already, and of any of a number, whichever they are."""

from __future__ import annotations

from random import Random

from syncer.ledgers.auditing.loss import loss_of, loss_of_any
from tests.support.stored_ledgers import StoredLedgers

T, U = "persistent://acme/orders/t", "persistent://acme/orders/u"


def test_a_loss_adds_to_what_is_away() -> None:
    stored = StoredLedgers().bookies("abc").topic(T, 1, 2).topic(U, 3, 4)
    stored.ledger(1, (2, 2, 2), (0, "ax")).ledger(2, (2, 2, 2), (0, "ax"), last=None)
    stored.ledger(3, (2, 2, 2), (0, "ax"), last=None).ledger(4, (2, 2, 2), (0, "bc"), last=None)
    found = loss_of(stored.picture(), ["a"])
    assert (found.bookies, found.away_already) == (("a",), ("x",))
    assert found.impact.lost_ledgers == [1]
    assert found.impact.topics_lost == {T}
    assert found.impact.blocked_ledgers == [2, 3]
    assert found.not_loadable == (T,), "of U the last ledger can be recovered"


def test_the_worst_sets_of_any_size() -> None:
    stored = StoredLedgers().bookies("abcd").ledger(1, (2, 2, 2), (0, "ab")).ledger(2, (2, 2, 2), (0, "ab"))
    stored.ledger(3, (2, 2, 2), (0, "cd"))
    found = loss_of_any(stored.picture(), 2, 10, Random(1).randrange)
    assert [(each.bookies, each.lost_ledgers) for each in found.worst] == [(("a", "b"), 2), (("c", "d"), 1)]
    assert (found.odds.exact, found.odds.tried, found.odds.harmful) == (True, 6, 2)


def test_of_too_many_sets_one_is_guessed_and_odds_are_drawn() -> None:
    stored = StoredLedgers()
    names = [f"b{number}" for number in range(200)]
    for number in range(100):
        stored.ledger(number, (2, 2, 2), (0, names[2 * number : 2 * number + 2]))
    stored.ledger(500, (2, 2, 2), (0, names[:2]))
    found = loss_of_any(stored.picture(), 4, 10, Random(1).randrange)
    assert not found.odds.exact
    (guess,) = found.worst
    assert set(guess.bookies) >= {names[0], names[1]}
    assert guess.lost_ledgers == 3
