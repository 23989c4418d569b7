"""A configuration to begin with, made from the models: what must be set is set, all else stands as a comment."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import Enum
from pathlib import PurePath
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from syncer.config import adapters
from syncer.config.durations import format_duration
from syncer.config.model import Config
from syncer.config.tables import NAME
from syncer.errors import ConfigError

_WIDTH: Final = 100
_PLACEHOLDERS: Final[Mapping[tuple[str, str], Any]] = {
    ("sqlite", "path"): "/var/lib/pulsar-syncer/store.db",
    ("zookeeper", "hosts"): "127.0.0.1:2181",
    ("etcd", "endpoints"): ["127.0.0.1:2379"],
    ("embedded", "path"): "/var/lib/pulsar-syncer/bus.db",
    ("pulsar", "service_url"): "pulsar://127.0.0.1:6650",
    ("pulsar", "admin_url"): "http://127.0.0.1:8080",
    ("pulsar", "topic"): "persistent://pulsar/sync/metadata",
}
"""What stands in a sample for what an operator has to fill in."""
_FILLED_IN: Final = frozenset({"region", "kind"})
"""Fields of an adapter that need not be written: the loader takes the region's id from the top of the file."""


def sample(*, store: str, bus: str, region: str = "east") -> str:
    """Write a commented configuration as TOML.

    Args:
        store: Kind of store.
        bus: Kind of bus.
        region: Id of the region.

    Raises:
        ConfigError: No such adapter, or no region can have this id.
    """
    if re.fullmatch(NAME, region) is None:
        raise ConfigError(
            f"{region!r} cannot be the id of a region",
            hint="Give letters, digits, '.', '_' and '-', at most 63, a letter or a digit first.",
        )
    models = {
        "store": (store, adapters.load(adapters.STORES, store).config_model),
        "bus": (bus, adapters.load(adapters.BUSES, bus).config_model),
    }
    lines = [
        "# Configuration of pulsar-syncer. Check it: 'syncer config check'; see it whole: 'syncer config show'.",
        "# What stands behind '#' is the default. Each field can also be given by the environment: SYNCER_LOG__LEVEL.",
        "# Secrets stand in files of their own: name the file here, or give it by systemd's LoadCredential=.",
        "",
    ]
    tables: list[str] = []
    for name, info in Config.model_fields.items():
        inner = _inner_model(info)
        if name in models:
            kind, model = models[name]
            tables += [f"[{name}]", f'kind = "{kind}"', *_fields(model, kind, (name,)), ""]
        elif (each := _model_of_each(info)) is not None:
            tables += _table((name, (info.examples or ["NAME"])[0]), each, optional=True, kind="")
        elif inner is not None:
            tables += _table((name,), inner, optional=info.default is None, kind="")
        else:
            lines += _field(name, info, {("", "region"): region}, "")
    return "\n".join([*lines, "", *tables]).rstrip() + "\n"


def _table(at: tuple[str, ...], model: type[BaseModel], *, optional: bool, kind: str) -> list[str]:
    mark = "#" if optional else ""
    words = inspect.cleandoc(model.__doc__ or "").split("\n\n")[0]
    body = list(_fields(model, kind, at))
    if optional:
        body = [line if not line or line.startswith("#") else f"#{line}" for line in body]
    return [*_comment(words), f"{mark}[{'.'.join(at)}]", *body, ""]


def _fields(model: type[BaseModel], kind: str, at: tuple[str, ...]) -> Iterator[str]:
    tables: list[str] = []
    for name, info in model.model_fields.items():
        if kind and name in _FILLED_IN:
            continue
        inner = _inner_model(info)
        if inner is not None:
            tables += ["", *_table((*at, name), inner, optional=True, kind=kind)[:-1]]
        else:
            yield from _field(name, info, _PLACEHOLDERS, kind)
    yield from tables


def _field(name: str, info: FieldInfo, placeholders: Mapping[tuple[str, str], Any], kind: str) -> Iterator[str]:
    yield from _comment(info.description or "")
    if (kind, name) in placeholders:
        yield f"{name} = {_toml(placeholders[kind, name])}"
    elif info.is_required():
        yield f"{name} = {_toml(info.examples[0] if info.examples else 'FILL IN')}"
    else:
        default = info.get_default(call_default_factory=True)
        if default is None or default is PydanticUndefined:
            default = info.examples[0] if info.examples else _blank(info)
        elif default in ((), "", {}) and info.examples:
            default = info.examples[0]
        yield f"#{name} = {_toml(default)}"


def _blank(info: FieldInfo) -> Any:  # noqa: ANN401
    """Something of the field's type, where there is neither default nor example."""
    kinds = get_args(info.annotation) if get_origin(info.annotation) in {Union, UnionType} else (info.annotation,)
    if int in kinds or float in kinds:
        return 0
    return "/path/to/file" if any(isinstance(kind, type) and issubclass(kind, PurePath) for kind in kinds) else "…"


def _comment(words: str) -> list[str]:
    text = " ".join(words.replace("``", "'").split())
    return [f"# {line}" for line in textwrap.wrap(text, _WIDTH)]


def _inner_model(info: FieldInfo) -> type[BaseModel] | None:
    return _first_model(info.annotation)


def _model_of_each(info: FieldInfo) -> type[BaseModel] | None:
    """The model of the tables below a field that holds them by name."""
    return _first_model(get_args(info.annotation)[1]) if get_origin(info.annotation) is dict else None


def _first_model(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in {Union, UnionType, Annotated}:
        return next(filter(None, map(_first_model, get_args(annotation))), None)
    return None


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return _toml(value.value)
    if isinstance(value, timedelta):
        return _toml(format_duration(value))
    if isinstance(value, PurePath):
        return _toml(str(value))
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "[" + ", ".join(_toml(inner) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=False)
