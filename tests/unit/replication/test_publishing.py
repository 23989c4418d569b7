"""The gate of publication: what it lets through by the scope of this moment, and that nobody passes it by."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.acts import DropHeld, Publish
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.errors import PreconditionFailed
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Region, Stamp
from syncer.replication import publishing
from syncer.state.memory.database import MemoryDatabase
from syncer.state.memory.state import MemoryState
from tests.property.strategies import tenant_event

HERE, ELSEWHERE = Region("east"), Region("west")
PATH: Final = tenant_event(b"{}", Stamp(Millis(1), HERE), {}).path
ROOT: Final = Path(publishing.__file__).parents[2]
WRITERS: Final = {"enqueue": {"publishing.py"}, "hold_publication": {"unit_of_work.py"}}
"""Calls that put something into the outbox, or keep it back from it, and the modules that may make them."""


def scope(direction: Direction) -> Scope:
    return Scope((Rule(PATH, direction), *DEFAULT_RULES))


def event(region: Region = HERE) -> MetadataChangeEvent:
    return tenant_event(b"{}", Stamp(Millis(7), region), {})


def queued(put: object, rules: Scope, *events: MetadataChangeEvent) -> list[MetaPath]:
    """Paths in the outbox after events were given to one side of the gate."""
    state = MemoryState(MemoryDatabase(HERE, "db"))
    state.activate()
    with state.transaction() as tx:
        put(rules, tx, events)  # type: ignore[operator]  # one of two functions of one form
        return [row.event.path for row in tx.outbox(10)]


@pytest.mark.parametrize("direction", Direction)
def test_a_change_leaves_where_the_scope_publishes_the_path(direction: Direction) -> None:
    rules, leaves = scope(direction), direction in {Direction.BOTH, Direction.PUBLISH}
    assert publishing.admits(rules, Publish(event=event())) is leaves
    assert publishing.leaves(rules, HERE, event()) is leaves
    assert queued(publishing.enqueue, rules, event()) == [PATH] * leaves


@pytest.mark.parametrize("direction", Direction)
def test_what_the_group_has_is_told_again_where_the_path_is_carried(direction: Direction) -> None:
    carried = direction is not Direction.IGNORE
    assert publishing.leaves(scope(direction), HERE, event(ELSEWHERE)) is carried
    assert queued(publishing.retell, scope(direction), event(ELSEWHERE)) == [PATH] * carried


def test_other_acts_pass() -> None:
    assert publishing.admits(scope(Direction.IGNORE), DropHeld(path=PATH))


@pytest.mark.parametrize("direction", [Direction.APPLY, Direction.IGNORE])
def test_an_operator_is_told_what_to_do_instead(direction: Direction) -> None:
    with pytest.raises(PreconditionFailed, match="may not leave this region by its scope") as refusal:
        publishing.require(scope(direction), PATH, "Do that.")
    assert refusal.value.hint == "Do that."
    publishing.require(scope(Direction.PUBLISH), PATH, "")


@given(st.lists(st.sampled_from(list(Direction)), min_size=1, max_size=6))
def test_the_scope_of_the_moment_decides_not_that_of_before(directions: list[Direction]) -> None:
    for direction in directions:
        assert publishing.leaves(scope(direction), HERE, event()) is direction.publishes


def calls(name: str) -> Iterator[str]:
    """Modules of the product that call a method of this name, but for the state's own."""
    for file in sorted(ROOT.glob("*/**/*.py")):
        if file.relative_to(ROOT).parts[0] not in {"syncer", "api", "spark_snapshot"} or "state" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            of = node.func if isinstance(node, ast.Call) else None
            if not isinstance(of, ast.Attribute) or of.attr != name:
                continue
            if not (isinstance(of.value, ast.Name) and of.value.id == "publishing"):
                yield file.name


@pytest.mark.parametrize("name", WRITERS)
def test_nobody_else_writes_into_the_outbox(name: str) -> None:
    assert set(calls(name)) == WRITERS[name]
