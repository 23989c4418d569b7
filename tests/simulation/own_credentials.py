"""Credentials of offloading that brokers write into namespaces: they stay in the region whose brokers wrote them.

A namespace of a region names the region in its policies of offloading. So it can be told where each comes from.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from syncer.conflict.projection import parse
from syncer.errors import ValueInvalid
from syncer.model import MetaPath, Region, ResourceKind
from syncer.paths import classify
from tests.simulation.history import Violation

FIELD: Final = "offload_policies"
SECRET: Final = b"Geheimnis"
_SOME: Final = 4
"""One in so many namespaces has no policies of offloading."""


def with_own(region: str, path: MetaPath, value: bytes, *, always: bool = False) -> bytes:
    """A namespace as the brokers of a region write it; any other value as it is. ``always``: each has some."""
    resource = classify(path)
    if resource is None or resource.kind is not ResourceKind.NAMESPACE:
        return value
    try:
        document = parse(value)
    except ValueInvalid:
        return value
    number = document.get("tag", 0)
    if number % _SOME == 0 and not always:
        return value
    own = {"managedLedgerOffloadBucket": region, "s3ManagedLedgerOffloadCredentialSecret": f"Geheimnis {number}"}
    return orjson.dumps({**document, FIELD: own})


def own_of(value: bytes | None) -> Any:
    """The policies of offloading of a stored value; ``None``: it has none."""
    if not value:
        return None
    try:
        return parse(value).get(FIELD)
    except ValueInvalid:
        return None


def check_write(region: Region, path: MetaPath, before: bytes | None, after: bytes | None) -> None:
    """Judge a daemon's write: what offloads here stays as it was.

    Raises:
        Violation: The write brought the policies of another region, or lost those of this one.
    """
    if after is not None and own_of(before) != own_of(after):
        raise Violation("credentials", path, f"a write of {region} changed its policies of offloading")


def check_leaves(what: str, path: MetaPath, value: bytes | None) -> None:
    """Judge a value that leaves the store.

    Raises:
        Violation: It holds a secret.
    """
    if value is not None and SECRET in value:
        raise Violation("credentials", path, f"{what} holds a secret")
