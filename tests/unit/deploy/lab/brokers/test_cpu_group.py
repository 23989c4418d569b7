"""A CPU group is made where the kernel's tables say, holds the process that enters it, and is taken away."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from deploy.lab.brokers.cpu_group import CpuGroup, hierarchies, why_no_groups

APART = """\
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
41 31 0:31 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
TOGETHER = "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
IN_A_CONTAINER = TOGETHER.replace(" / /sys", " /docker/ab12 /sys")
SECOND_ONLY = "29 23 0:25 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"


@pytest.mark.parametrize(
    ("groups", "mounts", "cpu", "usage"),
    [
        ("2:cpuacct:/\n1:cpu:/\n0::/\n", APART, "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct"),
        ("2:cpuacct:/a\n1:cpu:/b/c\n", APART, "/sys/fs/cgroup/cpu/b/c", "/sys/fs/cgroup/cpuacct/a"),
        ("4:cpu,cpuacct:/user", TOGETHER, "/sys/fs/cgroup/cpu,cpuacct/user", "/sys/fs/cgroup/cpu,cpuacct/user"),
        ("4:cpu,cpuacct:/docker/ab12/x", IN_A_CONTAINER, *["/sys/fs/cgroup/cpu,cpuacct/x"] * 2),
        ("4:cpu,cpuacct:/elsewhere", IN_A_CONTAINER, *["/sys/fs/cgroup/cpu,cpuacct"] * 2),
    ],
)
def test_a_group_is_made_below_ones_own(groups: str, mounts: str, cpu: str, usage: str) -> None:
    found = hierarchies(groups, mounts)
    assert (found["cpu"], found["cpuacct"]) == (Path(cpu), Path(usage))


def test_the_second_version_has_none_of_these_groups() -> None:
    assert hierarchies("0::/init.scope\n", SECOND_ONLY) == {}


def ended_pid() -> int:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    return ended.pid


def test_a_process_runs_in_its_group_and_is_counted_there_alone() -> None:
    if why_no_groups():
        assert "cgroup" in why_no_groups()
        return
    group = CpuGroup("test")
    group.make()
    group.limit(50)
    told = subprocess.run(group.entering(["cat", "/proc/self/cgroup"]), capture_output=True, text=True, check=True)
    joined = [line for line in told.stdout.splitlines() if line.endswith(f"-{os.getpid()}-test")]
    assert {controller for line in joined for controller in line.split(":")[1].split(",")} >= {"cpu", "cpuacct"}
    assert 0 < group.used_s() < 5
    group.limit(None)
    group.remove()
    with pytest.raises(FileNotFoundError):
        group.used_s()


def test_groups_of_a_program_that_was_killed_are_taken_away_by_the_next_one() -> None:
    if why_no_groups():
        assert "cgroup" in why_no_groups()
        return
    places = hierarchies(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text())
    left_behind = places["cpu"] / f"pulsar-syncer-lab-{ended_pid()}-broker-0"
    left_behind.mkdir()
    group = CpuGroup("test")
    group.make()
    group.remove()
    assert not left_behind.exists()
