"""Topics of ledgers, by what their own metadata says and by the paths of what refers to them."""

from __future__ import annotations

import pytest

from syncer.ledgers.owners import LedgerOwner, owner_of, topic_of_managed_ledger, topic_of_path, topic_of_schema

MANAGED = {"application": b"pulsar", "component": b"managed-ledger"}


@pytest.mark.parametrize(
    ("custom", "owner"),
    [
        ({}, LedgerOwner(None, None, None)),
        ({"application": b"distributedlog"}, LedgerOwner("distributedlog", None, None)),
        (
            MANAGED | {"pulsar/managed-ledger": b"acme/orders/persistent/a%2Fb+c"},
            LedgerOwner("pulsar", "managed-ledger", "persistent://acme/orders/a/b c"),
        ),
        (
            MANAGED | {"pulsar/managed-ledger": b"acme/orders/persistent/t", "pulsar/cursor": b"sub"},
            LedgerOwner("pulsar", "managed-ledger", "persistent://acme/orders/t"),
        ),
        (
            {"component": b"compacted-ledger", "pulsar/compactedTopic": b"persistent://acme/orders/t"},
            LedgerOwner(None, "compacted-ledger", "persistent://acme/orders/t"),
        ),
        (
            {"component": b"schema", "pulsar/schemaId": b"acme/orders/t%3A"},
            LedgerOwner(None, "schema", "persistent://acme/orders/t:"),
        ),
        (
            {"component": b"delayed-index-bucket", "pulsar/delayedIndexTopic": b"persistent://acme/orders/t"},
            LedgerOwner(None, "delayed-index-bucket", "persistent://acme/orders/t"),
        ),
        ({"application": b"\xff", "pulsar/managed-ledger": b"\xff"}, LedgerOwner("�", None, None)),
    ],
)
def test_a_ledger_names_its_owner(custom: dict[str, bytes], owner: LedgerOwner) -> None:
    assert owner_of(custom) == owner


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("acme/orders/persistent/t", "persistent://acme/orders/t"),
        ("acme/orders/persistent/t/sub", "persistent://acme/orders/t"),
        ("acme/west/orders/persistent/t", "persistent://acme/west/orders/t"),
        ("acme/orders/persistent/persistent", "persistent://acme/orders/persistent"),
        ("acme/orders/persistent/persistent/sub", "persistent://acme/orders/persistent"),
        ("acme/orders/persistent", None),
        ("acme/orders/else/t", None),
        ("", None),
    ],
)
def test_the_topic_of_a_managed_ledger(name: str, topic: str | None) -> None:
    assert topic_of_managed_ledger(name) == topic
    assert topic_of_path(f"/managed-ledgers/{name}") == topic


def test_the_topic_of_a_schema() -> None:
    assert topic_of_schema("acme/orders/t") == "persistent://acme/orders/t"
    assert topic_of_path("/schemas/acme/orders/t") == "persistent://acme/orders/t"
    assert topic_of_schema("acme/orders") is None
    assert topic_of_path("/ledgers/00/0000/L0001") is None
