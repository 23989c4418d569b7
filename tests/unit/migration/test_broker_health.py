"""Health of brokers: what they say is understood, a deadlock outlasts silence, and stops name their cause."""

from __future__ import annotations

from typing import Final

import pytest

from syncer.migration.broker_health import (
    AGAIN_MS,
    BrokerHealth,
    HealthState,
    blamed,
    changed,
    deadlock_stop,
    health_of,
    is_due,
    may_blame,
    since,
)
from syncer.migration.course import MigrationStop, StopCode, WaveVerdict
from syncer.migration.steering import DONE, WAITING, StepEnd, StepResult
from syncer.model import Millis

BROKER: Final = "blue-0:8080"
THREADS: Final = "Deadlocked threads detected. pulsar-io-4-2(tid=91), broker-topic-workers-3(tid=77)"
UNFORESEEN: Final = (
    "--- An unexpected error occurred in the server ---\n\nMessage: {}\n\n"
    "Stacktrace:\n\njava.lang.IllegalStateException: {}\n\tat org.apache.pulsar.broker"
)
"""As ``RestException`` writes an error of the broker's own."""
MOVED: Final = StepResult(end=StepEnd.DONE, verdict=WaveVerdict(wave=0, outcome="migrated"))


def ill(state: HealthState, broker: str = BROKER, said: str = "so") -> BrokerHealth:
    return BrokerHealth(cluster="blue", broker=broker, state=state, said=said)


def stopping(code: str = StopCode.NOT_MOVED, *, fatal: bool = False) -> StepResult:
    stop = MigrationStop(code=code, words="it was refused", hint="see to it", fatal=fatal)
    return StepResult(end=StepEnd.STOPPED, stop=stop, again=True)


@pytest.mark.parametrize(
    ("status", "said", "state", "words"),
    [
        (200, "", HealthState.WELL, ""),
        (403, "not allowed", HealthState.WELL, ""),
        (500, UNFORESEEN.format(THREADS, THREADS), HealthState.DEADLOCKED, THREADS),
        (500, UNFORESEEN.format(THREADS, THREADS)[:110], HealthState.DEADLOCKED, THREADS[:49]),
        (500, THREADS, HealthState.DEADLOCKED, THREADS),
        (500, UNFORESEEN.format("Timeout", "Timeout"), HealthState.UNWELL, "Timeout"),
        (503, "Service\n  Unavailable", HealthState.UNWELL, "Service Unavailable"),
        (None, "no answer", HealthState.SILENT, "no answer"),
    ],
)
def test_what_a_broker_says_is_understood(status: int | None, said: str, state: HealthState, words: str) -> None:
    found = health_of("blue", BROKER, status, said)
    assert (found.state, found.said) == (state, words)
    assert BROKER in found.words
    assert words in found.words


def test_a_deadlock_without_words_is_told_all_the_same() -> None:
    assert ill(HealthState.DEADLOCKED, said="").words.endswith("for ever")


@pytest.mark.parametrize(
    ("before", "now", "is_so"),
    [
        (None, HealthState.WELL, None),
        (None, HealthState.SILENT, HealthState.SILENT),
        (HealthState.UNWELL, HealthState.SILENT, HealthState.SILENT),
        (HealthState.DEADLOCKED, HealthState.SILENT, HealthState.DEADLOCKED),
        (HealthState.DEADLOCKED, HealthState.UNWELL, HealthState.UNWELL),
        (HealthState.DEADLOCKED, HealthState.WELL, None),
        (HealthState.SILENT, HealthState.DEADLOCKED, HealthState.DEADLOCKED),
    ],
)
def test_a_deadlock_ends_by_no_silence(before: HealthState | None, now: HealthState, is_so: HealthState | None) -> None:
    was = {} if before is None else {BROKER: ill(before)}
    found = since(was, [ill(now)])
    assert {name: each.state for name, each in found.items()} == ({} if is_so is None else {BROKER: is_so})
    assert since(was, []) == {}, "it is not there any more"


def test_who_has_another_state_than_before_is_told_of_once() -> None:
    silent, dead, other = (
        ill(HealthState.SILENT),
        ill(HealthState.DEADLOCKED),
        ill(HealthState.UNWELL, broker="blue-1:8080"),
    )
    assert changed({}, {BROKER: silent}) == (silent,)
    assert changed({BROKER: silent}, {BROKER: ill(HealthState.SILENT, said="other words")}) == ()
    told = changed({BROKER: silent, other.broker: other}, {BROKER: dead})
    assert [(each.broker, each.state) for each in told] == [
        (BROKER, HealthState.DEADLOCKED),
        (other.broker, HealthState.WELL),
    ]


def test_brokers_are_asked_at_once_and_then_not_before_a_while_is_over() -> None:
    looked = Millis(1_000)
    assert is_due(None, looked)
    assert [is_due(looked, Millis(looked + after)) for after in (AGAIN_MS - 1, AGAIN_MS)] == [False, True]


def test_the_stop_names_the_broker_and_says_what_to_do() -> None:
    assert deadlock_stop([ill(HealthState.SILENT)]) is None
    stop = deadlock_stop([ill(HealthState.SILENT), ill(HealthState.DEADLOCKED, said=THREADS)])
    assert stop is not None
    assert stop.code == StopCode.DEADLOCKED
    assert BROKER in stop.words
    assert THREADS in stop.words
    assert stop.hint.startswith(f"Restart {BROKER}, then resume: nothing is lost")


def test_a_step_that_a_deadlocked_broker_has_kept_stops_for_that_and_is_not_tried_again() -> None:
    found = blamed(stopping(), [ill(HealthState.DEADLOCKED), ill(HealthState.SILENT, broker="blue-1:8080")])
    assert found.stop is not None
    assert (found.stop.code, found.again) == (StopCode.DEADLOCKED, False)
    assert "it was refused" in found.stop.words


def test_a_broker_that_is_only_unwell_is_named_beside_what_has_stopped() -> None:
    found = blamed(stopping("admin-unreachable"), [ill(HealthState.SILENT)])
    assert found.stop is not None
    assert (found.stop.code, found.again) == ("admin-unreachable", True)
    assert found.stop.words == f"it was refused; {ill(HealthState.SILENT).words}"


def test_a_rule_that_was_broken_stays_the_reason() -> None:
    found = blamed(stopping(fatal=True), [ill(HealthState.DEADLOCKED)])
    assert found.stop is not None
    assert (found.stop.code, found.stop.fatal) == (StopCode.NOT_MOVED, True)
    assert BROKER in found.stop.words


@pytest.mark.parametrize("result", [DONE, WAITING, stopping(StopCode.BLOCKED), stopping(StopCode.DEADLOCKED)])
def test_nobody_is_blamed_for_what_no_broker_does(result: StepResult) -> None:
    assert not may_blame(result)
    assert blamed(result, [ill(HealthState.DEADLOCKED)]) == result


def test_a_wave_that_was_moved_is_the_last_one_while_a_broker_is_deadlocked() -> None:
    assert may_blame(MOVED)
    assert blamed(MOVED, []) == blamed(MOVED, [ill(HealthState.SILENT)]) == MOVED
    found = blamed(MOVED, [ill(HealthState.DEADLOCKED)])
    assert found.stop is not None
    assert (found.end, found.stop.code) == (StepEnd.DONE, StopCode.DEADLOCKED)
