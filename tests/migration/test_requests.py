"""What a migration asks of two simulated clusters for a topic that nobody uses, from the guard until it is verified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from syncer.migration.phases import MigrationPhase
from tests.migration.clusters.ledger import Cursor, Ledger
from tests.migration.controllers import Control, HeardJournal, says_go
from tests.migration.plays import LOAD, NAMESPACE, NamespacePlay

pytestmark = pytest.mark.anyio

QUIET = "/idle-"
MOST = 10
"""And one more for each subscription."""


class StepsAndCalls(HeardJournal):
    """A journal that knows how many calls were made when a step began."""

    def __init__(self, control: Control) -> None:
        super().__init__(control)
        self.begun: dict[str, tuple[int, int]] = {}

    async def note(self, event: Mapping[str, object]) -> None:
        """Keep an event."""
        await super().note(event)
        if event["event"] == "step-begins":
            made = len(self._control.blue.made), len(self._control.green.made)
            self.begun.setdefault(str(event["step"]), made)


@pytest.mark.parametrize("waves", [1, 4])
async def test_a_quiet_topic_is_asked_about_ten_times_and_once_for_each_subscription(waves: int) -> None:
    play = NamespacePlay(1, load=LOAD[:1])
    others = [f"acme/quiet-{number}" for number in range(waves)]
    names = [f"persistent://{each}/idle-{number}" for each in (NAMESPACE, *others) for number in range(5)]
    for each in others:
        play.add_namespace(each)
    for name in names:
        play.blue.ledgers[name] = Ledger(play.blue.next_ledger(), cursors={"audit": Cursor(mark=0, stored=0)})
    control = Control(play)
    control.operator = says_go
    control.journal = journal = StepsAndCalls(control)
    controller = control.begin(await control.plan(*((each,) for each in (*others, NAMESPACE))))
    await controller.run()
    assert controller.status().run.standing.phase is MigrationPhase.CLOSED
    asked: Counter[str] = Counter()
    for cluster, calls in enumerate((control.blue, control.green)):
        part = calls.made[journal.begun["move"][cluster] : journal.begun["verify"][cluster]]
        asked.update(name for _, path in part if QUIET in path for name in names if f"{name[13:]}/" in path)
    assert set(asked) == set(names)
    # while there is nothing to see yet, one topic of a wave is asked for all
    polled = {name for name in names if name.endswith("/idle-0")}
    assert max(count for name, count in asked.items() if name not in polled) <= MOST + 1, asked
