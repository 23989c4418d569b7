"""Plans and restores of a region with a field of its own, as operators type them: its value stays and comes back."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.conflict.fields.kept import KeptFields
from syncer.documents.plans import AppliedDocument, PlanDocument
from syncer.model import MetaPath, Region, ResourceKind, Stamp
from syncer.repair.repair_file import RegionPart, write
from syncer.state.sql.database import SqlState
from syncer.stores.sqlite import OutsideWriter
from tests.support.logs import logging_restored
from tests.support.planning import resources
from tests.support.snapshot_files import described, holding
from tests.unit.cli.commands.test_plan import configure
from tests.unit.repair.test_repair_file import HEAD, finding
from tests.unit.state.test_contract import living

EAST = Region("east")
SPACE = MetaPath("/admin/policies/acme/orders")
NEW = MetaPath("/admin/policies/acme/new")
TTL, LIMIT = "message_ttl_in_seconds", "max_topics_per_namespace"
ALLOW = ("--allow", "unknown-cluster", "--allow", "leaves-cluster-out")
EXCLUSION = {"pattern": "/admin/policies/acme/*", "fields": [TTL]}


def exclude(folder: Path, *names: str) -> None:
    """Let the region exclude these fields from now on."""
    config = folder / "east.toml"
    text = config.read_text(encoding="utf-8").partition("[scope]")[0]
    rule = f'[scope]\nexclude = [{{ pattern = "/admin/policies/acme/*", fields = {json.dumps(names)} }}]\n'
    config.write_text(text + (rule if names else ""), encoding="utf-8")


def held(**fields: Any) -> dict[MetaPath, bytes]:
    """A tenant whose namespace has these fields."""
    values = resources("acme", topics=0)
    values[SPACE] = json.dumps({**json.loads(values[SPACE]), **fields}).encode()
    return values


GROUP = held(**{TTL: 60, LIMIT: 1})


@pytest.fixture
def east(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OutsideWriter]:
    """A region whose own value of the field is 5; its daemon keeps the group's, 60."""
    monkeypatch.chdir(tmp_path)
    with logging_restored(), contextlib.closing(configure(tmp_path, "east")) as writer:
        exclude(tmp_path, TTL)
        for path, stored in held(**{TTL: 5, LIMIT: 1}).items():
            writer.put(path, stored)
        with contextlib.closing(SqlState.open(f"sqlite:///{tmp_path}/east-state.db", EAST)) as state:
            state.activate()
            with state.transaction() as work:
                work.save([replace(living(SPACE), kept=KeptFields(excluded=(TTL,), group={TTL: 60}))])
        yield writer


@pytest.fixture
def west(tmp_path: Path) -> Iterator[OutsideWriter]:
    with contextlib.closing(configure(tmp_path, "west")) as writer:
        for path, stored in GROUP.items():
            writer.put(path, stored)
        yield writer


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["--config", "east.toml", *words])


def applied(result: Result) -> AppliedDocument:
    return AppliedDocument.model_validate_json(result.stdout)


def fields(writer: OutsideWriter) -> dict[str, Any] | None:
    found = writer.get(SPACE)
    return None if found is None else json.loads(found)


def test_the_undo_of_a_delete_brings_the_regions_own_value_back(east: OutsideWriter, west: OutsideWriter) -> None:
    before = fields(east)
    west.delete(SPACE)
    assert run("diff", "--with", "west.toml", "--delete", "--save", "plan.json").exit_code == 3
    done = run("plan", "apply", "plan.json", "--delete", "--allow", "has-topics", "--yes", "--undo", "undo.json")
    assert (done.exit_code, fields(east)) == (0, None), done.stderr
    back = run("plan", "apply", "undo.json", "--yes", "--allow", "unknown-cluster")
    assert (back.exit_code, fields(east)) == (0, before), back.stderr


def test_a_plan_from_before_an_exclusion_says_what_stays(
    east: OutsideWriter, west: OutsideWriter, tmp_path: Path
) -> None:
    west.put(SPACE, held(**{TTL: 60, LIMIT: 2})[SPACE])
    west.put(NEW, held(**{LIMIT: 7, "max_consumers_per_topic": 3})[SPACE])
    exclude(tmp_path)
    assert run("diff", "--with", "west.toml", "--save", "plan.json").exit_code == 3
    exclude(tmp_path, TTL, LIMIT)
    before = fields(east)
    words = ("plan", "apply", "plan.json", "--yes", *ALLOW, "--undo", "undo.json")
    shown = run(*words, "--dry-run")
    assert f"not written, excluded in this region: {LIMIT}, {TTL}" in " ".join(shown.stdout.split()), shown.stderr
    result = run(*words, "-o", "json")
    found = {each.path: each for each in applied(result).operations}
    assert (result.exit_code, found[SPACE].state, found[NEW].state) == (5, "refused", "applied"), result.stderr
    assert [why.reason for why in found[SPACE].refused] == ["excluded-field"]
    assert (found[SPACE].excluded, found[NEW].excluded) == ([], [LIMIT, TTL])
    assert f"1 operation without fields that this region has excluded since the plan was made: {LIMIT}, {TTL}" in (
        " ".join(result.stderr.split())
    )
    made = json.loads(east.get(NEW) or b"")
    assert (made.keys() & {TTL, LIMIT}, made["max_consumers_per_topic"], fields(east)) == (set(), 3, before)
    again = applied(run(*words[:4], *ALLOW, "-o", "json"))
    assert (again.counts["already"], again.counts["refused"]) == (1, 1)
    assert run("plan", "apply", "undo.json", "--delete", "--yes", "--allow", "has-topics").exit_code == 0
    assert east.get(NEW) is None


def test_what_does_not_flow_this_way_is_counted_and_no_difference(
    east: OutsideWriter, west: OutsideWriter, tmp_path: Path
) -> None:
    west.put(SPACE, held(**{TTL: 60, LIMIT: 2})[SPACE])
    assert run("diff", "--with", "west.toml", "--save", "plan.json").exit_code == 3
    config = tmp_path / "east.toml"
    only = "rules = [{ pattern = '/admin/policies/**', direction = 'publish' }]\n"
    config.write_text(config.read_text(encoding="utf-8") + only, encoding="utf-8")
    result = run("diff", "--with", "west.toml", "-o", "json")
    found = PlanDocument.model_validate_json(result.stdout)
    assert (result.exit_code, found.different, found.compared, found.other_way_paths) == (0, False, 0, 3)
    assert "3 paths not compared: by the directions" in run("diff", "--with", "west.toml").stderr
    refused = run("plan", "apply", "plan.json", "--yes", *ALLOW, "-o", "json")
    assert (refused.exit_code, (fields(east) or {})[LIMIT]) == (5, 1)
    assert [why.reason for each in applied(refused).operations for why in each.refused] == ["not-applied"]


@pytest.mark.parametrize("registers", [True, False])
def test_a_snapshot_brings_back_a_field_of_the_regions_own_only_where_it_has_its_own_value(
    east: OutsideWriter, tmp_path: Path, *, registers: bool
) -> None:
    ttl = 60 if registers else 5
    about = described(exclude=[EXCLUSION], registers=registers)
    taken = holding(tmp_path / "kept", held(**{TTL: ttl, LIMIT: 1}), about)
    east.delete(SPACE)
    words = ("--folder", str(tmp_path / "kept"), "--allow", "unknown-cluster", "--yes")
    done = run("snapshot", "restore", taken.id, *words)
    assert done.exit_code == 0, done.stderr
    now = fields(east) or {}
    assert (now.get(TTL), now[LIMIT]) == (None if registers else 5, 1)


@pytest.mark.parametrize(("told", "ttl"), [(held(**{TTL: 60, LIMIT: 2})[SPACE], 5), (None, None)])
def test_the_reverse_of_a_repair_knows_its_version_beside_an_own_value(
    east: OutsideWriter, tmp_path: Path, told: bytes | None, ttl: int | None
) -> None:
    taken = holding(tmp_path / "kept", GROUP, described(exclude=[EXCLUSION]))
    if told is None:
        east.delete(SPACE)
    else:
        east.put(SPACE, held(**{TTL: 5, LIMIT: 2})[SPACE])
    found = finding("acme/orders", told, losers=(EAST,))
    assert found.event is not None
    known = living(SPACE).known
    stamp = known.stamp if known is not None else Stamp(found.event.stamp.updated_at_ms, EAST)
    event = replace(found.event, resource=ResourceKind.NAMESPACE, stamp=stamp)
    part = RegionPart(region="east", snapshot=taken.id, taken_at_ms=20)
    head = HEAD.model_copy(update={"regions": (part, HEAD.regions[1])})
    write(tmp_path / "repair", head, [replace(found, event=event)])
    folder, allow = str(tmp_path / "kept"), ("--allow", "unknown-cluster", "--allow", "leaves-cluster-out")
    back = run("snapshot", "reverse", "repair", "--folder", folder, "--yes", *allow, "-o", "json")
    assert back.exit_code == 0, back.stderr
    assert applied(back).counts["applied"] == 1, back.stderr
    now = fields(east) or {}
    assert (now.get(TTL), now[LIMIT]) == (ttl, 1)
