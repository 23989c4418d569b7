"""Templates of bodies for receivers that want a form of their own, as chat systems do.

A template is JSON with names in it (``$text`` or ``${text}``, ``$$`` is a dollar sign), each in place of text *inside*
a string of it; ``$count`` may stand as a number too. A value is escaped as JSON, so that no path or region can end a
string. There is nothing else in the language: no expression, no attribute, no loop.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from string import Template
from typing import Final

from syncer.errors import ConfigError

NAMES: Final[Mapping[str, str]] = {
    "text": "the notice in one line, without paths",
    "kind": "`holds`, `conflicts`, `divergence`, `quarantine` or `jobs-failed`",
    "event": "`raised`, `more`, `reminder`, `cleared`, or `test`",
    "region": "id of the region",
    "count": "how many stand; 0 when it is over",
    "since": "since when, UTC, or `-`",
    "reasons": "reasons with their numbers, with commas between",
    "paths": "the first paths, with commas between",
    "next": "what an operator does next",
    "command": "the command to begin with",
    "id": "id of the notice, the same over retries",
    "at": "when the notice was made, UTC",
}
"""Names that a template may use, and what stands in their place."""
MAX_CHARS: Final = 16_384
_TRIAL: Final = dict.fromkeys(NAMES, 'a "b"\\\n') | {"count": "1"}


def checked(text: str) -> str:
    """The template, if every name in it is known and what it makes is JSON.

    Raises:
        ConfigError: It is none; the message says why.
    """
    if len(text) > MAX_CHARS:
        raise ConfigError(f"the template has more than {MAX_CHARS} characters")
    template = Template(text)
    if not template.is_valid():
        raise ConfigError("the template has a '$' without a name", hint="Write '$$' for a dollar sign.")
    if unknown := sorted(set(template.get_identifiers()) - set(NAMES)):
        raise ConfigError(f"the template names {unknown[0]!r}", hint=f"Known names: {', '.join(NAMES)}.")
    try:
        json.loads(rendered(text, _TRIAL))
    except ValueError as exc:
        raise ConfigError(
            f"the template makes no JSON: {exc}", hint="""Put each name into a string: {"text": "$text"}."""
        ) from exc
    return text


def rendered(template: str, values: Mapping[str, str]) -> bytes:
    """The body that a template makes of the values, each escaped as JSON.

    Args:
        template: As :func:`checked` took it.
        values: Text by name.
    """
    escaped = {name: json.dumps(value)[1:-1] for name, value in values.items()}
    return Template(template).substitute(escaped).encode()
