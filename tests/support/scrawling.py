"""Messages that no daemon sends: properties that are no UTF-8, as whoever may publish on the topic can make them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from deploy.lab.client import patient_client
from syncer.bus.contract import Outgoing
from syncer.bus.embedded import set_link
from syncer.bus.pulsar.client import NativeSchema
from syncer.waiting import WAIT_S

NO_TEXT: Final = b"\xff\xfe\xed\xa0\x80"


def scrawl(bus_file: Path, region: str, payload: bytes, kept: bytes = b'{"syncer.v":"' + NO_TEXT + b'"}') -> None:
    """Put such a message into the file of the embedded bus, beside the program."""
    with closing(sqlite3.connect(bus_file, timeout=WAIT_S)) as db, db:
        db.execute(
            "INSERT INTO message (origin, published_at_ms, properties, payload) VALUES (?, 1700000000000, ?, ?)",
            (region, kept, payload),
        )
    set_link(bus_file, region, up=True)  # ships what lies there


def publish_on_topic(service_url: str, topic: str, *messages: Outgoing) -> None:
    """Publish messages as they are, in order, beside every daemon."""
    client = patient_client(service_url)
    try:
        producer = client.create_producer(topic, schema=NativeSchema())
        for message in messages:
            producer.send(message.payload, properties=dict(message.properties))
    finally:
        client.close()


def scrawl_on_topic(service_url: str, topic: str, payload: bytes, **properties: bytes) -> None:
    """Publish such a message. The client's C++ half takes bytes where its Python half says texts."""
    client = patient_client(service_url)
    raw: dict[Any, Any] = {"syncer.v": NO_TEXT, NO_TEXT: b"1", **properties}
    try:
        producer = client.create_producer(topic, schema=NativeSchema())
        producer.send(payload, properties=raw)
    finally:
        client.close()
