"""Topics below paths: what was answered of them, what is to be asked, and questions that nobody could answer.

All of it is in memory and may be lost. Units: milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from syncer.admin.scalable_topics import ScalableCount, ScalableFound
from syncer.conflict.guards import Topics, wants_answer
from syncer.conflict.register import Register
from syncer.model import MetaPath, Millis
from syncer.replication.bounded_paths import PATHS_BYTES, Paths

AGAIN_MS: Final = 60_000
FEW: Final = 3
"""Asked again at a time, of who did not answer last: it takes its time for each, and new questions wait behind them."""
MANY: Final = 200
"""Asked again at a time at most, of who answers."""
ASKED_KEPT: Final = 10_000
TOPICS_FRESH_MS: Final = 30_000
ANSWERS_KEPT: Final = 1_000


@dataclass(slots=True)
class UnansweredTopics:
    """Paths whose change is held because nobody could tell about their topics.

    Args:
        asked: When each was last asked again.
        open: Those that are being asked again now.
        told: Answers that have come, and are not yet taken.
        room: How many are asked again at a time.
    """

    asked: dict[MetaPath, Millis] = field(default_factory=dict)
    open: dict[MetaPath, None] = field(default_factory=dict)
    told: dict[MetaPath, Topics] = field(default_factory=dict)
    room: int = FEW

    def clear(self) -> None:
        """Begin anew."""
        self.asked.clear()
        self.open.clear()
        self.told.clear()
        self.room = FEW

    def choose(self, due: Iterable[Register], now: Millis) -> list[MetaPath]:
        """Which of some due registers to ask again now: not asked for a minute, the longest waiting first."""
        waiting: dict[MetaPath, Millis] = {}
        for register in due:
            if register.hold is None or register.path in self.open or not wants_answer(register):
                continue
            at = self.asked.get(register.path, register.hold.since_ms)
            if not 0 <= now - at < AGAIN_MS:  # a clock that was set back must not keep anything waiting
                waiting[register.path] = at
        chosen = sorted(waiting, key=waiting.__getitem__)[: max(self.room - len(self.open), 0)]
        if len(self.asked) + len(chosen) > ASKED_KEPT:
            self.asked.clear()
        self.asked.update(dict.fromkeys(chosen, now))
        self.open.update(dict.fromkeys(chosen))
        return chosen

    def answer(self, path: MetaPath, topics: Topics) -> bool:
        """Take an answer; whether it was one to what had been asked again."""
        if path not in self.open:
            return False
        del self.open[path]
        if topics is Topics.CANNOT_ASK:
            self.room = FEW
        else:
            self.told[path] = topics
            self.asked.pop(path, None)
            self.room = min(2 * self.room, MANY)
        return True


@dataclass(slots=True)
class TopicAnswers:
    """What is known of topics below paths.

    Args:
        answers: What was answered, and when.
        asking: Paths of which a guard wants to know.
        unanswered: Questions that nobody could answer.
        scalable: The scalable topics of the store that is watched; ``None``: they are not all seen in it.
        told: How many brokers have told of where they are not seen; too old an answer for a guard.
    """

    answers: dict[MetaPath, tuple[Topics, Millis]] = field(default_factory=dict)
    asking: Paths[None] = field(default_factory=lambda: Paths(PATHS_BYTES))
    unanswered: UnansweredTopics = field(default_factory=UnansweredTopics)
    scalable: ScalableFound | None = field(default_factory=ScalableFound)
    told: ScalableCount | None = None

    @property
    def counted(self) -> ScalableCount | None:
        """How many scalable topics there are, seen or told; ``None``: nobody knows."""
        return self.told if self.scalable is None else self.scalable

    def scalable_at(self, path: MetaPath) -> Topics:
        """Whether a scalable topic has the name of a partitioned one."""
        if self.scalable is None or not self.scalable.whole:
            return Topics.NOT_ASKED
        return Topics.SOME if path in self.scalable.shadowed else Topics.NONE

    def note(self, path: MetaPath, topics: Topics, now: Millis) -> None:
        """Keep an answer."""
        if len(self.answers) > ANSWERS_KEPT:
            self.answers.clear()
        self.answers[path] = (topics, now)

    def fresh(self, path: MetaPath, now: Millis) -> Topics:
        """What is known, freshly, of the topics below a path."""
        answer = self.answers.get(path)
        if answer is None or answer[1] < now - TOPICS_FRESH_MS:
            return Topics.NOT_ASKED
        return answer[0]

    def take_questions(self) -> tuple[MetaPath, ...]:
        """Paths of which a guard wants to know whether topics exist below them; they are asked for now."""
        asked = tuple(self.asking)
        self.asking.clear()
        return asked

    def begin_anew(self) -> None:
        """The database has begun anew as another one: nothing is asked for it any more."""
        self.asking.clear()
        self.unanswered.clear()
