"""The configuration as people and machines see it: every default filled in, secrets hidden; and its JSON schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from enum import Enum
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import unquote

from pydantic import BaseModel, SecretStr
from pydantic.json_schema import models_json_schema

from syncer.config import adapters
from syncer.config.cluster_table import ClusterConfig
from syncer.config.clusters import store_settings_by_cluster
from syncer.config.durations import format_duration
from syncer.config.model import Config
from syncer.config.webhooks import SecretUrl
from syncer.errors import ConfigError

HIDDEN: Final = "********"
_USER_INFO: Final = re.compile(r"(?<=://)([^/@:\s]*):([^/@\s]*)@")
_PARAMETER: Final = re.compile(r"(?<=[?&])((?:ssl)?password=|oauth_client_secret=)([^&\s]*)")
_REF: Final = "#/$defs/{model}"


def shown(config: Config) -> dict[str, Any]:
    """Every setting in force, defaults included, secrets hidden."""
    document = _plain(config)
    if not isinstance(document, dict):  # pragma: no cover - a model is a mapping
        raise TypeError(document)
    document["store"] = _adapter(config.store.kind, config.store_settings)
    document["bus"] = _adapter(config.bus.kind, config.bus_settings)
    for name, (kind, settings) in store_settings_by_cluster(config).items():
        document["cluster"][name]["store"] = _adapter(kind, settings)
    return document


def _adapter(kind: str, settings: BaseModel) -> dict[str, Any]:
    plain = _plain(settings)
    return {"kind": kind, **(plain if isinstance(plain, dict) else {})}


def hide_user_info(text: str) -> str:
    """Hide the passwords in a URL."""
    return _PARAMETER.sub(rf"\1{HIDDEN}", _USER_INFO.sub(rf"\1:{HIDDEN}@", text))


def secrets_of(config: Config) -> frozenset[str]:
    """Every secret value of the configuration, for the log's redaction; passwords inside URLs too."""
    found: set[str] = set()
    stores = [settings for _, settings in store_settings_by_cluster(config).values()]
    for model in (config, config.store_settings, config.bus_settings, *stores):
        _collect(model, found)
    with suppress(ConfigError):  # its file cannot be read: who opens the database tells so
        _collect(SecretStr(config.database_url()), found)
    return frozenset(found)


def _collect(value: object, found: set[str]) -> None:
    if isinstance(value, SecretStr):
        secret = value.get_secret_value()
        found.add(secret)
        inside = [match[2] for pattern in (_USER_INFO, _PARAMETER) for match in pattern.finditer(secret)]
        found.update(inside)
        found.update(map(unquote, inside))  # as the server's client has it
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            _collect(getattr(value, name), found)
    elif isinstance(value, Mapping):
        for inner in value.values():
            _collect(inner, found)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for inner in value:
            _collect(inner, found)


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return {name: _plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, SecretUrl):
        return f"{value.place}/{HIDDEN}"
    if isinstance(value, SecretStr):
        hidden = hide_user_info(value.get_secret_value())
        return hidden if "://" in hidden else HIDDEN
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(inner) for inner in value]
    return hide_user_info(value) if isinstance(value, str) else value


def schema() -> dict[str, Any]:
    """JSON schema of the file, with the tables of every store and bus that is installed here."""
    groups = {"store": adapters.STORES, "bus": adapters.BUSES}
    models: dict[tuple[str, str], type[BaseModel]] = {
        (name, kind): adapters.load(group, kind).config_model
        for name, group in groups.items()
        for kind in adapters.installed(group)
    }
    every: list[type[BaseModel]] = [Config, *models.values()]
    refs, definitions = models_json_schema([(model, "validation") for model in every], ref_template=_REF)
    defs = definitions["$defs"]
    root = dict(defs.pop("Config"))
    properties = dict(root["properties"])
    for name, group in groups.items():
        properties[name] = {
            "description": properties[name].get("description", f"The {name}."),
            "oneOf": [refs[(models[name, kind], "validation")] for kind in adapters.installed(group)],
        }
    root["properties"] = properties
    own = defs[ClusterConfig.__name__]["properties"]
    own["store"] = {"description": own["store"]["description"], "oneOf": properties["store"]["oneOf"]}
    for name in ("StoreAdapter", "BusAdapter"):
        defs.pop(name, None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of pulsar-syncer",
        **{key: value for key, value in root.items() if key != "title"},
        "$defs": defs,
    }
