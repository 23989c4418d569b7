"""A process whose client library does not follow a broker that sends it to another cluster.

It publishes on a topic, reads it by the subscription ``old``, and tells what became of that: one line of JSON for each
line that it is given. It ends when nobody can ask any more.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pulsar
from pulsar.exceptions import PulsarException, Timeout

from syncer.waiting import wait_until

SEND_TIMEOUT_MS: Final = 5_000
_EVERY_S: Final = 0.05
_TURN_MS: Final = 200


class OldClient:
    """The process, seen from outside.

    Args:
        library: Directory of its client library.
        service_url: Of the cluster that it connects to, and stays at.
        topic: Full name.
    """

    def __init__(self, library: Path, service_url: str, topic: str) -> None:
        self._command = [sys.executable, str(Path(__file__).resolve()), service_url, topic]
        self._environment = {**os.environ, "PYTHONPATH": str(library)}

    def __enter__(self) -> Self:
        """Start it, and wait until it has published."""
        self._process = subprocess.Popen(
            self._command, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        wait_until(lambda: self.story()["stored"], "the client has published")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self._process.communicate(timeout=300)

    def story(self) -> dict[str, Any]:
        """What it was given receipts for, what came, and what else it was told, by now."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        told = self._process.stdout.readline()
        while told and not told.startswith("{"):  # the library's own log
            told = self._process.stdout.readline()
        story: dict[str, Any] = json.loads(told)
        return story


def main(service_url: str, topic: str) -> None:
    """Publish, read, and answer until standard input ends."""
    logger = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    client = pulsar.Client(service_url, operation_timeout_seconds=300, logger=logger)
    consumer = client.subscribe(
        topic, "old", consumer_name="old-reader", initial_position=pulsar.InitialPosition.Earliest
    )
    producer = client.create_producer(topic, producer_name="old-writer", send_timeout_millis=SEND_TIMEOUT_MS)
    stored: list[int] = []
    came: Counter[int] = Counter()
    told: Counter[str] = Counter()

    def publish() -> None:
        number = 0
        while True:
            try:
                producer.send(b"%d" % number)
                stored.append(number)
            except PulsarException as error:
                told[repr(error)] += 1
            number += 1
            time.sleep(_EVERY_S)

    def read() -> None:
        while True:
            try:
                message = consumer.receive(_TURN_MS)
                came[int(message.data())] += 1
                consumer.acknowledge(message)
            except Timeout:
                continue
            except PulsarException as error:
                told[repr(error)] += 1
                time.sleep(_EVERY_S)

    for work in (publish, read):
        threading.Thread(target=work, daemon=True).start()
    for _ in sys.stdin:
        missing = len(set(stored) - came.keys())
        doubled = came.total() - len(came)
        print(json.dumps({"stored": len(stored), "missing": missing, "doubled": doubled, "told": told}), flush=True)
    os._exit(0)  # a client that has lost its broker may wait for it when it is closed


if __name__ == "__main__":
    main(*sys.argv[1:])
