"""Missing values: those that are due here are asked of the members in turn, and given up once every one has none.

A listing tells what is known without values; a value that its author's database or store has lost since, or that was
lost with its author's region, nobody can supply. Waiting for it for ever would keep two regions different for ever, and
with them every delete from being forgotten. So whoever is asked and has not the value says so:

    who lacks   ─▶ each member in turn   request   "the value of t@region at this path"
    the member  ─▶ all                   change    what it knows of the path, if it can tell anything
    the member  ─▶ all                   lacking   "nothing to tell", or "not t@region, but what I have told"

Once all members have, the greatest version that they know in its place stands; where none knows any, what the stores
hold. An answer of the first kind names the version, so it says nothing about a later one; and it counts only together
with a change of the same member, which may come before or after it. A member that is off, paused or being rebuilt says
nothing, and is waited for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Final

from syncer.bus.limits import portions
from syncer.bus.wire.messages import Control, ControlAction
from syncer.conflict.causality.order import later
from syncer.conflict.causality.vectors import believed
from syncer.conflict.folding import version_of
from syncer.conflict.rebuilding import unsupplied
from syncer.conflict.register import Register
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Region, Stamp, Version
from syncer.replacing import replace
from syncer.replication.recovery.part import Recovery
from syncer.replication.recovery.value_exchange import MissingValue
from syncer.replication.unit_of_work import UnitOfWork

ASK_AGAIN_MS: Final = 5_000
"""A member that does not answer is asked again after so long; each time that all were asked, after twice as long."""
LONGEST_DOUBLINGS: Final = 6
PATHS_PER_MESSAGE: Final = 200
PATHS_AT_ONCE: Final = 2_000
LACKS_BOUND: Final = 50_000
"""Values that are asked for at a time; beyond, what was asked for longest ago begins anew when it has its turn."""
TOLD_BOUND: Final = 5_000
"""Paths of which older versions are kept, with their values; beyond, what was told first is asked for again."""
TOLD_BYTES: Final = 64 << 20
"""The same in bytes of their values."""
VALUE_LACKS: Final = "its version is known here, and its value is not"
VERSION_LACKS: Final = "it is listed elsewhere, and no version of it is known here"
NOTHING_BOUND: Final = 50_000
"""Paths of which there is nothing to tell; more are asked for again."""


def work(recovery: Recovery, now: Millis) -> list[Control]:
    """Ask for what lacks, give up what nobody has, and say what there is nothing to tell of."""
    return [*_ask(recovery, now), *_say(recovery, now)]


def stamps_of(control: Control) -> dict[MetaPath, Stamp]:
    """The version that a request, or an answer to one, names of each of its paths; none where it names none."""
    return {MetaPath(path): Stamp(*stamp) for path, stamp in zip(control.paths, control.stamps, strict=False)}


def note(recovery: Recovery, paths: Mapping[MetaPath, Stamp | None]) -> None:
    """Somebody has asked for these; an older version is told instead of the named one, or (``None``) nothing is."""
    nothing = recovery.values.nothing
    for path, stamp in paths.items():
        if len(nothing) >= NOTHING_BOUND:
            break
        nothing[path] = stamp


def take(recovery: Recovery, control: Control) -> None:
    """A member has not the value of these paths; those that lack here are looked at again."""
    stamps, region = stamps_of(control), control.region
    for path in map(MetaPath, control.paths):
        missing, stamp = recovery.values.lacks.get(path), stamps.get(path)
        if missing is None or (stamp is not None and stamp != missing.stamp):
            continue
        missing.lacking.add(region)
        if stamp is None:
            missing.older.discard(region)
        else:
            missing.older.add(region)
        recovery.values.want(path)


def meet(recovery: Recovery, unit: UnitOfWork, event: MetadataChangeEvent) -> None:
    """An event was folded: if it is older than what lacks here, it may be what its sender knows instead."""
    missing, teller = recovery.values.lacks.get(event.path), recovery.group.peers.region_of(event.sender)
    if missing is None or missing.stamp is None or teller is None:
        return
    settings = recovery.core.replica.settings
    ties, told = settings.ties, missing.told.get(teller)
    if not later(missing.stamp, event.stamp, ties) or (told is not None and later(told.stamp, event.stamp, ties)):
        return
    version = believed(settings, unit[event.path], version_of(settings, event))
    unit.afterwards(lambda: _keep(recovery, missing, teller, version))


def _keep(recovery: Recovery, missing: MissingValue, teller: Region, version: Version) -> None:
    """Keep what a member knows in place of what lacks; the oldest of too many is let go."""
    values, telling = recovery.values, recovery.values.telling
    values.told_bytes += _size(version) - _size(missing.told.get(teller))
    missing.told[teller] = version
    telling[missing] = None
    telling.move_to_end(missing)
    while len(telling) > TOLD_BOUND or (values.told_bytes > TOLD_BYTES and len(telling) > 1):
        told = telling.popitem(last=False)[0].told
        values.told_bytes -= sum(map(_size, told.values()))
        told.clear()


def _size(version: Version | None) -> int:
    return len(version.value) if version is not None and version.value is not None else 0


def _say(recovery: Recovery, now: Millis) -> list[Control]:
    nothing = dict(recovery.values.nothing)
    recovery.values.nothing.clear()
    if recovery.core.observing or recovery.group.paused is not None:
        return []  # what it has may not leave it now; it is asked again
    paths = [path for path, stamp in nothing.items() if stamp is None]
    older = {path: stamp for path, stamp in nothing.items() if stamp is not None}
    return [
        *_controls(recovery, ControlAction.LACKING, "", paths, "there is nothing to tell of them", now),
        *_controls(recovery, ControlAction.LACKING, "", list(older), "what is known is older", now, older),
    ]


def _ask(recovery: Recovery, now: Millis) -> list[Control]:
    """Ask for values that are due and lacking: first their author, then the other members in turn."""
    if not recovery.values.wanting:
        return []
    lacks, own = recovery.values.lacks, recovery.core.identity.region
    wanted = list(islice(recovery.values.wanting, PATHS_AT_ONCE))
    with recovery.core.state.transaction() as tx:
        registers = tx.registers(wanted)
    for path in wanted:
        del recovery.values.wanting[path]
    members = [region for region in recovery.group.peers.members(recovery.group.expected) if region != own]
    asked: dict[tuple[Region, str], list[MetaPath]] = {}
    stamps: dict[MetaPath, Stamp] = {}
    hopeless: dict[MetaPath, Version | None] = {}
    for path in wanted:
        register = registers.get(path)
        if register is not None and register.known is not None and not register.value_missing:
            lacks.pop(path, None)
            continue
        missing = _missing(recovery, path, register)
        left = [region for region in members if region not in missing.lacking]
        left = left or [region for region in members if region in missing.older and region not in missing.told]
        if missing.stamp is not None:
            stamps[path] = missing.stamp
        if not left:
            hopeless[path] = _instead(recovery, missing, members)
        elif not missing.times or not 0 <= now - missing.asked_at_ms < _patience(missing, len(members)):
            author = missing.stamp.region if missing.stamp is not None else None
            left.sort(key=lambda region: (region != author, region))
            reason = VALUE_LACKS if missing.stamp is not None else VERSION_LACKS
            asked.setdefault((left[missing.times % len(left)], reason), []).append(path)
            missing.asked_at_ms, missing.times = now, missing.times + 1
            lacks.move_to_end(path)
    _give_up(recovery, hopeless, now)
    return [
        control
        for (region, reason), paths in asked.items()
        for control in _controls(recovery, ControlAction.REQUEST, region, paths, reason, now, stamps)
    ]


def _instead(recovery: Recovery, missing: MissingValue, members: Sequence[Region]) -> Version | None:
    """The greatest version that the members know in place of the one that lacks."""
    found: Version | None = None
    for region in members:
        told = missing.told.get(region) if region in missing.older else None
        if told is not None and (found is None or later(told.stamp, found.stamp, recovery.core.replica.settings.ties)):
            found = told
    return found


def _missing(recovery: Recovery, path: MetaPath, register: Register | None) -> MissingValue:
    """What is remembered of the asking; nothing of another version than the one that lacks now."""
    lacks = recovery.values.lacks
    stamp = register.known.stamp if register is not None and register.known is not None else None
    missing = lacks.get(path)
    if missing is None or missing.stamp != stamp:
        missing = lacks[path] = MissingValue(stamp=stamp, asked_at_ms=Millis(0))
        lacks.move_to_end(path)
        while len(lacks) > LACKS_BOUND:
            lacks.popitem(last=False)
    return missing


def _patience(missing: MissingValue, members: int) -> int:
    return ASK_AGAIN_MS << min((missing.times - 1) // max(members, 1), LONGEST_DOUBLINGS)


def _give_up(recovery: Recovery, paths: Mapping[MetaPath, Version | None], now: Millis) -> None:
    """Every member has said that it has none of these; what they know instead."""
    if not paths or recovery.core.observing or recovery.group.paused is not None or not recovery.core.first_scan_done:
        return
    with recovery.core.state.transaction() as tx:
        unit = recovery.units.begin(tx, now)
        unit.load(tuple(paths))
        for path, instead in paths.items():
            publishes = recovery.core.scope.direction(path).publishes
            unit.take(unsupplied(unit[path], publishes=publishes, instead=instead))
        unit.store()
    unit.settle()
    for path in paths:
        recovery.values.lacks.pop(path, None)


def _controls(
    recovery: Recovery,
    action: ControlAction,
    target: str,
    paths: Sequence[MetaPath],
    reason: str,
    now: Millis,
    stamps: Mapping[MetaPath, Stamp] = MappingProxyType({}),
) -> list[Control]:
    """Messages about paths, those with a stamp apart from those without one."""
    control = Control(
        region=recovery.core.identity.region,
        sender=recovery.core.identity.database_id,
        action=action,
        reason=reason,
        sent_at_ms=now,
        target=target,
    )
    named, nameless = [path for path in paths if path in stamps], [path for path in paths if path not in stamps]
    return [
        replace(
            control,
            paths=tuple(portion),
            stamps=tuple((stamp.updated_at_ms, stamp.region) for path in portion if (stamp := stamps.get(path))),
        )
        for group in (named, nameless)
        for portion in portions(group, PATHS_PER_MESSAGE)
    ]
