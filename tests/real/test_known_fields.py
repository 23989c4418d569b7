"""The table of fields against Pulsar's own classes, of every version in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from deploy.lab.software import java, java_compiler
from syncer.conflict.fields.readable import types_of
from syncer.conflict.fields.table import VERSIONS, Tree, known_fields, parse_version
from syncer.model import ResourceKind
from tests.conftest import require
from tests.versions.__main__ import TABLE
from tests.versions.jars import ask, class_jars

pytestmark = pytest.mark.slow

Place = tuple[str, ...]


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """A version whose classes are here."""
    name: str = request.param
    require(java, java_compiler, lambda: class_jars(name), lambda: class_jars(VERSIONS[-1]))
    return name


@cache
def full() -> Mapping[str, Any]:
    """Documents of each kind with all that the newest version keeps, and hardly a value twice."""
    return ask(VERSIONS[-1], "fill")


def unknown(document: Mapping[str, Any], tree: Tree, at: Place = ()) -> Iterator[Place]:
    """The places of a document's fields that are not in a tree; those below such a field are not told."""
    for name, value in document.items():
        key = name if name in tree else "*"
        if key not in tree:
            yield (*at, name)
        elif (below := tree[key]) is not None:
            yield from unknown(value, below, (*at, name))


def changed(document: Mapping[str, Any], kept: Mapping[str, Any], at: Place = ()) -> Iterator[Place]:
    """The places of a document's fields that are gone, or have another value."""
    for name, value in document.items():
        if isinstance(value, dict) and isinstance(kept.get(name), dict):
            yield from changed(value, kept[name], (*at, name))
        elif name not in kept or kept[name] != value:
            yield (*at, name)


def test_the_table_is_what_the_classes_say(version: str) -> None:
    told = ask(version)
    types = {kind: each.pop("types") for kind, each in told.items()}
    assert json.loads(TABLE.read_bytes())[version] == told
    assert {kind: types_of(ResourceKind(kind), version) for kind in types} == types


def test_classes_drop_the_fields_that_the_table_does_not_give_them_and_no_others(version: str) -> None:
    kept = ask(version, "keep", full())
    parsed = parse_version(version)
    for kind in ResourceKind:
        document, tree = full()[kind], known_fields(parsed, kind)
        assert set(changed(document, kept[kind])) == set(unknown(document, tree)), kind


def test_the_documents_have_every_field_of_the_table() -> None:
    require(java, java_compiler, lambda: class_jars(VERSIONS[-1]))
    derived = {"fileSystemDriver", "gcsDriver", "s3Driver"}  # of the offloading; nothing keeps what stands there

    def absent(tree: Tree, document: Mapping[str, Any], at: Place = ()) -> Iterator[Place]:
        for name, below in tree.items():
            for key in list(document) if name == "*" else [name]:
                if key not in document:
                    yield (*at, key)
                elif below is not None:
                    yield from absent(below, document[key], (*at, key))

    for kind in ResourceKind:
        tree = known_fields(parse_version(VERSIONS[-1]), kind)
        assert {place for place in absent(tree, full()[kind]) if place[-1] not in derived} == set(), kind
