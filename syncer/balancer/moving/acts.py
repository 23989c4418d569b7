"""Acts of a run of moves: what is asked of the cluster, once the run that announces it is kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TakeClaim:
    """Claim the cluster's balancing, by the run's name."""

    claim: str


@dataclass(frozen=True, slots=True)
class ReleaseClaim:
    """Claim it no more."""


@dataclass(frozen=True, slots=True)
class SetSetting:
    """Set a setting for all brokers."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class UnsetSetting:
    """Take a setting back to what each broker was configured with."""

    key: str


@dataclass(frozen=True, slots=True)
class Split:
    """Have a bundle cut in two, the halves staying where it is; ``number`` is the split's in the plan."""

    number: int
    bundle: str
    position: int


@dataclass(frozen=True, slots=True)
class Unload:
    """Have a bundle leave its owner for another broker; ``number`` is the move's in the plan."""

    number: int
    bundle: str
    target: str


@dataclass(frozen=True, slots=True)
class LookUp:
    """Have a bundle that nobody owns looked up, so that it gets its new owner."""

    bundle: str


MoveAct = TakeClaim | ReleaseClaim | SetSetting | UnsetSetting | Split | Unload | LookUp
