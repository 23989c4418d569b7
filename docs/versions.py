"""The part of the page about versions of Pulsar that is made from the table of their fields."""

from __future__ import annotations

from itertools import pairwise

from docs.tables import names, table
from syncer.conflict.fields.table import VERSIONS, Tree, always_written, derived_fields, known_fields, parse_version
from syncer.model import ResourceKind


def versions() -> str:
    """Fields that not every version of Pulsar knows, and those that brokers work out of others, kind by kind."""
    since = [
        (str(kind), f"`{place}`", version, place in always_written(version, kind))
        for kind in ResourceKind
        for former, version in pairwise(VERSIONS)
        for place in _new_places(known_fields(parse_version(former), kind), known_fields(parse_version(version), kind))
    ]
    derived = [(str(kind), names(derived_fields(kind))) for kind in ResourceKind if derived_fields(kind)]
    fields = table(
        ("Kind", "Field", "Since", "Written where nothing was set"),
        [(kind, place, version, "yes" if always else "no") for kind, place, version, always in since],
    )
    return f"""## Fields that not every version knows

Of all that the classes of Pulsar {", ".join(VERSIONS)} read and write, every other field is known to all of them.

{fields}

## Derived fields

Brokers work these out of others and write them beside; they are carried as they stand, and never kept.

{table(("Kind", "Fields"), derived)}
"""


def _new_places(former: Tree, tree: Tree, above: str = "") -> list[str]:
    """Places that a tree has and a former one has not; what is below a new one goes without saying."""
    found = [f"{above}{name}" for name in sorted(tree.keys() - former.keys())]
    for name in sorted(tree.keys() & former.keys()):
        found += _new_places(former[name] or {}, tree[name] or {}, f"{above}{name}.")
    return found
