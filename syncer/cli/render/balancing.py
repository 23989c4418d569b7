"""Rendering of load balancing: strategies beside each other, and our plans beside each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.documents.words import counted

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
    load = found.load
    if found.spread is not None:
        say(
            f"load drawn by seed {load.seed} ({load.shape}): {counted(load.brokers, 'broker')},"
            f" {counted(load.bundles, 'bundle')}, a spread of {points(found.spread)} at the beginning"
        )
    say("spread: the greatest usage less the mean. settled: the round of the last move, '-' where it went on moving.")


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
