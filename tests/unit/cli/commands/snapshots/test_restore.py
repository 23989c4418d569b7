"""``syncer snapshot restore`` as an operator types it, on an embedded region and snapshots made by Arrow alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.cli.render.snapshots import show_changes, snapshot_document
from syncer.documents.snapshots import ChangedDocument, FieldDocument, SnapshotChangesDocument, SnapshotList
from syncer.errors import SnapshotShrunken
from syncer.model import MetaPath
from syncer.stores.sqlite import OutsideWriter
from tests.support.logs import logging_restored
from tests.support.planning import resources, value
from tests.support.snapshot_files import NOW, described, holding, made
from tests.unit.cli.commands.test_plan import configure

ACME = resources("acme", topics=30)
BETA = resources("beta", topics=30)
LEFT = dict(list(ACME.items())[:5])


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with logging_restored():
        yield


@pytest.fixture
def east(tmp_path: Path) -> Iterator[OutsideWriter]:
    """A region that holds two tenants."""
    with contextlib.closing(configure(tmp_path, "east")) as writer:
        for path, stored in (ACME | BETA).items():
            writer.put(path, stored)
        yield writer


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["--config", "east.toml", "snapshot", *words, "--folder", str(Path.cwd() / "kept")])


def test_a_restore_deletes_nothing_outside_of_the_snapshots_extent(tmp_path: Path, east: OutsideWriter) -> None:
    extra = MetaPath("/admin/policies/acme/extra")
    east.put(extra, value())
    part = holding(tmp_path / "kept", ACME, described(tenants=["acme"]))
    done = run("restore", part.id, "--delete", "--yes", "-o", "json")
    assert done.exit_code == 0, done.stderr
    assert east.items().keys() == (ACME | BETA).keys(), "what the part lacks of its own tenant is gone, and no more"
    refused = run("restore", part.id, "--tenant", "beta", "--delete", "--yes")
    assert (refused.exit_code, "tenant beta is not in what these snapshots hold" in refused.stderr) == (5, True)


@pytest.mark.parametrize("words", [("--yes",), ("--save", "back.json")])
def test_a_shrunken_snapshot_deletes_nothing_unless_it_is_accepted(
    tmp_path: Path, east: OutsideWriter, words: tuple[str, ...]
) -> None:
    shrunken = holding(tmp_path / "kept", LEFT, described())
    refused = run("restore", shrunken.id, "--delete", *words)
    assert refused.exit_code == 5
    assert "61 of the 66 paths that region east holds here would be deleted" in refused.stderr
    assert "--accept-shrunken" in refused.stderr
    assert east.items().keys() == (ACME | BETA).keys()
    assert not (tmp_path / "back.json").exists()
    assert run("restore", shrunken.id, "--yes").exit_code == 0, "nothing is deleted: it passes"
    shown = run("restore", shrunken.id, "--delete", "--dry-run")
    assert (shown.exit_code, "! it would be refused: 61 of the 66" in shown.stderr) == (0, True)
    accepted = run("restore", shrunken.id, "--delete", "--accept-shrunken", *words)
    assert accepted.exit_code in {0, 3}, accepted.stderr
    assert (east.items().keys() == LEFT.keys()) == (words == ("--yes",))


def test_the_bounds_of_a_loss_are_the_configurations(tmp_path: Path, east: OutsideWriter) -> None:
    del east
    config = tmp_path / "east.toml"
    text = config.read_text(encoding="utf-8")
    shrunken = holding(tmp_path / "kept", LEFT, described())
    config.write_text(f"{text}[snapshots]\nmin_lost = 62\n", encoding="utf-8")
    assert run("restore", shrunken.id, "--delete", "--yes").exit_code == 0
    assert SnapshotShrunken.code == "snapshot-shrunken"


def test_the_extent_of_each_is_listed(tmp_path: Path, east: OutsideWriter) -> None:
    del east
    holding(tmp_path / "kept", ACME, described(tenants=["acme"]))
    holding(tmp_path / "kept", ACME | BETA, described(taken_at_ms=NOW + 1))
    listed = SnapshotList.model_validate_json(run("list", "-o", "json").stdout)
    assert [each.extent for each in listed.items] == [["acme"], None]
    table = run("list").stdout.splitlines()
    assert ("EXTENT" in table[0], "tenant acme" in table[1], " all " in table[2]) == (True, True, True)
    assert "extent" in run("show", listed.items[0].id).stdout


def test_what_a_region_changed_stands_in_the_order_of_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (snapshot_document(made(tmp_path, described(taken_at_ms=NOW + hours))) for hours in (0, 1))
    ttl = FieldDocument(pointer="/message_ttl_in_seconds", local=False, values={"after": "3600", "before": "60"})
    changed = ChangedDocument(
        path="/admin/policies/acme/orders", resource="namespace", change="modified", stamp=None, fields=[ttl]
    )
    counts = {"created": 0, "modified": 1, "deleted": 0}
    show_changes(SnapshotChangesDocument(before=before, after=after, extent=None, counts=counts, items=[changed]))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["FIELD", "BEFORE", "AFTER"] in lines
    assert ["/message_ttl_in_seconds", "60", "3600"] in lines
