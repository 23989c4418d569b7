"""A wait ends when its state comes, at once when a needed process dies, and else with what it waited for and saw."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from syncer.waiting import LIVING, WAIT_S, Needed, NeedEnded, WaitTimedOut, until, wait_until


class Program:
    """A real process, as a wait needs it."""

    def __init__(self, code: str, log: Path) -> None:
        self.name = "the server"
        self._log = log
        with log.open("wb") as said:
            self.process = subprocess.Popen([sys.executable, "-c", code], stdout=said, stderr=said)

    def ended(self) -> str | None:
        status = self.process.poll()
        return None if status is None else f"exit status {status}; its log:\n{self.last_words()}"

    def last_words(self) -> str:
        return self._log.read_text(encoding="utf-8")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Program]:
    """A process that says something and dies when its input ends: here, on its own."""
    program = Program("import sys; print('the disk is full'); sys.exit(3)", tmp_path / "log")
    yield program
    program.process.kill()
    program.process.wait()


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Program]:
    """A process that says something, lives on, and never answers."""
    program = Program("import time; print('coming up', flush=True); time.sleep(600)", tmp_path / "log")
    yield program
    program.process.kill()
    program.process.wait()


def seen() -> list[int]:
    """The state of a counter that never moves."""
    return [1, 2]


def test_what_the_condition_gives_is_returned() -> None:
    answers = iter([None, 0, "", "there"])
    assert wait_until(lambda: next(answers), "it is there") == "there"


@pytest.mark.anyio
async def test_a_task_waits_for_a_plain_condition_and_for_an_asynchronous_one() -> None:
    answers = iter([None, "there", None, "there too"])

    async def asked() -> str | None:
        await anyio.lowlevel.checkpoint()
        return next(answers)

    assert await until(lambda: next(answers), "it is there") == "there"
    assert await until(asked, "it is there, too") == "there too"


def test_a_planted_hang_ends_with_what_was_waited_for_and_what_was_seen() -> None:
    with pytest.raises(WaitTimedOut) as caught:
        wait_until(lambda: seen() == [3] and len(seen()) > 5, "the counter is at three", within_s=0.05)
    told = str(caught.value)
    assert "for: the counter is at three" in told
    assert "seen() = [1, 2]" in told
    assert "len(seen()) = 2" in told
    assert caught.value.waited_s >= 0.05


@pytest.mark.anyio
async def test_a_planted_hang_in_a_task_ends_likewise() -> None:
    with pytest.raises(WaitTimedOut, match=r"for: the counter is at three\n.*seen\(\) = \[1, 2\]"):
        await until(
            lambda: seen() == [3],
            "the counter is at three",
            within_s=0.05,
        )


def test_the_caller_may_say_what_to_show() -> None:
    with pytest.raises(WaitTimedOut, match="last seen: 'half of it'"):
        wait_until(lambda: False, "all of it", within_s=0.01, shown=lambda: "half of it")


def test_a_message_that_cannot_be_made_hides_nothing() -> None:
    def broken() -> object:
        raise RuntimeError("no view")

    with pytest.raises(WaitTimedOut, match=r"for: all of it\n.*could not be shown: RuntimeError\('no view'\)"):
        wait_until(lambda: False, "all of it", within_s=0.01, shown=broken)


def test_a_planted_death_ends_the_wait_at_once_with_the_log(server: Program) -> None:
    server.process.wait()
    began_s = time.monotonic()
    with pytest.raises(NeedEnded) as caught:
        wait_until(lambda: False, "the server answers", needs=[server])
    assert time.monotonic() - began_s < WAIT_S / 2
    told = str(caught.value)
    assert "for: the server answers" in told
    assert "the server has ended: exit status 3" in told
    assert "the disk is full" in told


def test_a_death_is_seen_by_every_wait_of_the_program_until_the_process_is_let_go(server: Program) -> None:
    needed: Needed = server
    LIVING.add(needed)
    server.process.wait()
    with pytest.raises(NeedEnded, match="the disk is full"):
        wait_until(lambda: False, "something else")
    LIVING.let_go(needed)
    LIVING.let_go(needed)  # whatever ends it may come first
    with pytest.raises(WaitTimedOut):
        wait_until(lambda: False, "something else", within_s=0.01)


def test_what_has_come_counts_although_the_process_has_died_since(server: Program) -> None:
    server.process.wait()
    assert wait_until(lambda: "its last answer", "it answers", needs=[server]) == "its last answer"


def test_processes_of_one_test_are_forgotten_for_the_next(server: Program, slow: Program) -> None:
    LIVING.add(slow)
    with LIVING.kept_apart():
        LIVING.add(server)
        assert LIVING.all()[-2:] == (slow, server)
    assert server not in LIVING.all()
    assert slow in LIVING.all()


def test_a_planted_slow_server_ends_within_the_bound_with_its_log(slow: Program) -> None:
    wait_until(lambda: "coming up" in slow.last_words(), "it has begun", needs=[slow])
    with pytest.raises(WaitTimedOut) as caught:
        wait_until(lambda: False, "the server answers", within_s=0.05, needs=[slow])
    assert "log of the server:\ncoming up" in str(caught.value)


def test_a_planted_race_shows_both_sides_of_the_comparison() -> None:
    box = {"value": 0}
    lost = threading.Event()

    def race() -> None:
        box["value"] = 1
        box["value"] = 2  # nobody can see the one before
        lost.set()

    thread = threading.Thread(target=race)
    thread.start()
    assert lost.wait(WAIT_S)
    with pytest.raises(WaitTimedOut, match=r"box\['value'\] = 2"):
        wait_until(lambda: box["value"] == 1, "the value is one", within_s=0.05)
    thread.join()


def test_errors_that_mean_not_yet_are_passed_over_and_the_last_is_shown() -> None:
    def refused() -> bool:
        raise ConnectionRefusedError("nobody listens")

    with pytest.raises(WaitTimedOut, match="last seen: ConnectionRefusedError: nobody listens") as caught:
        wait_until(refused, "it listens", within_s=0.02, passing=OSError)
    assert isinstance(caught.value.__cause__, ConnectionRefusedError)
    with pytest.raises(ConnectionRefusedError):
        wait_until(refused, "it listens", within_s=0.02)


def test_the_last_look_is_after_the_deadline() -> None:
    """A sleep that ends late on a busy machine costs no state that is there."""
    began_s = time.monotonic()

    def late() -> bool:
        found = time.monotonic() - began_s > 0.05
        time.sleep(0.1)  # a look that takes longer than the whole deadline
        return found

    assert wait_until(late, "it is late", within_s=0.01)


@pytest.mark.parametrize(("look_s", "rest_s"), [(0.0, [0.005, 0.0075, 0.01125]), (0.2, [0.6] * 3), (50.0, [1.0] * 3)])
def test_after_a_dear_look_the_wait_rests_longer_but_no_more_than_a_second(
    monkeypatch: pytest.MonkeyPatch, look_s: float, rest_s: list[float]
) -> None:
    slept: list[float] = []
    now_s = [0.0]

    def sleep(asked_s: float) -> None:
        slept.append(asked_s)
        now_s[0] += asked_s

    def dear() -> bool:
        now_s[0] += look_s
        return len(slept) == 3

    monkeypatch.setattr("syncer.waiting.polling.time.monotonic", lambda: now_s[0])
    monkeypatch.setattr("syncer.waiting.polling.time.sleep", sleep)
    assert wait_until(dear, "the third look")
    assert slept == pytest.approx(rest_s)
