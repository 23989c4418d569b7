"""Rendering of plans, their outcome and backups: rows for operators, documents for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.documents.plans import (
    AppliedDocument,
    FailureDocument,
    FirstFormSideDocument,
    LeftDocument,
    PerformedDocument,
    PlanDocument,
    PlannedDocument,
    RefusalDocument,
    ScalableSideDocument,
)
from syncer.documents.values import change_documents, change_row
from syncer.documents.words import counted
from syncer.model import MetaPath
from syncer.paths import classify
from syncer.plan.operations import Action, Operation
from syncer.plan.rendering import SIGNS
from syncer.plan.review import ALLOWABLE, Reason, Review

if TYPE_CHECKING:
    from syncer.planning.apply import RunOutcome
    from syncer.planning.first_form import FirstFormSeen
    from syncer.planning.scalable import ScalableSide

MAX_TOLD: Final = 40
"""Operations that are told one by one before an operator agrees; the rest is a number."""

LEFT_SIGN: Final = "="
STATES: Final = ("applied", "already", "refused", "unknown", "unreached")
WOULD: Final = {"applied": "would apply", "refused": "would be refused"}
"""States of a run that has written nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A run that has ended, one way or the other."""

    review: Review
    outcome: RunOutcome
    dry_run: bool
    undo: Path | None


def plan_document(
    review: Review,
    *,
    compared: int | None = None,
    uncovered: int | None = None,
    unshared: int | None = None,
    other_way: int | None = None,
    unknown: Sequence[str] | None = None,
    scalable: Sequence[ScalableSide] = (),
    first_form: Sequence[tuple[str, FirstFormSeen]] = (),
) -> PlanDocument:
    """A plan as the contract has it."""
    plan = review.plan
    return PlanDocument(
        region=plan.region,
        source=plan.source,
        made_at_ms=plan.made_at_ms,
        different=bool(plan.operations or plan.left),
        compared=compared,
        uncovered=uncovered,
        unshared_paths=unshared,
        other_way_paths=other_way,
        unknown=None if unknown is None else list(unknown),
        scalable_topics=[
            ScalableSideDocument(
                side=each.side,
                total=None if each.count is None else each.count.total,
                whole=each.count is not None and each.count.whole,
                trouble=each.trouble,
            )
            for each in scalable
        ],
        first_form_namespaces=[
            FirstFormSideDocument(side=side, total=met.count, named=list(met.named)) for side, met in first_form
        ],
        operations=[_planned(each, review) for each in plan.operations],
        left=[_left(path) for path in plan.left],
    )


def show_plan(found: PlanDocument, review: Review, form: Format) -> None:
    """Print a plan."""
    if form is not Format.TABLE:
        output.document(found, form)
        return
    rows = [*plan_rows(review), *((LEFT_SIGN, each.resource, each.name, "only here; left") for each in found.left)]
    output.table(("", "resource", "name", "change"), rows, empty="no difference")
    tell_counts(review)
    if found.unshared_paths:
        there = found.uncovered or 0
        say(
            f"{counted(found.unshared_paths, 'path')} not shared, and not compared: {there} there that this region's "
            f"scope leaves out, {found.unshared_paths - there} here that the other side's does"
        )
    if found.other_way_paths:
        say(
            f"{counted(found.other_way_paths, 'path')} not compared: by the directions of the scopes nothing comes in "
            "here from the other region"
        )
    for side in found.scalable_topics:
        _tell_scalable(side)
    for each in found.first_form_namespaces:
        say(
            f"{each.side}: {counted(each.total, 'namespace')} of the form PROPERTY/CLUSTER/NAMESPACE, not carried; "
            f"among them {', '.join(each.named)}"
        )


def _tell_scalable(found: ScalableSideDocument) -> None:
    """Say on stderr what of a side is not carried; nothing where there is none."""
    if found.total is None:
        say(f"{found.side}: scalable topics (topic://), which are not carried, were not counted: {found.trouble}")
    elif found.total or not found.whole:
        some = "" if found.whole else "at least "
        say(f"{found.side}: {some}{counted(found.total, 'scalable topic')} (topic://), not carried")


def plan_rows(review: Review) -> Iterator[output.Row]:
    """Operations for people, in their order."""
    for each in review.plan.operations:
        sign, change = change_row(each)
        words = [change, *(f"refused, {why.reason}: {why.detail}" for why in review.refused.get(each.path, ()))]
        if each.path in review.spared:
            words.append(_spared(each, review))
        text = "; ".join(word for word in words if word)
        yield sign, each.resource.kind.value, each.resource.name, text


def tell_counts(review: Review) -> None:
    """Say on stderr what a plan comes to."""
    plan = review.plan
    if not plan.operations and not plan.left:
        return
    counts = Counter(each.action for each in plan.operations)
    say(
        f"to make region {plan.region} like {plan.source}: {counts[Action.CREATE]} to create,"
        f" {counts[Action.UPDATE]} to update, {counts[Action.DELETE]} to delete"
    )
    if plan.left:
        say(f"{len(plan.left)} only here, left as they are; --delete plans their deletion")
    if review.spared:
        names = sorted({name for fields in review.spared.values() for name in fields})
        say(
            f"{counted(len(review.spared), 'operation')} without fields that this region has excluded since the plan "
            f"was made: {', '.join(names)}"
        )
    tell_refusals(review)


def tell_refusals(review: Review) -> None:
    """Say on stderr what is refused, and what sets each reason aside."""
    reasons = Counter(why.reason for refusals in review.refused.values() for why in refusals)
    for reason, count in sorted(reasons.items()):
        if reason is Reason.DELETE:
            remedy = "--delete performs them"
        elif reason in ALLOWABLE:
            remedy = f"--allow {reason} sets this aside"
        else:
            remedy = "this never gives way"
        say(f"{count} refused, {reason}: {remedy}")


def tell_plan(review: Review) -> None:
    """Say on stderr what is about to be done."""
    for index, row in enumerate(plan_rows(review)):
        if index == MAX_TOLD:
            say(f"… and {len(review.plan.operations) - MAX_TOLD} more")
            break
        say("  ".join(str(cell) for cell in row if cell))
    tell_counts(review)


def show_applied(run: Applied, form: Format) -> None:
    """Print what became of a plan."""
    states = _states(run)
    counts = Counter(states.values())
    if form is not Format.TABLE:
        output.document(_applied(run, states, counts), form)
        return
    plan = run.review.plan
    words = {**dict(zip(STATES, STATES, strict=True)), **(WOULD if run.dry_run else {})}
    pairs: list[tuple[str, object]] = [("region", plan.region), ("from", plan.source)]
    pairs += [(words[state], counts[state]) for state in STATES]
    if run.undo is not None:
        deletes = any(each.action is Action.CREATE for each in (*run.outcome.applied, *run.outcome.unknown))
        pairs.append(("undo", f"syncer plan apply {run.undo}{' --delete' if deletes else ''}"))
    output.facts(pairs)
    rows = [
        (
            SIGNS[each.action],
            each.resource.kind.value,
            each.resource.name,
            words[states[each.path]],
            "; ".join(
                (
                    *(f"{why.reason}: {why.detail}" for why in run.review.refused.get(each.path, ())),
                    *((_spared(each, run.review),) if each.path in run.review.spared else ()),
                )
            ),
        )
        for each in plan.operations
        if run.dry_run or states[each.path] not in {"applied", "already"}
    ]
    if rows:
        output.out("")
        output.table(("", "resource", "name", "state", "why"), rows)
    for path in run.outcome.unread:
        say(f"! {path} was replaced in the very moment between read and write; what stood there for it is lost")


def _states(run: Applied) -> dict[MetaPath, str]:
    outcome = run.outcome
    states = dict.fromkeys(run.review.refused, "refused")
    for name, operations in (
        ("applied", outcome.applied),
        ("already", outcome.already),
        ("unknown", outcome.unknown),
        ("unreached", outcome.unreached),
    ):
        states.update((each.path, name) for each in operations)
    return states


def _applied(run: Applied, states: Mapping[MetaPath, str], counts: Mapping[str, int]) -> AppliedDocument:
    review, error = run.review, run.outcome.error
    items = [
        PerformedDocument.model_validate(
            {
                **_subject(each),
                "state": states[each.path],
                "refused": _why(each, review),
                "excluded": list(review.spared.get(each.path, ())),
            }
        )
        for each in review.plan.operations
    ]
    return AppliedDocument(
        region=review.plan.region,
        source=review.plan.source,
        dry_run=run.dry_run,
        counts={name: counts[name] for name in STATES},
        operations=items,
        left=[_left(path) for path in review.plan.left],
        undo=str(run.undo) if run.undo is not None else None,
        error=FailureDocument(code=error.code, message=error.message, hint=error.hint) if error is not None else None,
    )


def _planned(operation: Operation, review: Review) -> PlannedDocument:
    return PlannedDocument.model_validate(
        {**_subject(operation), "changes": change_documents(operation), "refused": _why(operation, review)}
    )


def _subject(operation: Operation) -> dict[str, object]:
    resource = operation.resource
    return {
        "action": operation.action.value,
        "resource": resource.kind.value,
        "name": resource.name,
        "path": operation.path,
    }


def _why(operation: Operation, review: Review) -> list[RefusalDocument]:
    return [
        RefusalDocument(reason=each.reason.value, detail=each.detail) for each in review.refused.get(operation.path, ())
    ]


def _spared(operation: Operation, review: Review) -> str:
    return f"not written, excluded in this region: {', '.join(review.spared[operation.path])}"


def _left(path: MetaPath) -> LeftDocument:
    resource = classify(path)
    if resource is None:
        return LeftDocument(resource="", name=path, path=path)
    return LeftDocument(resource=resource.kind.value, name=resource.name, path=path)
