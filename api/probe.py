"""The contract between the HTTP surface and the daemon behind it, which implements it; the routes know nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from prometheus_client import CollectorRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """Something that the daemon needs, and whether it has it. ``cause`` says why not."""

    name: str
    ok: bool
    cause: str = ""


class Probe(Protocol):
    """The daemon, as far as the HTTP surface looks into it. Answers never wait for anything remote."""

    @property
    def registry(self) -> CollectorRegistry:
        """Metrics, brought up to date when they are collected."""
        ...

    def heartbeat_age_s(self) -> float:
        """Seconds since the main loop last turned."""
        ...

    def dependencies(self) -> Sequence[Dependency]:
        """What the daemon needs to do its work, with the state of each."""
        ...

    async def status(self) -> Mapping[str, object]:
        """The status document, as ``syncer status -o json`` prints it.

        Raises:
            SyncerError: The sidecar database cannot be read now.
        """
        ...
