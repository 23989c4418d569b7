"""Opening of ledgers: the reasons against it, and how many bookies may be lost yet."""

from __future__ import annotations

import pytest

from syncer.ledgers.losses.opening import NoOpening, OpeningVerdict, may_open
from syncer.ledgers.metadata import Quorums
from syncer.ledgers.placement.adherence import RackPolicy
from syncer.ledgers.placement.racks import RackMap

RACKS = RackMap({"a": "/1", "b": "/1", "c": "/1", "d": "/2"})


@pytest.mark.parametrize(
    ("sizes", "writable", "enforced", "verdict"),
    [
        ((3, 2, 2), "abcd", False, OpeningVerdict(None, 1)),
        ((5, 2, 2), "abcd", False, OpeningVerdict(NoOpening.TOO_FEW_BOOKIES, 0)),
        ((2, 3, 2), "abcd", False, OpeningVerdict(NoOpening.QUORUMS_INVALID, 0)),
        ((2, 2, 0), "abcd", False, OpeningVerdict(NoOpening.QUORUMS_INVALID, 0)),
        ((3, 2, 2), "abc", False, OpeningVerdict(None, 0)),
        ((3, 2, 2), "abc", True, OpeningVerdict(NoOpening.TOO_FEW_RACKS, 0)),
        ((4, 2, 2), "abcd", True, OpeningVerdict(NoOpening.RACKS_UNEVEN, 0)),
        ((4, 4, 2), "abcd", True, OpeningVerdict(None, 0)),
        ((2, 2, 2), "axyz", True, OpeningVerdict(NoOpening.TOO_FEW_BOOKIES, 0)),
        ((3, 1, 1), "abc", True, OpeningVerdict(None, 0)),
    ],
)
def test_a_verdict_names_what_is_missing(
    sizes: tuple[int, int, int], writable: str, enforced: bool, verdict: OpeningVerdict
) -> None:
    assert may_open(Quorums(*sizes), set(writable), RACKS, RackPolicy(enforced=enforced)) == verdict
