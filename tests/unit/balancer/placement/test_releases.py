"""Later versions are preferred in the order of Pulsar's own reader, or none where one cannot be read."""

from __future__ import annotations

from itertools import pairwise

import pytest

from syncer.balancer.placement.decision import BrokerTraits, DropReason, Spared
from syncer.balancer.placement.releases import of_latest_release, release

RISING = ["4.0.8-1", "4.0.8-2", "4.0.8-10", "4.0.8-10.a", "4.0.8-M1", "4.0.8-SNAPSHOT", "4.0.8", "4.0.10", "5.0.0-M1"]


def test_versions_rise() -> None:
    found = [release(version) for version in RISING]
    for earlier, later in pairwise(found):
        assert earlier is not None
        assert later is not None
        assert later.after(earlier)
        assert not earlier.after(later)


def test_a_build_does_not_count() -> None:
    assert release("4.0.8+abc") == release("4.0.8")


@pytest.mark.parametrize(
    "version", [None, "", "4.0", "4.0.08", "4.0.8.1", "v4.0.8", "4.0.8-", "4.0.8-01", "4.0.8-a..b"][:]
)
def test_what_is_no_version_is_not_read(version: str | None) -> None:
    assert release(version) is None


def test_brokers_of_older_versions_go() -> None:
    traits = {
        "a": BrokerTraits(version="4.0.8"),
        "b": BrokerTraits(version="4.0.9"),
        "c": BrokerTraits(version="4.0.9"),
    }
    step = of_latest_release(["a", "b", "c"], traits)
    assert (step.left, step.dropped) == (("b", "c"), {"a": DropReason.OLDER_VERSION})
    assert of_latest_release([], traits).left == ()


@pytest.mark.parametrize("other", [{}, {"b": BrokerTraits()}, {"b": BrokerTraits(version="new")}])
def test_all_stay_where_a_version_cannot_be_read(other: dict[str, BrokerTraits]) -> None:
    step = of_latest_release(["a", "b"], {"a": BrokerTraits(version="4.0.8"), **other})
    assert (step.left, step.dropped, step.spared) == (("a", "b"), {}, Spared.VERSION_UNREADABLE)
