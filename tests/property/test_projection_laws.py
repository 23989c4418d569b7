"""What a projection carries, what it leaves alone, and that its digest depends on nothing else."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from syncer.conflict.projection import PROJECTIONS, canonical, parse
from syncer.errors import ValueInvalid
from syncer.model import ResourceKind
from tests.property.strategies import documents, encoded, kinds, nodes, texts

NAMESPACE: Final = PROJECTIONS[ResourceKind.NAMESPACE]
EVERY_LOCAL_FIELD: Final = sorted({name for projection in PROJECTIONS.values() for name in projection.local})


def shuffled(draw: st.DrawFn, node: Any) -> Any:
    """The same document with the keys of every object in another order."""
    if isinstance(node, dict):
        return {key: shuffled(draw, node[key]) for key in draw(st.permutations(sorted(node)))}
    if isinstance(node, list):
        return [shuffled(draw, member) for member in node]
    return node


@st.composite
def respelled(draw: st.DrawFn) -> tuple[dict[str, Any], bytes]:
    """A document, and the same document in other bytes: order of keys, white space, escapes."""
    document = draw(documents())
    spelling = json.dumps(
        shuffled(draw, document),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 0, 2])),
        separators=draw(st.sampled_from([(",", ":"), (" , ", " : ")])),
    )
    return document, spelling.encode()


@given(kind=kinds, author=documents(), target=documents())
def test_an_overlay_carries_the_whole_projection(
    kind: ResourceKind, author: dict[str, Any], target: dict[str, Any]
) -> None:
    projection = PROJECTIONS[kind]
    laid = projection.overlay(encoded(author), encoded(target))
    assert projection.project(laid) == projection.project(encoded(author))
    assert projection.digest(laid) == projection.digest(encoded(author))


@given(kind=kinds, author=documents(), target=documents())
def test_an_overlay_leaves_exactly_the_targets_local_fields(
    kind: ResourceKind, author: dict[str, Any], target: dict[str, Any]
) -> None:
    projection = PROJECTIONS[kind]
    laid = parse(projection.overlay(encoded(author), encoded(target)))
    assert projection.own(laid) == projection.own(target)


@given(kind=kinds, author=documents(), target=st.none() | documents())
def test_an_overlay_laid_twice_is_the_same(
    kind: ResourceKind, author: dict[str, Any], target: dict[str, Any] | None
) -> None:
    projection = PROJECTIONS[kind]
    once = projection.overlay(encoded(author), None if target is None else encoded(target))
    assert projection.overlay(encoded(author), once) == once


@given(kind=kinds, author=documents())
def test_a_resource_is_born_with_the_authors_projection_and_nothing_local_but_the_create_rule(
    kind: ResourceKind, author: dict[str, Any]
) -> None:
    projection = PROJECTIONS[kind]
    born = parse(projection.overlay(encoded(author), None))
    assert projection.digest(encoded(born)) == projection.digest(encoded(author))
    local = projection.own(born)
    expected = {name: author[name] for name in projection.born_with if name in author} | dict(projection.defaults)
    assert local == expected


@given(author=documents(), target=documents())
def test_a_namespace_takes_its_first_split_from_its_author_and_keeps_its_own_later(
    author: dict[str, Any], target: dict[str, Any]
) -> None:
    author["bundles"] = {"numBundles": 4}
    target["bundles"] = {"numBundles": 16}
    assert parse(NAMESPACE.overlay(encoded(author), None))["bundles"] == {"numBundles": 4}
    assert parse(NAMESPACE.overlay(encoded(author), encoded(target)))["bundles"] == {"numBundles": 16}


@pytest.mark.parametrize("kind", [ResourceKind.NAMESPACE, ResourceKind.PARTITIONED_TOPIC])
@given(author=documents(), target=st.none() | documents(), own=st.booleans())
def test_the_mark_of_a_delete_in_progress_never_crosses(
    kind: ResourceKind, author: dict[str, Any], target: dict[str, Any] | None, own: bool
) -> None:
    projection = PROJECTIONS[kind]
    author["deleted"] = True
    assert projection.digest(encoded(author)) == projection.digest(encoded({**author, "deleted": False}))
    if target is None:
        assert parse(projection.overlay(encoded(author), None))["deleted"] is False
    else:
        target["deleted"] = own
        assert parse(projection.overlay(encoded(author), encoded(target)))["deleted"] is own


@given(kind=kinds, case=respelled())
def test_bytes_do_not_matter(kind: ResourceKind, case: tuple[dict[str, Any], bytes]) -> None:
    document, spelling = case
    assert PROJECTIONS[kind].digest(spelling) == PROJECTIONS[kind].digest(encoded(document))


@given(kind=kinds, document=documents(), other=documents())
def test_local_fields_do_not_matter(kind: ResourceKind, document: dict[str, Any], other: dict[str, Any]) -> None:
    projection = PROJECTIONS[kind]
    changed = {name: node for name, node in document.items() if name not in projection.own(document)}
    changed |= projection.own(other)
    assert projection.digest(encoded(changed)) == projection.digest(encoded(document))


@given(kind=kinds, document=documents(), data=st.data())
def test_order_and_repetition_within_a_set_do_not_matter(
    kind: ResourceKind, document: dict[str, Any], data: st.DataObject
) -> None:
    def stirred(node: Any, place: tuple[str, ...]) -> None:
        if not isinstance(node, dict):
            return
        for key in list(node) if place[0] == "*" else [place[0]]:
            if len(place) > 1:
                stirred(node.get(key), place[1:])
            elif isinstance(node.get(key), list):
                node[key] = data.draw(st.permutations(node[key] + node[key][:1]))

    projection = PROJECTIONS[kind]
    before = projection.digest(encoded(document))
    for place in projection.sets:
        stirred(document, place)
    assert projection.digest(encoded(document)) == before


@given(kind=kinds, document=documents(), name=texts, node=nodes)
def test_every_other_difference_matters(kind: ResourceKind, document: dict[str, Any], name: str, node: Any) -> None:
    projection = PROJECTIONS[kind]
    changed = {**document, name: node}
    differs = canonical(projection.project(encoded(changed))) != canonical(projection.project(encoded(document)))
    assert differs == (projection.digest(encoded(changed)) != projection.digest(encoded(document)))
    if not projection.own({name: node}) and name not in {place[0] for place in projection.sets}:
        same = name in document and json.dumps(document[name], sort_keys=True) == json.dumps(node, sort_keys=True)
        assert differs != same


@given(document=documents())
@example(document={"a": 2**64, "b": 1e22, "c": [0.1, -0.0, 5e-324], "é": "\U0001f600"})
@example(document={"a": 2**63, "b": -(2**63), "c": 2**53 + 1})
@example(document={"offload_threshold": -1, "big": 10**400})
def test_canonical_bytes_are_stable_and_keep_every_number(document: dict[str, Any]) -> None:
    once = canonical(document)
    assert canonical(parse(once)) == once
    assert parse(once) == document
    assert json.loads(once) == document


@given(prefix=st.binary(max_size=12), document=documents(), cut=st.integers(1, 20))
def test_any_bytes_parse_or_are_refused_as_invalid(prefix: bytes, document: dict[str, Any], cut: int) -> None:
    for value in (prefix, prefix + encoded(document), encoded(document)[:-cut]):
        try:
            parsed = parse(value)
        except ValueInvalid:
            continue
        assert canonical(parse(canonical(parsed))) == canonical(parsed)


def test_what_is_local_anywhere_is_known_here() -> None:
    assert EVERY_LOCAL_FIELD == [
        "bundles",
        "clusterThatCanDeleteNamespace",
        "deleted",
        "migrated",
        "offloadPolicies",
        "offload_policies",
    ]


@given(kind=kinds, document=documents())
def test_what_is_carried_has_the_digest_of_the_whole_and_is_born_alike(
    kind: ResourceKind, document: dict[str, Any]
) -> None:
    projection = PROJECTIONS[kind]
    value = encoded({**document, "serviceUrl": "http://h:1", "authenticationParameters": "secret"})
    carried = projection.carried(value)
    assert projection.digest(carried) == projection.digest(value)
    assert projection.carried(carried) == carried
    assert parse(projection.overlay(carried, None)) == parse(projection.overlay(value, None))
    if projection.replicated is not None:
        assert parse(carried).keys() <= projection.replicated | projection.born_with
    else:
        assert carried == value
