"""From two stores to a repair plan and a report, by the commands that an operator types."""

from __future__ import annotations

import contextlib
import html
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.documents.plans import AppliedDocument
from syncer.documents.snapshots import (
    RepairPreview,
    SnapshotChangesDocument,
    SnapshotDiffDocument,
    SnapshotDocument,
    SnapshotList,
)
from syncer.stores.sqlite import OutsideWriter
from tests.support.planning import resources, value

SPACE = "/admin/policies/acme/orders"
LARGE = "/admin/policies/acme/large"


def region(folder: Path, name: str, **values: dict[str, Any]) -> OutsideWriter:
    """A region on SQLite that no daemon has ever run beside."""
    (folder / f"{name}.toml").write_text(
        f'region = "{name}"\nclusters = ["{name}"]\n[store]\nkind = "sqlite"\npath = "{folder}/{name}.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{folder}/bus.db"\n[state]\npath = "{folder}/{name}-state.db"\n',
        encoding="utf-8",
    )
    writer = OutsideWriter(folder / f"{name}.db")
    for path, stored in resources("acme", topics=20).items():
        writer.put(path, stored)
    return writer


def run(*arguments: str, config: str = "east") -> Result:
    return CliRunner().invoke(app, ["snapshot", *arguments, "--config", f"{config}.toml"])


def good(result: Result, code: int = 0) -> str:
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    return result.stdout


def test_two_stores_are_taken_compared_reported_and_planned(spark: SparkSession, tmp_path: Path) -> None:
    folder = ("--folder", str(tmp_path / "snapshots"))
    quick = ("--buckets", "2", "--progress", "none", *folder)
    with contextlib.closing(region(tmp_path, "east")) as east, contextlib.closing(region(tmp_path, "west")) as west:
        first = SnapshotDocument.model_validate_json(good(run("take", *quick, "-o", "json")))
        assert first.alive == {"namespace": 2, "partitioned-topic": 20, "tenant": 1}
        assert (first.registers, first.unstamped) == (False, 23)

        east.put(SPACE, value(replication_clusters=["global"], message_ttl_in_seconds=99))
        east.put("/admin/policies/acme/<new>", value())
        east.put(LARGE, value(properties={"note": "x" * 1_000_000}))
        west.delete("/admin/partitioned-topics/acme/orders/persistent/topic-00007")
        text = good(run("take", *quick[:-4], "--progress", "json", *folder, "--buckets", "2"))
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        assert {"phase", "rows", "rate", "eta_s"} <= lines[-1].keys()
        assert (lines[-1]["phase"], lines[-1]["ended"]) == ("write", True)
        good(run("take", *quick, config="west"))

    listed = SnapshotList.model_validate_json(good(run("list", *folder, "-o", "json")))
    assert [each.region for each in listed.items] == ["east", "east", "west"]
    assert "23" in good(run("list", *folder))
    assert "every file is as it was written" in run("show", "east", "--verify", *folder).stderr

    plan, report = tmp_path / "repair.jsonl", tmp_path / "report.html"
    text = good(
        run(
            "diff",
            "east",
            "west",
            *folder,
            "--fields",
            "--plan",
            "repair.jsonl",
            "--report",
            "report.html",
            "-o",
            "json",
        ),
        3,
    )
    found = SnapshotDiffDocument.model_validate_json(text)
    by_path = {each.path: each for each in found.items}
    assert found.same == 21
    assert {path: each.cls for path, each in by_path.items()} == {
        SPACE: "differs",
        "/admin/policies/acme/<new>": "only-in",
        LARGE: "only-in",
        "/admin/partitioned-topics/acme/orders/persistent/topic-00007": "only-in",
    }
    assert by_path[SPACE].winner == "east", "written later, as its store tells"
    assert any("Taken without the registers of a daemon" in note for note in found.notes)
    assert found.plan is not None
    assert found.plan.unstamped == found.plan.paths == 4
    assert "&lt;new&gt;" in report.read_text(encoding="utf-8")
    preview = RepairPreview.model_validate_json(good(run("sync", str(plan), "--dry-run", "-o", "json")))
    assert sum(preview.unstamped.values()) == 4
    refused = run("diff", "east", "west", *folder, "--plan", "repair.jsonl")
    assert (refused.exit_code, "is left as it is" in refused.stderr) == (5, True)

    then = datetime.fromtimestamp(first.taken_at_ms / 1000, tz=UTC).isoformat()
    for what in ((first.id, "east"), ("--since", then, "--tenant", "acme")):
        history = SnapshotChangesDocument.model_validate_json(good(run("diff", *what, *folder, "-o", "json"), 3))
        assert history.before.id == first.id
        assert history.counts == {"created": 2, "modified": 1, "deleted": 0}

    dry = run("restore", first.id, "--path", SPACE, *folder, "--dry-run", "-o", "json")
    assert AppliedDocument.model_validate_json(good(dry)).counts["applied"] == 1
    good(run("restore", first.id, "--namespace", "acme/orders", *folder, "--yes"))
    with contextlib.closing(OutsideWriter(tmp_path / "east.db")) as east:
        assert json.loads(east.items()[SPACE])["message_ttl_in_seconds"] == 60
        assert "/admin/policies/acme/<new>" in east.items(), "outside of the selection"
    back = ("--tenant", "acme", "--delete", "--save", "back.jsonl")
    good(run("restore", first.id, *back, *folder), 3)
    foreign = run("restore", "west", "--path", SPACE, "--dry-run", *folder)
    assert (foreign.exit_code, "--from-another-region" in foreign.stderr) == (5, True)
    good(CliRunner().invoke(app, ["plan", "apply", "back.jsonl", "--delete", "--yes", "--config", "east.toml"]))
    with contextlib.closing(OutsideWriter(tmp_path / "east.db")) as east:
        assert east.items().keys() == resources("acme", topics=20).keys(), "as it was then"

    good(run("prune", "--keep", "1", *folder))
    assert [
        each.region for each in SnapshotList.model_validate_json(good(run("list", *folder, "-o", "json"))).items
    ] == [
        "east",
        "west",
    ]

    (east_one, west_one) = SnapshotList.model_validate_json(good(run("list", *folder, "-o", "json"))).items
    (tmp_path / "snapshots" / "west" / west_one.id / "MANIFEST.json").write_text("{", encoding="utf-8")
    refused = run("diff", "east", west_one.id, *folder)
    assert (refused.exit_code, "snapshot remove" in refused.stderr) == (1, True)
    assert run("remove", "east", *folder).exit_code != 0, "only by its whole id"
    good(run("remove", east_one.id, west_one.id, *folder, "--dry-run"))
    good(run("remove", east_one.id, west_one.id, *folder))
    gone = SnapshotList.model_validate_json(good(run("list", *folder, "-o", "json")))
    assert (gone.items, gone.broken) == ([], [])


def test_namespaces_of_the_first_form_are_counted_and_named_by_a_comparison(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = ("--folder", str(tmp_path / "snapshots"))
    with contextlib.closing(region(tmp_path, "east")) as east, contextlib.closing(region(tmp_path, "west")):
        for number in range(5):
            east.put(f"/admin/policies/prop/us-east/n{number}", value())
        for name in ("east", "west"):
            good(run("take", "--buckets", "2", "--progress", "none", *folder, config=name))
    report = tmp_path / "report.html"
    text = good(run("diff", "east", "west", *folder, "--report", str(report), "-o", "json"))
    found = SnapshotDiffDocument.model_validate_json(text)
    assert (found.same, found.items) == (23, []), "they are no difference: none is carried"
    (note,) = [each for each in found.notes if "PROPERTY/CLUSTER/NAMESPACE" in each]
    named = "'prop/us-east/n0', 'prop/us-east/n1', 'prop/us-east/n2'"
    assert note.startswith(
        f"east: its store has namespaces of the form PROPERTY/CLUSTER/NAMESPACE: 5, among them {named}."
    )
    assert "'prop/us-east/n0'" in html.unescape(re.sub(r"<[^>]*>", "", report.read_text(encoding="utf-8")))
    shown = SnapshotDocument.model_validate_json(good(run("show", "east", "--verify", *folder, "-o", "json")))
    assert shown.alive == {"namespace": 2, "partitioned-topic": 20, "tenant": 1}
    text = good(run("take", "--buckets", "2", "--progress", "none", "--tenant", "acme", *folder, "-o", "json"))
    part = SnapshotDocument.model_validate_json(text).id
    narrow = SnapshotDiffDocument.model_validate_json(good(run("diff", part, "west", *folder, "-o", "json")))
    assert not [each for each in narrow.notes if "PROPERTY/CLUSTER/NAMESPACE" in each], "of another tenant"
