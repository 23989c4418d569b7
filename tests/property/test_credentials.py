"""Fields of Pulsar's documents that look like credentials: none leaves its store, or a person has looked at it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from syncer.conflict.fields.table import VERSIONS, Tree, known_fields, parse_version
from syncer.conflict.projection import PROJECTIONS
from syncer.model import ResourceKind

LOOKS_SECRET: Final = re.compile(
    "secret|password|passwd|passphrase|token|key|credential|auth(?:entication)?_?param", re.IGNORECASE
)
HARMLESS: Final = {
    (ResourceKind.NAMESPACE, "allowed_topic_property_keys_for_metrics"): "names of properties, shown in metrics",
}
"""Fields that look like credentials and travel all the same, each with the reason."""
SECRET: Final = "Geheimnis"

Place = tuple[str, ...]


def places(tree: Tree, at: Place = ()) -> Iterator[Place]:
    """All places of a kind of document, nested ones too."""
    for name, below in tree.items():
        yield (*at, name)
        if below is not None:
            yield from places(below, (*at, name))


def suspects() -> set[tuple[ResourceKind, Place]]:
    """The fields of all versions in the table whose names look like credentials."""
    return {
        (kind, place)
        for kind in ResourceKind
        for version in VERSIONS
        for place in places(known_fields(parse_version(version), kind))
        if LOOKS_SECRET.search(place[-1])
    }


def planted(place: Place) -> dict[str, Any]:
    """A document with a secret at a place."""
    node: Any = SECRET
    for name in reversed(place):
        node = {name: node}
    return dict(node)


LEAVING: Final = sorted(each for each in suspects() if (each[0], ".".join(each[1])) not in HARMLESS)


def test_the_list_has_what_is_known_to_be_secret() -> None:
    named = {f"{kind}: {'.'.join(place)}" for kind, place in LEAVING}
    assert "namespace: offload_policies.s3ManagedLedgerOffloadCredentialSecret" in named
    assert "topic-policy: offloadPolicies.s3ManagedLedgerOffloadCredentialSecret" in named
    assert "cluster: authenticationParameters" in named
    assert "cluster: brokerClientTlsKeyStorePassword" in named


def test_no_exception_is_left_of_a_field_that_is_gone() -> None:
    assert HARMLESS.keys() <= {(kind, ".".join(place)) for kind, place in suspects()}


@pytest.mark.parametrize(("kind", "place"), LEAVING, ids=str)
def test_a_field_that_looks_like_a_credential_stays_in_its_store(kind: ResourceKind, place: Place) -> None:
    """Where this fails for a new field: make it local by a new projection, or say in ``HARMLESS`` why it is none."""
    projection = PROJECTIONS[kind]
    value = json.dumps(planted(place)).encode()
    assert SECRET.encode() not in projection.carried(value)
    assert SECRET not in json.dumps(projection.project(value))
    assert SECRET.encode() not in projection.overlay(value, None)
    own = json.dumps(planted(place)).encode()
    assert json.loads(projection.overlay(b"{}", own)) == json.loads(own), "a remote value leaves it as it is"
