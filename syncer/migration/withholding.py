"""Bodies of calls as records and answers show them: no credential, and nothing of offloading that is one cluster's own.

A migration gives green what blue has, credentials too. Its journal, its report and the steps that it shows are read by
others than the brokers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from syncer.conflict.fields.offloading import FIELDS, shared_part

WITHHELD: Final = "withheld"
"""Stands for a value that is not shown."""
_OFFLOADING: Final = frozenset(FIELDS.values())
_LOOKS_SECRET: Final = re.compile(
    "secret|password|passwd|passphrase|token|key|credential|auth(?:entication)?_?param", re.IGNORECASE
)
_HARMLESS: Final = frozenset({"allowed_topic_property_keys_for_metrics"})
_LOGIN: Final = re.compile(r"//[^/\s]*@")


def shown_body(path: str, body: object) -> Any:  # noqa: ANN401 - JSON
    """Return the body of a call without what is not to be read by others; its names stay.

    Args:
        path: Of the call.
        body: JSON; ``None``: the call has none.
    """
    if path.partition("?")[0].rpartition("/")[2] in _OFFLOADING:
        return _policies(body)
    return _shown(body)


def _shown(node: object) -> object:
    if isinstance(node, Mapping):
        return {name: _field(name, below) for name, below in node.items()}
    if isinstance(node, list | tuple):
        return [_shown(below) for below in node]
    return WITHHELD if isinstance(node, str) and _LOGIN.search(node) else node


def _field(name: str, node: object) -> object:
    if node is None:
        return None
    if name in _OFFLOADING:
        return _policies(node)
    return WITHHELD if name not in _HARMLESS and _LOOKS_SECRET.search(name) else _shown(node)


def _policies(node: object) -> object:
    """Policies of offloading: what may be carried as it is, and the names of all else."""
    if not isinstance(node, Mapping):
        return node if node is None else WITHHELD
    shared = shared_part(dict(node))
    return {name: value if name in shared or value is None else WITHHELD for name, value in node.items()}
