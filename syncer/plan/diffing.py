"""The difference of two pictures. A picture is ``path → fingerprint``; values are looked at only where those differ."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from syncer.conflict.completing import completed_value
from syncer.conflict.fields.brokers import newer_fields
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.projection import DIGEST_BYTES, PROJECTIONS, canonical, carried, parse
from syncer.conflict.withholding import group_value
from syncer.errors import ValueInvalid
from syncer.model import Digest, MetaPath, Millis, Region, ResourceKind
from syncer.paths import kind_at
from syncer.plan.operations import Operation, Plan, planned

Picture = Mapping[MetaPath, Digest]
"""What a region holds: the fingerprint of every path in scope."""

_RAW: Final = b"raw:"


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSides:
    """Which sides of a comparison are completed. Another one may lack newer fields, removed or not.

    Args:
        here: The region that a plan is for.
        there: What it should hold.
    """

    here: bool = True
    there: bool = True


BOTH_WHOLE: Final = WholeSides()


def fingerprint(path: MetaPath, value: bytes) -> Digest:
    """Fingerprint of a path's value, see :func:`fingerprint_of`.

    Raises:
        InvariantBroken: The path is no resource.
    """
    return fingerprint_of(kind_at(path), value)


def fingerprint_of(kind: ResourceKind, value: bytes) -> Digest:
    """Digest of the projection; of the bytes where the value cannot be read, which is never equal to a projection's."""
    try:
        return PROJECTIONS[kind].digest(value)
    except ValueInvalid:
        return raw_fingerprint(carried(kind, value))


def raw_fingerprint(value: bytes) -> Digest:
    """Digest of bytes that nobody has read, or that are no resource's."""
    return Digest(_RAW + hashlib.blake2b(value, digest_size=DIGEST_BYTES).digest())


def readable(value: bytes | None) -> bool:
    """Whether a value is a document from the first to the last field, local ones included; an absent one is."""
    if value is None:
        return True
    try:
        canonical(parse(value))
    except ValueInvalid:
        return False
    return True


def pictured(values: Mapping[MetaPath, bytes]) -> dict[MetaPath, Digest]:
    """The picture of values at hand."""
    return {path: fingerprint(path, value) for path, value in values.items()}


def differing(here: Picture, there: Picture, covers: Callable[[MetaPath], bool]) -> Iterator[MetaPath]:
    """Paths that both sides cover and that do not hold the same, in order."""
    return (path for path in sorted(here.keys() | there.keys()) if here.get(path) != there.get(path) and covers(path))


def assumed(path: MetaPath, value: bytes, other: bytes) -> bytes:
    """A value of which nobody knows whether newer fields were removed: those that it lacks are taken from another one.

    Args:
        path: The path of both.
        value: As a store holds it, not completed.
        other: What it is compared with.
    """
    try:
        newer = newer_fields(kind_at(path), parse(other))
    except ValueInvalid:
        return value
    return completed_value(path, value, KeptFields(gone=newer)) if newer else value


def operation(
    path: MetaPath, here: bytes | None, there: bytes | None, whole: WholeSides = BOTH_WHOLE
) -> Operation | None:
    """What brings a path from what is here to what is there; ``None`` when both hold the same.

    The replicated part of the value there is laid over the value here, so that cluster-local fields stay as they are.
    What cannot be read is taken as it is: the review refuses it, unless an operator wants it so.

    Args:
        path: Where.
        here: What the region holds.
        there: What it should hold.
        whole: A newer field that is absent on another side is taken to be as on this one.
    """
    here, there = group_value(path, here), group_value(path, there)
    if here is None and there is None:
        return None
    if here is not None and there is not None:
        meant = here if whole.here else assumed(path, here, there)
        there = there if whole.there else assumed(path, there, here)
        if fingerprint(path, meant) == fingerprint(path, there):
            return None
    if there is None:
        return Operation(path=path, before=here, after=None)
    if not readable(there):
        return Operation(path=path, before=here, after=there)
    base = here if readable(here) else None
    laid = PROJECTIONS[kind_at(path)].overlay(there, base)
    return Operation(path=path, before=here, after=bytes(memoryview(laid)))  # the serialiser's own holds 4 kB each


def diff(
    here: Mapping[MetaPath, bytes],
    there: Mapping[MetaPath, bytes],
    *,
    region: Region,
    source: str,
    made_at_ms: Millis,
    paths: Iterable[MetaPath] | None = None,
    deletes: bool = False,
    whole: WholeSides = BOTH_WHOLE,
) -> Plan:
    """The plan that makes the region hold what is there.

    Args:
        here: Values of the region's store.
        there: Values of the other side.
        region: Whose store it is for.
        source: The other side, for people.
        made_at_ms: Now.
        paths: Which paths to look at; all of both sides when not given.
        deletes: Delete what only the region has; otherwise the plan names it as left.
        whole: See :func:`operation`.
    """
    operations: list[Operation] = []
    left: list[MetaPath] = []
    for path in here.keys() | there.keys() if paths is None else frozenset(paths):
        made = operation(path, here.get(path), there.get(path), whole)
        if made is None:
            continue
        if made.after is None and not deletes:
            left.append(path)
        else:
            operations.append(made)
    return planned(region=region, source=source, made_at_ms=made_at_ms, operations=operations, left=left)
