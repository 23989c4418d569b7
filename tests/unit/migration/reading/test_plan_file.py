"""Plans in files: what is read is what was written, and whatever was changed is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.errors import PlanInvalid, PreconditionFailed
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.reading import plan_file
from syncer.migration.scope import MigrationScope, Overrides
from tests.unit.migration.test_migration_plan import plan

WHOLE = {"acme/orders": "1", "acme/o": "2", "zeta/c": "3"}


def large() -> MigrationPlan:
    scope = MigrationScope(canary=("acme/orders",), waves=(("acme/o",), ("zeta/c",)), whole_cluster=True)
    return plan(scope=scope, contents=WHOLE, overrides=Overrides(reasons={"client-gate": "„stopped“"}))


def changed(**changes: Any) -> bytes:
    return json.dumps({**json.loads(plan_file.to_text(large())), **changes}).encode()


@pytest.mark.parametrize("made", [plan(), large()])
def test_what_is_read_is_what_was_written(made: MigrationPlan, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    plan_file.write(file, made)
    assert plan_file.read(file) == made
    assert plan_file.read(file).fingerprint == json.loads(file.read_text(encoding="utf-8"))["sha256"]
    with pytest.raises(PreconditionFailed, match="is left as it is"):
        plan_file.write(file, plan())
    assert plan_file.read(file) == made


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "is no plan of a migration"),
        (b'{"format": "pulsar-syncer-plan", "version": 1}', "is no plan of a migration"),
        (changed(version=2), "of version 2; this program reads version 1"),
        (changed(more=1), "more: Extra inputs"),
        (changed(waves=["acme/b"]), "waves.0: Input should be a valid array"),
        (changed(made_at_ms="1"), "made_at_ms: Input should be a valid integer"),
        (changed(canary=[]), "begins with a canary"),
        (changed(contents={}), "does not tell what each of its namespaces held"),
        (changed(overrides={"client-gate": ""}), "without a reason"),
        (changed(whole_cluster=False), "its fingerprint is not its own"),
        (changed(sha256="0" * 64), "its fingerprint is not its own"),
        (changed(contents={**WHOLE, "zeta/c": "4"}), "its fingerprint is not its own"),
    ],
)
def test_what_is_no_plan_is_refused(text: bytes, words: str) -> None:
    with pytest.raises(PlanInvalid, match=words) as caught:
        plan_file.from_text(text, "p.json")
    assert "migration" in caught.value.hint or "--" in caught.value.hint


@given(st.data())
def test_whatever_is_done_to_a_file_it_is_that_plan_or_none(data: st.DataObject) -> None:
    text = bytearray(plan_file.to_text(large()).encode())
    place = data.draw(st.integers(0, len(text) - 1))
    text[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        found = plan_file.from_text(bytes(text))
    except PlanInvalid:
        return
    assert found == large()


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(PreconditionFailed, match="cannot be read: No such file"):
        plan_file.read(tmp_path / "none")
    with pytest.raises(PreconditionFailed, match="no regular file"):
        plan_file.read(tmp_path)
