"""A process that publishes on a Pulsar bus, in publishes of many sizes one after the other, and says how many it sent.

``python -m tests.support.publisher SERVICE_URL TOPIC SECONDS``. In a process of its own: a client that stands still
with Python's lock in its hand stops everything in its process, a test's own deadline too.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Final

import anyio

from syncer.bus.pulsar.bus import PulsarBus, PulsarBusConfig
from tests.contract.bus_suite import message

SIZES: Final = (1, 3, 500, 1, 40, 200, 2, 1000)
"""Small ones let the client's own threads finish entries while the next publish begins; large ones fill entries."""


def compete(over: threading.Event) -> None:
    """Keep Python busy, as a daemon's other threads do: the client's own threads have to wait for it."""
    while not over.is_set():
        sum(range(1000))


async def publish(service_url: str, topic: str, seconds: float) -> int:
    """Publish for a while; how many messages were acknowledged."""
    bus = PulsarBus(PulsarBusConfig(region="us-east", service_url=service_url, topic=topic))
    sent, over = 0, threading.Event()
    await bus.open()
    try:
        threading.Thread(target=compete, args=(over,)).start()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for size in SIZES:
                await bus.publish([message(sent + number, value=b"{}" + b" " * 500) for number in range(1, size + 1)])
                sent += size
    finally:
        over.set()
        await bus.close()
    return sent


if __name__ == "__main__":
    print(anyio.run(publish, sys.argv[1], sys.argv[2], float(sys.argv[3])))
