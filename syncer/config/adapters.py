"""Adapters of stores and buses, found by entry point: their classes and their checked settings."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from importlib.metadata import EntryPoint, entry_points
from types import UnionType
from typing import Any, Final, Protocol, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from syncer.config.durations import parse_duration
from syncer.errors import ConfigError
from syncer.stores.contract import MetadataStore

STORES: Final = "syncer.stores"
BUSES: Final = "syncer.buses"
_ADDRESS: Final = frozenset({"hosts", "chroot", "endpoints", "namespace", "path"})
"""Settings of stores that say where it is."""


class AdapterClass(Protocol):
    """What an entry point names: a class that is made from its settings."""

    config_model: type[BaseModel]

    def __call__(self, config: BaseModel, /) -> object:
        """Make the adapter; nothing is connected."""
        ...


@functools.cache
def installed(group: str) -> Mapping[str, EntryPoint]:
    """The adapters of a group by kind, in order of their names."""
    return {point.name: point for point in sorted(entry_points(group=group), key=lambda point: point.name)}


def load(group: str, kind: str) -> AdapterClass:
    """Import an adapter.

    Raises:
        ConfigError: There is none of this kind, or it cannot be imported here.
    """
    known = installed(group)
    if kind not in known:
        what = {STORES: "store", BUSES: "bus"}.get(group, group)
        raise ConfigError(f"there is no kind of {what} named {kind!r}", hint=f"Installed here: {', '.join(known)}.")
    try:
        adapter: AdapterClass = known[kind].load()
        adapter.config_model.model_fields  # noqa: B018 - that it has one is the point
    except (ImportError, AttributeError) as exc:
        raise ConfigError(
            f"the adapter {kind!r} in {group} cannot be loaded: {exc}", hint="Install the package that it needs."
        ) from exc
    return adapter


def make_store(kind: str, settings: BaseModel) -> MetadataStore:
    """A store, not yet opened.

    Raises:
        ConfigError: There is no such adapter, it is no store's, or a file that its settings name cannot be read.
    """
    store = load(STORES, kind)(settings)
    if not isinstance(store, MetadataStore):
        raise ConfigError(f"the adapter {kind!r} is no metadata store")
    return store


def checked(group: str, raw: Mapping[str, Any], defaults: Mapping[str, Any]) -> BaseModel:
    """Check the settings of an adapter against its own model.

    Durations are read as everywhere in the file (``30s``), lists from the environment as JSON.

    Args:
        group: Entry point group.
        raw: The table as read, ``kind`` included.
        defaults: Values for fields of these names that the model has and the table does not give.

    Raises:
        ConfigError: No such adapter.
        pydantic.ValidationError: The settings are wrong.
    """
    model = load(group, str(raw["kind"])).config_model
    given = {name: value for name, value in raw.items() if name != "kind" or "kind" in model.model_fields}
    for name, value in defaults.items():
        if name in model.model_fields:
            given.setdefault(name, value)
    return model.model_validate(_readable(model, given))


def settings_of(field: str, group: str, raw: Mapping[str, Any], defaults: Mapping[str, Any]) -> BaseModel:
    """The settings of an adapter, for whoever needs them, be they checked before or not.

    Args:
        field: Name of the table, for what is told.
        group: As of :func:`checked`.
        raw: As of :func:`checked`.
        defaults: As of :func:`checked`.

    Raises:
        ConfigError: No such adapter, or its settings are wrong.
    """
    try:
        return checked(group, raw, defaults)
    except ValidationError as exc:
        wrong = exc.errors(include_url=False, include_input=False)
        what = "; ".join(f"{'.'.join(map(str, (field, *each['loc'])))}: {each['msg']}" for each in wrong)
        raise ConfigError(what, hint="See 'syncer config check'.") from exc


def address_digest(settings: BaseModel, names: Mapping[str, str], topics: Sequence[str] = ()) -> str:
    """Digest of where a store is, by its settings: another one where it was given another address.

    Where topic policies are read elsewhere, a digest of that follows after a ``+``.

    Hosts in another order, or one host more, are another address too: that costs a second look at the store, no more.

    Args:
        settings: Of the store; those of an adapter that names its address otherwise count as a whole.
        names: Of clusters, by which it is read: by others it is another store.
        topics: Namespaces whose topic policies are read elsewhere.
    """
    every = settings.model_dump(mode="json")
    address = {name: every[name] for name in sorted(_ADDRESS & every.keys())} or every
    store = _digest([type(settings).__name__, address, *([dict(names)] if names else [])])
    return f"{store}+{_digest(list(topics))}" if topics else store


def _digest(told: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def _readable(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    read = dict(values)
    for name, value in values.items():
        field = model.model_fields.get(name)
        if field is not None:
            read[name] = _read(_types(field.annotation), value)
    return read


def _read(types: tuple[object, ...], value: object) -> object:
    if isinstance(value, Mapping):
        inner = next((kind for kind in types if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        return _readable(inner, value) if inner is not None else value
    if isinstance(value, str):
        if timedelta in types:
            duration = parse_duration(value)
            return value if duration is None else duration
        if value.startswith("[") and any(get_origin(kind) in {tuple, list, set, frozenset} for kind in types):
            try:
                return json.loads(value)
            except ValueError:
                return value
    return value


def _types(annotation: object) -> tuple[object, ...]:
    return get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
