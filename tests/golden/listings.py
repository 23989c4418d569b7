"""Names that others rely on, as lists: tables, metrics, codes, reasons, configuration, documents, the HTTP surface."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from pydantic.json_schema import models_json_schema

from tests.golden import product

FOLDER: Final = "listings"


def tables() -> Any:
    """Tables of the sidecar database, with the types of their columns."""
    every = product.metadata.tables.items()
    return {name: {each.name: str(each.type) for each in table.columns} for name, table in sorted(every)}


def metrics() -> Any:
    """Metrics with kind, label, and the label's values; null: regions or versions."""
    return {
        each.name: {"kind": each.kind, "label": each.label, "values": sorted(each.values or ())}
        for each in product.FAMILIES
    }


def errors() -> Any:
    """Codes of errors: HTTP status, exit status, level in the log, whether to try again."""
    return {
        error.code: {
            "http": told.http_status,
            "exit": int(told.exit_code),
            "log": told.log_level,
            "retryable": error.retryable,
        }
        for error, told in sorted(product.DISPOSITIONS.items(), key=lambda pair: pair[0].code)
    }


def words() -> Any:
    """Words that are stored, sent or printed: reasons, kinds, actions, states."""
    return {
        "conditions": {code: weight.severity.value for code, weight in sorted(product.WEIGHTS.items())},
        "holds": sorted(product.HoldReason),
        "parked": sorted(product.ParkReason),
        "decisions": sorted(product.Decision),
        "controls": sorted(product.ControlAction),
        "tree steps": sorted(product.TreeStep),
        "change types": sorted(product.EventType),
        "tie orders": sorted(product.TieOrder),
        "operations": sorted(product.OperationState),
        "repairs": sorted(product.RepairState),
    }


def config() -> Any:
    """The configuration's schema."""
    return product.schema()


def documents() -> Any:
    """Schemas of what the commands print as JSON."""
    every: list[Any] = [(model, "serialization") for model in product.DOCUMENTS]
    return models_json_schema(every, title="Output of syncer -o json")[1]


def openapi() -> Any:
    """The HTTP surface, with the routes of a region."""
    no_daemon: Any = None  # nothing is asked of it
    nowhere: Any = SimpleNamespace(config=SimpleNamespace(region="here"))
    return json.loads(product.openapi_text(product.create_app(no_daemon, inside=nowhere)))


def resolved(node: Any, within: Any) -> Any:
    """A JSON document with what its local references name in their places, as a reader sees it; once in a cycle."""
    return _resolved(node, within, ())


def _resolved(node: Any, within: Any, seen: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_resolved(each, within, seen) for each in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return {name: _resolved(each, within, seen) for name, each in node.items()}
    if reference in seen:
        return {"$ref": reference}
    found = within
    for name in reference.removeprefix("#/").split("/"):
        found = found[name]
    return _resolved(found, within, (*seen, reference))


LISTINGS: Final[Mapping[str, Callable[[], Any]]] = {
    each.__name__: each for each in (tables, metrics, errors, words, config, documents, openapi)
}


def plain(listing: Callable[[], Any]) -> Any:
    """A listing of the code of the day, as it would be read from its file; words for people do not count."""
    return _without_prose(json.loads(json.dumps(listing())))


def _without_prose(node: Any) -> Any:
    if isinstance(node, dict):
        prose = {name for name in ("description", "summary") if isinstance(node.get(name), str)}
        return {name: _without_prose(each) for name, each in node.items() if name not in prose}
    return [_without_prose(each) for each in node] if isinstance(node, list) else node


def write(folder: Path) -> None:
    """Keep all of them in a release's folder."""
    (folder / FOLDER).mkdir()
    for name, listing in LISTINGS.items():
        text = json.dumps(plain(listing), indent=0, sort_keys=True)
        (folder / FOLDER / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


def read(folder: Path, name: str) -> Any:
    """A listing that a release has left."""
    return json.loads((folder / FOLDER / f"{name}.json").read_text(encoding="utf-8"))
