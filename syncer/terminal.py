"""Text for terminals: what a sign would do there is shown, never done.

Names, values and reasons come from strangers: tenants, peers, files. A sign that does not print moves the cursor,
rings, turns the direction of reading, hides what stands beside it or cannot be encoded at all. Every text that leaves
for people goes through here; so do documents for programs, where the sign stands as an escape that a parser undoes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Signs that count as printable and are drawn as nothing: fillers, joiners and selectors of variants."""

_BMP: Final = 0xFFFF
_BYTE: Final = 0xFF
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    r"""The text as one line: whatever does not print is its escape (``\n``, ``\x1b``, ``\u202e``).

    Controls of both sets, format and direction signs, what joins or hides, separators of lines, odd spaces, lone
    surrogates, private and unassigned signs.
    """
    return _replaced(text, _escape, kept="")


def visible_lines(text: str) -> str:
    """The text with its lines and tabs; else as :func:`visible`."""
    return _replaced(text, _escape, kept="\n\t")


def json_text(value: object, *, indent: int | None = None) -> str:
    """Plain data as JSON, without a sign that does not print; a parser gets the exact text."""
    return visible_json(json.dumps(value, indent=indent, ensure_ascii=False))


def visible_json(text: str) -> str:
    """JSON, as it was serialised, without a sign that does not print: such a sign can only stand inside of a text."""
    return _replaced(text, _json_escape, kept="\n")


def yaml_text(value: object) -> str:
    """Plain data as YAML, without a sign that does not print; a parser gets the exact text."""
    import yaml  # noqa: PLC0415 - a command that writes none starts sooner without it

    class Dumper(yaml.SafeDumper):
        """Quotes each text that holds such a sign, so that an escape means the sign."""

        def represent_str(self, data: str) -> yaml.ScalarNode:
            """A text."""
            quoted = data != visible_lines(data)
            return self.represent_scalar("tag:yaml.org,2002:str", data, style='"' if quoted else None)

    Dumper.add_representer(str, Dumper.represent_str)
    text = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True)
    return _replaced(text, _long_escape, kept="\n")


def _replaced(text: str, escape: Callable[[str], str], *, kept: str) -> str:
    if text.isprintable() and _UNSEEN.search(text) is None:
        return text
    return "".join(sign if sign in kept or _shown(sign) else escape(sign) for sign in text)


def _shown(sign: str) -> bool:
    return sign.isprintable() and _UNSEEN.match(sign) is None


def _escape(sign: str) -> str:
    return _SHORT.get(sign) or (f"\\x{ord(sign):02x}" if ord(sign) <= _BYTE else _long_escape(sign))


def _long_escape(sign: str) -> str:
    return f"\\u{ord(sign):04x}" if ord(sign) <= _BMP else f"\\U{ord(sign):08x}"


def _json_escape(sign: str) -> str:
    if ord(sign) <= _BMP:
        return f"\\u{ord(sign):04x}"
    above = ord(sign) - _BMP - 1
    return f"\\u{0xD800 + (above >> 10):04x}\\u{0xDC00 + (above & 0x3FF):04x}"
