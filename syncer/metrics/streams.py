"""Metrics of the streams of server-sent events."""

from __future__ import annotations

from typing import Final

from syncer.metrics.family import counter, gauge

OPEN: Final = gauge(
    "http_streams",
    "Streams of server-sent events that are followed.",
    "name",
    ("status", "events", "operations", "jobs"),
)
ENDED: Final = counter(
    "http_streams_ended",
    "Streams that the HTTP server ended, by the cause: a client too slow or without rights any more, no database, the"
    " daemon's stop.",
    "code",
    (
        "stream-too-slow",
        "unauthorized",
        "forbidden",
        "api-rights-unreadable",
        "state-unavailable",
        "daemon-stopping",
    ),
)

FAMILIES: Final = (OPEN, ENDED)
