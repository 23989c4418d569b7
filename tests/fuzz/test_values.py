"""Whatever a store or a peer holds as a value: a clear refusal, or a projection that keeps its laws."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.projection import PROJECTIONS, Projection, canonical, parse
from syncer.errors import ValueInvalid
from tests.fuzz.shares import drawing
from tests.property.strategies import documents, encoded

projections = st.sampled_from(list(PROJECTIONS.values()))
pieces = st.sampled_from(
    ["{", "}", "[", "]", ":", ",", '"a"', '"adminRoles"', '"bundles"', "1", "-0", "1.5", "1e400", "1E-400", "NaN"]
    + ["-Infinity", "null", "true", '"\\ud800"', '"\\u0000"', "9" * 25, "9" * 5000, "-" + "9" * 40, " ", "\ufeff"]
    + ['{"a":' * 1000, "[" * 5000, '"', "\\", "é", "\U0001f600", "/*", "'a'", '{"a":1,"a":2}']
)
raw = st.one_of(
    st.binary(max_size=60),
    st.lists(pieces, max_size=12).map("".join).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(pieces, max_size=6).map(lambda some: ('{"a":' + "".join(some) + "}").encode("utf-8", "surrogatepass")),
    documents().map(encoded),
    st.tuples(documents(), st.integers(0, 200), st.integers(0, 255)).map(
        lambda drawn: encoded(drawn[0])[: drawn[1]] + bytes([drawn[2]]) + encoded(drawn[0])[drawn[1] + 1 :]
    ),
)


def projected(projection: Projection, value: bytes) -> dict[str, Any] | None:
    """The projection of a value; ``None``: it is refused."""
    try:
        return projection.project(value)
    except ValueInvalid as exc:
        assert exc.message
        return None


@drawing("projections")
@given(projections, raw)
def test_a_value_is_refused_or_projected(projection: Projection, value: bytes) -> None:
    document = projected(projection, value)
    if document is None:
        return
    assert not projection.local & document.keys()
    try:
        text = canonical(document)
    except ValueInvalid as exc:
        assert exc.message  # text that UTF-8 cannot carry
        return
    assert projection.digest(value) == projection.digest(text), "canonical bytes mean the same"
    assert canonical(parse(text)) == text
    assert json.loads(text) == json.loads(json.dumps(document)), "and any reader reads them so"


@drawing("layers")
@given(projections, raw, st.none() | raw)
def test_a_value_laid_over_another_keeps_its_projection(
    projection: Projection, author: bytes, target: bytes | None
) -> None:
    try:
        laid = projection.overlay(author, target)
        digest = projection.digest(author)
    except ValueInvalid as exc:
        assert exc.message
        return
    assert projection.digest(laid) == digest
    assert projection.overlay(author, laid) == laid, "once more changes nothing"
