"""Tolerance of brokers: texts that are no plain JSON, and that they read all the same.

Jackson, as Pulsar sets it up, tells the encoding of a value by its first bytes, passes over a byte order mark, looks at
nothing behind the end of the first value, and reads a field each time that it is named. Source: Jackson's
``ByteSourceJsonBootstrapper``; Python's :func:`json.detect_encoding` goes by the same rules.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

_SPACE: Final = " \t\r\n"


def first_value(data: bytes) -> object:
    """Parse the JSON value that a text begins with, every integer exact.

    Args:
        data: In UTF-8, UTF-16 or UTF-32, with or without a byte order mark.

    Raises:
        ValueError: It begins with no JSON value, or with a number that JSON does not have.
        RecursionError: It is nested too deeply.
    """
    text = _decoded(data).lstrip(_SPACE)
    return _DECODER.raw_decode(text)[0]


def _decoded(data: bytes) -> str:
    encoding = json.detect_encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as exc:
        return data[: exc.start].decode(encoding)  # it may stand behind the end


class AllNamed(dict[str, object]):
    """An object that names a field more than once: as any other one it has the last naming, its items are all of them.

    Brokers read each of them, so each must be one that they can read.
    """

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(pairs)
        self._pairs: Final = pairs

    def items(self) -> Any:  # noqa: ANN401 - a view in the class above, and no class of views can be made of a list
        """List every naming, in order."""
        return self._pairs


def all_namings(data: bytes) -> Any:  # noqa: ANN401 - any JSON
    """Parse as :func:`first_value` does; an object that names a field twice is an :class:`AllNamed`. Raises alike."""
    return _ALL_NAMINGS.raw_decode(_decoded(data).lstrip(_SPACE))[0]


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else AllNamed(pairs)


def finite(text: str) -> float:
    """Read a number with a fraction or an exponent. Raises ``ValueError`` where no float is so large."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def refuse_constant(name: str) -> float:
    """Refuse NaN and Infinity, which Python would read."""
    raise ValueError(f"{name} is no JSON number")


_ALL_NAMINGS: Final = json.JSONDecoder(parse_constant=refuse_constant, parse_float=finite, object_pairs_hook=_object)
_DECODER: Final = json.JSONDecoder(parse_constant=refuse_constant, parse_float=finite)
