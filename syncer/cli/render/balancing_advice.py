"""Rendering of advice: a row for each move, the front, what Pulsar would do alone, and what was taken for granted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncer.balancer.ranges import boundary_text
from syncer.cli.render import output
from syncer.cli.render.balancing import points
from syncer.cli.render.load_history import calibration_words
from syncer.cli.render.output import Format, say
from syncer.documents.balancing.advice import SizeDocument
from syncer.documents.words import counted

if TYPE_CHECKING:
    from syncer.documents.balancing.advice import (
        AdviceDocument,
        AdvisedCutDocument,
        AdvisedMoveDocument,
        AdvisedPlanDocument,
        ChangedFractionDocument,
        EstimateDocument,
        VetoDocument,
    )

_MOVES: Final = (
    "bundle",
    "from",
    "to",
    "why",
    "gain",
    "client-seconds",
    "bystanders",
    "source usage",
    "target usage",
    "instead of",
)
_CUTS: Final = ("cut", "of", "at", "why", "gain", "client-seconds", "whole", "parts that go")
_FRONT: Final = ("moves", "cuts", "spread", "client-seconds", "")
MOST_LEFT: Final = 20


def show_advice(found: AdviceDocument | SizeDocument, form: Format) -> None:
    """Print advice."""
    if form is not Format.TABLE:
        output.document(found, form)
        return
    if isinstance(found, SizeDocument):
        _size(found)
    elif found.steps:
        for step in found.steps:
            say(f"empty {step.broker}, then restart it:")
            _plan(step.plan)
            _left(step.left)
        if found.twice:
            say(f"{counted(len(found.twice), 'bundle')} move more than once: no broker could be kept empty for them")
    else:
        _advice(found)
    if found.unknown_brokers or found.unknown_bundles:
        say(
            f"not known: the load of {counted(len(found.unknown_brokers), 'broker')} and of"
            f" {counted(len(found.unknown_bundles), 'bundle')}; they are left as they are ('syncer balancer load')"
        )


def _advice(found: AdviceDocument) -> None:
    about = f" ({found.subject})" if found.subject else ""
    reason = f": {found.reason.value}{about}" if found.reason is not None else ""
    say(f"{found.cluster}: {found.answer.value}{reason}")
    if found.plan is not None:
        _plan(found.plan)
    if len(found.front) > 1:
        output.table(
            _FRONT,
            [
                (
                    each.moves,
                    each.cuts,
                    points(each.spread),
                    _figure(each.client_seconds),
                    "chosen" if each.chosen else "",
                )
                for each in found.front
            ],
        )
    for reason_, count in found.vetoes.items():
        say(f"{counted(count, 'bundle')} of the fullest broker may not move: {reason_}")
    _left(found.left)
    alone, plan = found.pulsar_alone, found.plan
    if alone is not None:
        ours = (
            f"plan: {_cuts(plan)}{counted(len(plan.moves), 'move')}, {_figure(plan.client_seconds)} client-seconds,"
            f" spread {points(plan.spread.after)}"
            if plan is not None
            else "plan: no move"
        )
        say(
            f"Pulsar alone ({alone.strategy}): {counted(alone.unloads, 'unload')}, {_figure(alone.client_seconds)}"
            f" client-seconds, spread {points(alone.spread)} after {counted(alone.rounds, 'round')}; {ours}"
        )
    if corrected := calibration_words(found.calibration):
        say(f"calibrated: {corrected}")
    if found.assumptions:
        say(f"taken for granted: {', '.join(each.value for each in found.assumptions)}")


def _plan(plan: AdvisedPlanDocument) -> None:
    if plan.cuts:
        say("first these are split, without an unload:")
        output.table(_CUTS, map(_cut, plan.cuts))
    output.table(_MOVES, map(_move, plan.moves), empty="no moves")
    say(
        f"spread {points(plan.spread.before)} -> {points(plan.spread.after)},"
        f" {_cuts(plan)}{counted(len(plan.moves), 'move')}, {_figure(plan.client_seconds)} client-seconds"
    )
    if plan.undone:
        say(f"Pulsar would shed again what it finds then: {', '.join(plan.undone)}")


def _cuts(plan: AdvisedPlanDocument) -> str:
    return f"{counted(sum(len(each.positions) for each in plan.cuts), 'cut')}, " if plan.cuts else ""


def _cut(cut: AdvisedCutDocument) -> tuple[object, ...]:
    going = [part for part in cut.parts if part.goes]
    return (
        cut.bundle,
        cut.broker,
        ", ".join(map(boundary_text, cut.positions)),
        cut.reason.value,
        points(cut.gain),
        _figure(cut.client_seconds),
        _figure(cut.whole_client_seconds),
        f"{len(going)} of {len(cut.parts)}, {sum(part.share for part in going):.0%} of its traffic",
    )


def _move(move: AdvisedMoveDocument) -> tuple[object, ...]:
    instead = move.rejected[0] if move.rejected else None
    return (
        move.bundle,
        move.source,
        move.target,
        move.reason.value,
        points(move.gain),
        _figure(move.client_seconds),
        _bystanders(move),
        _change(move.source_usage),
        _change(move.target_usage),
        None if instead is None else f"{instead.bundle} to {instead.target or 'anybody'}: {instead.reason.value}",
    )


def _bystanders(move: AdvisedMoveDocument) -> str:
    told = move.bystanders
    number, chance = None if told is None else told.value, move.bystanders_chance
    if number == 0:
        return "0"
    behind = "" if chance is None or chance.value is None else f" ({chance.value:.0%})"
    return f"{'?' if number is None else f'{number:.0f}'}{behind}"


def _left(left: list[VetoDocument]) -> None:
    for veto in left[:MOST_LEFT]:
        say(f"stays: {veto.bundle}: {veto.reason.value}{f' ({veto.detail})' if veto.detail else ''}")
    if len(left) > MOST_LEFT:
        say(f"{counted(len(left) - MOST_LEFT, 'more bundle')} stay: see '-o json'")


def _size(found: SizeDocument) -> None:
    size = found.size
    bound = points(size.most_usage)
    if size.would_do is None:
        say(f"{found.cluster}: even many more brokers would not bring {size.stuck} below {bound}")
        return
    say(f"{found.cluster}: {size.brokers} brokers, {size.would_do} would do with none above {bound}")
    if size.spare:
        say(f"could go, the cheapest first: {', '.join(size.spare)}")


def _figure(estimate: EstimateDocument) -> str:
    if estimate.value is None:
        return "?"
    return f"{estimate.value:.1f}{'' if estimate.basis.value == 'known' else ' (' + estimate.basis.value + ')'}"


def _change(usage: ChangedFractionDocument) -> str:
    return f"{points(usage.before)} -> {points(usage.after)}"
