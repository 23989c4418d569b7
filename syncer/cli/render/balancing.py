"""Rendering of load balancing: strategies beside each other, and our plans beside each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.documents.words import counted, moment

if TYPE_CHECKING:
    from syncer.documents.balancing.comparison import ComparedStrategyDocument, ComparisonDocument, PlayedRoundsDocument

HEADINGS: Final = (
    "strategy", "placement", "unloads", "client-seconds", "spread", "settled", "came back",
    "our moves", "our client-seconds", "our spread", "settings",
)  # fmt: skip


def show_comparison(found: ComparisonDocument, form: Format) -> None:
    """Print a comparison: a row for each strategy in its settings."""
    if form is not Format.TABLE:
        output.document(found, form)
        return
    output.table(HEADINGS, comparison_rows(found))
    say(load_words(found))
    say("spread: the greatest usage less the mean. settled: the round of the last move, '-' where it went on moving.")


def load_words(found: ComparisonDocument) -> str:
    """The load that was compared over, in one sentence without its point."""
    load = found.load
    if load.samples is not None:
        said = (
            f"load of {load.cluster} as recorded from {moment(load.first_ms)} to {moment(load.last_ms)}, a round for"
            f" each of {counted(load.samples, 'sample')}; in the last"
        )
    elif load.cluster is not None:
        said = f"load of {load.cluster} at {moment(load.taken_ms)}"
    else:
        said = f"load drawn by seed {load.seed} ({load.shape})"
    said += f": {counted(load.brokers, 'broker')}, {counted(load.bundles, 'bundle')}"
    if found.spread is not None:
        said += f", a spread of {points(found.spread)} at the beginning"
    if load.unknown_brokers or load.unknown_bundles:
        left_out = f"{counted(load.unknown_brokers, 'broker')} and {counted(load.unknown_bundles, 'bundle')}"
        said += f"; {left_out} left out, whose figures are not all known"
    return said


def comparison_rows(found: ComparisonDocument) -> list[tuple[object, ...]]:
    """A row for each strategy in its settings, under :data:`HEADINGS`."""
    return [_row(each) for each in found.strategies]


def _row(each: ComparedStrategyDocument) -> tuple[object, ...]:
    pulsar, ours = each.pulsar, each.ours
    settings = " ".join(f"{name}={_word(value)}" for name, value in each.settings.items())
    return (
        each.strategy,
        each.placement,
        pulsar.unloads,
        _seconds(pulsar),
        points(pulsar.spread),
        pulsar.settled_after_rounds,
        len(pulsar.ping_pong),
        ours.unloads if ours else None,
        _seconds(ours) if ours else None,
        points(ours.spread) if ours else None,
        settings,
    )


def _seconds(found: PlayedRoundsDocument) -> str | None:
    return None if found.client_seconds is None else f"{found.client_seconds:.1f}"


def points(fraction: float) -> str:
    """A usage or a spread as a percentage."""
    return f"{fraction:.1%}"


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
