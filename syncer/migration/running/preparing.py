"""Preparing green: its steps are asked of it one after the other, and it is read again until nothing is left to do.

Every step can be repeated: what is there already counts as done, and a call whose outcome is unknown is made again.
So a preparation that was interrupted is begun anew, and does the rest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.errors import AdminError, AdminUnreachable
from syncer.migration.checks.finding import ClusterPair
from syncer.migration.preparing import prepare
from syncer.migration.preparing.step import Preparation, PreparationKind, PreparationStep
from syncer.migration.running.clock import Clock
from syncer.migration.scope import MigrationBounds

READINGS: Final = 5
"""How often green is read and prepared before it is given up."""
_PAUSES_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Between attempts of one step."""
_EXISTS: Final = 409


class StepOutcome(StrEnum):
    """How far a step is."""

    BEGUN = "begun"
    """It is about to be asked for: whether it was done is not known before it is reported once more."""
    DONE = "done"
    EXISTED = "existed"
    """What it was to make was there."""
    STOPPED = "stopped"
    """It was refused, or nobody answered for too long; nothing after it was tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """News of a step, for whoever records them.

    Attributes:
        answer: What stopped it, in the broker's words.
    """

    step: PreparationStep
    outcome: StepOutcome
    answer: str = ""


Report = Callable[[StepReport], Awaitable[None]]


async def prepare_green(
    calls: AdminCalls,
    read: Callable[[], Awaitable[ClusterPair]],
    *,
    clock: Clock,
    bounds: MigrationBounds,
    report: Report,
) -> Preparation:
    """Prepare green until it is read and lacks nothing that a step could give.

    Args:
        calls: Green's.
        read: Reads both clusters, blue's topics loaded.
        clock: For pauses.
        bounds: How fast green may be asked.
        report: Told before and after each step.

    Returns:
        The last plan: no steps but for what blue was given all the while, and what no step gives.

    Raises:
        AdminError: A step was refused, or nobody answered it for too long, and the step is named; or green lacks
            something however often it is prepared.
    """
    plan = prepare(await read())
    asked: set[str] = set()
    for _ in range(READINGS):
        if not plan.steps:
            return plan
        await perform(calls, plan.steps, clock=clock, bounds=bounds, report=report)
        asked |= set(map(_named, plan.steps))
        plan = prepare(await read())
    first = next((step for step in plan.steps if _named(step) in asked), None)
    if first is None:
        return plan
    raise AdminError(
        f"green was prepared {READINGS} times and still lacks {len(plan.steps)} steps, the first: {_named(first)}",
        hint="See whether somebody else changes green meanwhile, then prepare again.",
    )


async def perform(
    calls: AdminCalls, steps: Iterable[PreparationStep], *, clock: Clock, bounds: MigrationBounds, report: Report
) -> None:
    """Ask for steps in their order; the first that cannot be done ends it.

    Raises:
        AdminError: A step was refused, or nobody answered it for too long; the step is named.
    """
    for step in steps:
        await report(StepReport(step=step, outcome=StepOutcome.BEGUN))
        try:
            outcome = await _ask(calls, step, clock)
        except AdminError as error:
            await report(StepReport(step=step, outcome=StepOutcome.STOPPED, answer=error.message))
            raise _naming(step, error) from error
        await report(StepReport(step=step, outcome=outcome))
        if step.subscriptions:
            await clock.sleep(step.subscriptions / bounds.subscriptions_per_s)


async def _ask(calls: AdminCalls, step: PreparationStep, clock: Clock) -> StepOutcome:
    for pause_s in (*_PAUSES_S, None):
        try:
            await calls.send(step.method, step.path, step.body)
        except AdminRefused as refused:
            if refused.status == _EXISTS and step.creates:
                return StepOutcome.EXISTED
            if pause_s is None or not _may_pass(step, refused):
                raise
        except AdminUnreachable:
            if pause_s is None:
                raise
        else:
            return StepOutcome.DONE
        await clock.sleep(pause_s)
    raise AssertionError("unreachable: the last attempt raises")  # pragma: no cover


def _naming(step: PreparationStep, error: AdminError) -> AdminError:
    """The same error with the step in its words."""
    message = f"{_named(step)}: {error.message}"
    if isinstance(error, AdminRefused):
        return AdminRefused(message, status=error.status, reason=error.reason, hint=error.hint)
    return type(error)(message, hint=error.hint)


def _may_pass(step: PreparationStep, refused: AdminRefused) -> bool:
    """Whether the same call may be taken later: the broker failed, or somebody else wrote at the same moment."""
    if refused.status == _EXISTS:
        return step.kind is not PreparationKind.SCHEMA
    return refused.status >= 500


def _named(step: PreparationStep) -> str:
    return f"{step.kind} {step.subject}"
