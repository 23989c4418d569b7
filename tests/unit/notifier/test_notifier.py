"""The task that tells operators ends nothing else, whatever goes wrong in it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from structlog.testing import capture_logs

from syncer.config import Config
from syncer.errors import StateUnavailable
from syncer.notifier import notifier as module
from syncer.notifier.notifier import Notifier
from syncer.waiting import WAIT_S

TABLES: dict[str, Any] = {
    "region": "east",
    "store": {"kind": "sqlite", "path": "/s"},
    "bus": {"kind": "embedded", "path": "/b"},
}


def made(**tables: Any) -> Notifier:
    config = Config.model_validate({**TABLES, **tables})
    standby = SimpleNamespace(config=config, clock=lambda: 0, pumps=None, role="standby")
    return Notifier(cast("Any", standby))


async def test_where_nobody_is_to_be_told_nothing_is_looked_at() -> None:
    with anyio.fail_after(WAIT_S):
        await made(notify={"log": False}).run()


@pytest.mark.parametrize(
    ("error", "event"),
    [(StateUnavailable("gone"), "notices_held_up"), (ZeroDivisionError("a bug"), "notices_failed")],
    ids=["database", "bug"],
)
async def test_what_goes_wrong_is_told_in_the_log_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, error: Exception, event: str
) -> None:
    notifier, tries, enough = made(), list[int](), anyio.Event()

    async def fail() -> None:
        tries.append(1)
        if len(tries) == 3:
            enough.set()
        raise error

    monkeypatch.setattr(notifier, "_look", fail)
    monkeypatch.setattr(module, "TROUBLED_S", 0.01)
    with capture_logs() as logs, anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(notifier.run)
            await enough.wait()
            tasks.cancel_scope.cancel()
    assert len(tries) >= 3
    assert {each["event"] for each in logs} == {event}
