"""Heartbeats with one field that is false, or as large as it may be, or larger: one of each for every field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from syncer.bus.contract import Outgoing
from syncer.bus.wire.codec import encode
from syncer.bus.wire.fields import LATEST_TIME_MS, NAME_CHARACTERS, NUMBERS
from syncer.bus.wire.heartbeats import REFUSED_CHARACTERS, REFUSED_TOLD, RULES_CHARACTERS, TOLD_ENTRIES
from syncer.bus.wire.messages import Heartbeat
from syncer.conflict.scope import fingerprint_of
from syncer.model import Millis, TieOrder
from tests.hostile.saying import respelt
from tests.hostile.scene import Scene

ID_CHARACTERS: Final = 255
NAME: Final = "n" * NAME_CHARACTERS
TOO_LONG: Final = "n" * 100_000
FEW: Final = 250
"""Names of the greatest length that one heartbeat has room for."""
SHORT: Final = 4_000
"""Names of 32 characters that one heartbeat has room for."""

Facts = Mapping[str, Any]


def _names(count: int) -> list[str]:
    return [f"{number:05}".ljust(NAME_CHARACTERS, "n") for number in range(count)]


def _rules(characters: int) -> str:
    """Return rules of a scope of so many characters."""
    line = "ignore /admin/policies/{:07}/*\n"
    return "".join(line.format(number) for number in range(characters // len(line.format(0)))).rstrip()


def false_facts(scene: Scene) -> dict[str, Facts]:
    """Return a false statement for each field of a heartbeat, in the name of the region that a heartbeat names."""
    east, west, hour = scene.database("east"), scene.database("west"), 3_600_000
    swapped = {"east": "west", "west": "east"}
    rules = "ignore /admin/**"
    return {
        "region": {},  # a forged one names another region whatever else it says
        "sender": {"sender": f"{scene.number:032x}"},
        "generation": {"generation": scene.west.identity.generation + 500},
        "sent_at_ms": {"sent_at_ms": Millis(scene.now - 24 * hour)},
        "last_sequence": {"last_sequence": NUMBERS - 1},
        "consumed": {"consumed": {east: NUMBERS - 1}, "unfolded": 0},
        "watermark": {"watermark": Millis(scene.now + hour)},
        "projections": {"projections": {"tenant": "tenant/99"}},
        "scope": {"scope": "nothing"},
        "tie_order": {"tie_order": TieOrder.NATIVE},
        "mode": {"mode": "left"},
        "version": {"version": "99.0.0"},
        "reached": {"reached": {east: NUMBERS - 1}},
        "tree": {"tree": "another"},
        "root": {"root": "0" * 32},
        "alive": {"alive": 10**9},
        "unseated_deletes": {"unseated_deletes": 1_000},
        "oldest_unseated_ms": {"unseated_deletes": 1, "oldest_unseated_ms": Millis(0), "unfolded": 0},
        "unfolded": {"unfolded": NUMBERS - 1},
        "retold": {"retold": (1, NUMBERS - 1)},
        "refused": {"refused": (("east", east), ("west", west))},
        "generations": {"generations": {"east": (10**9, "x" * 32)}},
        "brokers": {"brokers": ("0.0.1", "no version", "99.0.0")},
        "able": {"able": ("tenant/99", "namespace/99")},
        "ready": {"ready": ("tenant/99", "namespace/99")},
        "rules": {"rules": rules, "scope": fingerprint_of(rules)},
        "roots": {"roots": {"shared": "0" * 32}, "rules": rules, "scope": fingerprint_of(rules)},
        "clusters": {"clusters": ("east", "mars")},
        "names": {"names": swapped, "clusters": ("east", "west")},
        "renaming": {"renaming": True, "clusters": ("east", "west"), "names": swapped},
        "offloaded": {"offloaded": ("acme/orders", "no namespace", "nobody/nothing")},
        "excluded": {"excluded": {"/admin/policies/**": ("adminRoles", "replication_clusters")}},
    }


@dataclass(frozen=True, slots=True)
class Sizes:
    """Values of a field: one that may just be, and one that is refused."""

    most: object
    beyond: object


_NUMBER: Final = Sizes(NUMBERS - 1, 1 << 60)
_TEXT: Final = Sizes(NAME, TOO_LONG)
_COUNTS: Final = Sizes(
    {f"{number:032x}": 1 for number in range(SHORT)}, {f"{number:032x}": 1 for number in range(20_000)}
)
_TEXTS: Final = Sizes(dict.fromkeys(_names(FEW // 2), NAME), {f"{number}": "n" for number in range(TOLD_ENTRIES + 1)})
_LIST: Final = Sizes(_names(FEW), [f"{number}" for number in range(TOLD_ENTRIES + 1)])

SIZES: Final[Mapping[str, Sizes]] = {
    "region": Sizes("r" * ID_CHARACTERS, "r" * (ID_CHARACTERS + 1)),
    "sender": _TEXT,
    "generation": Sizes(10**12 - 1, 10**12),
    "sent_at_ms": Sizes(LATEST_TIME_MS, LATEST_TIME_MS + 1),
    "last_sequence": _NUMBER,
    "consumed": _COUNTS,
    "watermark": Sizes(LATEST_TIME_MS, LATEST_TIME_MS + 1),
    "projections": _TEXTS,
    "scope": _TEXT,
    "mode": _TEXT,
    "version": _TEXT,
    "reached": _COUNTS,
    "tree": _TEXT,
    "root": _TEXT,
    "alive": _NUMBER,
    "unseated_deletes": _NUMBER,
    "oldest_unseated_ms": Sizes(LATEST_TIME_MS, LATEST_TIME_MS + 1),
    "unfolded": _NUMBER,
    "retold": Sizes([NUMBERS - 1, NUMBERS - 1], [1 << 60, 1 << 60]),
    "refused": Sizes([["r" * 50, "d" * REFUSED_CHARACTERS]] * REFUSED_TOLD, [["r", "d"]] * (REFUSED_TOLD + 1)),
    "generations": Sizes(
        {name: [1, "d"] for name in _names(FEW)}, {f"{number}": [1, "d"] for number in range(TOLD_ENTRIES + 1)}
    ),
    "brokers": Sizes(_names(TOLD_ENTRIES), [f"{number}" for number in range(TOLD_ENTRIES + 1)]),
    "able": _LIST,
    "ready": _LIST,
    "rules": Sizes(_rules(RULES_CHARACTERS), "r" * (RULES_CHARACTERS + 1)),
    "roots": _TEXTS,
    "clusters": _LIST,
    "offloaded": _LIST,
    "names": _TEXTS,
    "excluded": Sizes({name: [NAME] for name in _names(FEW // 2)}, {"/**": [NAME] * (FEW + 10)}),
}
"""For each field that has a size."""

SIZELESS: Final = frozenset({"tie_order", "renaming"})
"""Fields that are one of two words."""
_BY_PROPERTY: Final = frozenset({"region", "sender", "sent_at_ms"})
"""Fields that stand beside the JSON of a heartbeat too."""


def sized(scene: Scene, pick: Callable[[Sizes], object]) -> Iterator[Heartbeat | Outgoing]:
    """Yield a heartbeat for each field with a size; of a region of its own where the field is not the region.

    Args:
        scene: Names the regions.
        pick: Which of a field's sizes.
    """
    for number, (name, sizes) in enumerate(SIZES.items()):
        value: Any = pick(sizes)
        facts: dict[str, Any] = {"region": f"{scene.name}-{number}", "sender": f"{scene.number:016x}{number:016x}"}
        if name in _BY_PROPERTY:
            yield encode(scene.beat(**{**facts, name: value}))
            continue
        scope = {"scope": fingerprint_of(value)} if name == "rules" else {}
        yield respelt(scene.beat(**facts), **{name: value, **scope})
