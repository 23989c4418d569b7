"""Answers of a broker to its clients: refusals, errors of a send, and redirects, by Pulsar's own words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Refusal(StrEnum):
    """Reasons for which a broker does not let a producer or consumer in, or does not take a message."""

    TERMINATED = "TopicTerminatedError"
    FENCED = "ServiceNotReady: topic is temporarily unavailable"
    NOT_READY = "ServiceNotReady"
    MIGRATED = "UnknownError: Topic was already migrated"
    STARVED = "UnknownError: no thread was free for 30 s"
    QUOTA = "ProducerBlockedQuotaExceededError"
    ENCRYPTION = "MetadataError: encryption is required"
    BUSY = "ProducerBusy or ConsumerBusy"
    NOT_FOUND = "TopicNotFound"
    PERSISTENCE = "PersistenceError"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterUrl:
    """Addresses to which a cluster sends its clients; empty: it gives none."""

    http: str = ""
    https: str = ""
    pulsar: str = ""
    pulsar_ssl: str = ""

    @property
    def json(self) -> dict[str, object]:
        """As the admin API writes it."""
        named = {
            "serviceUrl": self.http,
            "serviceUrlTls": self.https,
            "brokerServiceUrl": self.pulsar,
            "brokerServiceUrlTls": self.pulsar_ssl,
        }
        return {**{name: url for name, url in named.items() if url}, "empty": self.counts_as_empty}

    @property
    def counts_as_empty(self) -> bool:
        """Pulsar's own idea of an empty one, up to 5.0.0-M1: both addresses of the admin API and no other."""
        return bool(self.http and self.https and not self.pulsar and not self.pulsar_ssl)
