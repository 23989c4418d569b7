"""A bookie that is away makes BookKeeper count a failure; by the configured racks and regions there is none."""

from __future__ import annotations

import pytest

from syncer.ledgers.placement.adherence import (
    RackPolicy,
    adheres_as_configured,
    adheres_as_counted,
    spans_regions,
)
from syncer.ledgers.placement.racks import RackMap

RACKS = RackMap({"a": "/eu/1", "b": "/eu/2", "c": "/us/1"})
POLICY = RackPolicy()


def test_a_bookie_that_is_not_writable_has_no_rack_for_bookkeeper() -> None:
    ensemble = ["a", "b", "c"]
    assert adheres_as_counted(ensemble, 2, RACKS, {"a", "b", "c"}, POLICY)
    assert not adheres_as_counted(ensemble, 2, RACKS, {"a", "b"}, POLICY)
    assert adheres_as_configured(ensemble, 2, RACKS, POLICY)


def test_every_write_quorum_counts_also_the_one_round_the_end() -> None:
    racks = RackMap({"a": "/1", "b": "/2", "c": "/2", "d": "/1"})
    assert adheres_as_configured(["a", "b", "d", "c"], 2, racks, POLICY)
    assert not adheres_as_configured(["a", "b", "c", "d"], 2, racks, POLICY)


@pytest.mark.parametrize(("enforced", "adheres"), [(False, True), (True, False)])
def test_a_bookie_without_a_rack_is_refused_only_where_racks_are_enforced(enforced: bool, adheres: bool) -> None:
    assert adheres_as_configured(["a", "x"], 2, RACKS, RackPolicy(enforced=enforced)) is adheres


def test_regions_are_the_first_parts_of_racks() -> None:
    assert spans_regions(["a", "c"], 2, RACKS)
    assert not spans_regions(["a", "b"], 2, RACKS)
    assert spans_regions(["a", "b"], 1, RACKS)


def test_an_absurd_ensemble_is_walked_once() -> None:
    assert not adheres_as_configured(["a", "b"] * 100_000 + ["x"], 200_000, RACKS, RackPolicy(enforced=True))
    assert adheres_as_configured(["a", "b"] * 100_000, 200_000, RACKS, POLICY)


@pytest.mark.parametrize("write", [0, -3])
def test_quorums_that_no_client_takes_need_no_rack(write: int) -> None:
    assert adheres_as_configured(["a", "x", "x", "x", "x"], write, RACKS, RackPolicy(enforced=True))
