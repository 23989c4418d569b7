"""Three daemons, one of which carries half of the tenants: compared, and repaired, by what both carry."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from syncer.documents.status import RegionDocument
from syncer.inspection.status import collect
from syncer.model import MetaPath
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import changes_on, distinct_changes_on
from tests.shell.region import Site, active, path_of, tenant
from tests.shell.test_anti_entropy import in_state, lose_all

ALL: Final = {"rules": [{"pattern": "/admin/policies/**", "direction": "both"}]}
HALF: Final = {"rules": [{"pattern": "/admin/policies/mine-*", "direction": "ignore"}, *ALL["rules"]]}


def shared(number: int) -> MetaPath:
    return path_of(f"shared-{number}")


def mine(number: int) -> MetaPath:
    return path_of(f"mine-{number}")


def tenants(site: Site, first: str) -> dict[str, Any]:
    return {path: value for path, value in site.picture().items() if path.startswith(path_of(first))}


def seen_by(site: Site, peer: str) -> RegionDocument:
    """How the status of one region shows another one."""
    found = site.ask(lambda views: collect(views, site.config()))
    (document,) = (each for each in found.peers if each.region == peer)
    assert isinstance(document, RegionDocument)
    return document


async def test_a_region_of_half_the_tenants_is_repaired_where_both_carry_and_nowhere_else(
    make_site: MakeSite, bus_file: Path
) -> None:
    east, west, north = (
        make_site(name, scope=rules) for name, rules in (("east", ALL), ("west", ALL), ("north", HALF))
    )
    pairs = [
        (one, other.config().region) for one in (east, west, north) for other in (east, west, north) if one != other
    ]
    async with east.running(), west.running(), north.running():
        await active(east, west, north)
        north.writer.put(mine(0), tenant("north-own"))
        for number in range(6):
            east.writer.put(shared(number), tenant("old"))
        for number in range(1, 4):
            east.writer.put(mine(number), tenant("old"))
        await until(lambda: tenants(north, "shared-") == tenants(west, "shared-") == tenants(east, "shared-"), "equal")
        await until(in_state("equal", *pairs), "every pair, by what both carry")
        of_all, of_half = seen_by(east, "west"), seen_by(east, "north")
        assert (of_all.same_rules, of_half.same_rules) == (True, False)
        assert of_half.shared_class == seen_by(west, "north").shared_class == seen_by(north, "east").shared_class
        assert of_half.shared_class != of_all.shared_class
        await until(
            lambda: (seen_by(east, "west").shared_paths, seen_by(east, "north").shared_paths) == (9, 6), "counts"
        )
        assert seen_by(north, "west").shared_paths == 6
    async with east.running():  # the others are away, and what it says is lost
        await until(lambda: east.report().get("watch_whole"), "east watches again")
        before = len(distinct_changes_on(bus_file))
        for number in range(3):
            east.writer.put(shared(number), tenant("newer"))
        east.writer.put(mine(1), tenant("newer"))
        east.writer.delete(shared(4))
        east.writer.delete(mine(2))
        await until(lambda: len(distinct_changes_on(bus_file)) >= before + 6, "east has published")
        await until(lambda: east.status().outbox.depth == 0, "nothing waits")
    assert lose_all(bus_file) >= 6
    async with east.running(), north.running():  # of these two, the one can only be repaired by its class
        await until(lambda: tenants(north, "shared-") == tenants(east, "shared-"), "repaired")
        assert len(tenants(north, "shared-")) == 5
        await until(in_state("equal", (east, "north"), (north, "east")), "both say so")
        assert not {each.path for each in changes_on(bus_file)} & {mine(number) for number in range(4)}, (
            "of its class alone"
        )
    async with east.running(), west.running(), north.running():
        await until(lambda: tenants(west, "mine-") == tenants(east, "mine-"), "and who carries all, of all")
        await until(in_state("equal", *pairs), "all are equal")
    assert tenants(west, "shared-") == tenants(east, "shared-") == tenants(north, "shared-")
    assert list(tenants(north, "mine-")) == [mine(0)], "nothing out of its scope has arrived"
    assert mine(0) not in tenants(east, "mine-"), "and nothing has left"
    codes = east.conditions().keys() | west.conditions().keys() | north.conditions().keys()
    assert not codes & {"scope-differs", "not-compared", "scopes-contradict", "regions-differ", "comparison-malformed"}
    assert not [*east.quarantined(), *west.quarantined(), *north.quarantined()]
