"""The contract of version checks: which versions of Pulsar the brokers of a region have, all of them asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from syncer.admin.scalable_answers import ScalableTold
from syncer.conflict.deletes.collected import CollectionTold
from syncer.conflict.fields.table import BrokerVersion, parse_version

_NOBODY: Final = "no [admin] is configured"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokersTold:
    """What the brokers of a region said of themselves.

    Args:
        versions: Address of each broker that is listed, and its version as it told it.
        trouble: Why the answer is not whole; empty where every broker that is listed was asked and answered.
    """

    versions: Mapping[str, str] = field(default_factory=dict)
    trouble: str = ""

    @property
    def oldest(self) -> BrokerVersion | None:
        """Version of the oldest of them; ``None``: it cannot be told."""
        found = self._known.values()
        return min(found) if found and not self.trouble else None

    @property
    def newest(self) -> BrokerVersion | None:
        """Version of the newest that has told one; ``None``: none has."""
        return max(self._known.values(), default=None)

    @property
    def extremes(self) -> tuple[BrokerVersion, ...]:
        """Versions of the oldest and of the newest that have told one; empty: none has."""
        found = self._known.values()
        return (min(found), max(found)) if found else ()

    @property
    def in_order(self) -> tuple[str, ...]:
        """The versions that were told, each once, the oldest first."""
        known = self._known
        return tuple(sorted(known, key=known.__getitem__))

    @property
    def _known(self) -> dict[str, BrokerVersion]:
        """What was told that is a version, by its text."""
        return {text: found for text in self.versions.values() if (found := parse_version(text)) is not None}


class VersionProbe(Protocol):
    """Tells which versions the brokers of a region have, what they collect, and how many scalable topics there are."""

    @property
    def asks(self) -> bool:
        """Whether there is anybody to ask."""
        ...

    async def versions(self) -> BrokersTold:
        """Ask every broker that is listed now; what cannot be asked is told as trouble, never as an exception."""
        ...

    async def collection(self) -> CollectionTold:
        """Ask every broker that is listed now whether it deletes declarations of unused topics; never an exception."""
        ...

    async def scalable(self) -> ScalableTold:
        """Count scalable topics, which takes a question for each namespace; trouble is told, never an exception."""
        ...


class NobodyToAsk:
    """Stands where no admin API is configured; a :class:`VersionProbe`."""

    asks = False

    async def versions(self) -> BrokersTold:
        """Say why."""
        return BrokersTold(trouble=_NOBODY)

    async def collection(self) -> CollectionTold:
        """Say why."""
        return CollectionTold(trouble=_NOBODY, refused=True)

    async def scalable(self) -> ScalableTold:
        """Say why."""
        return ScalableTold(trouble=_NOBODY)
