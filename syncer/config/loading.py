"""Loading: from the sources to a checked configuration, or to a list of everything that is wrong with them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_origin

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from syncer.config import adapters, sources
from syncer.config.adapters import BUSES, STORES
from syncer.config.clusters import raw_stores
from syncer.config.model import Config
from syncer.config.places import Field
from syncer.config.sources import LoadedSource
from syncer.errors import ConfigError

DEFAULT_PATH: Final = Path("/etc/pulsar-syncer/config.toml")
_SECRET_WORDS: Final = ("password", "secret", "token", "url")
_MAX_SHOWN: Final = 60
_GROUPS: Final = {"store": STORES, "bus": BUSES}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigProblem:
    """One thing that is wrong.

    Args:
        source: File, ``environment``, ``credentials in …`` or ``command line``.
        line: Line of the file, where one can be told.
        field: Dotted name.
        what: What is wrong.
        suggestion: What to write instead; empty when nothing can be said.
    """

    source: str
    line: int | None
    field: str
    what: str
    suggestion: str = ""

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line is not None else self.source
        return f"{place}: {self.field}: {self.what}" + (f" {self.suggestion}" if self.suggestion else "")


class ConfigInvalid(ConfigError):
    """The configuration was read, and these things are wrong with it."""

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


def load(
    path: Path | None = DEFAULT_PATH,
    *,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
    check_adapters: bool = True,
    file_only: bool = False,
) -> Config:
    """Read and check the configuration.

    Args:
        path: TOML or YAML file; ``None``: without a file.
        flags: Values by dotted field that go before all others.
        environ: For the directory of the credentials. Fields are looked up in the process itself.
        check_adapters: Check ``[store]``, ``[bus]`` and the stores of clusters too, which imports their client
            libraries.
        file_only: Leave out environment and credentials: they belong to this region, the file to another.

    Raises:
        ConfigInvalid: Something is wrong with a field; all that is wrong is listed, with its place.
        ConfigError: A source cannot be read.
    """
    origins = [sources.from_flags(flags or {})]
    if not file_only:
        origins.append(sources.from_environment())
    directory = environ.get(sources.CREDENTIALS_VARIABLE)
    if directory and not file_only:
        origins.append(sources.from_credentials(Path(directory)))
    if path is not None:
        origins.append(sources.from_file(path))
    values = sources.merged([origin.values for origin in reversed(origins)])
    found: list[ConfigProblem] = []
    config: Config | None = None
    try:
        config = Config.model_validate(values)
    except ValidationError as exc:
        found += (_problem(details, Config, (), origins) for details in exc.errors(include_url=False))
    if check_adapters:
        tables = {("store",): values.get("store"), ("bus",): values.get("bus"), **raw_stores(values)}
        for field, raw in tables.items():
            found += _adapter_problems(field, raw, str(values.get("region", "")), origins)
    if found or config is None:
        raise ConfigInvalid(found)
    return config


def _adapter_problems(
    field: tuple[str, ...], raw: object, region: str, origins: Sequence[LoadedSource]
) -> Iterable[ConfigProblem]:
    name, group = field[-1], _GROUPS[field[-1]]
    if not isinstance(raw, Mapping) or not isinstance(raw.get("kind"), str):
        return  # told already
    kind, known = raw["kind"], adapters.installed(group)
    if kind not in known:
        source, line = _place((*field, "kind"), origins)
        yield ConfigProblem(
            source=source,
            line=line,
            field=f"{_dotted(field)}.kind",
            what=f"there is no {name} {kind!r}.",
            suggestion=_near(kind, known),
        )
        return
    try:
        adapters.checked(group, raw, {"region": region})
    except ValidationError as exc:
        model = adapters.load(group, kind).config_model
        for details in exc.errors(include_url=False):
            yield _problem(details, model, field, origins)


def _problem(
    details: ErrorDetails, model: type[BaseModel], at: Field, origins: Sequence[LoadedSource]
) -> ConfigProblem:
    inner = tuple(key for key in details["loc"] if key != "[key]")
    field = (*at, *inner)
    source, line = _place(field, origins)
    what, suggestion = _words(details, model, inner)
    return ConfigProblem(source=source, line=line, field=_dotted(field) or "(all)", what=what, suggestion=suggestion)


def _words(details: ErrorDetails, model: type[BaseModel], inner: Field) -> tuple[str, str]:
    kind, context = details["type"], details.get("ctx", {})
    name = str(inner[-1]) if inner else ""
    if kind == "extra_forbidden":
        owner = _model_at(model, inner[:-1])
        return "is no setting.", _near(name, owner.model_fields if owner is not None else ())
    if kind == "missing":
        return "is missing.", _example(model, inner)
    given = _shown(name, details.get("input"))
    if kind in {"enum", "literal_error"}:
        expected = str(context.get("expected", "")).replace("'", "").replace(" or ", ", ").split(", ")
        return f"{given} is none of the choices.", _near(str(details.get("input")), expected)
    if kind.startswith("time_delta"):
        return f"{given} is no duration.", "Write it like '30s', '5min', '7d'."
    if kind == "value_error":
        return f"{context.get('error', details['msg'])}.".replace("..", "."), ""
    text = details["msg"][0].lower() + details["msg"][1:]
    return f"{given}: {text}." if given else f"{text}.", _example(model, inner)


def _near(word: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"Did you mean '{near[0]}'?"
    return f"Known here: {', '.join(names)}." if names else ""


def _shown(name: str, value: object) -> str:
    if isinstance(value, (Mapping, list, tuple, SecretStr)) or any(word in name for word in _SECRET_WORDS):
        return ""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def _model_at(model: type[BaseModel], field: Field) -> type[BaseModel] | None:
    current: type[BaseModel] | None = model
    keys = iter(field)
    for key in keys:
        if isinstance(key, int) or current is None:
            continue
        info = current.model_fields.get(key)
        current = _first_model(info.annotation) if info is not None else None
        if info is not None and get_origin(info.annotation) is dict:
            next(keys, None)  # tables by name: the name is no field
    return current


def _first_model(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _first_model(inner)
        if found is not None:
            return found
    return None


def _example(model: type[BaseModel], inner: Field) -> str:
    owner = _model_at(model, inner[:-1])
    info = owner.model_fields.get(str(inner[-1])) if owner is not None and inner else None
    if info is None:
        return ""
    parts = [info.description or "", f"For example: {info.examples[0]!r}." if info.examples else ""]
    return " ".join(part for part in parts if part)


def _place(field: Field, origins: Sequence[LoadedSource]) -> tuple[str, int | None]:
    """The source that gave a field (or would have to), and its line: its own, else that of the table around it."""
    for length in range(len(field), 0, -1):
        for origin in origins:
            if _has(origin.values, field[:length]):
                lines = origin.lines or {}
                line = next((lines[field[:n]] for n in range(len(field), 0, -1) if field[:n] in lines), None)
                return origin.name, line
    file = next((origin for origin in origins if origin.path is not None), None)
    return (file.name if file is not None else "configuration"), None


def _has(values: object, field: Field) -> bool:
    for key in field:
        if isinstance(values, Mapping):
            if key not in values:
                return False
            values = values[key]
        elif isinstance(values, (list, tuple)) and isinstance(key, int):
            if key >= len(values):
                return False
            values = values[key]
        else:
            return False
    return True


def _dotted(field: Field) -> str:
    text = ""
    for key in field:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text
