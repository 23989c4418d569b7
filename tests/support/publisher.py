"""A process that publishes on a Pulsar bus, in publishes of many sizes one after the other, and says how many it sent.

``python -m tests.support.publisher SERVICE_URL TOPIC SECONDS``. In a process of its own: a client that stands still
with Python's lock in its hand stops everything in its process, a test's own deadline too.
"""

from __future__ import annotations

import sys
import time
from typing import Final

import anyio

from syncer.bus.pulsar import PulsarBus, PulsarBusConfig
from tests.contract.bus_suite import message

SIZES: Final = (1, 3, 500, 1, 40, 200, 2, 1000)
"""Small ones let the client's own threads finish entries while the next publish begins; large ones fill entries."""


async def publish(service_url: str, topic: str, seconds: float) -> int:
    """Publish for a while; how many messages were acknowledged."""
    bus = PulsarBus(PulsarBusConfig(region="us-east", service_url=service_url, topic=topic))
    sent = 0
    await bus.open()
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for size in SIZES:
                await bus.publish([message(sent + number, value=b"{}" + b" " * 500) for number in range(1, size + 1)])
                sent += size
    finally:
        await bus.close()
    return sent


if __name__ == "__main__":
    print(anyio.run(publish, sys.argv[1], sys.argv[2], float(sys.argv[3])))
