"""The rule by which what a page shows and what a command printed are the same.

Words, numbers, order and lines are the same, and everything that was printed is shown. This may vary:

- what ``VARIES`` names: moments, spans of time, stamps, ids that are drawn or counted, versions, and which host and
  process a daemon is;
- the width of columns: any run of spaces is one;
- a line ``…`` alone stands for any number of lines, and ``…`` inside of a line for any text;
- directories of the system stand below the test's own (``tests/docs/stage.py``); empty lines are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

VARIES: Final = (
    ("HOST PROCESS VERSION", re.compile(r"^\S+ +\d+ +\d+\.\d+\.\d+ +(?=[a-z])", re.MULTILINE)),
    ("SNAPSHOT", re.compile(r"\b\d{8}T\d{9}Z-[0-9a-f]{6}\b")),
    ("MOMENT", re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z")),
    ("STAMP", re.compile(r"\b\d{13}\b")),
    ("KEY", re.compile(r"\bed25519:[\w+/=]+")),
    ("VERSION", re.compile(r"(?<![\w.])\d+\.\d+\.\d+(?![\w.])")),
    ("SPAN", re.compile(r"(?<![\w.])-?\d+(?:\.\d+)? ?(?:µs|ms|s|min|h|d)\b")),
    ("ID", re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b")),
)
"""What may vary: its name, and how it looks."""
_SPACES: Final = re.compile(r"[ \t]+")
ANY: Final = "…"


def same(shown: Sequence[str], printed: str) -> bool:
    """Whether what was printed is what the page shows."""
    pattern = "".join(map(_pattern, without_blanks(shown)))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in without_blanks(printed.splitlines()))) is not None


def _pattern(line: str) -> str:
    if line == ANY:
        return r"(?:[^\n]*\n)*"
    return re.escape(line).replace(re.escape(ANY), r"[^\n]*") + r"\n"


def without_blanks(lines: Sequence[str]) -> list[str]:
    """Lines in the form in which they are compared; empty ones are left out."""
    return [form for line in lines if (form := form_of(line))]


def form_of(line: str) -> str:
    """Put the name of what may vary in its place."""
    for name, looks in VARIES:
        line = looks.sub(f"{name} " if name.startswith("HOST") else name, line)
    return _SPACES.sub(" ", line).strip()
