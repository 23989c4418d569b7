"""Figures of played rounds: sums, the last round that moved, and bundles that came back."""

from __future__ import annotations

from syncer.balancer.cost.estimate import UNKNOWN, Basis, Estimate, assumed, known
from syncer.balancer.rounds.outcome import PlayedRound, PlayedRounds, RoundMove


def rounds(*moves: list[RoundMove], quiet: int = 2) -> PlayedRounds:
    return PlayedRounds(
        spread_before=0.5,
        quiet=quiet,
        rounds=[
            PlayedRound(number=number, moves=tuple(each), futile=0, greatest=0.6, spread=0.5 / (number + 1))
            for number, each in enumerate(moves, 1)
        ],
    )


def move(bundle: str, source: str, target: str, seconds: Estimate | None = None) -> RoundMove:
    return RoundMove(bundle, source, target, seconds or known(2))


def test_what_moved_is_added_up() -> None:
    found = rounds([move("x", "a", "b"), move("y", "a", "b", assumed(1))], [move("x", "b", "c")], [], [])
    assert (found.unloads, found.client_seconds) == (3, Estimate(5, Basis.ASSUMED))
    assert (found.settled, found.final_spread) == (2, 0.1)
    assert (set(found.moved_again), set(found.ping_pong)) == ({"x"}, set())
    assert set(found.net_moves) == {("x", "c"), ("y", "b")}


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    assert rounds([move("x", "a", "b", UNKNOWN), move("y", "a", "b")]).client_seconds == UNKNOWN


def test_what_moved_near_the_end_has_not_settled() -> None:
    assert rounds([], [move("x", "a", "b")], []).settled is None
    assert rounds([], [], []).settled == 0


def test_a_bundle_that_came_back_plays_ping_pong() -> None:
    found = rounds([move("x", "a", "b"), move("y", "b", "a")], [move("x", "b", "a"), move("y", "a", "c")])
    assert (set(found.ping_pong), set(found.moved_again)) == ({"x"}, {"x", "y"})
    assert found.net_moves == (("y", "c"),)


def test_nothing_was_played() -> None:
    found = rounds()
    assert (found.unloads, found.client_seconds, found.final_spread, found.settled) == (0, known(0), 0.5, None)
