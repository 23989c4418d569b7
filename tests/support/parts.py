"""The parts of a driver, for tests of what stands in memory: the one door to them."""

from __future__ import annotations

from syncer.replication.assembly import Parts
from syncer.replication.driver import Driver


def parts_of(driver: Driver) -> Parts:
    """The parts that a driver was assembled from."""
    return driver._parts
