"""What a message costs to sign and to check, in this process: without a key, with the group's, with a region's."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from syncer.bus.trust.region_keys import RegionKey, RegionKeys
from syncer.bus.trust.signing import UNSIGNED, GroupKey, Keyring, sealed, unseal
from syncer.model import (
    Counter,
    EventType,
    MetadataChangeEvent,
    MetaPath,
    Millis,
    Region,
    ResourceKind,
    Stamp,
    database_id,
)

VALUE_BYTES: Final = 1_500
"""About what the policies of a namespace have."""
TURNS: Final = 15
PER_TURN: Final = 200
_EAST: Final = Region("us-east")
_BY: Final = Counter("us-east~1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one message costs, microseconds; the signature alone, not what putting it into its form costs.

    Args:
        made: To sign it.
        checked: To check it.
    """

    made: float
    checked: float

    def __str__(self) -> str:
        return f"{self.made:.0f} / {self.checked:.0f}"


def costs() -> dict[str, Cost]:
    """Of each kind of key, beyond what a message costs without any."""
    pair = RegionKey(Ed25519PrivateKey.generate())
    rings = {
        "the group's key": Keyring([GroupKey(bytes(range(32)))]),
        "a region's key": Keyring(regions=RegionKeys({_EAST: [pair.public]}, own=pair, required=True)),
    }
    plain = _measured(UNSIGNED)
    found = {}
    for name, ring in rings.items():
        each = _measured(ring)
        found[name] = Cost(made=each.made - plain.made, checked=each.checked - plain.checked)
    return found


def _measured(ring: Keyring) -> Cost:
    events = [replace(_event(), sequence=number) for number in range(1, PER_TURN + 1)]
    sent = [sealed(event, ring) for event in events]
    return Cost(
        made=_us(lambda: [sealed(event, ring) for event in events]),
        checked=_us(lambda: [unseal(each.payload, each.properties, ring) for each in sent]),
    )


def _us(work: Callable[[], object]) -> float:
    """Microseconds of the processor for one of the messages, the median of some turns."""
    turns = []
    for _ in range(TURNS):
        begun = time.thread_time()
        work()
        turns.append((time.thread_time() - begun) / PER_TURN * 1e6)
    return median(turns)


def _event() -> MetadataChangeEvent:
    at = Millis(1_800_000_000_000)
    return MetadataChangeEvent(
        type=EventType.MODIFIED,
        resource=ResourceKind.NAMESPACE,
        resource_name="acme/orders",
        path=MetaPath("/admin/policies/acme/orders"),
        value=b'{"a":"' + b"x" * (VALUE_BYTES - 8) + b'"}',
        stamp=Stamp(at, _EAST),
        by=_BY,
        seen={_BY: at, Counter("us-west~1"): at},
        sender=database_id("0" * 32, _EAST),
    )


if __name__ == "__main__":
    for _name, _cost in costs().items():
        sys.stdout.write(f"{_name}, made / checked, us: {_cost}\n")
