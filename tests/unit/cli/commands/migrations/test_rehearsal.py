# ruff: noqa: F401, F811 - the fixtures are those of the commands around plans
"""Rehearsals and preparations against two clusters over HTTP: all is said, and nothing is set."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncer.documents.migration import PreparationDocument, RehearsalDocument
from syncer.migration.reading import plan_file
from syncer.migration.running.clock import WallClock
from tests.migration.plays import NAMESPACE, NamespacePlay
from tests.unit.cli.commands.migrations.test_migration import CANARY, Opened, _log_put_back, good, opened, refused


@pytest.fixture(autouse=True)
def _nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clusters' time stands still: waiting tells nothing more."""

    async def sleep(self: WallClock, seconds: float) -> None:
        """Return at once."""

    monkeypatch.setattr(WallClock, "sleep", sleep)


def state(play: NamespacePlay) -> list[object]:
    """What somebody could have set at either cluster."""
    return [
        (name, dict(each.policies), sorted(cluster.ledgers))
        for cluster in (play.blue, play.green)
        for name, each in cluster.namespaces.items()
    ]


def test_a_rehearsal_says_all_of_each_wave_and_sets_nothing(opened: Opened, tmp_path: Path) -> None:
    play, file = NamespacePlay(0), tmp_path / "plan.json"
    run = opened(play)
    good(run("plan", *CANARY, "--save", str(file)))
    before = state(play)
    result = run("rehearse", str(file), "-o", "json")
    found = RehearsalDocument.model_validate_json(good(result))
    assert found.may_begin
    assert found.plan == plan_file.read(file).fingerprint
    assert (found.steps, found.unprepared) == (0, [])
    (canary,) = found.waves
    assert (canary.wave, canary.namespaces, canary.refused, canary.stops) == (0, [NAMESPACE], {}, {})
    assert {each.topic for each in canary.cures} == set(play.topics)
    assert canary.longest_gap_s > 0
    assert "the migration may begin; nothing was set" in result.stderr
    assert "Canary, how topics are kept still:" in good(run("rehearse", str(file)))
    assert state(play) == before


def test_a_rehearsal_fails_where_a_check_blocks_or_a_topic_cannot_be_moved(opened: Opened, tmp_path: Path) -> None:
    play, file = NamespacePlay(1), tmp_path / "plan.json"
    play.call("POST", f"/admin/v2/namespaces/{NAMESPACE}/encryptionRequired", True)
    run = opened(play)
    good(run("plan", *CANARY, "--save", str(file)))
    result = run("rehearse", str(file), "-o", "json")
    assert result.exit_code == 1
    found = RehearsalDocument.model_validate_json(result.stdout)
    assert {name for each in found.waves for name in each.refused} == set(play.topics)
    assert "2 topics refused" in result.stderr


def test_a_preparation_lists_what_green_lacks_and_gives_it_nothing(opened: Opened, tmp_path: Path) -> None:
    play, file = NamespacePlay(2), tmp_path / "plan.json"
    del play.green.ledgers[play.topics[0]].cursors["Shared"]
    run = opened(play)
    good(run("plan", *CANARY, "--save", str(file)))
    result = run("prepare", str(file), "-o", "json")
    found = PreparationDocument.model_validate_json(good(result))
    (step,) = found.steps
    assert (step.kind, step.subject) == ("subscription", f"{play.topics[0]}, subscription Shared")
    assert (step.method, step.path.rpartition("/")[2]) == ("PUT", "Shared")
    assert "Shared" not in play.green.ledgers[play.topics[0]].cursors
    assert "nothing was set; 'syncer migration start' carries these steps out" in result.stderr
    assert good(run("prepare", str(file))).splitlines()[0].split() == ["KIND", "SUBJECT", "CALL", "WHY"]


@pytest.mark.parametrize("command", ["rehearse", "prepare"])
def test_a_stale_plan_is_refused(command: str, opened: Opened, tmp_path: Path) -> None:
    play, file = NamespacePlay(3), tmp_path / "plan.json"
    run = opened(play)
    good(run("plan", *CANARY, "--save", str(file)))
    play.add_topic(f"{play.topics[0]}-new", "s")
    assert f"topics or subscriptions of {NAMESPACE} were made or deleted" in refused(run(command, str(file)), 5)
