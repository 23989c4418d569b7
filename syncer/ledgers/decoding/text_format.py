"""Protobuf's text format, as Java reads it: of scalars the last one stands, unknown names are refused.

Source: TextFormat.Parser, protobuf 3.25.
"""

from __future__ import annotations

import re
from typing import Final

from google.protobuf import text_format

from syncer.ledgers.decoding.messages import MESSAGES, Dynamic
from syncer.ledgers.decoding.undecodable import ValueDamaged

MAX_BYTES: Final = 4 << 20
"""Of a text that is read; ZooKeeper's nodes hold less. The reader of text is slow."""
_ESCAPE: Final = re.compile(r"\\([4-7][0-7]{2}|.)", re.DOTALL)
_KNOWN: Final = frozenset("abfnrtvxXuU01234567\\'\"")


def merged(name: str, data: bytes) -> Dynamic:
    """Read a message in text; required fields may be missing yet.

    Args:
        name: Of the message.
        data: Its text.

    Raises:
        ValueDamaged: It is no text of such a message.
    """
    if len(data) > MAX_BYTES:
        raise ValueDamaged(f"its text has {len(data)} bytes, and at most {MAX_BYTES} are read")
    given = _ESCAPE.sub(_as_python, data.decode("utf-8", "replace"))
    message = MESSAGES[name]()
    try:
        text_format.Merge(given, message)
    except (text_format.ParseError, ValueError, RecursionError) as error:
        raise ValueDamaged(f"its text is none of {name}") from error
    return message


def _as_python(found: re.Match[str]) -> str:
    """Write what follows a backslash so that Python's reader takes it as Java's does."""
    escaped = found[1]
    if escaped == "?":
        return escaped
    if len(escaped) > 1:
        return f"\\{int(escaped, 8) & 0xFF:03o}"
    if escaped not in _KNOWN:
        raise ValueDamaged("its text has a backslash before what is not escaped")
    return found[0]
