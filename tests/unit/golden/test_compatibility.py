"""Unit tests of the comparison: breaking edits are found, additions are none, and what passes takes what was taken."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden.compatibility import Direction, breaking, differences

Edit = Callable[[dict[str, Any]], object]

FIELDS: Final = {"id": {"type": "integer"}, "why": {"type": "string", "maxLength": 9}, "how": {"enum": ["a", "b"]}}
DOCUMENT: Final[dict[str, Any]] = {
    "info": {"version": "1"},
    "components": {"schemas": {"Item": {"type": "object", "properties": FIELDS, "required": ["id", "why"]}}},
    "paths": {
        "/holds": {
            "get": {
                "parameters": [{"in": "query", "name": "limit", "schema": {"type": "integer", "maximum": 9}}],
                "responses": {
                    "200": {"content": {"json": {"schema": {"$ref": "#/components/schemas/Item"}}}},
                    "404": {},
                },
            },
            "post": {
                "security": [{"token": ["operate"]}],
                "requestBody": {"content": {"json": {"schema": {"$ref": "#/components/schemas/Item"}}}},
                "responses": {"200": {}},
            },
        }
    },
}


def edited(*edits: Edit) -> dict[str, Any]:
    made = copy.deepcopy(DOCUMENT)
    for edit in edits:
        edit(made)
    return made


def operation(document: dict[str, Any], method: str) -> Any:
    return document["paths"]["/holds"][method]


def item(document: dict[str, Any]) -> Any:
    return document["components"]["schemas"]["Item"]


def renamed(document: dict[str, Any]) -> None:
    document["paths"]["/hold"] = document["paths"].pop("/holds")


BREAKING: Final[dict[str, tuple[Edit, list[str]]]] = {
    "a route": (renamed, ["GET /holds is gone", "POST /holds is gone"]),
    "a method": (lambda d: d["paths"]["/holds"].pop("post"), ["POST /holds is gone"]),
    "a status": (lambda d: operation(d, "get")["responses"].pop("404"), ["GET /holds: status 404 is gone"]),
    "a kind of content": (
        lambda d: operation(d, "get")["responses"]["200"].pop("content"),
        ["GET /holds: 200: json is gone"],
    ),
    "a field": (
        lambda d: item(d)["properties"].pop("how"),
        ["GET /holds: 200.how is gone", "POST /holds: body.how is gone"],
    ),
    "a type": (
        lambda d: item(d)["properties"]["id"].update(type="string"),
        ["GET /holds: 200.id is string, and was integer", "POST /holds: body.id is string, and was integer"],
    ),
    "a wider type": (
        lambda d: item(d)["properties"]["id"].update(type="number"),
        ["GET /holds: 200.id is number, and was integer"],
    ),
    "null": (
        lambda d: item(d)["properties"]["id"].update(type=["integer", "null"]),
        ["GET /holds: 200.id is null, and was integer"],
    ),
    "a value": (
        lambda d: item(d)["properties"]["how"].update(enum=["a"]),
        ["POST /holds: body.how: ['b'] is no value of it"],
    ),
    "a field that must be given": (
        lambda d: item(d)["required"].append("how"),
        ["POST /holds: body.how must be given"],
    ),
    "a field that need not be there": (
        lambda d: item(d)["required"].remove("id"),
        ["GET /holds: 200.id need not be there any more"],
    ),
    "other fields": (
        lambda d: item(d).update(additionalProperties=False),
        ["POST /holds: body takes no other fields any more"],
    ),
    "a bound": (
        lambda d: item(d)["properties"]["why"].update(maxLength=8, minLength=1),
        ["POST /holds: body.why: minLength is 1, and was None", "POST /holds: body.why: maxLength is 8, and was 9"],
    ),
    "a parameter": (
        lambda d: operation(d, "get").pop("parameters"),
        ["GET /holds: query parameter limit is gone"],
    ),
    "a parameter's bound": (
        lambda d: operation(d, "get")["parameters"][0]["schema"].update(maximum=8),
        ["GET /holds: query parameter limit: maximum is 8, and was 9"],
    ),
    "a parameter that must be given": (
        lambda d: operation(d, "get")["parameters"].append({"in": "header", "name": "If-Match", "required": True}),
        ["GET /holds: header parameter If-Match must be given"],
    ),
    "a body that must be given": (
        lambda d: operation(d, "post")["requestBody"].update(required=True),
        ["POST /holds: a body must be given"],
    ),
    "a credential": (
        lambda d: operation(d, "get").update(security=[{"token": []}]),
        ["GET /holds: wants a credential, and was open"],
    ),
    "a higher role": (
        lambda d: operation(d, "post").update(security=[{"token": ["admin"]}]),
        ["POST /holds: wants admin, and did not"],
    ),
    "a right": (
        lambda d: operation(d, "post").update(security=[{"token": ["operate", "values"]}]),
        ["POST /holds: wants values, and did not"],
    ),
    "a format": (
        lambda d: item(d)["properties"]["why"].update(format="date"),
        ["POST /holds: body.why: format is date, and was None"],
    ),
}
ADDING: Final[dict[str, Edit]] = {
    "a route": lambda d: d["paths"].update({"/jobs": {"get": {}}}),
    "a lower role": lambda d: operation(d, "post").update(security=[{"token": ["read"]}]),
    "a method": lambda d: d["paths"]["/holds"].update(delete={}),
    "a status": lambda d: operation(d, "get")["responses"].update({"409": {}}),
    "a field that may be there": lambda d: item(d)["properties"].update(more={"type": "string"}),
    "a value": lambda d: item(d)["properties"]["how"].update(enum=["a", "b", "c"]),
    "a parameter": lambda d: operation(d, "get")["parameters"].append({"in": "query", "name": "after"}),
    "a wider bound": lambda d: item(d)["properties"]["why"].update(maxLength=10),
    "prose": lambda d: item(d).update(description="More words."),
}


@pytest.mark.parametrize("what", BREAKING)
def test_a_breaking_edit_is_found_where_it_is(what: str) -> None:
    edit, found = BREAKING[what]
    assert breaking(DOCUMENT, edited(edit)) == found


@given(st.lists(st.sampled_from(sorted(ADDING)), unique=True), st.sampled_from(sorted(BREAKING)))
def test_additions_break_nothing_and_hide_nothing(added: list[str], broken: str) -> None:
    additions = [ADDING[each] for each in added]
    assert breaking(DOCUMENT, edited(*additions)) == []
    assert breaking(DOCUMENT, edited(*additions, BREAKING[broken][0])) != []


def test_another_version_of_the_api_may_be_another_one() -> None:
    assert breaking(DOCUMENT, {"info": {"version": "2"}, "paths": {}}) == []


TYPES: Final = ("integer", "string", "object", "array", "null")
NUMBERS: Final = st.integers(0, 3)


def schemas() -> st.SearchStrategy[Any]:
    def further(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        fields = st.dictionaries(st.sampled_from("ab"), below, max_size=2)
        objects = st.fixed_dictionaries(
            {"type": st.just("object"), "properties": fields},
            optional={
                "required": st.lists(st.sampled_from("ab"), unique=True),
                "additionalProperties": st.one_of(st.booleans(), below),
            },
        )
        lists = st.fixed_dictionaries({"type": st.just("array"), "items": below}, optional={"maxItems": NUMBERS})
        return st.one_of(objects, lists, st.fixed_dictionaries({"anyOf": st.lists(below, min_size=1, max_size=2)}))

    plain: st.SearchStrategy[Any] = st.one_of(
        st.just({}),
        st.fixed_dictionaries({"type": st.sampled_from(TYPES)}),
        st.fixed_dictionaries({"type": st.just("integer")}, optional={"minimum": NUMBERS, "maximum": NUMBERS}),
        st.fixed_dictionaries({"type": st.just("string")}, optional={"minLength": NUMBERS, "maxLength": NUMBERS}),
        st.fixed_dictionaries({"enum": st.lists(st.sampled_from([0, 1, "x"]), min_size=1, unique=True)}),
    )
    return st.recursive(plain, further, max_leaves=4)


VALUES: Final = st.recursive(
    st.one_of(st.none(), NUMBERS, st.sampled_from(["", "x", "xx"])),
    lambda below: st.one_of(st.lists(below, max_size=2), st.dictionaries(st.sampled_from("abc"), below, max_size=2)),
    max_leaves=4,
)


def takes(schema: Any, value: Any) -> bool:
    """Whether a value is one of a schema, by the words of JSON Schema, one after the other."""
    if isinstance(schema, bool):
        return schema
    kinds = {int: "integer", str: "string", dict: "object", list: "array", type(None): "null"}
    bounds: dict[str, Any] = {"minimum": int, "maximum": int, "minLength": str, "maxLength": str, "maxItems": list}
    for word, want in schema.items():
        match word:
            case "type" if kinds[type(value)] != want:
                return False
            case "enum" if value not in want:
                return False
            case "anyOf" if not any(takes(each, value) for each in want):
                return False
            case "items" if isinstance(value, list) and not all(takes(want, each) for each in value):
                return False
            case "required" if isinstance(value, dict) and set(want) - value.keys():
                return False
            case _ if word in bounds and isinstance(value, bounds[word]):
                size = value if isinstance(value, int) else len(value)
                if size < want if word.startswith("min") else size > want:
                    return False
    fields, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    named = value.items() if isinstance(value, dict) else ()
    return all(takes(fields.get(name, others), each) for name, each in named)


@settings(max_examples=1_000)  # of which a twentieth comes to the end
@given(schemas(), schemas(), VALUES)
def test_what_was_taken_is_taken_by_a_schema_that_breaks_nothing(old: Any, new: Any, value: Any) -> None:
    """Properties that are added may be of any type: a client that was good has sent none of that name."""
    named = _names(value)
    if differences(old, new, Direction.REQUEST, "x") == [] and takes(old, value) and named <= _declared(old):
        assert takes(new, value)


def _names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return value.keys() | set().union(*map(_names, value.values()))
    return set().union(*map(_names, value)) if isinstance(value, list) else set()


def _declared(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        own = set(schema.get("properties", ()))
        return own | set().union(*map(_declared, schema.values()))
    return set().union(*map(_declared, schema)) if isinstance(schema, list) else set()


@given(schemas(), st.sampled_from(Direction))
def test_a_schema_breaks_nothing_of_itself(schema: Any, direction: Direction) -> None:
    assert differences(schema, copy.deepcopy(schema), direction, "x") == []
    assert differences({"anyOf": [schema]}, schema, direction, "x") == []
