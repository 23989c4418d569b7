"""Ports of servers and daemons under test: whoever asks at the same time is given others."""

from __future__ import annotations

import subprocess
import sys

from deploy.lab.ports import free_ports
from syncer.waiting import WAIT_S

ASKS = "from deploy.lab.ports import free_ports\nfor _ in range(100): print(*free_ports(2))"


def test_processes_that_ask_at_once_never_get_the_same_port() -> None:
    asking = [subprocess.Popen([sys.executable, "-c", ASKS], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    given = [int(port) for each in asking for port in each.communicate(timeout=WAIT_S)[0].split()]
    assert len(given) == len(set(given)) == 800


def test_ports_of_one_call_differ_and_lie_below_those_of_outgoing_connections() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert all(1024 <= port < 32_768 for port in ports)
