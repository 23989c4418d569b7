"""Fields that a region has for itself: none of its values leaves it, none comes in, and all others go as ever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from syncer.model import MetaPath
from syncer.replication.still_excluded import DIFFER
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import changes_on
from tests.shell.region import Site, active, path_of, tenant

SPACE: Final = MetaPath("/admin/policies/acme/orders")
TTL: Final = "message_ttl_in_seconds"
LIMIT: Final = "max_topics_per_namespace"
OWN: Final = {"exclude": [{"pattern": "/admin/policies/acme/**", "fields": [TTL]}]}


def policies(**more: Any) -> bytes:
    return json.dumps({"replication_clusters": ["east", "west"], **more}).encode()


def held(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(site.get(SPACE) or b"{}")
    return found


def kept(site: Site) -> Any:
    """What the region keeps of the namespace as the group's."""
    found = site.ask(lambda views: views.kept_at([SPACE]))
    return found[SPACE].group if SPACE in found else None


def told(bus_file: Path, by: str) -> list[Any]:
    """The values of the field in what a region has published of the namespace."""
    found = [each for each in changes_on(bus_file) if each.path == SPACE and each.stamp.region == by]
    return [json.loads(each.value or b"{}").get(TTL) for each in found]


async def test_an_excluded_field_neither_leaves_nor_comes_in(make_site: MakeSite, bus_file: Path) -> None:
    east, west = make_site("east"), make_site("west", scope=OWN)
    async with east.running(), west.running():
        await active(east)
        await active(west)
        east.writer.put(path_of("acme"), tenant("a", allowedClusters=["east", "west"]))
        east.writer.put(SPACE, policies(**{TTL: 60, LIMIT: 1}))
        await until(lambda: held(west).get(LIMIT) == 1, "all other fields come in")
        assert TTL not in held(west), "where nothing was, the broker's default stays"
        west.writer.put(SPACE, policies(**{TTL: 5, LIMIT: 2}))
        await until(lambda: held(east).get(LIMIT) == 2, "and go out")
        assert held(east)[TTL] == 60
        east.writer.put(SPACE, policies(**{TTL: 90, LIMIT: 3}))
        await until(lambda: held(west).get(LIMIT) == 3, "each has its own")
        assert held(west)[TTL] == 5
        before = west.get(SPACE)
        east.writer.put(SPACE, policies(**{TTL: 100, LIMIT: 3}))
        await until(lambda: told(bus_file, "east")[-1] == 100, "it is told")
        await until(lambda: (east.status().counts.due, west.status().counts.due) == (0, 0), "and taken")
        await until(lambda: kept(west) == {TTL: 100}, "and kept as the group's value")
        assert west.get(SPACE) == before, "nothing is written for it"
        west.writer.put(SPACE, policies(**{TTL: 7, LIMIT: 4}))
        await until(lambda: held(east).get(LIMIT) == 4, "what leaves has the group's value")
        assert held(east)[TTL] == 100
        assert set(told(bus_file, "west")) == {60, 100}
        assert (east.status().counts.conflicts, west.status().counts.conflicts) == (0, 0)


async def test_another_rule_changes_nothing_anywhere(make_site: MakeSite, bus_file: Path) -> None:
    east, west = make_site("east"), make_site("west")
    async with east.running():
        await active(east)
        async with west.running():
            await active(west)
            east.writer.put(path_of("acme"), tenant("a", allowedClusters=["east", "west"]))
            east.writer.put(SPACE, policies(**{TTL: 60, LIMIT: 1}))
            await until(lambda: held(west).get(TTL) == 60, "it is shared")
        west.writer.put(SPACE, policies(**{TTL: 5, LIMIT: 1}))  # while no daemon looks, and before the rule is there
        published = len(changes_on(bus_file))
        async with west.running(scope=OWN):
            await active(west)
            await until(lambda: west.status().counts.due == 0, "the group's value was asked for")
            west.writer.put(SPACE, policies(**{TTL: 6, LIMIT: 2}))
            await until(lambda: held(east).get(LIMIT) == 2, "it goes on")
            assert held(east)[TTL] == 60
        published = len(changes_on(bus_file))
        async with west.running():
            await active(west)
            east.writer.put(SPACE, policies(**{TTL: 60, LIMIT: 3}))
            await until(lambda: held(west).get(LIMIT) == 3, "the rule is gone")
            assert (held(west)[TTL], held(east)[TTL]) == (6, 60), "and neither value gives way by that"
            assert len(changes_on(bus_file)) <= published + 1
            await until(lambda: DIFFER in west.conditions(), "which is said")
            west.writer.put(SPACE, policies(**{TTL: 60, LIMIT: 3}))
            await until(lambda: DIFFER not in west.conditions(), "both are the same")
            west.writer.put(SPACE, policies(**{TTL: 61, LIMIT: 4}))
            await until(lambda: held(east).get(TTL) == 61, "from then on it is shared again")
    assert set(told(bus_file, "west")) == {60, 61}
