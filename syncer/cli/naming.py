"""Names of paths as operators give them: the path itself, or the name that Pulsar's tools have for the resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import typer

from syncer.model import MetaPath
from syncer.paths import fault_of, named, shown

FORMS: Final = (
    "Give a path of the store (/admin/policies/acme/orders), a tenant (acme), a namespace (acme/orders) or a topic "
    "(persistent://acme/orders/invoices)."
)


def path_of(text: str, is_known: Callable[[MetaPath], bool]) -> MetaPath:
    """The path that is meant; where a name may mean several, the only one that is known, or the likeliest.

    Raises:
        BadParameter: It is neither a path nor a name, or several that it may mean are known.
    """
    if text.startswith("/"):
        if (fault := fault_of(text)) is not None:
            raise typer.BadParameter(f"{shown(text)} is no path of a store: {fault}. {FORMS}")
        return MetaPath(text)
    meant = named(text)
    if not meant:
        raise typer.BadParameter(f"{shown(text)} is neither a path nor a name. {FORMS}")
    known = [path for path in meant if is_known(path)]
    if len(known) > 1:
        raise typer.BadParameter(f"{shown(text)} may mean {' or '.join(known)}: give the path.")
    return known[0] if known else meant[0]
