"""Databases and files that a release has left in the middle of something are opened, and gone on with."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import AsyncExitStack, ExitStack, closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from syncer.waiting import WAIT_S, until
from tests.golden import files, product, scenes
from tests.golden.product import MetaPath
from tests.shell.region import TOPIC, Site, active, equal, path_of, tenant

RELEASES = [each for each in sorted(Path(__file__).parent.iterdir()) if (each / scenes.FOLDER).is_dir()]


@pytest.fixture(params=RELEASES, ids=lambda folder: folder.name)
def release(request: pytest.FixtureRequest) -> Path:
    """A release's folder."""
    return Path(request.param)


def left(site: Site, query: str) -> int:
    """A number in a database as a release has left it: no command reads it before a daemon was active on it."""
    with closing(sqlite3.connect(site.database)) as db:
        return int(db.execute(query).fetchone()[0])


async def test_what_waits_is_decided_what_was_not_sent_goes_out_and_the_peer_converges(
    release: Path, tmp_path: Path
) -> None:
    with ExitStack() as closed:
        sites = scenes.opened(release, scenes.BUSY, tmp_path)
        for site in sites.values():
            closed.callback(site.writer.close)
        east, west = sites.values()
        assert left(east, "SELECT count(*) FROM registers WHERE parked_reason IS NOT NULL") == 1
        assert left(east, "SELECT count(*) FROM quarantine") >= 3
        assert left(east, "SELECT count(*) FROM outbox") == 1
        async with east.running(), west.running():
            await active(east, west)
            conflict = next(row for row in east.ask(lambda views: views.conflicts(10)) if row.path == path_of("t0"))
            deletes = [path for path in east.holds() if path.startswith(path_of("t"))]
            assert TOPIC in east.holds()
            assert deletes
            await until(lambda: west.get(path_of("unsent")) == tenant("unsent"), "what was not sent goes out")
            await until(lambda: east.status().outbox.depth == 0, "nothing waits to be sent")
            assert (await east.decide("confirm", TOPIC)).code == ""
            for path in deletes:
                assert (await east.decide("confirm", MetaPath(path))).code == ""
            await until(lambda: not set(east.holds()) & {TOPIC, *deletes}, "what was decided waits no more")
            assert b'"partitions":4' in (east.get(TOPIC) or b"")
            assert (await east.restore(conflict.id)).code == ""
            await until(lambda: west.get(path_of("t0")) == tenant("loses"), "the loser is back everywhere")
            east.writer.put(path_of("unreadable"), tenant("mended"))
            west.writer.put(scenes.LOST.rpartition("/")[0], tenant("comes after all"))
            await until(lambda: east.get(scenes.LOST) is not None, "what was parked lands")
            await equal(east, west)
        assert {row.path for row in east.ask(lambda views: views.conflicts(100))} >= {path_of("t0")}, "nothing is lost"


async def test_a_half_finished_rebuild_is_finished_and_nothing_is_lost(release: Path, tmp_path: Path) -> None:
    sites = scenes.opened(release, scenes.REBUILDING, tmp_path)
    east, north, west = sites.values()
    assert left(east, "SELECT genesis FROM identity") == 0
    generation = left(east, "SELECT generation FROM identity")
    async with AsyncExitStack() as running:
        for site in sites.values():
            running.callback(site.writer.close)
            await running.enter_async_context(site.running())
        await active(east, north, west)
        await until(lambda: west.get(path_of("own")) == north.get(path_of("own")) == tenant("only here"), "its own too")
        await equal(east, north, west)
        assert east.status().identity.generation == generation, "it went on, and did not begin anew"
        assert east.get(path_of("t3")) == tenant("3")
        assert east.get(path_of("t4")) is None, "what was deleted stays so"
        lost = [row.path for row in east.ask(lambda views: views.conflicts(10))]
        assert lost == [path_of("t3")], "what nobody knew is kept"


@pytest.mark.parametrize("kept", ["busy/east", "busy/west", "rebuilding/east"])
def test_a_database_of_a_newer_revision_is_refused(release: Path, tmp_path: Path, kept: str) -> None:
    database = tmp_path / "state.db"
    scenes.loaded((release / scenes.FOLDER / f"{kept}-state.sql").read_text(encoding="utf-8"), database)
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(product.StateForeign, match="schema revision 9999, which this version does not know") as refused:
        product.Views.open(f"sqlite:///{database}")
    assert refused.value.hint == "Start the version that wrote it, or a newer one."


@pytest.mark.parametrize(("scene", "name"), [(scenes.BUSY, "east"), (scenes.REBUILDING, "east")])
def test_a_daemon_refuses_a_database_of_a_newer_revision_and_changes_nothing(
    release: Path, tmp_path: Path, scene: str, name: str
) -> None:
    sites = scenes.opened(release, scene, tmp_path)
    for site in sites.values():
        site.writer.close()
    east = sites[name]
    with closing(sqlite3.connect(east.database)) as db, db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    before = [scenes.dumped(file) for file in (east.database, east.store_file)]
    config = east.folder / "syncer.yaml"
    config.write_text(east.dumped(), encoding="utf-8")
    program = [sys.executable, "-c", "from syncer.cli.main import main; main()", "--config", str(config), "run"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert done.returncode == product.DISPOSITIONS[product.StateForeign].exit_code, done.stderr
    assert "schema revision 9999, which this version does not know" in done.stderr
    assert "Start the version that wrote it, or a newer one." in done.stderr
    assert "Traceback" not in done.stderr
    assert [scenes.dumped(file) for file in (east.database, east.store_file)] == before


def test_a_plan_is_read_applied_and_written_as_it_was(release: Path, tmp_path: Path) -> None:
    plan = product.plan_file.read(release / files.PLAN)
    product.plan_file.write(tmp_path / "again", plan)
    assert (tmp_path / "again").read_bytes() == (release / files.PLAN).read_bytes()
    east = files.region(tmp_path, "east", partitions=4, more="only-east")
    words = ["plan", "apply", str(tmp_path / "again"), "--yes", "--delete"]
    done = CliRunner().invoke(product.app, ["--config", str(east), *words])
    assert done.exit_code == 0, done.output


def test_a_backup_is_whole_and_differs_in_nothing_from_its_region(release: Path, tmp_path: Path) -> None:
    assert product.Backup(release / files.BACKUP).verify() == ()
    east = files.region(tmp_path, "east", partitions=4, more="only-east")
    same = CliRunner().invoke(product.app, ["--config", str(east), "backup", "diff", str(release / files.BACKUP)])
    assert same.exit_code == 0, same.output


def test_a_repair_plan_is_whole(release: Path) -> None:
    plan = product.RepairFile(release / files.REPAIR)
    head = plan.check()
    assert [each.region for each in head.regions] == ["east", "west"]
    with plan.reading() as (_, findings):
        assert len(list(findings)) == 4


@pytest.mark.parametrize("region", ["east", "west"])
def test_a_snapshot_is_whole(release: Path, region: str) -> None:
    (folder,) = (release / files.SNAPSHOTS / region).iterdir()
    found = product.open_snapshot(str(folder))
    product.verify(found)
    assert (found.region, found.manifest.alive) == (region, 6)
