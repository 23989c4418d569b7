"""Questions for the brokers' versions, as a daemon's pump asks them: step by step, and answered late or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from syncer.admin.version_probe import BrokersTold
from syncer.model import MetaPath, Millis, Revision
from tests.support.parts import parts_of

if TYPE_CHECKING:
    from tests.simulation.broker_writes import BrokerGroup
    from tests.simulation.region import Daemon

EACH_MS: Final = 3_000
"""How often the brokers are asked though nothing waits for it: a schedule takes but a minute or two."""


@dataclass(eq=False, slots=True)
class VersionQuestion:
    """One question on its way: the brokers are listed first, then asked one after the other.

    Args:
        paths: The absences that had been read before.
        names: Brokers that are listed and have yet to be asked; ``None``: none were listed yet.
        told: What was told.
        trouble: Why the answer is not whole.
    """

    paths: dict[MetaPath, Revision]
    names: list[str] | None = None
    told: dict[str, str] = field(default_factory=dict)
    trouble: str = ""


class VersionQuestions:
    """What one daemon asks the brokers of its region.

    Args:
        daemon: The daemon.
        group: The brokers.
    """

    def __init__(self, daemon: Daemon, group: BrokerGroup) -> None:
        self._daemon = daemon
        self._group = group
        self._open: VersionQuestion | None = None

    def moves(self) -> list[Callable[[], None]]:
        """What can be done now."""
        moves = [self._read_all_again] if self._daemon.driver.rescan_due else []
        if self._open is None:
            if self._due() is not None:
                moves.append(self._ask)
        elif not (self._silent and self._group.hangs):
            moves.append(self._go_on)
        return moves

    @property
    def _silent(self) -> bool:
        return self._group.silent_until > self._daemon.world.story.now

    def _due(self) -> dict[MetaPath, Revision] | None:
        daemon, versions = self._daemon, parts_of(self._daemon.driver).local.versions
        if versions.asked_at and daemon.now - versions.asked_at >= EACH_MS:
            return dict(versions.waiting)
        return daemon.driver.doubted_absences(daemon.now)

    def _ask(self) -> None:
        paths = self._due()
        if paths is not None:
            self._open = VersionQuestion(paths)

    def _go_on(self) -> None:
        """The brokers are listed, or the next one is asked, or the answer arrives."""
        question, daemon, group = self._open, self._daemon, self._group
        assert question is not None
        if self._silent:
            question.trouble, question.names = "a broker does not answer", []
        if question.names is None:
            question.names = list(group.versions)
        elif question.names:
            name = question.names.pop(0)
            if name in group.versions:
                question.told[name] = group.versions[name]
            else:
                question.trouble = f"{name} has gone"
        else:
            self._open = None
            told = BrokersTold(versions=question.told, trouble=question.trouble)
            daemon.tell("is told versions", None, told.trouble or sorted(question.told.items()), *question.paths)
            daemon.call(lambda: daemon.driver.answer_versions(question.paths, told, daemon.now))
            daemon.world.met["untold"] += bool(told.trouble)
            parts_of(daemon.driver).local.versions.incomplete_at = Millis(0)  # as if a minute had passed

    def _read_all_again(self) -> None:
        """A broker has become newer: all is read again, under the watch that is armed."""
        self._daemon.tell("reads all again: a broker is newer")
        self._daemon.world.met["read again"] += 1
        self._daemon.scan_anew()
