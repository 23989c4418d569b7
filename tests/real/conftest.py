"""What tests of real servers share beside the servers."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence

import pytest

from syncer.admin.client import AdminSettings
from tests.conftest import PulsarPair
from tests.real.migrations import BLUE, GREEN, Make, MortalClient, RealMigration


@pytest.fixture
async def migration_of(pulsar_pair: PulsarPair) -> AsyncIterator[Make]:
    """Make migrations of namespaces, by their short names."""
    here, there = (AdminSettings(url=pulsar_pair.clusters[name].admin_url) for name in (BLUE, GREEN))
    made: list[RealMigration] = []
    async with MortalClient(here) as blue, MortalClient(there) as green:

        def make(case: str, *waves: Sequence[str]) -> RealMigration:
            names = [[f"case-{os.getpid()}/{case}-{name}" for name in wave] for wave in waves or (("one",),)]
            made.append(RealMigration(pulsar_pair, blue, green, names, case))
            return made[-1]

        yield make
        for each in made:
            await each.put_back()
