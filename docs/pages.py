"""The reference pages that are made from the code whenever the documentation is built, so that they cannot be stale.

A page holds a line ``<!-- from the code: NAME -->``; what stands in its place is the Markdown of ``PARTS[NAME]()``.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from pathlib import Path, PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from docs.tables import names, table
from docs.versions import versions
from syncer.bus.wire.codec import __doc__ as codec_words
from syncer.bus.wire.native import SCHEMA_PROPERTIES, SCHEMA_TEXT
from syncer.cli.main import app
from syncer.config import adapters
from syncer.config.durations import format_duration
from syncer.config.model import Config
from syncer.config.tables import Adapter
from syncer.config.webhooks import SecretUrl
from syncer.conflict.cluster_names.places import KEYED, LISTS
from syncer.conflict.exclusion.rules import NEEDED
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.scope import ALLOWED_PREFIXES, DEFAULT_RULES
from syncer.documents.catalogue import DOCUMENTS
from syncer.notices.template import NAMES
from syncer.paths import CLUSTERS
from syncer.state.sql.tables import metadata
from tests.hostile.attack import Topic
from tests.hostile.attacks import ATTACKS
from tests.simulation.coverage import FAULTS, TORN
from tests.simulation.lies import LIES, MASK
from tests.simulation.mutants import MUTANTS

DOCS: Final = Path(__file__).resolve().parent
MARK: Final = re.compile(r"^<!-- from the code: ([a-z-]+) -->$", re.MULTILINE)
HEADINGS: Final = 3
"""Deepest level of a heading."""


def filled(text: str) -> str:
    """Put every part in its place.

    Raises:
        KeyError: A mark names no part.
    """
    return MARK.sub(lambda mark: PARTS[mark[1]]().strip(), text)


def _roles_removed(text: str) -> str:
    return re.sub(r":[a-z]+:`~?([^`]+)`", r"`\1`", text)


# -- the command line


def command_line() -> str:
    """Every command with its arguments and options."""
    root = typer.main.get_command(app)
    lines = [
        "These options hold for every command; `--config` and `--output` may stand after it too.",
        "",
        _options(root),
        "",
    ]
    for words, command in commands():
        usage = [_argument(each) for each in command.params if each.param_type_name == "argument"]
        lines += [f"## `{' '.join(['syncer', *words])}`", "", *_help(command)]
        lines += ["```text", " ".join(["syncer", *words, *usage, "[OPTIONS]"]), "```", ""]
        if options := _options(command):
            lines += [options, ""]
    return "\n".join(lines)


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that call it."""
    yield from _below((), typer.main.get_command(app))


def _below(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401
    inner: Mapping[str, Any] | None = getattr(command, "commands", None)
    if inner is None:
        yield words, command
        return
    for name, each in inner.items():
        yield from _below((*words, name), each)


def _help(command: Any) -> list[str]:  # noqa: ANN401
    return [inspect.cleandoc(command.help or "").replace("``", "`"), ""]


def _argument(argument: Any) -> str:  # noqa: ANN401
    return str(argument.metavar or argument.name.upper())


def _options(command: Any) -> str:  # noqa: ANN401
    rows = []
    for option in command.params:
        if option.param_type_name != "option" or option.name == "help":
            continue
        names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
        value = "" if option.is_flag else f"`{option.metavar or _value_words(option)}`"
        rows.append((names, value, option.help or "", _default_words(option)))
    return table(("Option", "Value", "Meaning", "Default"), rows) if rows else ""


def _value_words(option: Any) -> str:  # noqa: ANN401
    annotation = _bare(option.type_descriptor.annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "|".join(str(each.value) for each in annotation)
    return "NUMBER" if annotation in {int, float} else "TEXT"


def _default_words(option: Any) -> str:  # noqa: ANN401
    default = option.default
    if option.required:
        return "required"
    if option.is_flag or default in (None, "", ()) or callable(default):
        return ""
    return f"`{default.value if isinstance(default, Enum) else default}`"


# -- configuration


def configuration() -> str:
    """Every table of the configuration file, with those of each store and bus that is installed."""
    parts = ["## At the top", "", _fields(Config, skip={"store", "bus", *_tables(Config)}), ""]
    for group, name in ((adapters.STORES, "store"), (adapters.BUSES, "bus")):
        for kind in adapters.installed(group):
            parts += _section(adapters.load(group, kind).config_model, name, f'`[{name}]` with `kind = "{kind}"`')
    for name, model in _tables(Config).items():
        by_name = get_origin(_bare(Config.model_fields[name].annotation)) is dict
        table_name = f"{name}.NAME" if by_name else name
        parts += _section(model, table_name, f"`[{table_name}]`")
    return "\n".join(parts)


def _section(model: type[BaseModel], name: str, title: str, level: int = 2) -> list[str]:
    inner = _tables(model)
    lines = [f"{'#' * level} {title}", "", _roles_removed(inspect.cleandoc(model.__doc__ or "")).replace("``", "`"), ""]
    lines += [_fields(model, skip=set(inner)), ""]
    for field, each in inner.items():
        if isinstance(each, tuple):
            lines += [f"{'#' * (level + 1)} `[{name}.{field}]`", "", "`kind` says which of these:", ""]
            for choice in each:
                words = inspect.cleandoc(choice.__doc__ or "").splitlines()[0]
                lines += [f"**{choice.model_fields['kind'].default}**: {words}", "", _fields(choice, skip=set()), ""]
        else:
            lines += _section(each, f"{name}.{field}", f"`[{name}.{field}]`", min(level + 1, HEADINGS))
    return lines


def _tables(model: type[BaseModel]) -> dict[str, Any]:
    """The fields of a model that are tables themselves, with their model; several models: told apart by ``kind``."""
    found: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        models = tuple(dict.fromkeys(_models(info.annotation)))
        if name in {"store", "bus"} or not models or get_origin(_bare(info.annotation)) is tuple:
            continue
        found[name] = models if len(models) > 1 else models[0]
    return found


def _bare(annotation: Any) -> Any:  # noqa: ANN401
    """The annotation without what is added to it, and without ``None``."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        kept = [each for each in get_args(annotation) if each is not NoneType]
        return _bare(kept[0]) if len(kept) == 1 else annotation
    return annotation


def _models(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        if each is not NoneType:
            yield from _models(each)


def _fields(model: type[BaseModel], skip: set[str]) -> str:
    rows = []
    for name, info in model.model_fields.items():
        if name in skip or (name == "kind" and model is not Config):
            continue
        rows.append((f"`{name}`", _type_words(info.annotation), _default(info), info.description or ""))
    return table(("Field", "Type", "Default", "Meaning"), rows) if rows else ""


_SIMPLE: Final[Mapping[Any, str]] = {
    str: "text",
    bool: "true or false",
    int: "whole number",
    float: "number",
    timedelta: "duration",
    SecretStr: "secret",
    SecretUrl: "address, a secret",
}


def _type_words(annotation: Any) -> str:  # noqa: ANN401
    bare = _bare(annotation)
    if get_origin(bare) is Literal:
        return " or ".join(f"`{each}`" for each in get_args(bare))
    if get_origin(bare) is dict:
        return f"by name, {_type_words(get_args(bare)[1])}"
    if get_origin(bare) is tuple:
        return f"list of {_type_words(get_args(bare)[0])}"
    if isinstance(bare, type) and issubclass(bare, PurePath):
        return "file"
    if isinstance(bare, type) and issubclass(bare, Adapter):
        return "a table like `[store]`"
    if isinstance(bare, type) and issubclass(bare, BaseModel):
        return "{ " + ", ".join(bare.model_fields) + " }"
    if isinstance(bare, type) and issubclass(bare, Enum):
        return " or ".join(f"`{each.value}`" for each in bare)
    return _SIMPLE[bare]


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    default = info.get_default(call_default_factory=True)
    if default is None or default is PydanticUndefined or default in ((), "", {}):
        return ""
    if isinstance(default, timedelta):
        return f"`{format_duration(default)}`"
    if isinstance(default, Enum):
        return f"`{default.value}`"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{json.dumps(list(default)) if isinstance(default, tuple) else default}`"


# -- HTTP


def http() -> str:
    """Every route, from the committed OpenAPI document."""
    document = json.loads((DOCS / "reference" / "openapi.json").read_text(encoding="utf-8"))
    rows = []
    for path, verbs in document["paths"].items():
        for verb, route in verbs.items():
            answers = ", ".join(
                f"{status} {answer['description'].rstrip('.').lower()}"
                for status, answer in sorted(route["responses"].items())
                if status != "422"
            )
            query = ", ".join(each["name"] for each in route.get("parameters", ()) if each["in"] == "query")
            rows.append((f"`{verb.upper()} {path}`", f"`{query}`" if query else "", route["description"], answers))
    return table(("Route", "Query", "Meaning", "Answers"), rows)


# -- data


def documents() -> str:
    """What each command prints as JSON, field by field."""
    models: dict[str, type[BaseModel]] = {}
    for document in DOCUMENTS:
        for model in _models(document):
            _collect(model, models)
    lines: list[str] = []
    for name, model in models.items():
        words = inspect.cleandoc(model.__doc__ or "").replace("``", "`")
        rows = [(f"`{field}`", _json_words(info.annotation), info.description or "") for field, info in _of(model)]
        lines += [f"## {name}", "", words, "", table(("Field", "Type", "Meaning"), rows), ""]
    return "\n".join(lines)


def _of(model: type[BaseModel]) -> list[tuple[str, FieldInfo]]:
    return list(model.model_fields.items())


def _collect(model: type[BaseModel], into: dict[str, type[BaseModel]]) -> None:
    if model.__name__ in into:
        return
    into[model.__name__] = model
    for _, info in _of(model):
        for inner in _models(info.annotation):
            _collect(inner, into)


def _json_words(annotation: Any) -> str:  # noqa: ANN401
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _json_words(inner[0])
    if origin in {Union, UnionType}:
        return " or ".join(_json_words(each) for each in inner)
    if origin is Literal:
        return " or ".join(f'`"{each}"`' for each in inner)
    if origin is list:
        return f"list of {_json_words(inner[0])}"
    if origin is dict:
        return f"object of {_json_words(inner[1])}"
    if annotation is NoneType:
        return "null"
    if annotation is Any:
        return "anything"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation.__name__
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(f'`"{each.value}"`' for each in annotation)
    return {str: "text", int: "number", float: "number", bool: "true or false"}[annotation]


def paths() -> str:
    """Which paths take part by default, and how each kind of value is compared."""
    rules = table(("Pattern", "Direction"), [(f"`{rule.pattern}`", str(rule.direction)) for rule in DEFAULT_RULES])
    prefixes = "\n".join(f"- `{prefix}`" for prefix in ALLOWED_PREFIXES)
    rows = [
        (
            str(kind),
            f"`{projection.id}`",
            names(projection.local) if projection.replicated is None else f"all but {names(projection.replicated)}",
            names(projection.born_with),
            names(".".join(place) for place in projection.sets),
        )
        for kind, projection in PROJECTIONS.items()
    ]
    kinds = table(("Kind", "Projection", "Local fields", "Taken over at creation", "Sets"), rows)
    own = [
        (str(kind), names(LISTS.get(kind, ())), names(KEYED.get(kind, ())), names(NEEDED.get(kind, ())))
        for kind in PROJECTIONS
    ]
    named = table(("Kind", "Arrays of names", "Keyed by names", "Never excluded"), own)
    return f"""## Default rules

The first rule that matches a path decides; a path that none matches stays out.

{rules}

## What can be in scope at all

Whatever the rules say, nothing outside these prefixes is ever carried:

{prefixes}

## How values are compared

Two values are equal when their projections are: JSON parsed, keys and sets sorted, local fields left out.

{kinds}

## What a region can have for itself

[Names of clusters](../how-to/map-cluster-names.md) are mapped in the arrays and keys below, and in paths below
`{CLUSTERS}`. Any replicated field at the top of a document can be [excluded](../how-to/keep-a-field-local.md), but for
those in the last column.

{named}
"""


def payload() -> str:
    """The AVRO record of every message, and the properties beside it."""
    schema = json.dumps(json.loads(SCHEMA_TEXT), indent=2)
    properties = ", ".join(f"`{name}` = `{value}`" for name, value in sorted(SCHEMA_PROPERTIES.items()))
    rows = [
        (f"`{match[1]}`", match[2], match[3])
        for match in re.finditer(r"^    (syncer\.\w+) +(\w+) +(.+)$", codec_words or "", re.MULTILINE)
    ]
    return f"""## Payload

```json
{schema}
```

Schema properties as brokers register them: {properties}.

## Properties

{table(("Property", "In", "Meaning"), rows)}
"""


def sidecar() -> str:
    """The tables of the sidecar database."""
    lines: list[str] = []
    for each in metadata.sorted_tables:
        rows = [
            (
                f"`{column.name}`",
                str(column.type.compile()).lower(),
                "no" if not column.nullable else "yes",
                "yes" if column.primary_key else "",
            )
            for column in each.columns
        ]
        lines += [f"## {each.name}", "", table(("Column", "Type", "May be null", "Key"), rows), ""]
    return "\n".join(lines)


# -- the proof


def faults() -> str:
    """What can go wrong in a simulated schedule."""
    return table(("Fault", "What happens"), [(name, words) for name, words in {**FAULTS, **TORN}.items()])


def lies() -> str:
    """What a liar says in a simulated schedule."""
    rows = [(name, lie.words) for name, lie in LIES.items()]
    return table(("Lie", "What it says"), [*rows, ("mask", MASK)])


def breaks() -> str:
    """What was broken on purpose, and where it is looked for."""
    rows = [
        (mutant.name, mutant.schedule.replace("_", " ") if mutant.schedule else ", ".join(mutant.modes))
        for mutant in MUTANTS
    ]
    return table(("Break", "Looked for in schedules of the mode, or by"), rows)


# -- what was tried on purpose


def attacks() -> str:
    """Every attack that is played, by what it aims at."""
    lines: list[str] = []
    for topic in Topic:
        rows = [
            (attack.name, attack.what, "; ".join(map(str, attack.who)), _left_of(attack.cure, attack.remains))
            for attack in ATTACKS
            if attack.topic is topic
        ]
        lines += [
            f"### {topic.capitalize()}",
            "",
            table(("Attack", "What is done", "By whom", "What remains"), rows),
            "",
        ]
    return "\n".join(lines)


def _left_of(cure: Sequence[str], remains: str) -> str:
    """What an attack leaves behind, and the commands that undo it."""
    cures = ", ".join(f"`syncer {command.replace('{name}', 'NAME')}`" for command in cure)
    return f"{remains} Cure: {cures}" if cures else remains


def template_names() -> str:
    """Names that the template of a webhook's body may use."""
    return table(("Name", "Stands for"), [(f"`${name}`", words) for name, words in NAMES.items()])


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "command-line": command_line,
    "configuration": configuration,
    "http": http,
    "documents": documents,
    "paths": paths,
    "versions": versions,
    "payload": payload,
    "sidecar": sidecar,
    "faults": faults,
    "lies": lies,
    "breaks": breaks,
    "attacks": attacks,
    "template-names": template_names,
}
