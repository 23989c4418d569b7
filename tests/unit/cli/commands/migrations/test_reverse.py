# ruff: noqa: F401, F811 - the fixtures are those of the commands around plans
"""The way back against two clusters over HTTP: a plan of what green holds now, and nothing is set."""

from __future__ import annotations

from pathlib import Path

from syncer.documents.migration import MigrationPlanDocument
from syncer.migration.reading import plan_file
from syncer.migration.scope import MigrationBounds
from tests.migration.plays import NamespacePlay
from tests.unit.cli.commands.migrations.test_migration import CANARY, Opened, _log_put_back, good, opened, refused


def test_the_way_back_is_a_plan_of_its_own(opened: Opened, tmp_path: Path) -> None:
    play, file, back = NamespacePlay(4), tmp_path / "plan.json", tmp_path / "back.json"
    run = opened(play)
    words = ("--bound", "longest_gap_s=9", "--override", "client-gate=all are stopped", "--save", str(file))
    good(run("plan", *CANARY, *words))
    play.add_topic(f"{play.topics[0]}-new", "s")
    result = run("reverse", str(file), "--save", str(back), "-o", "json")
    shown = MigrationPlanDocument.model_validate_json(good(result))
    assert (shown.blue.table, shown.green.table, shown.overrides) == ("green", "blue", {})
    there, plan = plan_file.read(file), plan_file.read(back)
    assert (plan.tables, plan.scope, plan.bounds) == (("green", "blue"), there.scope, MigrationBounds(longest_gap_s=9))
    assert plan.contents != there.contents
    assert f"syncer migration preflight {back}" in result.stderr
    assert "left as it is" in refused(run("reverse", str(file), "--save", str(back)), 5)
