"""Plays a plan on a scene: load, faults, rests, and at the end the referee. What happened becomes a report."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from deploy.lab.process import ServerFailed
from syncer.waiting import WaitFailed
from tests.faults.evidence import gather, restless, settle
from tests.faults.record import Answer
from tests.faults.referee import OVERWRITTEN_UNREAD, Judgement, judge
from tests.faults.sampling import Sample, Sampler
from tests.faults.scene import Scene
from tests.faults.steps import Note, Step, perform


@dataclass(slots=True)
class Played:
    """A step as it went.

    Args:
        step: Which.
        began_ms: When it struck.
        notes: What was seen, and when.
        ended_ms: When what it struck worked again.
        failed: What was not seen; empty: all was.
    """

    step: str
    began_ms: int
    notes: list[tuple[int, str]] = field(default_factory=list)
    ended_ms: int = 0
    failed: str = ""


@dataclass(slots=True)
class Outcome:
    """A run as it went.

    Args:
        seed: Of the plan.
        regions: Their names.
        began_ms: When the load began.
        steps: In order.
        rests: When all regions were equal in between, and after how many seconds.
        samples: For curves.
        ended_ms: When everything was at rest.
        settled_s: Seconds from the last write until then; ``None``: it did not come to rest.
        writes: Outside writes by answer.
        judgement: What the referee says; ``None`` when it could not look.
        trouble: What ended the run before its time.
    """

    seed: int
    regions: tuple[str, ...]
    began_ms: int
    steps: list[Played] = field(default_factory=list)
    rests: list[tuple[int, float]] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    ended_ms: int = 0
    settled_s: float | None = None
    writes: dict[str, int] = field(default_factory=dict)
    judgement: Judgement | None = None
    trouble: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether every fault was seen and mended, everything came to rest, and no rule is broken."""
        steps = bool(self.steps) and not any(played.failed for played in self.steps)
        return steps and self.judgement is not None and self.judgement.good and not self.trouble

    @property
    def verdict(self) -> str:
        """One line."""
        seconds = (self.ended_ms - self.began_ms) / 1000
        lost = self.broken("silent loss")
        unseen = sum(bool(played.failed) for played in self.steps)
        rules = len(self.judgement.broken) if self.judgement is not None else "unknown"
        facts = (
            f"{len(self.steps)} faults in {seconds:.0f} s, {self.writes.get('acknowledged', 0)} acknowledged writes, "
            f"{lost} lost, {self._unread()}rules broken: {rules}, faults unseen: {unseen}"
        )
        return f"faults: {'GREEN' if self.good else 'RED'}: {facts} (seed {self.seed})"

    def _unread(self) -> str:
        number = self.judgement.counts.get(OVERWRITTEN_UNREAD, 0) if self.judgement is not None else 0
        return f"{number} {OVERWRITTEN_UNREAD}, " if number else ""

    def broken(self, rule: str) -> int:
        """How often a rule was broken."""
        return sum(each.rule == rule for each in self.judgement.broken) if self.judgement is not None else 0


class Runner:
    """Plays one plan.

    Args:
        scene: Not yet open.
        tell: Where progress goes, line by line.
        rest_every_s: After so long all regions have to be equal once.
    """

    def __init__(self, scene: Scene, tell: Callable[[str], None], *, rest_every_s: float = float("inf")) -> None:
        self.scene = scene
        self._tell = tell
        self._rest_every_s = rest_every_s

    def play(self, steps: Iterator[Step], *, until_s: float = float("inf")) -> Outcome:
        """Open the scene, play the steps until they or the time are over, judge. The scene stays open.

        Args:
            steps: The plan.
            until_s: No step begins later than this after the load began.
        """
        scene = self.scene
        began = time.monotonic()
        scene.open()
        self._tell(f"{len(scene.names)} clusters in {time.monotonic() - began:.1f} s: {', '.join(scene.names)}")
        outcome = Outcome(scene.settings.seed, scene.names, scene.now_ms())
        sampler = Sampler(scene)
        sampler.start()
        try:
            self._strike(steps, outcome, time.monotonic() + until_s)
            outcome.settled_s = self._rest(outcome)
        except WaitFailed as exc:
            outcome.trouble += [str(exc), *restless(scene)]
        except Exception:  # noqa: BLE001 - whatever ends the run is told in the report
            outcome.trouble.append(traceback.format_exc())
        finally:
            sampler.end()
            outcome.samples = sampler.samples
            outcome.ended_ms = scene.now_ms()
        self._judge(outcome)
        return outcome

    def _judge(self, outcome: Outcome) -> None:
        gone = [thread.name for thread in self.scene.threads if not thread.is_alive()]
        outcome.trouble += [f"writer {name} has ended before its time" for name in gone]
        try:
            self.scene.still()
            self._tell("the referee looks")
            outcome.judgement = judge(gather(self.scene))
        except Exception:  # noqa: BLE001 - a referee who cannot look is told in the report, too
            outcome.trouble.append(traceback.format_exc())
        outcome.writes = {answer.value: self.scene.record.total(answer) for answer in Answer}

    def _strike(self, steps: Iterator[Step], outcome: Outcome, deadline: float) -> None:
        rested = time.monotonic()
        for step in steps:
            if time.monotonic() >= deadline:
                return
            outcome.steps.append(self._perform(step))
            if time.monotonic() - rested > self._rest_every_s:
                took = self._rest(outcome)
                self._tell(f"all regions equal {took:.1f} s after the last write")
                self.scene.load.go_on()
                rested = time.monotonic()

    def _rest(self, outcome: Outcome) -> float:
        took = settle(self.scene)
        outcome.rests.append((self.scene.now_ms(), took))
        return took

    def _perform(self, step: Step) -> Played:
        played = Played(str(step), self.scene.now_ms())
        self._tell(f"{step}:")
        try:
            perform(self.scene, step, self._noting(played))
        except (ServerFailed, WaitFailed) as exc:
            played.failed = str(exc)
            self._tell(f"    NOT SEEN: {exc}")
            self.scene.heal()
        played.ended_ms = self.scene.now_ms()
        self._tell(f"    over after {(played.ended_ms - played.began_ms) / 1000:.1f} s")
        return played

    def _noting(self, played: Played) -> Note:
        def note(text: str) -> None:
            now = self.scene.now_ms()
            played.notes.append((now, text))
            self._tell(f"    {(now - played.began_ms) / 1000:6.1f} s  {text}")

        return note
