"""Read the commands of a page, and what the page shows as their output.

A block ``console`` holds commands behind a prompt, ``$`` for a user and ``#`` for root; what follows a command, up to
the next one, is its output. A block ``bash`` is one command, as a whole; a block ``text`` after it, with no other block
between, is its output. Blocks may stand inside of lists. Other blocks are no commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.suites import REPOSITORY

DOCS: Final = REPOSITORY / "docs"
PAGES: Final = tuple(sorted([*(DOCS / "tutorial").glob("*.md"), *(DOCS / "how-to").glob("*.md")]))
_FENCE: Final = re.compile(r"^(?P<indent> *)(?:: )?```(?P<language>[a-z]*)$")
_PROMPT: Final = re.compile(r"^[$#] ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command of a page: where it stands, its text, and the lines that the page shows as its output."""

    page: str
    line: int
    text: str
    shown: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: its language, its first line's number, its lines without their indentation."""

    language: str
    line: int
    lines: tuple[str, ...]


def steps_of(page: Path) -> list[Step]:
    """Read the commands of a page, in its order."""
    return steps_in(page.read_text(encoding="utf-8"), page.relative_to(DOCS).with_suffix("").as_posix())


def steps_in(text: str, page: str) -> list[Step]:
    """Read the commands of a page's text, in its order."""
    found: list[Step] = []
    before = ""
    for block in blocks(text):
        if block.language == "console":
            found += _prompted(block, page)
        elif block.language == "bash":
            found.append(Step(page=page, line=block.line, text="\n".join(block.lines)))
        elif block.language == "text" and before == "bash":
            found[-1] = replace(found[-1], shown=block.lines)
        before = block.language
    return found


def blocks(text: str) -> Iterator[Block]:
    """Read the fenced blocks of a page.

    Raises:
        ValueError: The last block does not end.
    """
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        fence = _FENCE.match(line)
        if fence is None:
            continue
        indent, within = len(fence["indent"]), []
        for _, inner in lines:
            if inner.strip() == "```":
                break
            within.append(inner[indent:] if inner[:indent].isspace() or not indent else inner)
        else:
            raise ValueError(f"the block of line {number} does not end")
        yield Block(language=fence["language"], line=number + 1, lines=tuple(within))


def _prompted(block: Block, page: str) -> Iterator[Step]:
    step: Step | None = None
    for offset, line in enumerate(block.lines):
        if step is not None and step.text.endswith("\\"):
            step = replace(step, text=f"{step.text}\n{line}")
        elif _PROMPT.match(line):
            if step is not None:
                yield step
            step = Step(page=page, line=block.line + offset, text=line[2:])
        elif step is None:
            raise ValueError(f"{page}:{block.line}: a block 'console' begins with a prompt")
        else:
            step = replace(step, shown=(*step.shown, line))
    if step is not None:
        yield step
