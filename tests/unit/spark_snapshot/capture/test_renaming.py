"""Rows of a store by the group's names of clusters: paths, values, and the digests of what they are then."""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa

from spark_snapshot.capture.renaming import _renamed
from spark_snapshot.sources.arrow import STORE
from syncer.model import MetaPath
from syncer.plan.diffing import fingerprint

NAMES: Final = {"pulsar-eu": "eu-west"}
SPACE: Final = MetaPath("/admin/policies/acme/orders")
HERE, THERE = MetaPath("/admin/clusters/pulsar-eu"), MetaPath("/admin/clusters/eu-west")


def row(path: MetaPath, **fields: Any) -> dict[str, Any]:
    value = json.dumps(fields).encode()
    return {
        "path": path,
        "kind": "namespace",
        "tenant": "acme",
        "digest": fingerprint(path, value),
        "modified_ms": None,
        "revision": "1",
        "value": value,
    }


def test_rows_are_renamed_with_their_digests_and_others_stay() -> None:
    plain = row(SPACE, replication_clusters=["us"])
    rows = [row(SPACE, replication_clusters=["pulsar-eu"]), row(HERE, peerClusterNames=["us"]), plain]
    found = [
        each
        for batch in _renamed(NAMES, [pa.RecordBatch.from_pylist(rows, schema=STORE)])
        for each in batch.to_pylist()
    ]
    assert [each["path"] for each in found] == [SPACE, THERE, SPACE]
    assert json.loads(found[0]["value"]) == {"replication_clusters": ["eu-west"]}
    assert found[0]["digest"] == fingerprint(SPACE, found[0]["value"])
    assert found[2] == plain
