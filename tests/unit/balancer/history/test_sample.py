"""Samples of pictures, and pictures of samples."""

from __future__ import annotations

from dataclasses import replace

from syncer.balancer.history.sample import SampledBroker, picture_then, sample_of
from syncer.balancer.loads import fleet_of
from syncer.balancer.picture import LoadSource, SeenBroker
from tests.support.doctor_cases import broker, picture


def test_a_sample_gives_the_fleet_that_was() -> None:
    then, now = picture([broker(80, 20, 10), broker(20, 5)]), picture([broker(30, 1), broker(30, 1)])
    seen = picture_then(sample_of(replace(then, taken_ms=7)), now)
    was, found = fleet_of(then), fleet_of(seen)
    assert (found.owners, found.usages) == (was.owners, was.usages)
    assert seen.taken_ms == 7
    assert seen.settings == now.settings
    stats = seen.bundles["t/n0/0x00000000_0x00000001"].stats
    assert stats is not None
    assert (stats.origin.source, stats.origin.written_ms) == (LoadSource.HISTORY, 7)


def test_what_was_unknown_stays_so_and_who_came_later_has_no_figures() -> None:
    then = picture([broker(80, 20)])
    silent = replace(then, brokers={"b0:8080": replace(then.brokers["b0:8080"], figures=None)})
    sample = sample_of(silent)
    assert sample.brokers == {"b0:8080": SampledBroker()}
    seen = picture_then(sample, picture([broker(1), broker(2)]))
    assert [each.figures for each in seen.brokers.values()] == [None, None]


def test_a_broker_that_is_not_registered_is_not_sampled() -> None:
    then = picture([broker(80, 20)])
    named = replace(then, brokers={**then.brokers, "gone:8080": SeenBroker(broker="gone:8080")})
    assert list(sample_of(named).brokers) == ["b0:8080"]
