"""Redaction: secrets of a value that must not leave its store are withheld; digests made otherwise are made anew."""

from __future__ import annotations

from typing import Final

from syncer.conflict.acts import Act, FillConflict, Outcome
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import Register
from syncer.model import MetaPath, ResourceKind
from syncer.paths import CLUSTERS, classify
from syncer.replacing import replace
from syncer.stores.contract import Entry

_BELOW: Final = f"{CLUSTERS}/"
"""Clusters are the only kind with secrets: a path is looked at by its beginning, for millions are."""


def withholds(path: MetaPath) -> bool:
    """Whether the values of a path hold what never leaves the store."""
    if not path.startswith(_BELOW):
        return False
    resource = classify(path)
    return resource is not None and resource.kind is ResourceKind.CLUSTER


def carried_value(path: MetaPath, value: bytes) -> bytes:
    """What of the value at a path may leave the store."""
    return PROJECTIONS[ResourceKind.CLUSTER].carried(value) if withholds(path) else value


def carried_entry(path: MetaPath, entry: Entry | None) -> Entry | None:
    """What was read, without what stays in the store."""
    if entry is None or not entry.value or not withholds(path):
        return entry
    return replace(entry, value=carried_value(path, entry.value))


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
