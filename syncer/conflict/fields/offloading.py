"""Policies of offloading, field by field: which may leave a region where that is wanted, and why all others stay.

What may leave is a number or the name of an order, the same for every driver. A value of any other form stays, whatever
its name is, so no text that somebody writes there leaves its store.

Source: ``org.apache.pulsar.common.policies.data.OffloadPoliciesImpl``, by the table of fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from syncer.model import ResourceKind

CARRIED: Final[Mapping[str, str]] = {
    "managedLedgerOffloadThresholdInBytes": "when a topic is offloaded, by its size",
    "managedLedgerOffloadThresholdInSeconds": "when a topic is offloaded, by its age",
    "managedLedgerOffloadDeletionLagInMillis": "how long a copy stays in BookKeeper after it was offloaded",
    "managedLedgerOffloadedReadPriority": "which copy is read first",
    "managedLedgerOffloadMaxBlockSizeInBytes": "a size",
    "managedLedgerOffloadReadBufferSizeInBytes": "a size",
    "managedLedgerOffloadMaxThreads": "a number of threads",
    "managedLedgerOffloadReadThreads": "a number of threads",
    "managedLedgerOffloadPrefetchRounds": "a number of rounds",
    "s3ManagedLedgerOffloadMaxBlockSizeInBytes": "a size",
    "s3ManagedLedgerOffloadReadBufferSizeInBytes": "a size",
    "gcsManagedLedgerOffloadMaxBlockSizeInBytes": "a size",
    "gcsManagedLedgerOffloadReadBufferSizeInBytes": "a size",
}
"""Fields that leave a region with ``scope.carry_offload``, and what they mean."""
STAYS: Final[Mapping[str, str]] = {
    "managedLedgerOffloadDriver": "without the bucket and the keys of one region no driver works",
    "s3Driver": "worked out of the driver",
    "gcsDriver": "worked out of the driver",
    "fileSystemDriver": "worked out of the driver",
    "managedLedgerOffloadBucket": "a bucket of one region",
    "s3ManagedLedgerOffloadBucket": "a bucket of one region",
    "gcsManagedLedgerOffloadBucket": "a bucket of one region",
    "managedLedgerOffloadRegion": "where one region's bucket is",
    "s3ManagedLedgerOffloadRegion": "where one region's bucket is",
    "gcsManagedLedgerOffloadRegion": "where one region's bucket is",
    "managedLedgerOffloadServiceEndpoint": "an address of one region",
    "s3ManagedLedgerOffloadServiceEndpoint": "an address of one region",
    "fileSystemURI": "an address of one region",
    "fileSystemProfilePath": "a file of one host",
    "offloadersDirectory": "a folder of one host",
    "gcsManagedLedgerOffloadServiceAccountKeyFile": "a credential",
    "s3ManagedLedgerOffloadCredentialId": "a credential",
    "s3ManagedLedgerOffloadCredentialSecret": "a credential",
    "s3ManagedLedgerOffloadRole": "whom one region logs in as",
    "s3ManagedLedgerOffloadRoleSessionName": "whom one region logs in as",
    "managedLedgerExtraConfigurations": "free names and values, which may be credentials",
}
"""Fields that leave their store in no form, and why. A field that is in neither table stays too."""
FIELDS: Final[Mapping[ResourceKind, str]] = {
    ResourceKind.NAMESPACE: "offload_policies",
    ResourceKind.TOPIC_POLICY: "offloadPolicies",
}
"""Where the policies of offloading stand in a document of a kind."""
DRIVER: Final = "managedLedgerOffloadDriver"
_DRIVER_MARK: Final = DRIVER.encode()
_PRIORITY: Final = "managedLedgerOffloadedReadPriority"
_PRIORITIES: Final = frozenset({"BOOKKEEPER_FIRST", "TIERED_STORAGE_FIRST", "bookkeeper-first", "tiered-storage-first"})
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}", re.ASCII)


def shared_part(node: object) -> dict[str, Any]:
    """Return the fields of policies of offloading that may leave their store; none of what is no object.

    Args:
        node: As a document has it.
    """
    if not isinstance(node, dict):
        return {}
    return {name: node[name] for name in CARRIED if name in node and _is_plain(name, node[name])}


def own_part(node: object) -> object:
    """Return what :func:`shared_part` leaves out; ``None``: nothing is left.

    Args:
        node: As a document has it.
    """
    shared = shared_part(node)
    if not shared or not isinstance(node, dict):
        return node
    return {name: value for name, value in node.items() if name not in shared} or None


def names_driver(value: bytes) -> bool:
    """Whether a stored namespace names a driver of offloading; what cannot be read names none.

    Args:
        value: As the store holds it.
    """
    if _DRIVER_MARK not in value:  # this is asked of every namespace
        return False
    try:
        document = orjson.loads(value)
    except ValueError:
        return False
    node = document.get(FIELDS[ResourceKind.NAMESPACE]) if isinstance(document, dict) else None
    return isinstance(node, dict) and isinstance(node.get(DRIVER), str) and bool(node[DRIVER].strip())


def _is_plain(name: str, value: object) -> bool:
    """Whether a value is one that brokers can mean; Jackson reads "3" as 3."""
    if name == _PRIORITY:
        return isinstance(value, str) and value in _PRIORITIES
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63
