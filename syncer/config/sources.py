"""Sources of settings, in order: flags, ``SYNCER_`` environment, credential files, the file, defaults.

A credential file is named like its field (``state.url`` or ``state__url``) and lies in ``$CREDENTIALS_DIRECTORY``,
where systemd's ``LoadCredential=`` puts it (from a directory: as ``credentials_state.url``), or a mount of secrets.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from syncer import local_files
from syncer.config.model import Config
from syncer.config.places import Field, check_aliases, toml_places, yaml_places
from syncer.config.rights import unreadable
from syncer.errors import ConfigError

MAX_FILE_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 32

ENV_PREFIX: Final = "SYNCER_"
NESTED: Final = "__"
CREDENTIALS_VARIABLE: Final = "CREDENTIALS_DIRECTORY"
CREDENTIALS_PREFIX: Final = "credentials_"
NOT_FIELDS: Final = frozenset(
    {
        "SYNCER_CONFIG",
        "SYNCER_SERVER",
        "SYNCER_TOKEN",
        "SYNCER_TOKEN_FILE",
        "SYNCER_CA_FILE",
        "SYNCER_CERT_FILE",
        "SYNCER_KEY_FILE",
    }
)
"""What the command line itself takes: the configuration, or a server to ask."""


class _Outside(Config, BaseSettings):
    """The fields of the configuration as pydantic-settings looks for them outside the file."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, env_nested_delimiter=NESTED, extra="ignore")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSource:
    """One source as read: what it says, how it is called, and on which line each field stands (files only)."""

    name: str
    values: Mapping[str, Any]
    lines: Mapping[Field, int] | None = None
    path: Path | None = None


def from_file(path: Path) -> LoadedSource:
    """Read a TOML file, or a YAML file (``.yaml``, ``.yml``).

    Raises:
        ConfigError: It cannot be read or is not well formed; the message has the line.
    """
    try:
        text = local_files.read(path, MAX_FILE_BYTES).decode()
    except FileNotFoundError as exc:
        raise ConfigError(
            f"no configuration file {path}", hint="Make one with 'syncer init', or name yours with --config."
        ) from exc
    except OSError as exc:
        raise unreadable("the configuration file", path, exc) from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(
            f"the configuration file {path} cannot be read: it is not UTF-8",
            hint="Name a file of TOML or YAML; 'syncer init' makes one.",
        ) from exc
    if path.suffix in {".yaml", ".yml"}:
        values, lines = _yaml(path, text)
    else:
        values, lines = _toml(path, text)
    return LoadedSource(name=str(path), values=values, lines=lines, path=path)


def _toml(path: Path, text: str) -> tuple[dict[str, Any], dict[Field, int]]:
    try:
        values = tomllib.loads(text)
        _bounded(path, values)
        return values, toml_places(text)
    except ValueError as exc:  # numbers too long to be read, too
        raise ConfigError(f"{path} is not well-formed TOML: {exc}", hint="Correct the named line.") from exc
    except RecursionError as exc:
        raise _too_deep(path) from exc


def _yaml(path: Path, text: str) -> tuple[dict[str, Any], dict[Field, int]]:
    try:
        check_aliases(text)
        values = yaml.safe_load(text)
        _bounded(path, values)
        lines = yaml_places(text)
    except RecursionError as exc:
        raise _too_deep(path) from exc
    except yaml.MarkedYAMLError as exc:
        line = exc.problem_mark.line + 1 if exc.problem_mark is not None else "?"
        raise ConfigError(
            f"{path} is not well-formed YAML: {exc.problem} (at line {line})", hint="Correct the named line."
        ) from exc
    except yaml.reader.ReaderError as exc:
        raise ConfigError(
            f"{path} is not well-formed YAML: it holds U+{exc.character:04X} (at character {exc.position + 1})",
            hint="Remove the character, or write it as an escape in a quoted text.",
        ) from exc
    except ValueError as exc:  # a date that there is not, a number too long to be read
        raise ConfigError(f"{path} is not well-formed YAML: {exc}", hint="Correct that value.") from exc
    if not isinstance(values, dict):
        raise ConfigError(f"{path} holds no mapping", hint="The top level of the file is 'key: value' lines.")
    return values, lines


def _bounded(path: Path, values: object) -> None:
    """Refuse what no configuration is: what reads it would recurse into it."""
    level = [values]
    for _ in range(MAX_DEPTH):
        level = [inner for each in level for inner in _below(each)]
        if not level:
            return
    raise _too_deep(path)


def _below(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _too_deep(path: Path) -> ConfigError:
    return ConfigError(
        f"{path} is nested deeper than {MAX_DEPTH} levels", hint="No setting is; look for brackets that never close."
    )


def from_environment() -> LoadedSource:
    """Read ``SYNCER_REGION``, ``SYNCER_STORE__HOSTS`` and so on."""
    return LoadedSource(name="environment", values=EnvSettingsSource(_Outside)())


def from_credentials(directory: Path) -> LoadedSource:
    """Read one file per field.

    Raises:
        ConfigError: The directory cannot be read.
    """
    values: dict[str, Any] = {}
    try:
        for file in sorted(directory.iterdir()):
            keys = file.name.removeprefix(CREDENTIALS_PREFIX).replace(NESTED, ".").split(".")
            if file.is_file() and keys[0] in Config.model_fields and all(keys):
                values = merged([values, _nested(keys, local_files.secret_text(file).strip())])
    except OSError as exc:
        raise unreadable("the credential files in", directory, exc) from exc
    return LoadedSource(name=f"credentials in {directory}", values=values)


def from_flags(flags: Mapping[str, Any]) -> LoadedSource:
    """Take values by dotted field (``log.level``)."""
    return LoadedSource(name="command line", values=merged([_nested(name.split("."), flags[name]) for name in flags]))


def _nested(keys: Sequence[str], value: object) -> dict[str, Any]:
    nested: dict[str, Any] = {keys[-1]: value}
    for key in reversed(keys[:-1]):
        nested = {key: nested}
    return nested


def merged(sources: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge tables key by key; a later one wins."""
    result: dict[str, Any] = {}
    for source in sources:
        for key, value in source.items():
            old = result.get(key)
            result[key] = merged([old, value]) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Variables with our prefix that name no field; perhaps a slip of the pen, perhaps made by a container platform."""
    return sorted(
        name
        for name in environ
        if name.startswith(ENV_PREFIX)
        and name not in NOT_FIELDS
        and name[len(ENV_PREFIX) :].split(NESTED)[0].lower() not in Config.model_fields
    )
