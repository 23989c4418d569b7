"""Values that are JSON and that no broker can read: written outside, and published by programs of before.

Who goes by this version leaves such a value where it is, as any that nobody can read. A program of before published it,
so that the others have to keep it from their stores until a person lets it pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import orjson

from syncer.conflict import observing
from syncer.conflict.acts import Outcome
from syncer.conflict.fields import brokers
from syncer.conflict.settings import Settings
from syncer.model import MetaPath, Region, ResourceKind
from syncer.paths import classify, kind_at
from tests.simulation.history import Content
from tests.simulation.store import GARBAGE

if TYPE_CHECKING:
    from tests.simulation.mutants import Patches
    from tests.simulation.world import World

_FIELD: Final = {
    ResourceKind.TENANT: "adminRoles",
    ResourceKind.NAMESPACE: "retention_policies",
    ResourceKind.PARTITIONED_TOPIC: "properties",
    ResourceKind.CLUSTER: "peerClusterNames",
    ResourceKind.RESOURCE_GROUP: "dispatchRateInMsgs",
}
"""A field of each kind that is no text: brokers cannot read it where it is one."""
_ODD: Final = "no broker reads this"


@contextmanager
def programs_of_before(regions: Collection[Region]) -> Iterator[None]:
    """Programs of some regions ask only whether a value is JSON, as they did before."""
    observe = observing.observe

    def observing_as_before(settings: Settings, *words: Any, **named: Any) -> Outcome:
        if settings.region not in regions:
            return observe(settings, *words, **named)
        with patch.object(observing, "readable_here", lambda _brokers, _kind, _raw, entry: entry):
            return observe(settings, *words, **named)

    with patch.object(observing, "observe", observing_as_before) if regions else nullcontext():
        yield


def misread(path: MetaPath, value: bytes | None) -> bool:
    """Whether no broker can read a stored value."""
    if not value:
        return False
    if value == GARBAGE:
        return True
    resource = classify(path)
    field = None if resource is None else orjson.loads(value).get(_FIELD.get(resource.kind, ""))
    return isinstance(field, str) and field.startswith(_ODD)


def write_one(world: World, region: Region, path: MetaPath) -> Content | None:
    """Somebody writes a value that no broker can read; what stood there stands there still, for this version."""
    site = world.sites[region]
    kind = kind_at(path)
    if kind not in _FIELD:
        return None
    value = world.value(path)
    odd = orjson.dumps({**orjson.loads(value), _FIELD[kind]: f"{_ODD} {world.rng.random()}"})
    if region in world.of_before:
        world.met["misread elsewhere"] += 1
        return world.put(region, path, odd)
    world.story.tell(region, "outside: writes what no broker can read", path)
    world.met["misread"] += site.store.garble(path, odd)
    return None


def readable_to_us_is_readable() -> Patches:
    """What is JSON counts as what brokers can read, where it was written."""
    return [(observing, "readable_here", lambda _brokers, _kind, _raw, entry: entry)]


def what_no_broker_reads_is_written() -> Patches:
    """What is JSON counts as what brokers can read, where it is to be written."""
    return [(brokers, "refusal", lambda *_: None)]


BREAKS: Final[tuple[tuple[str, tuple[str, ...], Callable[[], Patches]], ...]] = (
    ("what no broker can read is published", ("misread",), readable_to_us_is_readable),
    ("what no broker can read is written", ("misread",), what_no_broker_reads_is_written),
)
"""Each break, the modes that find it, and what it patches."""
