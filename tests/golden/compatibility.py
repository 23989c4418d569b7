"""Comparison of two descriptions of the HTTP surface: every change that breaks a client which was good before.

A client sends what requests describe, and reads what responses describe. A change is judged by its direction:

    request     what was accepted still is: nothing more is required, no type, enumeration or bound is narrower
    response    what was read is still there: no status, kind of content or field is gone, nothing is of another type

Additions break nothing: a route, an optional parameter, a field or status of a response, and a value of an enumeration
in a response, which a client takes as it takes an unknown field. Who may ask is part of it: a route that was open to
everybody and wants a credential now is found, and one that wants a higher role, or a right more, than it did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from tests.golden.listings import resolved

Schema = Mapping[str, Any]

LEAST: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
MOST: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
ROLES: Final = ("read", "operate", "admin")
"""Each covers those before it."""
FORM: Final = ("pattern", "format", "multipleOf", "uniqueItems")


class Direction(StrEnum):
    """The way of a document between client and server."""

    REQUEST = "request"
    RESPONSE = "response"


def breaking(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Find what breaks clients of a description, a line each; nothing where the version of the API is another one.

    Args:
        before: Description that clients were made for.
        now: The present one.
    """
    if before["info"]["version"] != now["info"]["version"]:
        return []
    old, new = (resolved(each["paths"], each) for each in (before, now))
    found = list[str]()
    for path, methods in old.items():
        for method, one in methods.items():
            other, at = new.get(path, {}).get(method), f"{method.upper()} {path}"
            found += [f"{at} is gone"] if other is None else [f"{at}: {each}" for each in _operation(one, other)]
    return found


def _operation(old: Schema, new: Schema) -> Iterator[str]:
    if new.get("security") and not old.get("security"):
        yield "wants a credential, and was open"
    was_role, role = _wanted(old), _wanted(new)
    if was_role and role - was_role:
        yield f"wants {' and '.join(sorted(role - was_role))}, and did not"
    olds, news = ({(each["in"], each["name"]): each for each in one.get("parameters", ())} for one in (old, new))
    for (where, name), each in news.items():
        if each.get("required") and not olds.get((where, name), {}).get("required"):
            yield f"{where} parameter {name} must be given"
    for (where, name), each in olds.items():
        if (where, name) not in news:
            yield f"{where} parameter {name} is gone"
        else:
            other = news[where, name]
            at = f"{where} parameter {name}"
            yield from differences(each.get("schema", {}), other.get("schema", {}), Direction.REQUEST, at)
    was, body = old.get("requestBody", {}), new.get("requestBody", {})
    if body.get("required") and not was.get("required"):
        yield "a body must be given"
    yield from _content(was, body, Direction.REQUEST, "body")
    for status, each in old.get("responses", {}).items():
        if status not in new.get("responses", {}):
            yield f"status {status} is gone"
        else:
            yield from _content(each, new["responses"][status], Direction.RESPONSE, status)


def _wanted(operation: Schema) -> set[str]:
    """Roles and rights that an operation wants, each with the lower roles that it covers; none: it does not say."""
    named = {name for each in operation.get("security", ()) for names in each.values() for name in names}
    covered = {lower for name in named & {*ROLES} for lower in ROLES[: ROLES.index(name)]}
    return named | covered


def _content(old: Schema, new: Schema, direction: Direction, at: str) -> Iterator[str]:
    for media, each in old.get("content", {}).items():
        if media not in new.get("content", {}):
            yield f"{at}: {media} is gone"
        else:
            yield from differences(each.get("schema", {}), new["content"][media].get("schema", {}), direction, at)


def differences(old: Schema, new: Schema, direction: Direction, at: str) -> list[str]:
    """Find where a schema breaks clients of an older one, a line each.

    Args:
        old: Schema that clients were made for; without references.
        new: The present one.
        direction: Of what it describes.
        at: Where it stands, for the lines.
    """
    if old == new:
        return []
    sends = direction is Direction.REQUEST
    led, by = (_choices(old), _choices(new)) if sends else (_choices(new), _choices(old))
    found = list[str]()
    for each in led:  # each that may be sent has one that takes it; of many, the nearest says what is wanting
        tried = [list(_choice(*((each, one) if sends else (one, each)), direction, at)) for one in by]
        nearest: list[str] = min(tried, key=len, default=[f"{at}: nothing is taken any more"])
        found += nearest
    return found


def _choices(schema: Schema) -> list[Schema]:
    for name in ("anyOf", "oneOf", "allOf"):
        some = schema.get(name)
        if some and (name != "allOf" or len(some) == 1):
            return [choice for each in some for choice in _choices(each)]
    types = schema.get("type")
    return [{**schema, "type": each} for each in types] if isinstance(types, list) else [schema]


def _choice(old: Schema, new: Schema, direction: Direction, at: str) -> Iterator[str]:
    narrow, wide = (old, new) if direction is Direction.REQUEST else (new, old)
    if narrow.get("$ref") != wide.get("$ref") or narrow.get("prefixItems") != wide.get("prefixItems"):
        yield f"{at} is another schema"
    if not _covers(wide.get("type"), narrow.get("type")):
        yield f"{at} is {new.get('type', 'anything')}, and was {old.get('type', 'anything')}"
        return
    yield from _values(narrow, wide, direction, at)
    if direction is Direction.REQUEST:
        yield from _bounds(old, new, at)
    elif "format" in old and old["format"] != new.get("format"):
        yield f"{at} has format {new.get('format')}, and had {old['format']}"
    yield from _fields(old, new, direction, at)
    for name in ("items", "additionalProperties"):
        if narrow.get(name) is False:
            continue  # there is none
        was, now = (each if isinstance(each, Mapping) else {} for each in (old.get(name), new.get(name)))
        yield from differences(was, now, direction, f"{at}.{name}")


def _covers(wide: str | None, narrow: str | None) -> bool:
    return wide in {None, narrow} or (wide, narrow) == ("number", "integer")


def _values(narrow: Schema, wide: Schema, direction: Direction, at: str) -> Iterator[str]:
    """An enumeration takes what was taken; in a response it may grow, and stays one."""
    some, taken = _enumerated(narrow), _enumerated(wide)
    if taken is None or (direction is Direction.RESPONSE and some is not None):
        return
    lost = None if some is None else [each for each in some if each not in taken]
    if lost is None or lost:
        yield f"{at}: {'any other value than ' + str(taken) if lost is None else lost} is no value of it"


def _enumerated(schema: Schema) -> list[Any] | None:
    found: list[Any] | None = schema.get("enum", [schema["const"]] if "const" in schema else None)
    return found


def _bounds(old: Schema, new: Schema, at: str) -> Iterator[str]:
    for name in (*LEAST, *MOST):
        was, bound = old.get(name), new.get(name)
        if bound is not None and (was is None or (bound > was if name in LEAST else bound < was)):
            yield f"{at}: {name} is {bound}, and was {was}"
    for name in FORM:
        if name in new and old.get(name) != new[name]:
            yield f"{at}: {name} is {new[name]}, and was {old.get(name)}"


def _fields(old: Schema, new: Schema, direction: Direction, at: str) -> Iterator[str]:
    olds, news = old.get("properties", {}), new.get("properties", {})
    for name, each in olds.items():
        if name not in news:
            yield f"{at}.{name} is gone"
        else:
            yield from differences(each, news[name], direction, f"{at}.{name}")
    was, must = set(old.get("required", ())), set(new.get("required", ()))
    if direction is Direction.RESPONSE:
        yield from (f"{at}.{name} need not be there any more" for name in sorted(was - must) if name in news)
        return
    yield from (f"{at}.{name} must be given" for name in sorted(must - was))
    if new.get("additionalProperties") is False and old.get("additionalProperties", True) is not False:
        yield f"{at} takes no other fields any more"
