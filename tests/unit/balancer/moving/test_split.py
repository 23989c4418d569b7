"""Planned splits: what no cluster could do is refused, and the halves bear the names that Pulsar gives them."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

from syncer.balancer.moving.split import PlannedSplit, SplitProgress, SplitStanding, split_progress_from
from syncer.errors import PlanInvalid
from syncer.model import Millis

SPLIT = PlannedSplit(bundle="acme/orders/0x00000000_0x80000000", source="a:80", position=0x123, throughput=None)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bundle": "acme/orders"}, "is no bundle"),
        ({"bundle": "0x00000000_0x80000000"}, "is no bundle"),
        ({"position": 0}, "cannot be cut at 0x00000000"),
        ({"position": 0x80000000}, "cannot be cut at 0x80000000"),
        ({"source": ""}, "by no broker"),
        ({"throughput": float("nan")}, "no number"),
    ],
)
def test_a_split_that_cannot_be_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanInvalid, match=words):
        replace(SPLIT, **changes)


def test_the_halves_bear_the_names_that_pulsar_gives_them() -> None:
    assert SPLIT.halves == ("acme/orders/0x00000000_0x00000123", "acme/orders/0x00000123_0x80000000")


def test_progress_is_what_was_kept() -> None:
    progress = SplitProgress(standing=SplitStanding.REFUSED, asked_ms=Millis(1), ended_ms=Millis(2), words="no")
    assert split_progress_from({**asdict(progress), "standing": "refused"}) == progress
