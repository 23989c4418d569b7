"""Pulsar's own command line, ``pulsar-admin``: the distribution's for every version, since no other has its jars."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from deploy.lab.jvm import Jvm
from deploy.lab.software import java, pulsar_home


def pulsar_admin(admin_url: str, arguments: Sequence[str], *, quiet: bool = False) -> int:
    """Run it against a cluster; its exit status. ``quiet`` keeps what it prints to itself."""
    command = [str(pulsar_home() / "bin" / "pulsar-admin"), "--admin-url", admin_url, *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PULSAR_HOME"}
    environment.setdefault("JAVA_HOME", str(java().resolve().parents[1]))
    environment.setdefault("PULSAR_EXTRA_OPTS", " ".join(Jvm(heap_mb=128).flags()))  # it lives for one call
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, env=environment, stdout=output, stderr=output, check=False).returncode
