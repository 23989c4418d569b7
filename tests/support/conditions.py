"""Describe a condition that did not hold: its source, with the values that its comparisons see now."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

SHOWN_CHARS: Final = 1_000


def compared(condition: Callable[[], object]) -> str:
    """Return the text of a condition with the values that its comparisons see now; the text alone where that fails."""
    try:
        text = textwrap.dedent(inspect.getsource(condition)).strip()
    except (OSError, TypeError):
        return f"{condition!r} does not hold"
    code = getattr(condition, "__code__", None)
    found = [each for each in ast.walk(_parsed(text)) if isinstance(each, ast.Lambda)] if code is not None else []
    if len(found) != 1:
        return f"{text} does not hold"
    names = {**inspect.getclosurevars(condition).nonlocals}
    values = list[str]()
    for part in ast.walk(found[0].body):
        if isinstance(part, ast.Compare):
            for side in (part.left, *part.comparators):
                if not isinstance(side, ast.Constant):
                    with suppress(Exception):  # a part inside a comprehension has no value of its own
                        values.append(f"{ast.unparse(side)} = {repr(_value(side, condition, names))[-SHOWN_CHARS:]}")
    return "; ".join([ast.unparse(found[0].body), *dict.fromkeys(values)])


def _parsed(text: str) -> ast.AST:
    """Parse source that may begin or end in the middle of a statement; an empty tree where that fails."""
    for source in (text, text.rstrip(","), f"({text.rstrip(',')})", text[text.find("lambda") :], f"_({text}"):
        with suppress(SyntaxError):
            return ast.parse(source)
    return ast.Module(body=[], type_ignores=[])


def _value(part: ast.expr, condition: Any, names: dict[str, Any]) -> object:
    expression = ast.Expression(body=part)
    return eval(compile(expression, "<condition>", "eval"), condition.__globals__, names)
