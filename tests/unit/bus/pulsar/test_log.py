"""What the Pulsar client writes of its troubles is known as soon as it has written it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TextIO

import pytest

from syncer.bus.pulsar import log

RESOLVED: Final = "2026-01-01 10:00:00.000 ERROR [1] Link:1 | [<none> -> pulsar://x:1] Resolve error: host : {}\n"
NEWS: Final = "2026-01-01 10:00:00.000 WARN  [1] Link:1 | it tries again\n"


def test_before_a_client_was_made_there_is_no_trouble() -> None:
    assert log.Relay().trouble() == ""


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[TextIO]]:
    """What stands for the client of each relay that is started: it opens the file that it is told of."""
    made: list[TextIO] = []
    with ExitStack() as closed:
        monkeypatch.setattr(
            log,
            "settle",
            lambda file, _: made.append(closed.enter_context(Path(file).open("w", encoding="utf-8"))),
        )
        yield made


def test_the_last_trouble_is_of_the_last_line_however_many_wait(clients: list[TextIO]) -> None:
    relay = log.Relay()
    relay.start()
    for number in range(20):
        clients[0].write(NEWS * 500 + RESOLVED.format(f"cause {number}"))
        clients[0].flush()
        assert relay.trouble() == f"pulsar://x:1: cause {number}"


def test_a_pipe_that_is_full_keeps_nobody_waiting(clients: list[TextIO], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log.Relay, "_read", lambda *_: None)
    relay = log.Relay()
    relay.start()
    clients[0].write("x" * (log.PIPE_BYTES - 1) + "\n")
    clients[0].flush()
    assert relay.trouble() == ""
