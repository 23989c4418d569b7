"""Play a page: its commands in its order, in one shell, each checked against what the page shows.

What only looks is asked again until it shows what the page shows, as a reader asks again: daemons need a moment. A
daemon that is started in the foreground gets a terminal of its own. Any other command runs once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, TypeVar

from syncer.dispositions import ExitCode
from syncer.waiting import WaitTimedOut, wait_until
from tests.docs.comparing import same
from tests.docs.reading import Step
from tests.docs.shell import Ran, Shell
from tests.docs.stage import PLACES, Stage

Value = TypeVar("Value")
ENDED: Final = "it ended with status"
_LOOKS: Final = re.compile(
    r"(?:syncer (?:status|explain|holds list|conflicts (?:list|show)|events tail|quarantine list|parked list"
    r"|regions list|repairs)|store \w+ get)\b"
)
_DIFFERS: Final = re.compile(r"(?:syncer (?:diff|snapshot diff|backup diff)|python -m spark_snapshot diff)\b")
_FOREGROUND: Final = re.compile(r"syncer run\b[^&]*$")


def nothing(_stage: Stage) -> None:
    """Prepare nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """How a page is played.

    ``prepare`` makes what the page takes for granted. A key of ``before``, ``answers`` and ``endings`` is a command,
    with ``*`` for any text. In every command ``places`` says what stands here for a name on the page, in the stage's
    ``names``; directories of the system that are ``moved`` stand below the stage's own.

    Attributes:
        before: Does what the page's text tells to do first.
        answers: What is typed when the command asks.
        endings: Statuses other than 0, or than 3 of a command that compares.
    """

    prepare: Callable[[Stage], None] = nothing
    before: Mapping[str, Callable[[Stage], None]] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    endings: Mapping[str, int] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    moved: Sequence[str] = PLACES


def play(steps: Sequence[Step], how: Play, stage: Stage) -> None:
    """Play a page to its end, or to the first command that ended otherwise than the page says.

    Raises:
        AssertionError: Not all was as the page says; all that was not is told.
    """
    how.prepare(stage)
    outputs = stage.root / "printed"
    outputs.mkdir()
    faults: list[str] = []
    with Shell(stage.root, outputs, stage.environment()) as shell:
        for step in steps:
            for act in _of(how.before, step):
                act(stage)
            ran, fault = _run(step, how, stage, shell)
            if fault:
                faults.append(_told(step, fault, stage.as_on_a_page(ran.printed)))
            if fault.startswith(ENDED):
                break
    assert not faults, "\n\n".join(faults)


def _of(table: Mapping[str, Value], step: Step) -> list[Value]:
    return [value for pattern, value in table.items() if fnmatchcase(step.text, pattern)]


def _run(step: Step, how: Play, stage: Stage, shell: Shell) -> tuple[Ran, str]:
    (answer,) = _of(how.answers, step) or ("",)
    found: list[tuple[Ran, str]] = []

    def as_shown() -> bool:
        ran = shell.run(_typed(step, how, stage), answer=answer)
        found[:] = [(ran, _fault(step, how, stage, ran, answer))]
        return not found[0][1] or not _LOOKS.match(step.text)

    with suppress(WaitTimedOut):
        wait_until(as_shown, str(step))
    return found[0]


def _told(step: Step, fault: str, printed: str) -> str:
    return "\n".join((str(step), fault, "--- the page shows", *step.shown, "--- printed", printed.rstrip()))


def _typed(step: Step, how: Play, stage: Stage) -> str:
    text = step.text
    for on_page, here in how.places.items():
        text = text.replace(on_page, here.format_map(stage.names))
    for place in how.moved:
        text = text.replace(place, f"{stage.root}{place}")
    if _FOREGROUND.match(text):
        return f"{text} >{shlex.quote(str(stage.root / 'daemon.log'))} 2>&1 &"
    return text


def _fault(step: Step, how: Play, stage: Stage, ran: Ran, answer: str) -> str:
    allowed = {0, int(ExitCode.DIFFERENT)} if _DIFFERS.search(step.text) else {0}
    allowed = set(_of(how.endings, step)) or allowed
    if ran.status not in allowed:
        return f"{ENDED} {ran.status}"
    if answer and not ran.answered:
        return "it did not ask"
    if step.shown and not same(step.shown, stage.as_on_a_page(ran.printed)):
        return "it printed something else"
    return ""
