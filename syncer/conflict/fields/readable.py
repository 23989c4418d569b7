"""Readable documents: whether brokers of a version can read a stored value into the class of its kind.

A broker that cannot read the policies of a namespace serves none of its topics. Pulsar's REST interface never stores
such a value; other tools do, and whoever carries it carries the harm.

The rules are those of Jackson, as Pulsar sets it up: it takes ``"3"`` and 3.9 for 3, a number or a truth value for a
text, a constant that it does not know for none, and null for anything; it passes over names that a class has not.

Source: ``field_types.json``, which ``python -m tests.versions VERSION`` writes by asking Pulsar's own classes.
``tests/real/test_readable.py`` compares the rules with Jackson itself, on documents that are changed at random.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

import orjson

from syncer.conflict.fields.table import VERSIONS, BrokerVersion, listed
from syncer.model import ResourceKind

Fault: TypeAlias = "tuple[str, ...]"
"""Names down to what cannot be read, with what is due there at the end."""
Check: TypeAlias = "Callable[[Any], Fault | None]"
"""Looks at a parsed value that is not null; ``None``: it can be read."""

_INT: Final = 31
_LONG: Final = 63
_WHOLE: Final = re.compile(r"[+-]?\d+")
_DECIMAL: Final = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_HEXADECIMAL: Final = r"0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
_PRIMITIVE: Final = re.compile(rf"[+-]?(?:NaN|Infinity|(?:{_DECIMAL}|{_HEXADECIMAL})[fFdD]?)|-?INF")
"""Texts that Java reads as a number with a fraction."""
_BOXED: Final = re.compile(rf"NaN|[+-]?(?:INF|Infinity|{_DECIMAL})")
"""Texts that Jackson reads as such a number where the field may also be null."""
_MADE_OF_TRUTH: Final = frozenset({"true", "false"})
"""Texts of which an object is made that is made of a truth value."""
_TRUTHS: Final = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
_NOTHING: Final = frozenset({"", "null"})
"""Texts that are read as nothing where no text is due."""
_SHOWN: Final = 40
"""Most digits of a number that are shown."""
_BLANK: Final = "".join(map(chr, range(0x21)))
"""Characters that Java takes off the ends of a text."""


def refusal(
    kind: ResourceKind,
    document: Mapping[str, Any],
    oldest: BrokerVersion | None = None,
    newest: BrokerVersion | None = None,
) -> str | None:
    """Say why a broker that is present cannot read a document; ``None``: all of them can, as far as is known.

    One that is beyond the table counts as the version at that edge: shapes of fields have never changed.

    Args:
        kind: Of the document.
        document: As parsed.
        oldest: Version of the oldest of the brokers; ``None``: it is not known, so it counts what no version can read.
        newest: Version of the newest of them; ``None``: all have the same.
    """
    if oldest is None:
        faults = [check(document) for check in _all_checks(kind)]
        return None if None in faults else _told(faults[-1] or ())
    for version in {oldest, newest or oldest}:
        fault = _check_of(kind, listed(version))(document)
        if fault is not None:
            return _told(fault)
    return None


def types_of(kind: ResourceKind, version: str) -> Mapping[str, Any]:
    """The type of a kind's documents, as the classes of a version tell it; for its form see ``FieldsOfClasses.java``.

    Args:
        kind: Of the documents.
        version: One of :data:`syncer.conflict.fields.table.VERSIONS`.
    """
    fields = {}
    for name, history in _HISTORIES[kind].items():
        since = [each for each in VERSIONS[: VERSIONS.index(version) + 1] if each in history]
        if since and history[since[-1]] is not None:
            fields[name] = history[since[-1]]
    return {"map": fields["*"]} if "*" in fields else {"object": fields}


def histories(types: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """By field, its type from the version on that brought or changed it; ``None``: from then on it is no field.

    Args:
        types: Of one kind, by versions, the oldest first.
    """
    found: dict[str, dict[str, Any]] = {}
    standing: dict[str, Any] = {}
    for version, root in types.items():
        fields = {"*": root["map"]} if "map" in root else root["object"]
        for name in sorted(fields.keys() | standing.keys()):
            if fields.get(name) != standing.get(name):
                found.setdefault(name, {})[version] = fields.get(name)
        standing = dict(fields)
    return found


def _told(fault: Fault) -> str:
    *names, due = fault
    return f"{'.'.join(names) or 'the value'}: {due}"


@cache
def _all_checks(kind: ResourceKind) -> tuple[Check, ...]:
    """The checks of all versions, each once."""
    found = {orjson.dumps(types_of(kind, version)): version for version in VERSIONS}
    return tuple(_check_of(kind, version) for version in found.values())


@cache
def _check_of(kind: ResourceKind, version: str) -> Check:
    return _check(types_of(kind, version))


def _check(due: str | Mapping[str, Any]) -> Check:
    """Make the check of a type.

    Args:
        due: The type, as ``FieldsOfClasses.java`` tells it.
    """
    if isinstance(due, str):
        return _NAMED[due]
    if "object" in due:
        fields = {name: _check(below) for name, below in due["object"].items()}
        plain = _object(fields, frozenset(due.get("made", ())))
        late = {name: frozenset(each["after"]) for name, each in due["object"].items() if "after" in each}
        return _ordered(plain, late) if late else plain
    if "map" in due:
        return _map(_check(due["map"]))
    return _list(_check(due["list"]))


def _object(fields: Mapping[str, Check], made: frozenset[str]) -> Check:
    look = fields.get

    def check(node: Any) -> Fault | None:  # noqa: ANN401 - anything that was parsed
        if not isinstance(node, dict):
            return None if _makes(made, node) else _mismatch("an object", node)
        for name, value in node.items():
            if value is not None and (below := look(name)) is not None and (fault := below(value)) is not None:
                return (name, *fault)
        return None

    return check


def _makes(made: frozenset[str], node: object) -> bool:
    """Whether an object can be made of something that is none."""
    if node.__class__ is str:
        return "text" in made or ("boolean" in made and str(node).strip(_BLANK) in _MADE_OF_TRUTH)
    return (node.__class__ is bool and "boolean" in made) or (node.__class__ is int and "int" in made)


def _ordered(plain: Check, late: Mapping[str, frozenset[str]]) -> Check:
    """Check an object some of whose fields can be read only behind others, which bring what they are added to."""

    def check(node: Any) -> Fault | None:  # noqa: ANN401 - anything that was parsed
        if (fault := plain(node)) is not None or late.keys().isdisjoint(node):
            return fault
        seen = set[str]()
        for name, value in node.items():
            if value is None:
                continue
            if name in late and (late[name].isdisjoint(seen) or None in value):
                return (name, f"{' or '.join(sorted(late[name]))}, without null, is due before it")
            if value.__class__ is not list or None not in value:
                seen.add(name)
        return None

    return check


def _map(below: Check) -> Check:
    def check(node: Any) -> Fault | None:  # noqa: ANN401 - anything that was parsed
        if not isinstance(node, dict):
            return _mismatch("an object", node)
        for name, value in node.items():
            if value is not None and (fault := below(value)) is not None:
                return (name, *fault)
        return None

    return check


def _list(below: Check) -> Check:
    def check(node: Any) -> Fault | None:  # noqa: ANN401 - anything that was parsed
        if node.__class__ is not list:
            return _mismatch("an array", node)
        for place, value in enumerate(node):
            if value is not None and (fault := below(value)) is not None:
                return (str(place), *fault)
        return None

    return check


def _whole(bits: int) -> Check:
    most = 1 << bits
    lowest, greatest = float(-most), float(most - 1)  # of 63 bits, both are powers of two

    def check(node: Any) -> Fault | None:  # noqa: ANN401 - anything that was parsed
        if node.__class__ is int:
            fits = -most <= node < most
        elif node.__class__ is float:
            fits = lowest <= node <= greatest
        elif node.__class__ is str:
            text = node.strip(_BLANK)
            fits = text in _NOTHING or (_WHOLE.fullmatch(text) is not None and -most <= int(text) < most)
        else:
            fits = False
        return None if fits else _mismatch(f"a whole number of {bits + 1} bits", node)

    return check


def _fraction(texts: re.Pattern[str]) -> Check:
    def check(node: Any) -> Fault | None:  # noqa: ANN401 - anything that was parsed
        if node.__class__ is int or node.__class__ is float:
            return None
        if node.__class__ is str:
            text = node.strip(_BLANK)
            if text in _NOTHING or texts.fullmatch(text):
                return None
        return _mismatch("a number", node)

    return check


def _constant(node: Any) -> Fault | None:  # noqa: ANN401 - anything that was parsed
    if node.__class__ is str or (node.__class__ is int and -(1 << _INT) <= node < 1 << _INT):
        return None
    return _mismatch("a text", node)


def _boolean(node: Any) -> Fault | None:  # noqa: ANN401 - anything that was parsed
    if node.__class__ is bool or node.__class__ is int:
        return None
    if node.__class__ is str:
        text = node.strip(_BLANK)
        if text in _NOTHING or text in _TRUTHS:
            return None
    return _mismatch("true or false", node)


def _text(node: Any) -> Fault | None:  # noqa: ANN401 - anything that was parsed
    return _mismatch("a text", node) if isinstance(node, dict | list) else None


_NAMED: Final[Mapping[str, Check]] = {
    "text": _text,
    "boolean": _boolean,
    "int": _whole(_INT),
    "long": _whole(_LONG),
    "double": _fraction(_PRIMITIVE),
    "boxed double": _fraction(_BOXED),
    "constant": _constant,
}
_FOUND: Final = (
    (dict, "an object"),
    (list, "an array"),
    (str, "a text"),
    (bool, "a truth value"),
    (int | float, "a number"),
)


def _mismatch(due: str, node: object) -> Fault:
    """Say what type is due and which one is there; a text may be a secret, and is not shown."""
    shown = f" {_short(node)}" if isinstance(node, int | float) else ""
    return (f"{due} is due, found {next(name for kind, name in _FOUND if isinstance(node, kind))}{shown}",)


def _short(number: float) -> str:
    text = str(number).lower()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _read() -> Mapping[ResourceKind, Mapping[str, Mapping[str, Any]]]:
    # importlib.resources costs several times as much to import
    data = orjson.loads(pkgutil.get_data(__package__, "field_types.json") or b"{}")
    return {ResourceKind(kind): fields for kind, fields in data.items()}


_HISTORIES: Final = _read()
