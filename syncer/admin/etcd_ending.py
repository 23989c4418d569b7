"""The end of etcd as a store of Pulsar's metadata: brokers that are the last to take it, named before an upgrade.

Pulsar 4.2 still keeps its metadata in etcd; a broker of 5.0 ends at its start when it is given an ``etcd:`` URL.

Source: PIP-462; ``MetadataStoreFactoryImpl.findProvider`` of Pulsar 5.0.
"""

from __future__ import annotations

from typing import Final

from syncer.admin.version_probe import BrokersTold
from syncer.conflict.fields.table import parse_version

ENDS: Final = "etcd-ends"
ETCD: Final = "etcd"
LAST: Final = (4, 2)
"""The last minor version whose brokers take etcd."""
HOW_TO: Final = "docs/how-to/leave-etcd.md"


def ending(store_kind: str, told: BrokersTold) -> str | None:
    """Say that brokers stand before the end of their store; ``None``: they do not, or nobody knows.

    Args:
        store_kind: Of the store that is watched.
        told: What the brokers say of themselves; one that has said it is enough.
    """
    found = told.newest
    if store_kind != ETCD or found is None or found.numbers[:2] < LAST:
        return None
    text = next(each for each in told.versions.values() if parse_version(each) == found)
    return (
        f"a broker here is Pulsar {text}, and brokers of 5.0 refuse etcd as their store (PIP-462): it cannot be "
        f"upgraded to 5.0 before its cluster has left etcd; see {HOW_TO}"
    )


def unsure(store_kind: str, told: BrokersTold) -> str | None:
    """Say that nobody can tell how near the end of the store is; ``None``: it can be told, or the store does not end.

    Args:
        store_kind: Of the store that is watched.
        told: What the brokers say of themselves.
    """
    if store_kind != ETCD or not told.trouble or ending(store_kind, told) is not None:
        return None
    return (
        f"which versions of Pulsar the brokers here have is not known ({told.trouble}): from 5.0 on they refuse etcd "
        f"as their store (PIP-462); see {HOW_TO} before an upgrade to 5.0"
    )
