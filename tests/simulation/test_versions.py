"""Brokers of several versions, step by step: what they drop is kept, given back, and removed by who knows it alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from syncer.model import Region
from tests.simulation.broker_writes import NAMESPACES, TENANT, BrokerGroup, BrokerWriters
from tests.simulation.faults import MODES
from tests.simulation.history import Violation
from tests.simulation.newer_fields import METRIC_KEYS, NEWER, PLAYED, newer_by_table
from tests.simulation.store import StoreKind
from tests.simulation.world import Site, World

P = NAMESPACES[0]
OLD, MIDDLE, NEW = PLAYED
TTL = "message_ttl_in_seconds"


class Regions(World):
    """A world without chance: one region for each version, with one broker of it."""

    def __init__(self, *versions: str) -> None:
        mode = replace(MODES["versions"], skew_ms=0, found=0.0)
        super().__init__(mode, 1, kinds=(StoreKind.ETCD,) * len(versions))
        for site, version in zip(self.sites.values(), versions, strict=True):
            site.brokers = BrokerGroup({"b0": version})
            self.put(site.region, TENANT, self.value(TENANT, tag=1))
        self.settle()

    def site(self, region: str) -> Site:
        """A region."""
        return self.sites[Region(region)]

    def edits(self, region: str, edit: Callable[[dict[str, Any]], object]) -> None:
        """Its broker edits the namespace, or creates it."""
        site = self.site(region)
        assert isinstance(self.writers, BrokerWriters)
        assert site.brokers is not None
        assert self.writers.edit(site, site.brokers.versions["b0"], P, edit) is not None

    def becomes(self, region: str, version: str) -> None:
        """Its broker is replaced."""
        assert isinstance(self.writers, BrokerWriters)
        self.writers.put_in(self.site(region), "b0", version)

    def rests(self) -> None:
        """Until nothing moves any more; the referee agrees."""
        self.settle()
        self.referee.judge(self)

    def keys(self, region: str) -> object:
        """What its store holds of the field."""
        return orjson.loads(self.site(region).store.nodes[P].value).get(METRIC_KEYS)


def keeping() -> Regions:
    """What the newer region has set the older one has dropped from its store."""
    regions = Regions(NEW, OLD)
    regions.edits("a", lambda document: document.update({METRIC_KEYS: ["k"], TTL: 1}))
    regions.rests()
    regions.edits("b", lambda document: document.update({TTL: 2}))
    regions.rests()
    assert (regions.keys("a"), regions.keys("b")) == (["k"], None)
    return regions


def test_writers_here_know_the_newer_fields_of_the_table() -> None:
    assert newer_by_table() == NEWER


def test_what_a_broker_drops_is_given_back_to_it_once_it_knows_the_field() -> None:
    regions = keeping()
    regions.becomes("b", MIDDLE)
    regions.rests()
    assert regions.keys("b") == ["k"]


def test_what_is_removed_by_who_knows_it_ends_where_nobody_does() -> None:
    regions = keeping()
    regions.edits("a", lambda document: document.pop(METRIC_KEYS))
    regions.rests()
    regions.becomes("b", NEW)
    regions.rests()
    assert (regions.keys("a"), regions.keys("b")) == (None, None)


def test_what_was_dropped_before_an_upgrade_that_is_told_of_first_is_no_removal() -> None:
    regions = Regions(NEW, OLD)
    regions.edits("a", lambda document: document.update({METRIC_KEYS: ["k"], TTL: 1}))
    regions.rests()
    regions.edits("b", lambda document: document.update({TTL: 2}))
    regions.becomes("b", NEW)
    regions.rests()
    assert (regions.keys("a"), regions.keys("b")) == (["k"], ["k"])


def test_a_broker_that_comes_and_goes_between_two_answers_is_not_told_from_one_that_knows_the_field() -> None:
    """The limit that chance keeps to here: an answer comes each minute, and brokers live longer."""
    regions = Regions(NEW, MIDDLE)
    regions.edits("a", lambda document: document.update({METRIC_KEYS: ["k"], TTL: 1}))
    regions.rests()
    regions.becomes("b", OLD)
    regions.edits("b", lambda document: document.update({TTL: 2}))
    regions.becomes("b", MIDDLE)
    with pytest.raises(Violation, match="field lost"):
        regions.rests()
