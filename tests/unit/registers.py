"""Registers, entries and events about one tenant, as short as a table's row."""

from __future__ import annotations

from typing import Any, Final

from syncer.conflict.acts import Journal, Moment, Outcome
from syncer.conflict.register import Register, Stored
from syncer.conflict.replica import Replica
from syncer.conflict.settings import Settings
from syncer.model import MetadataChangeEvent, Millis, Region, Revision, Seen, Stamp, Version, counter_of
from syncer.stores.contract import Entry
from tests.property.strategies import NOW, TENANT, tenant_digest, tenant_event, tenant_value

HERE: Final = Region("here")
THERE: Final = Region("there")
THIRD: Final = Region("third")
BY_HERE: Final = counter_of(HERE, 1)
X, Y, Z = tenant_value(1), tenant_value(2), tenant_value(3)
SKEW: Final = 30_000


def replica(**changes: Any) -> Replica:
    return Replica(Settings(**{"region": HERE, **changes}))


def at(offset: int, region: Region = HERE) -> Stamp:
    return Stamp(Millis(NOW + offset), region)


def seen(*stamps: Stamp) -> Seen:
    return {counter_of(stamp.region, 1): stamp.updated_at_ms for stamp in stamps}


def version(value: bytes | None, stamp: Stamp, *also: Stamp, kept: bool = True) -> Version:
    """``also``: what its author had seen besides."""
    return Version(
        stamp=stamp,
        by=counter_of(stamp.region, 1),
        seen=seen(*also, stamp),
        digest=tenant_digest(value),
        value=value if kept else None,
    )


def event(value: bytes | None, stamp: Stamp, *also: Stamp) -> MetadataChangeEvent:
    return tenant_event(value, stamp, seen(*also, stamp))


def stored(value: bytes | None, stamp: Stamp, *also: Stamp, revision: str | None = "7") -> Stored:
    return Stored(
        stamp=stamp,
        by=counter_of(stamp.region, 1),
        seen=seen(*also, stamp),
        digest=tenant_digest(value),
        revision=None if revision is None or value is None else Revision(revision),
    )


def register(**changes: Any) -> Register:
    return Register(path=TENANT, **changes)


def settled_on(value: bytes | None, stamp: Stamp, *also: Stamp) -> Register:
    """Known and seated are the same."""
    return register(known=version(value, stamp, *also, kept=False), stored=stored(value, stamp, *also))


def entry(value: bytes, revision: str = "8", modified: int | None = 0, *, ephemeral: bool = False) -> Entry:
    """``modified``: offset to ``NOW``."""
    time = None if modified is None else Millis(NOW + modified)
    return Entry(path=TENANT, value=value, revision=Revision(revision), modified_at_ms=time, ephemeral=ephemeral)


def moment(offset: int = 0, *, seen_at: int | None = None, first_scan_done: bool = True) -> Moment:
    return Moment(
        now=Millis(NOW + offset),
        seen_at=Millis(NOW + (offset if seen_at is None else seen_at)),
        first_scan_done=first_scan_done,
    )


def only(outcome: Outcome, kind: type[Any]) -> Any:
    """The only act of its kind."""
    found = [act for act in outcome.acts if isinstance(act, kind)]
    assert len(found) == 1, outcome.acts
    return found[0]


def none_of(outcome: Outcome, *kinds: type[Any]) -> bool:
    return not any(isinstance(act, kinds) for act in outcome.acts)


def decisions(outcome: Outcome) -> list[str]:
    return [act.decision for act in outcome.acts if isinstance(act, Journal)]
