"""Write the tables of the fields that brokers know, and of their types: ``python -m tests.versions VERSION...``.

Versions that are named are asked anew; the others stay as the tables have them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from syncer.conflict.fields import readable, table
from syncer.conflict.fields.table import parse_version
from syncer.model import ResourceKind
from tests.versions.jars import ask

TABLE: Final = Path(table.__file__).with_name("known_fields.json")
TYPES: Final = Path(table.__file__).with_name("field_types.json")


def main(versions: list[str]) -> int:
    """Ask, and write what was answered.

    Args:
        versions: As Maven names them.
    """
    if not versions:
        print("usage: python -m tests.versions VERSION...", file=sys.stderr)
        return 2
    known = json.loads(TABLE.read_bytes()) if TABLE.exists() else {}
    types: dict[str, dict[str, Any]] = {kind: _standing(kind) for kind in ResourceKind}
    for version in versions:
        known[version] = ask(version)
        for kind in ResourceKind:
            types[kind][version] = known[version][kind].pop("types")
    _write(TABLE, known)
    _write(TYPES, {kind: readable.histories(_in_order(told)) for kind, told in types.items()})
    print(f"{TABLE.name}, {TYPES.name}: {', '.join(known)}")
    return 0


def _standing(kind: ResourceKind) -> dict[str, Any]:
    return {version: readable.types_of(kind, version) for version in table.VERSIONS}


def _in_order(types: dict[str, Any]) -> dict[str, Any]:
    versions = {text: version for text in types if (version := parse_version(text)) is not None}
    return {text: types[text] for text in sorted(versions, key=versions.__getitem__)}


def _write(path: Path, found: dict[str, Any]) -> None:
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
