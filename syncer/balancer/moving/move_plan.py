"""The plan of a run of moves: which bundle goes where, by which picture of the cluster, and what that is to cost.

A plan is a value, kept in a file and approved by an operator. Its fingerprint names exactly this plan; each move is
bound to the owner, the range and the load that the bundle had when the plan was made.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Final

from syncer.balancer.moving.bounds import RunBounds
from syncer.balancer.moving.split import AGAIN, PlannedSplit, range_of_planned
from syncer.errors import PlanInvalid
from syncer.model import Millis

MAX_MOVES: Final = 5000
"""More take longer than the load of any picture lasts."""
MAX_SPLITS: Final = 200
"""How far they are is kept whole at each change."""
_FACTOR: Final = 2.0
_SLACK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MovePrediction:
    """What a move is to cost and to bring, as it was reckoned; ``None``: unknown.

    Attributes:
        ready_s: From the unload until the new owner serves the bundle.
        client_seconds: Seconds without service, of all clients together.
        spread: Greatest usage less the mean, once this move and those before it were made.
    """

    ready_s: float | None = None
    client_seconds: float | None = None
    spread: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMove:
    """One move.

    Attributes:
        bundle: Its full name, ``tenant/namespace/0x00000000_0x40000000``.
        source: Its owner when the plan was made, ``host:port`` as the cluster lists it.
        target: The broker that gets it.
        throughput: Bytes a second in and out when the plan was made; ``None``: unknown.
        reason: Why it moves, for people.

    Raises:
        PlanInvalid: No bundle is named so, it would stay where it is, or a figure cannot be true.
    """

    bundle: str
    source: str
    target: str
    throughput: float | None
    prediction: MovePrediction = MovePrediction()
    reason: str = ""

    def __post_init__(self) -> None:
        range_of_planned(self.bundle)
        if not self.source or not self.target or self.source == self.target:
            raise PlanInvalid(f"{self.bundle} would go from {self.source!r} to {self.target!r}", hint=AGAIN)
        told = (self.throughput, self.prediction.ready_s, self.prediction.client_seconds, self.prediction.spread)
        if any(each is not None and not (math.isfinite(each) and each >= 0) for each in told):
            raise PlanInvalid(f"{self.bundle} has a figure that is below zero, or no number", hint=AGAIN)

    def fits(self, throughput: float | None) -> bool:
        """Say whether the bundle's load is still near the one that the plan was made by; an unknown one is.

        Args:
            throughput: Bytes a second now.
        """
        return load_fits(self.throughput, throughput)


def load_fits(planned: float | None, now: float | None) -> bool:
    """Say whether a load is still near the one that a plan was made by; an unknown one is.

    Args:
        planned: Bytes a second when the plan was made.
        now: Bytes a second now.
    """
    if now is None or planned is None:
        return True
    less, more = sorted((now, planned))
    return more <= less * _FACTOR or more - less <= _SLACK_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class MovePlan:
    """A plan.

    Attributes:
        table: Name of the cluster's table in the configuration.
        cluster: As it calls itself.
        taken_ms: When the picture was taken that it was made by.
        moves: In the order in which they are begun; one of a half waits for the split that makes it.
        splits: In the order in which they are begun.
        sheds: Whether Pulsar moved bundles itself when the plan was made; ``None``: not known.

    Raises:
        PlanInvalid: It moves nothing, too much, or a bundle twice, or one that it splits.
    """

    table: str
    cluster: str
    taken_ms: Millis
    moves: tuple[PlannedMove, ...]
    bounds: RunBounds = field(default_factory=RunBounds)
    splits: tuple[PlannedSplit, ...] = ()
    sheds: bool | None = None

    def __post_init__(self) -> None:
        if len(self.splits) > MAX_SPLITS:
            raise PlanInvalid(f"a plan has at most {MAX_SPLITS} splits, and not {len(self.splits)}", hint=AGAIN)
        if not self.moves or len(self.moves) > MAX_MOVES:
            raise PlanInvalid(f"a plan has from 1 to {MAX_MOVES} moves, and not {len(self.moves)}", hint=AGAIN)
        bundle, times = Counter(each.bundle for each in self.moves).most_common(1)[0]
        if times > 1:
            raise PlanInvalid(f"{bundle} would move {times} times", hint=AGAIN)
        bundle, times = Counter(each.bundle for each in self.steps).most_common(1)[0]
        if times > 1:
            raise PlanInvalid(f"{bundle} would be split, and moved or split again as a whole", hint=AGAIN)

    @property
    def steps(self) -> tuple[PlannedMove | PlannedSplit, ...]:
        """Its moves, then its splits."""
        return (*self.moves, *self.splits)

    @property
    def makers(self) -> dict[str, int]:
        """Each bundle that a split of the plan makes, with the number of that split."""
        return {half: number for number, split in enumerate(self.splits) for half in split.halves}

    @property
    def content(self) -> dict[str, object]:
        """All that it says, as plain data: equal plans have equal content.

        Of splits and shedding it says nothing where there is nothing to say, as plans of before they were known: files
        and fingerprints of then still hold.
        """
        plain = asdict(self)
        if not self.splits:
            del plain["splits"]
        if self.sheds is None:
            del plain["sheds"]
        return plain

    @property
    def fingerprint(self) -> str:
        """SHA-256 of its content, in hexadecimal."""
        text = json.dumps(self.content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
