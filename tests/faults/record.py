"""What outside writers did, write by write, in a file apart from the product: the referee's ground truth.

A write is known by its token, which stands inside the value and is never used twice. So a value that is met anywhere
(a store, the bus, a conflict record) names the one write that made it, and what a writer had read names what it saw.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from syncer.model import MetaPath, ResourceKind
from syncer.paths import PARTITIONED_TOPICS, POLICIES, classify

ROOT: Final = "load"
"""Tenant of all namespaces and topics of the load; tenants of their own begin with this, too."""
TOPICS: Final = f"{PARTITIONED_TOPICS}/{ROOT}/topics/persistent"


class Answer(StrEnum):
    """What the writer learnt of its write."""

    ACKNOWLEDGED = "acknowledged"
    UNKNOWN = "unknown"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write of one path.

    Args:
        region: Whose store was written.
        writer: Who wrote.
        path: What was written.
        token: Of the new value; ``None``: the path was deleted.
        over: Token of the value that the author had read, and the store was told to replace; ``None``: it was absent.
        over_known: Whether ``over`` is certain.
        read_at_ms: When the author's read was answered.
        sent_at_ms: When the write was sent.
        answered_at_ms: When the answer came, or the wait for it ended.
        answer: What was answered.
        detail: The store's own words: a revision, or an error.

    Units: milliseconds since the epoch; all writers share one clock.
    """

    region: str
    writer: str
    path: MetaPath
    token: str | None
    over: str | None
    over_known: bool = True
    read_at_ms: int
    sent_at_ms: int
    answered_at_ms: int
    answer: Answer
    detail: str = ""


class Record:
    """Appends writes to a file, one JSON object a line, as they are answered. For several threads.

    Args:
        file: Where they are kept.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.counts: Counter[tuple[str, Answer]] = Counter()
        """By region and answer."""
        self.unreachable: Counter[str] = Counter()
        """Reads that failed, by region: the store was away, and nothing was written."""
        self._lock = threading.Lock()
        self._stream = file.open("a", encoding="utf-8")

    def add(self, *writes: Write) -> None:
        """Keep writes; they are on their way to the disk when this returns."""
        with self._lock:
            for write in writes:
                self._stream.write(json.dumps(asdict(write)) + "\n")
                self.counts[write.region, write.answer] += 1
            self._stream.flush()

    def away(self, region: str) -> None:
        """A store did not answer a read."""
        with self._lock:
            self.unreachable[region] += 1

    def acknowledged(self, region: str) -> int:
        """How many writes a region's store has acknowledged."""
        return self.counts[region, Answer.ACKNOWLEDGED]

    def unknown(self, region: str) -> int:
        """How many writes of a region's store have an unknown outcome."""
        return self.counts[region, Answer.UNKNOWN]

    def troubled(self, region: str) -> int:
        """How often a region's store was away, or an answer was lost."""
        return self.unknown(region) + self.unreachable[region]

    def total(self, answer: Answer) -> int:
        """Writes of all regions with this answer."""
        return sum(number for (_, each), number in list(self.counts.items()) if each is answer)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def load(file: Path) -> Sequence[Write]:
    """Read all writes back, in the order of their answers."""
    found = []
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            row: dict[str, Any] = json.loads(line)
            found.append(Write(**{**row, "answer": Answer(row["answer"])}))
    return found


def value_of(path: MetaPath, token: str, clusters: Sequence[str]) -> bytes:
    """The document that a write puts at a path."""
    resource = classify(path)
    assert resource is not None, path
    document: dict[str, object]
    if resource.kind is ResourceKind.TENANT:
        document = {"adminRoles": [token], "allowedClusters": sorted(clusters)}
    elif resource.kind is ResourceKind.NAMESPACE:
        document = {
            "replication_clusters": sorted(clusters),
            "bundles": {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1},
            "properties": {"token": token},
        }
    else:
        document = {"partitions": 4, "properties": {"token": token}}
    return json.dumps(document).encode()


def token_of(path: MetaPath, value: bytes) -> str:
    """The token inside a value; a text that no write has when there is none."""
    try:
        document = json.loads(value)
        if path.startswith(f"{POLICIES}/") and path.count("/") == 3:
            (token,) = document["adminRoles"]
        else:
            token = document["properties"]["token"]
    except (ValueError, KeyError, TypeError):
        return f"no token in {value[:80]!r}"
    return str(token)
