"""Everything that others can hand to the product, listed from its code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from enum import StrEnum
from pathlib import PurePath
from types import SimpleNamespace
from typing import Any, Final, get_args

import typer
from fastapi.routing import APIRoute
from pydantic import BaseModel

from api.app import create_app
from docs.pages import commands
from syncer.bus.wire.messages import Control, ControlAction, Heartbeat, Said
from syncer.cli.main import app
from syncer.cli.reaching import choosing
from syncer.config import adapters
from syncer.config.model import Config
from tests.suites import REPOSITORY

NATIVE: Final = "message native"
"""The record that a broker's own synchronizer publishes."""
FILE_WORDS: Final = ("FILE", "DIR", "PLAN")
"""Words that the name of a command's value has where the value is a file."""


class Kind(StrEnum):
    """A kind of entry; the name of each entry begins with it."""

    MESSAGE = "message"
    HEARTBEAT = "heartbeat"
    MANIFEST = "manifest"
    ROUTE = "route"
    FILE = "file"


def messages() -> set[str]:
    """Return the message types of the bus; control messages by what they ask for."""
    names = {f"message {each.__name__}" for each in get_args(Said) if each is not Control}
    return names | {f"message Control {action}" for action in ControlAction} | {NATIVE}


def heartbeat_fields() -> set[str]:
    """Return the fields of a heartbeat."""
    return {f"heartbeat {each.name}" for each in fields(Heartbeat)}


def manifests() -> set[str]:
    """Return the manifests of snapshots, audits and backups, by the module that reads each."""
    return {
        f"manifest {'.'.join(file.relative_to(REPOSITORY).with_suffix('').parts)}"
        for package in ("syncer", "spark_snapshot")
        for file in (REPOSITORY / package).rglob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Manifest") and not _is_protocol(node)
    }


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)


def routes() -> set[str]:
    """Return the routes of the HTTP surface, that of the description too."""
    no_daemon: Any = None  # nothing is asked of it
    nowhere: Any = SimpleNamespace(config=SimpleNamespace(region="here"))
    found: set[str] = set()
    for route in create_app(no_daemon, inside=nowhere).router.routes:
        methods = set(getattr(route, "methods", ())) - {"HEAD"}
        shown = route.path_format if isinstance(route, APIRoute) else str(getattr(route, "path", route))
        found |= {f"route {method} {shown}" for method in methods or {"?"}}
    return found


def files() -> set[str]:
    """Return the files that the configuration, the environment and the command line name, read or written."""
    found = {f"config {name}" for name in _named_by(Config, ())}
    for group, table in ((adapters.STORES, "store"), (adapters.BUSES, "bus")):
        for kind in adapters.installed(group):
            found |= {f"config {name}" for name in _named_by(adapters.load(group, kind).config_model, (table, kind))}
    found |= {f"environment {text}" for name, text in vars(choosing).items() if name.endswith("_FILE")}
    found |= {f"option {words[-1]}" for words in _options_of(typer.main.get_command(app))}
    for words, command in commands():
        found |= {f"option {' '.join((*words, *option))}" for option in _options_of(command)}
    return found


def _options_of(command: Any) -> Iterator[tuple[str]]:
    for each in command.params:
        descriptor = getattr(each, "type_descriptor", None)
        named = descriptor is not None and _is_path(descriptor.annotation)
        if named or any(word in str(each.metavar or "") for word in FILE_WORDS):
            yield (max(each.opts, key=len),)


def _named_by(model: type[BaseModel], at: tuple[str, ...], seen: tuple[type[BaseModel], ...] = ()) -> Iterator[str]:
    """Fields of a model, and of the models within, whose values are files."""
    for name, info in model.model_fields.items():
        if _is_path(info.annotation):
            yield ".".join((*at, name))
        for inner in dict.fromkeys(_models(info.annotation)):
            if inner not in seen:
                yield from _named_by(inner, (*at, name), (*seen, inner))


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models(each)


def _is_path(annotation: object) -> bool:
    if isinstance(annotation, type):
        return issubclass(annotation, PurePath)
    return any(map(_is_path, get_args(annotation)))
