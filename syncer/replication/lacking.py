"""Values that are due here and lacking: asked of the members in turn, and given up once every one has said it has none.

A listing tells what is known without values; a value that its author's database or store has lost since, nobody can
supply. Waiting for it for ever would keep two regions different for ever, and with them every delete from being
forgotten. So whoever is asked and has nothing to tell says so, and once all members have, what the stores hold stands.
A member that is off, paused or being rebuilt says nothing, and is waited for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from syncer.bus.messages import Action, Control
from syncer.conflict.rebuilding import unsupplied
from syncer.conflict.register import Register
from syncer.model import MetaPath, Millis, Region
from syncer.replication.context import Context
from syncer.replication.talk import Lack
from syncer.replication.unit import Unit

ASK_AGAIN_MS: Final = 5_000
"""A member that does not answer is asked again after so long; each time that all were asked, after twice as long."""
LONGEST_DOUBLINGS: Final = 6
PATHS_PER_MESSAGE: Final = 200
PATHS_AT_ONCE: Final = 2_000
LACKS_BOUND: Final = 50_000
"""Values that are asked for at a time; beyond, what was asked for longest ago begins anew when it has its turn."""
VALUE_LACKS: Final = "its version is known here, and its value is not"
VERSION_LACKS: Final = "it is listed elsewhere, and no version of it is known here"
NOTHING_BOUND: Final = 50_000
"""Paths of which there is nothing to tell; more are asked for again."""


def work(context: Context, now: Millis) -> list[Control]:
    """Ask for what lacks, give up what nobody has, and say what there is nothing to tell of."""
    return [*_ask(context, now), *_say(context, now)]


def note(context: Context, paths: Iterable[MetaPath]) -> None:
    """Somebody has asked for these, and there is nothing to tell of them."""
    nothing = context.talk.nothing
    for path in paths:
        if len(nothing) >= NOTHING_BOUND:
            break
        nothing[path] = None


def take(context: Context, control: Control) -> None:
    """A member has nothing to tell of these paths; those that lack here are looked at again."""
    for path in map(MetaPath, control.paths):
        lack = context.talk.lacks.get(path)
        if lack is not None:
            lack.lacking.add(control.region)
            context.want(path)


def _say(context: Context, now: Millis) -> list[Control]:
    paths = list(context.talk.nothing)
    context.talk.nothing.clear()
    if context.observing or context.paused is not None:
        return []  # what it has may not leave it now; it is asked again
    return _controls(context, Action.LACKING, "", paths, "there is nothing to tell of them", now)


def _ask(context: Context, now: Millis) -> list[Control]:
    """Ask for values that are due and lacking: first their author, then the other members in turn."""
    if not context.wanting:
        return []
    lacks, own = context.talk.lacks, context.identity.region
    wanted = list(islice(context.wanting, PATHS_AT_ONCE))
    with context.state.transaction() as tx:
        registers = tx.registers(wanted)
    for path in wanted:
        del context.wanting[path]
    members = [region for region in context.peers.members(context.expected) if region != own]
    asked: dict[tuple[Region, str], list[MetaPath]] = {}
    hopeless: list[MetaPath] = []
    for path in wanted:
        register = registers.get(path)
        if register is not None and register.known is not None and not register.lacking:
            lacks.pop(path, None)
            continue
        lack = _lack(context, path, register)
        left = [region for region in members if region not in lack.lacking]
        if not left:
            hopeless.append(path)
        elif not lack.times or not 0 <= now - lack.asked_at_ms < _patience(lack, len(members)):
            author = lack.stamp.region if lack.stamp is not None else None
            left.sort(key=lambda region: (region != author, region))
            reason = VALUE_LACKS if lack.stamp is not None else VERSION_LACKS
            asked.setdefault((left[lack.times % len(left)], reason), []).append(path)
            lack.asked_at_ms, lack.times = now, lack.times + 1
            lacks.move_to_end(path)
    _give_up(context, hopeless, now)
    return [
        control
        for (region, reason), paths in asked.items()
        for control in _controls(context, Action.REQUEST, region, paths, reason, now)
    ]


def _lack(context: Context, path: MetaPath, register: Register | None) -> Lack:
    """What is remembered of the asking; nothing of another version than the one that lacks now."""
    lacks = context.talk.lacks
    stamp = register.known.stamp if register is not None and register.known is not None else None
    lack = lacks.get(path)
    if lack is None or lack.stamp != stamp:
        lack = lacks[path] = Lack(stamp=stamp, asked_at_ms=Millis(0))
        lacks.move_to_end(path)
        while len(lacks) > LACKS_BOUND:
            lacks.popitem(last=False)
    return lack


def _patience(lack: Lack, members: int) -> int:
    return ASK_AGAIN_MS << min((lack.times - 1) // max(members, 1), LONGEST_DOUBLINGS)


def _give_up(context: Context, paths: Sequence[MetaPath], now: Millis) -> None:
    """Every member has said that it has none of these."""
    if not paths or context.observing or context.paused is not None or not context.genesis:
        return
    with context.state.transaction() as tx:
        unit = Unit(context, tx, now)
        unit.load(paths)
        for path in paths:
            unit.take(unsupplied(unit[path], publishes=context.scope.direction(path).publishes))
        unit.store()
    unit.settle()
    for path in paths:
        context.talk.lacks.pop(path, None)


def _controls(
    context: Context, action: Action, target: str, paths: Sequence[MetaPath], reason: str, now: Millis
) -> list[Control]:
    return [
        Control(
            region=context.identity.region,
            sender=context.identity.database_id,
            action=action,
            paths=tuple(paths[start : start + PATHS_PER_MESSAGE]),
            reason=reason,
            sent_at_ms=now,
            target=target,
        )
        for start in range(0, len(paths), PATHS_PER_MESSAGE)
    ]
