"""Outside writers: they stop between two writes when the load pauses, and tell when they rest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from syncer.waiting import WAIT_S
from tests.faults.record import Record
from tests.faults.writer import Load, Outsider


class Counting(Outsider):
    """Counts what it does; each time it waits to be let go on."""

    def __init__(self, load: Load) -> None:
        super().__init__("east", "counting", load, pace_s=0.001)
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)
        self.done = 0
        self.let_go = False

    @contextmanager
    def _working(self) -> Iterator[Callable[[], None]]:
        yield self._once
        self.let_go = True

    def _once(self) -> None:
        self.begun.release()
        assert self.may_end.acquire(timeout=WAIT_S)
        self.done += 1


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    record = Record(tmp_path / "writes.jsonl")
    load = Load(record, ("east",))
    yield load
    load.end()
    record.close()


def test_it_works_while_the_load_goes_on_and_rests_in_between(load: Load) -> None:
    worker = Counting(load)
    worker.start()
    assert worker.idle.wait(WAIT_S), "nothing is begun before the load goes on"
    load.go_on()
    assert worker.begun.acquire(timeout=WAIT_S)
    load.pause()
    assert not worker.idle.is_set(), "it is in the middle of something"
    worker.may_end.release()
    assert worker.idle.wait(WAIT_S)
    assert worker.done == 1
    assert not worker.begun.acquire(blocking=False)
    load.go_on()
    assert worker.begun.acquire(timeout=WAIT_S)
    load.end()
    worker.may_end.release()
    worker.join(WAIT_S)
    assert (worker.is_alive(), worker.done, worker.let_go, worker.idle.is_set()) == (False, 2, True, True)


def test_one_that_fails_does_not_hold_up_those_who_wait_for_it(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    class Failing(Counting):
        def _once(self) -> None:
            raise OSError("broken")

    worker = Failing(load)
    worker.start()
    load.go_on()
    worker.join(WAIT_S)
    assert (worker.is_alive(), worker.idle.is_set()) == (False, True)
