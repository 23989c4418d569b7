"""Redaction: secrets of a value that must not leave its store are withheld; digests made otherwise are made anew."""

from __future__ import annotations

import base64
import re
from typing import Final

from syncer.conflict.acts import Act, FillConflict, Outcome
from syncer.conflict.changeover import NEWEST, ProjectionsInUse
from syncer.conflict.completing import completes
from syncer.conflict.projection import OWN_ALONE, PROJECTIONS, WITHHELD, parse
from syncer.conflict.register import Register
from syncer.errors import ValueInvalid
from syncer.model import MetaPath, ResourceKind
from syncer.paths import CLUSTERS, classify
from syncer.replacing import replace
from syncer.stores.contract import Entry

_WITHHOLDING: Final = tuple(each for each in PROJECTIONS.values() if each.withheld)
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]{24,}")
_BELOW: Final = f"{CLUSTERS}/"
"""Clusters: a path is looked at by its beginning, for millions are."""


def withholds(path: MetaPath) -> bool:
    """Whether a path is of the kind that carries named fields alone."""
    if not path.startswith(_BELOW):
        return False
    resource = classify(path)
    return resource is not None and resource.kind is ResourceKind.CLUSTER


def carried_value(path: MetaPath, value: bytes, projections: ProjectionsInUse = NEWEST) -> bytes:
    """Return the part of a value that may leave the store; all of it where the path is no resource.

    Args:
        path: Of the value.
        value: As the store holds it.
        projections: Those in use; a group may still work by one that withholds less.
    """
    resource = classify(path)
    return value if resource is None else projections.carried(resource.kind, value)


def group_value(path: MetaPath, value: bytes | None) -> bytes | None:
    """Return the part of a value that the group may have; ``None``: no value, or one of withheld fields alone."""
    if value is None:
        return None
    resource = classify(path)
    if resource is not None and PROJECTIONS[resource.kind].own_alone(value):
        return None
    return carried_value(path, value)


def holds_withheld(text: bytes) -> bool:
    """Whether bytes may hold a withheld field of some kind, as plain text or as Base64."""
    found = [text, *(_decoded(each) for each in _BASE64.findall(text))]
    return any(b"\\u" in each or projection.names_withheld(each) for each in found for projection in _WITHHOLDING)


def withheld_payload(path: MetaPath | None, payload: bytes) -> bytes:
    """Return the part that may be kept of something that could not be handled: a value, or a whole message.

    Args:
        path: What it is about; ``None``: nobody knows.
        payload: A value, or a message that has one.
    """
    if not holds_withheld(payload):
        return payload
    if path is not None and _readable(payload):
        return carried_value(path, payload)
    return WITHHELD


def _decoded(text: bytes) -> bytes:
    return base64.b64decode(text[: len(text) // 4 * 4])


def _readable(payload: bytes) -> bool:
    try:
        parse(payload)
    except ValueInvalid:
        return False
    return True


def carried_entry(path: MetaPath, entry: Entry | None, projections: ProjectionsInUse = NEWEST) -> Entry | None:
    """What was read, without what stays in the store."""
    if entry is None or not entry.value:
        return entry
    resource = classify(path)
    if resource is None:
        return entry
    projection = projections.store_side(resource.kind)
    value = OWN_ALONE if projection.own_alone(entry.value) else projection.carried(entry.value)
    return entry if value is entry.value else replace(entry, value=value)


def shares_more(register: Register, entry: Entry | None, projections: ProjectionsInUse) -> bool:
    """Whether a value that stands where it stood has a part that was withheld until now, and is carried.

    Args:
        register: The path's register.
        entry: What was read of it, or what may leave of that.
        projections: Those in use.
    """
    stored, resource = register.stored, classify(register.path)
    if resource is None or entry is None or stored is None or stored.digest is None or not entry.value:
        return False
    projection = projections.store_side(resource.kind)
    if not projection.shared or stored.revision != entry.revision or not projection.names_withheld(entry.value):
        return False
    value = completes(register, entry.value)
    try:
        return projection.digest(value) != stored.digest == PROJECTIONS[resource.kind].digest(value)
    except ValueInvalid:
        return False


def reprojected(register: Register, entry: Entry) -> Outcome:
    """The store stands where it stood: a digest that a former version of the projection made is made anew.

    That is no change: the value is the one that was stored. What is known under the same digest is the same value, and
    a conflict that waits for the value gets it.
    """
    stored = register.stored
    if stored is None or stored.digest is None or not entry.value or not withholds(register.path):
        return Outcome(register)
    digest, former = PROJECTIONS[ResourceKind.CLUSTER].digest(entry.value), stored.digest
    if digest == former:
        return Outcome(register)
    known = register.known
    if known is not None and known.digest == former:
        known = replace(known, digest=digest)
    elif known is not None and known.value is not None:
        known = replace(known, digest=PROJECTIONS[ResourceKind.CLUSTER].digest(known.value))
    acts: tuple[Act, ...] = (FillConflict(path=register.path, digest=former, value=entry.value),)
    return Outcome(replace(register, stored=replace(stored, digest=digest), known=known), acts)
