"""A path that was out of scope for a while: what was deleted meanwhile is asked about, not deleted elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from syncer.conflict.register import HoldReason
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import changes_on
from tests.shell.region import Site, active, path_of, tenant, until

IN, OUT = path_of("stays"), path_of("comes-and-goes")


def scope(*patterns: str) -> dict[str, Any]:
    return {"rules": [{"pattern": pattern, "direction": "both"} for pattern in patterns]}


WIDE: Final = scope("/admin/policies/**")
NARROW: Final = scope(str(IN))


def scanned(site: Site) -> bool:
    """Whether the daemon that runs now has compared all."""
    status, report = site.status(), site.report()
    return report.get("epoch") == status.identity.epoch and bool(report["tally"].get("scans.finished"))


async def test_what_was_deleted_while_it_was_out_of_scope_is_held_when_it_comes_back(
    make_site: MakeSite, bus_file: Path
) -> None:
    east, west = make_site("east", scope=WIDE), make_site("west", scope=WIDE)
    async with west.running():
        await active(west)
        async with east.running():
            await active(east)
            for path in (IN, OUT):
                east.writer.put(path, tenant("a"))
            await until(lambda: west.get(OUT) is not None and west.get(IN) is not None, "both are carried")
        async with east.running(scope=NARROW):
            await active(east)
            await until(lambda: scanned(east), "all was compared")
            east.writer.delete(OUT)
            east.writer.put(IN, tenant("b"))
            await until(lambda: west.get(IN) == east.get(IN), "what is in scope goes on")
        assert west.get(OUT) is not None, "what leaves the scope is deleted nowhere"
        published = len(changes_on(bus_file))
        async with east.running():
            await active(east)
            await until(lambda: east.status().counts.holds == 1, "a person is asked")
            (hold,) = east.ask(lambda views: views.holds(9, None))
            assert (hold.path, hold.hold.reason) == (OUT, HoldReason.MASS_DELETE)
            assert "where the scope has been changed" in hold.hold.detail
            await until(lambda: scanned(east), "all was compared")
            east.writer.delete(IN)
            await until(lambda: west.get(IN) is None, "from then on a delete is a delete again")
        assert west.get(OUT) is not None
        assert len(changes_on(bus_file)) == published + 1
