"""How much a program was starved is measured by the kernel's counters, or by its own late sleeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncer.waiting import starvation
from syncer.waiting.starvation import Starvation


@pytest.mark.parametrize(
    ("pressure", "delay", "starved"),
    [
        (0.0, 0.0, False),
        (None, 0.05, False),
        (0.49, 0.09, False),
        (0.5, 0.0, True),
        (None, 0.1, True),
        (0.9, 0.5, True),
    ],
)
def test_when_a_stretch_of_time_counts_as_starved(pressure: float | None, delay: float, starved: bool) -> None:
    assert Starvation(pressure=pressure, delay=delay).starved is starved


def files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, pressed_us: int | None, delayed_ns: int | None, avg: float = 0.0
) -> None:
    """Lay the kernel's files; ``None``: it has none."""
    pressure, scheduler = folder / "cpu", folder / "schedstat"
    monkeypatch.setattr(starvation, "PRESSURE", pressure)
    monkeypatch.setattr(starvation, "SCHEDULER", scheduler)
    for file in (pressure, scheduler):
        file.unlink(missing_ok=True)
    if pressed_us is not None:
        pressure.write_text(
            f"some avg10={avg:.2f} avg60=0.00 avg300=0.00 total={pressed_us}\n"
            "full avg10=99.00 avg60=0.00 avg300=0.00 total=999999999\n",
            encoding="ascii",
        )
    if delayed_ns is not None:
        scheduler.write_text(f"1000 {delayed_ns} 7\n", encoding="ascii")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock of the measure: its only item."""
    now_s = [100.0]
    monkeypatch.setattr("syncer.waiting.starvation.time.monotonic", lambda: now_s[0])
    return now_s


def test_a_stretch_is_measured_by_the_files_of_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    files(tmp_path, monkeypatch, pressed_us=1_000_000, delayed_ns=0)
    before = starvation.read()
    clock[0] += 10
    files(tmp_path, monkeypatch, pressed_us=7_000_000, delayed_ns=2_000_000_000)
    assert starvation.since(before, late_s=9.0) == Starvation(pressure=0.6, delay=0.2)


def test_without_these_files_late_sleeps_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    files(tmp_path, monkeypatch, pressed_us=None, delayed_ns=None)
    before = starvation.read()
    clock[0] += 10
    found = starvation.since(before, late_s=5.0)
    assert found == Starvation(pressure=None, delay=0.5)
    assert str(found) == "processor pressure not told, own delay 50%"


@pytest.mark.parametrize(("avg", "expected"), [(0.0, 1.0), (50.0, 2.0), (80.0, 5.0), (99.99, 10.0)])
def test_a_deadline_is_stretched_by_the_pressure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, avg: float, expected: float
) -> None:
    files(tmp_path, monkeypatch, pressed_us=1, delayed_ns=0, avg=avg)
    assert starvation.patience() == pytest.approx(expected)


def test_without_pressure_files_a_probe_of_sleeps_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(tmp_path, monkeypatch, pressed_us=None, delayed_ns=None)
    now_s = [0.0]

    def late(asked_s: float) -> None:
        now_s[0] += 4 * asked_s

    monkeypatch.setattr("syncer.waiting.starvation.time.monotonic", lambda: now_s[0])
    monkeypatch.setattr("syncer.waiting.starvation.time.sleep", late)
    assert starvation.patience() == pytest.approx(4.0)
