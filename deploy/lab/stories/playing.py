"""Playing a story on real servers: whatever happens, it ends with a verdict, and all that was started is stopped."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from types import FrameType
from typing import Protocol

from deploy.lab.process import ServerFailed
from deploy.lab.software import SoftwareMissing
from syncer.demo.screen import Screen
from syncer.log import configure
from syncer.waiting import WaitFailed


class Played(Protocol):
    """A story that can be played."""

    failed: list[str]

    def play(self) -> bool:
        """Play everything; whether all of it held."""
        ...

    def passed(self, elapsed_s: float) -> str:
        """What it has shown, after the word PASSED."""
        ...


def play(name: str, title: str, set_up: Callable[[Screen, contextlib.ExitStack], Played]) -> int:
    """Set a story up and play it; the exit status.

    Args:
        name: Of the demonstration, for its verdict.
        title: Said first.
        set_up: Starts what the story needs, and has the stack stop it.
    """
    signal.signal(signal.SIGTERM, _end)
    configure(level="error", form="console")
    screen = Screen()
    screen.console.print(title)
    try:
        with contextlib.ExitStack() as stack:
            story = set_up(screen, stack)
            held = story.play()
            screen.console.print()
            screen.say("stopping and removing both clusters")
        said = f"FAILED: {'; '.join(story.failed)}" if story.failed else f"PASSED{story.passed(screen.elapsed_s)}"
        screen.verdict(f"{name}: {said}", holds=held)
    except (ServerFailed, SoftwareMissing, WaitFailed) as exc:
        screen.verdict(f"{name}: FAILED: {exc}", holds=False)
        return 1
    except KeyboardInterrupt:
        screen.verdict(f"{name}: FAILED: interrupted; both clusters are stopped and removed", holds=False)
        return 130
    return 0 if held else 1


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
