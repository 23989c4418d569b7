"""Gauges of the histories of load."""

from __future__ import annotations

from syncer.metrics import load_history


def told(**found: object) -> dict[str, float]:
    every = {"sampled_ms": [], "sizes": [], "troubled": 0, "moves": 0, "ratios": [], **found}
    return {family.name: value for family, value in load_history.samples(**every)}  # type: ignore[arg-type]  # by name


def test_nothing_stands_where_nothing_is_recorded() -> None:
    assert set(told().values()) == {0.0}


def test_of_several_the_oldest_sample_and_the_worst_error_count() -> None:
    found = told(sampled_ms=[9000, 5000], sizes=[3, 4], troubled=1, moves=12, ratios=[1.5, 0.5])
    assert found == {
        "syncer_load_history_recorded": 2,
        "syncer_load_history_sampled_timestamp_seconds": 5.0,
        "syncer_load_history_bytes": 7,
        "syncer_load_history_troubled": 1,
        "syncer_move_predictions": 12,
        "syncer_move_prediction_ratio": 0.5,
    }


def test_a_cluster_that_was_never_sampled_is_older_than_all() -> None:
    assert told(sampled_ms=[9000, None], sizes=[0, 0])["syncer_load_history_sampled_timestamp_seconds"] == 0.0
