"""A process of its own that writes namespace policies into one ZooKeeper, past every broker: an outside writer.

    python -m tests.bench.writer HOSTS TEMPLATE

``TEMPLATE`` is a file with the policies of a namespace as a broker stores them. Commands, each answered by
``FIRST LAST``, the times of the first request and of the last answer:

    create FOLDER COUNT ROUND             COUNT namespaces below FOLDER, as fast as they go: 20 to a transaction, many
                                          under way, so that on few cores the writer leaves them to what is measured
    update FOLDER COUNT ROUND             other policies for them, likewise
    paced FOLDER COUNT ROUND RATE FILE    creates and updates in turn, COUNT together, at RATE a second; FILE gets the
                                          time of each path's request by kind, as JSON
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from kazoo.client import KazooClient

UNDER_WAY: Final = 16
TOGETHER: Final = 20
VALUE_BYTES: Final = 700
DEADLINE_S: Final = 120.0


def path_of(folder: str, number: int) -> str:
    """Path of one of the bench's namespaces."""
    return f"{folder}/n{number:06d}"


def kind_of(number: int) -> str:
    """Whether the change of a number, of those at a steady pace, is a ``create`` or an ``update``."""
    return "create" if number % 2 else "update"


class Values:
    """Policies that differ in a few fields, all of the same size.

    Args:
        template: Policies of a namespace, as JSON.
    """

    def __init__(self, template: bytes) -> None:
        self._policies = json.loads(template)

    def of(self, number: int, round_number: int) -> bytes:
        """The policies of one namespace in one round."""
        own = {**self._policies, "message_ttl_in_seconds": 1 + number + 1_000_000 * round_number}
        own["properties"] = {"note": ""}
        room = VALUE_BYTES - len(json.dumps(own, separators=(",", ":")))
        own["properties"] = {"note": (f"{number}." * VALUE_BYTES)[: max(room, 0)]}
        return json.dumps(own, separators=(",", ":")).encode()


class Window:
    """Keeps a bounded number of requests under way; remembers the first error."""

    def __init__(self) -> None:
        self._room = threading.BoundedSemaphore(UNDER_WAY)
        self._error: BaseException | None = None

    def send(self, request: Callable[..., Any], *arguments: object) -> None:
        """Send a request once there is room."""
        self._take()
        request(*arguments).rawlink(self._answered)

    def drain(self) -> None:
        """Wait until every request is answered.

        Raises:
            TimeoutError: One was not answered in time.
            KazooException: One failed.
        """
        for _ in range(UNDER_WAY):
            self._take()
        for _ in range(UNDER_WAY):
            self._room.release()
        if self._error is not None:
            raise self._error

    def _take(self) -> None:
        if not self._room.acquire(timeout=DEADLINE_S):
            raise TimeoutError(f"no answer within {DEADLINE_S:g} s")

    def _answered(self, answer: Any) -> None:
        results = answer.value if isinstance(answer.value, list) else ()  # a transaction's, each may be an error
        failed = next((each for each in results if isinstance(each, Exception)), None)
        self._error = self._error or answer.exception or failed
        self._room.release()


def perform(client: KazooClient, values: Values, words: list[str]) -> tuple[float, float]:
    """Perform one command; when its first request was sent, when its last was answered."""
    window = Window()
    match words:
        case [("create" | "update") as kind, folder, count, round_number]:
            ready = [(path_of(folder, n), values.of(n, int(round_number))) for n in range(int(count))]
            first = time.time()
            for at in range(0, len(ready), TOGETHER):
                transaction = client.transaction()
                request = transaction.create if kind == "create" else transaction.set_data
                for path, value in ready[at : at + TOGETHER]:
                    request(path, value)
                window.send(transaction.commit_async)
        case ["paced", folder, count, round_number, rate, file]:
            asked: dict[str, dict[str, float]] = {"create": {}, "update": {}}
            start = time.monotonic()
            first = time.time()
            for n in range(int(count)):
                which, value = kind_of(n), values.of(n, int(round_number))
                path = path_of(folder, n if which == "update" else n + 1_000_000 * int(round_number))
                time.sleep(max(0.0, start + n / float(rate) - time.monotonic()))
                asked[which][path] = time.time()
                window.send(client.set_async if which == "update" else client.create_async, path, value)
            Path(file).write_text(json.dumps(asked), encoding="utf-8")
        case _:
            raise ValueError(f"what is {words}?")
    window.drain()
    return first, time.time()


def main(hosts: str, template: str) -> None:
    """Perform commands until standard input ends."""
    values = Values(Path(template).read_bytes())
    client = KazooClient(hosts=hosts)
    client.start()
    try:
        for line in sys.stdin:
            print(*perform(client, values, line.split()), flush=True)
    finally:
        client.stop()
        client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
