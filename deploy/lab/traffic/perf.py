"""A Java producer: Pulsar's own ``pulsar-perf produce``, whose messages are named and numbered like the traffic's."""

from __future__ import annotations

import re
import signal
from collections import Counter
from pathlib import Path
from typing import Final

from deploy.lab.jvm import Jvm
from deploy.lab.process import Command, ServerFailed, ServerProcess
from deploy.lab.software import java, pulsar_home
from deploy.lab.traffic.account import PublisherStory

_SENT: Final = re.compile(r"Aggregated throughput stats --- (\d+) records sent")
_SLOWEST: Final = re.compile(r"Aggregated latency stats .*[Mm]ax: *([\d.]+)")
_FAILED: Final = "Write message error"
_STARTED: Final = "Created 1 producers"


class PerfProducer:
    """One Java producer, in a process of its own. A message is its name and a number that grows: nanoseconds.

    Args:
        directory: For its log and its payload.
        service_url: Of the cluster at which it begins.
        topic: Full name.
        name: Of the producer; letters, digits, ``-``.
        per_s: Messages a second.
        batched: Several messages are one entry.
    """

    def __init__(
        self, directory: Path, service_url: str, topic: str, *, name: str, per_s: int, batched: bool = False
    ) -> None:
        self._name = name
        self._topic = topic
        self._process = ServerProcess(name=name, directory=directory, leashed=True)
        payload = directory / f"{name}.payload"
        payload.parent.mkdir(parents=True, exist_ok=True)
        payload.write_text(f"{name} %t {'.' * 100}")
        words = [str(pulsar_home() / "bin" / "pulsar-perf"), "produce", "--service-url", service_url]
        words += [
            "--rate",
            str(per_s),
            "--format-payload",
            "--payload-file",
            str(payload),
            "--stats-interval-seconds",
            "0",
        ]
        words += ["--num-io-threads", "1", *([] if batched else ["--disable-batching"]), topic]
        environment = {
            "PULSAR_HOME": "",
            "JAVA_HOME": str(java().resolve().parents[1]),
            "PULSAR_MEM": " ".join(Jvm(heap_mb=128, direct_mb=128).flags()),
            "PULSAR_LOG_DIR": str(directory / "logs"),
        }
        self._command = Command(words=tuple(words), directory=directory, environment=environment)

    def start(self) -> None:
        """Start it, and wait until it publishes."""
        self._process.start(self._command)
        self._process.wait_until(lambda: _STARTED in self._log(), what="publishes")

    def stop(self) -> None:
        """End it; what it has published is known then."""
        self._process.stop(by=signal.SIGTERM)

    def story(self) -> PublisherStory:
        """What it knows; told once it was stopped. Its gap is the longest time that a message waited for its receipt.

        Raises:
            ServerFailed: It has not told.
        """
        log = self._log()
        sent, slowest = _SENT.findall(log), _SLOWEST.findall(log)
        if not sent:
            raise ServerFailed(f"{self._name} has not told what it has sent; its log: {self._process.log_file}")
        return PublisherStory(
            name=self._name,
            topic=self._topic,
            stored=int(sent[-1]),
            errors=Counter(line.partition(" - ")[2] for line in log.splitlines() if _FAILED in line),
            gap_s=max((float(each) / 1000 for each in slowest), default=0.0),
        )

    def _log(self) -> str:
        try:
            return self._process.log_file.read_text(errors="replace")
        except FileNotFoundError:
            return ""
