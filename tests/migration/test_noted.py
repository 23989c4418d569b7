"""What a migration notes while it runs: enough to tell afterwards what was done to whom, and what was left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from syncer.migration.phases import MigrationPhase
from tests.migration.controllers import Control, Operator, says_go
from tests.migration.plays import NAMESPACE, NamespacePlay

pytestmark = pytest.mark.anyio


def quiet_at_last(control: Control) -> Operator:
    """An operator who lets nobody publish any more once all is verified."""

    async def operator(controller: Any, state: Any) -> None:
        if state.run.standing.phase is MigrationPhase.SOAKING:
            for producer in control.play.producers:
                producer.stop()
        await says_go(controller, state)

    return operator


def noted(control: Control, kind: str) -> list[Mapping[str, Any]]:
    return [each for each in control.journal.events if each["event"] == kind]


async def test_what_was_set_is_noted_with_its_time_and_so_is_that_it_was_put_back() -> None:
    control = Control(NamespacePlay(1))
    control.operator = says_go
    await control.begin(await control.plan()).run()
    acts = [act for event in control.journal.events for act in event.get("acts", ())]  # type: ignore[attr-defined]
    rates = noted(control, "foreseen")[-1]["rates"]
    assert {
        act["subject"]: act["value"] for act in acts if act["setting"] == "publish-rate" and act["act"] == "set"
    } == (rates)
    changed = {(act["setting"], act["subject"]): act["at_ms"] for act in acts if act["act"] == "set"}
    back = {(act["setting"], act["subject"]): act["at_ms"] for act in acts if act["act"] == "back"}
    assert changed.keys() == back.keys()
    assert all(back[key] > at_ms for key, at_ms in changed.items())


async def test_the_tally_is_what_both_clusters_hold() -> None:
    play = NamespacePlay(1)
    control = Control(play)
    control.operator = quiet_at_last(control)
    await control.begin(await control.plan()).run()
    still, last = noted(control, "still")[-1], noted(control, "tallied")[-1]
    assert last["namespace"] == NAMESPACE
    assert last["topics"].keys() == set(play.topics)
    for name, row in last["topics"].items():
        assert row["closed_at"] == row["ends_at"] == still["last"][name]
        assert row["read_at_blue"]
        assert row["stored"] == len(play.green.ledgers[name].entries)
        assert {each: found["backlog"] for each, found in row["subscriptions"].items()} == dict.fromkeys(
            still["backlog"][name], 0
        )
        at_green = [each for each in play.consumers if each.topic == name]
        assert sum(found["consumers"] for found in row["subscriptions"].values()) == len(at_green)


async def test_who_answers_a_roll_call_is_counted_and_who_does_not_is_named() -> None:
    control = Control(NamespacePlay(1))
    control.operator = says_go
    await control.begin(await control.plan()).run()
    (called,) = noted(control, "roll-called")
    assert called["namespaces"] == [NAMESPACE]
    assert called["arrived"] + called["started_anew"] == len(control.play.producers) + len(control.play.consumers)
    assert called["staying"] == called["missed"] == []
