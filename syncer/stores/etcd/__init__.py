"""The metadata store on etcd.

Keys are the paths themselves (Pulsar's own layout), one key per path, no parents. A revision is the key's
``mod_revision``. All writes of a batch are one transaction that compares every key's ``mod_revision``, and that no key
is below one that it deletes. etcd keeps no modification times, so entries have none; a key with a lease is ephemeral.
"""

from __future__ import annotations

import os

# grpc reads it when it is loaded. Its lines go past the log to stderr, and our errors say what they say.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

from syncer.stores.etcd.config import EtcdConfig, EtcdTls
from syncer.stores.etcd.store import EtcdStore

__all__ = ["EtcdConfig", "EtcdStore", "EtcdTls"]
