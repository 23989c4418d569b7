"""Breaks of completing: a daemon that carries on what brokers have dropped, or never gives it back to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from syncer.admin.version_probe import BrokersTold
from syncer.conflict import completing, folding, observing
from syncer.conflict.acts import Outcome
from syncer.conflict.completing import completed_value
from syncer.conflict.fields.kept import KeptFields, joined_parts
from syncer.conflict.register import Register
from syncer.model import Millis
from syncer.replication.local import broker_versions
from syncer.replication.local.part import OwnStore

Patches = Sequence[tuple[Any, str, Any]]
_NOTHING: Final = KeptFields()


def target_keeps() -> Patches:
    """What another region's value lacks is filled by what this region's own store holds."""
    fold = folding.fold_event

    def filling(settings: Any, register: Register, event: Any, now: Millis, *, released: bool) -> Outcome:
        kept = register.kept
        if kept is not None and event.value is not None:
            ours = KeptFields(gone=joined_parts(kept.store, kept.gone))
            event = replace(event, value=completed_value(event.path, event.value, ours))
        return fold(settings, register, event, now, released=released)

    return [(folding, "fold_event", filling)]


def absences_count_after_an_upgrade() -> Patches:
    """What lacks counts at once, though nobody has read since a broker became newer."""
    answer = broker_versions.answer

    def hasty(local: OwnStore, *rest: Any) -> None:
        answer(local, *rest)
        local.versions.unsettled = local.versions.rescan = False

    return [(broker_versions, "answer", hasty)]


def downgrades_are_not_noticed() -> Patches:
    """The first versions that were ever told stand for good."""
    answer, first = broker_versions.answer, dict[int, tuple[OwnStore, BrokersTold]]()

    def once(local: OwnStore, paths: Any, told: BrokersTold, now: Millis) -> None:
        if not told.trouble:
            _, told = first.setdefault(id(local), (local, told))
        answer(local, paths, told, now)

    return [(broker_versions, "answer", once)]


def nobody_is_asked_anew() -> Patches:
    """An absence is judged by the versions that were told last, before it was read."""
    observe = observing.observe

    def hasty(settings: Any, register: Register, entry: Any, moment: Any, *, publishes: bool) -> Outcome:
        moment = replace(moment, vouched=not moment.by_scan)
        return observe(settings, register, entry, moment, publishes=publishes)

    return [(observing, "observe", hasty)]


def kept_is_not_written_back() -> Patches:
    """A store never gets back what its brokers know by now."""
    return [(completing, "write_back", lambda settings, register, *_: Outcome(register))]


def kept_is_lost_with_its_database() -> Patches:
    """A database that has met nobody takes what its store lacks for removed."""
    return [
        (completing, "_kept_so_far", lambda _, register, *__: register.kept or _NOTHING),
        (observing, "awaits_value", lambda *_: False),
        (folding, "owed", lambda _, folded, *__: folded),
    ]


def kept_is_forgotten() -> Patches:
    """What a broker has dropped is kept until the next read alone."""
    observe = observing.observe

    def forgetting(settings: Any, register: Register, *rest: Any, **more: Any) -> Outcome:
        kept = register.kept
        if kept is not None and kept.gone:
            register = replace(register, kept=replace(kept, gone={}))
        return observe(settings, register, *rest, **more)

    return [(observing, "observe", forgetting)]


def removals_never_count() -> Patches:
    """Who knows a field and removes it gets it back."""
    observe = observing.observe

    def unbelieving(settings: Any, register: Register, entry: Any, moment: Any, *, publishes: bool) -> Outcome:
        return observe(settings, register, entry, replace(moment, by_scan=True), publishes=publishes)

    return [(observing, "observe", unbelieving)]


def removals_found_by_a_scan_count() -> Patches:
    """What a scan finds absent was removed, whoever has written there meanwhile."""
    observe = observing.observe

    def believing(settings: Any, register: Register, entry: Any, moment: Any, *, publishes: bool) -> Outcome:
        return observe(settings, register, entry, replace(moment, by_scan=False, vouched=True), publishes=publishes)

    return [(observing, "observe", believing)]


_BOTH: Final = ("versions", "versions-wiped")
BREAKS: Final[tuple[tuple[str, tuple[str, ...], Callable[[], Patches]], ...]] = (
    ("a target keeps its own newer fields", _BOTH, target_keeps),
    ("absences count after an upgrade", _BOTH, absences_count_after_an_upgrade),
    ("downgrades are not noticed", _BOTH, downgrades_are_not_noticed),
    ("brokers are not asked anew", _BOTH, nobody_is_asked_anew),
    ("kept fields are not written back", _BOTH, kept_is_not_written_back),
    ("kept fields are lost with their database", _BOTH, kept_is_lost_with_its_database),
    ("kept fields are forgotten", _BOTH, kept_is_forgotten),
    ("removals of fields never count", _BOTH, removals_never_count),
    ("whatever lacks was removed", _BOTH, removals_found_by_a_scan_count),
)
"""Each break, the modes that find it, and what it patches."""
RARELY_HARMFUL: Final = frozenset({"absences count after an upgrade", "brokers are not asked anew"})
"""Those that take a broker that drops a field and is replaced, or that has just come, before anybody is asked."""
