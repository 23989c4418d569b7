"""CPU time of process trees: who belongs to one, what is counted, and what an event costs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.bench.cpu import TICKS_PER_S, Stat, Used, below, living

LINE = "4711 (a (b) c d) S 12 4711 4711 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 99 1 1\n"

BURN = """
import subprocess, sys, time
work = "import time\\nwhile time.process_time() < {:g}: pass"
subprocess.run([sys.executable, "-c", work.format(0.4)], check=True)
while time.process_time() < 0.2: pass
child = subprocess.Popen([sys.executable, "-c", work.format(0.3) + "\\nprint('done', flush=True)\\ninput()"])
child.wait()
"""


def test_what_the_kernel_says_is_parsed_whatever_a_process_is_called() -> None:
    assert Stat.parsed(LINE) == Stat(parent=12, ticks=127)


def test_a_tree_is_all_that_descends_and_nothing_else() -> None:
    stats = {pid: Stat(parent, 1) for pid, parent in {1: 0, 10: 1, 11: 10, 12: 11, 20: 1, 21: 20}.items()}
    assert below([10], stats) == {10, 11, 12}
    assert below([11, 20], stats) == {11, 12, 20, 21}
    assert below([99], stats) == {99}  # it has ended


def test_children_count_whether_they_live_or_have_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"done\n"
            assert len(living(process.pid)) == 2
            assert Used.by([process.pid]).cpu_s >= 0.9 - 3 / TICKS_PER_S
        finally:
            process.kill()
            process.communicate()  # its child ends with its standard input
    assert os.getpid() not in living(process.pid)


def test_an_event_costs_what_goes_beyond_rest() -> None:
    begun, ended = Used(at_s=100.0, cpu_s=7.0), Used(at_s=110.0, cpu_s=10.0)
    assert ended.per_s(begun) == pytest.approx(0.3)
    assert ended.per_event_us(begun, events=1_000, at_rest=0.0) == pytest.approx(3_000)
    assert ended.per_event_us(begun, events=1_000, at_rest=0.1) == pytest.approx(2_000)
