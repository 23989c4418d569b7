"""Answers about a cluster's load balancing, of a picture alone: nothing is asked of the cluster."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, assert_never

from syncer.balancer.comparing.comparison import compare
from syncer.balancer.comparing.contending import contenders
from syncer.balancer.comparing.pictured import pictured_load, recorded_load
from syncer.balancer.cost.calibration import calibrated
from syncer.balancer.cost.tariff import Tariff, UnloadTimes
from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.checkup import checkup
from syncer.balancer.history.sample import picture_then
from syncer.balancer.inquiry import asked_of, pulsar_alone
from syncer.balancer.loads import unknown
from syncer.balancer.planner.balance import balance
from syncer.balancer.planner.drain import drain
from syncer.balancer.planner.fill import FILL_AIM, fill
from syncer.balancer.planner.rolling import rolling_restart
from syncer.balancer.planner.sizing import size
from syncer.documents.balancing.advice import advice_document, rolling_document, size_document
from syncer.documents.balancing.comparison import ComparedLoadDocument, comparison_document
from syncer.documents.balancing.doctor import doctor_document
from syncer.documents.balancing.load import load_document
from syncer.errors import RequestInvalid
from syncer.inspection.balancing.questions import (
    AdviceQuestion,
    ComparisonQuestion,
    DoctorQuestion,
    DrainQuestion,
    LoadQuestion,
)

if TYPE_CHECKING:
    from syncer.balancer.comparing.comparison import ComparedLoad, ComparedRow
    from syncer.balancer.cost.calibration import Calibration
    from syncer.balancer.inquiry import AskedCluster
    from syncer.balancer.planner.advice import AdvisedPlan
    from syncer.documents.balancing.advice import AdviceDocument, SizeDocument
    from syncer.documents.balancing.comparison import ComparisonDocument
    from syncer.documents.balancing.doctor import DoctorDocument
    from syncer.documents.document import Document
    from syncer.inspection.balancing.looking import ClusterLook
    from syncer.inspection.balancing.questions import Shown

SEED: Final = 1
"""Of the dice with which Pulsar draws one of equally good brokers: the same question gets the same answer."""


def answered(question: Shown, look: ClusterLook) -> Document:
    """Answer a question.

    Raises:
        RequestInvalid: It names a broker or a strategy that there is not, or asks two things at a time.
        BalancerError: What is known of the cluster does not suffice.
    """
    match question:
        case LoadQuestion():
            return load_document(look.picture)
        case DoctorQuestion():
            return diagnosed(look)
        case AdviceQuestion() | DrainQuestion():
            return advised(question, look, asked_by(look))[0]
        case ComparisonQuestion():
            return compared(question, look)
        case _:
            assert_never(question)


def diagnosed(look: ClusterLook) -> DoctorDocument:
    """Find whatever hinders load balancing."""
    picture, recorded = look.picture, look.recorded
    before = tuple(picture_then(each, picture) for each in recorded.samples)
    case = Case(
        picture=picture, properties=look.properties, history=before, changes=recorded.changes, topics=look.names
    )
    return doctor_document(picture, checkup(case))


def asked_by(look: ClusterLook) -> AskedCluster:
    """Take what the planner goes by from a look.

    Raises:
        BalancerError: What is known of the cluster does not suffice.
    """
    return asked_of(look.picture, calibration=look.recorded.calibration)


def advised(
    question: AdviceQuestion | DrainQuestion, look: ClusterLook, asked: AskedCluster
) -> tuple[AdviceDocument | SizeDocument, AdvisedPlan | None]:
    """Advise moves; beside what is shown, the moves that can be kept as a plan.

    Raises:
        RequestInvalid: It names a broker whose load is not known, or asks two things at a time.
        BalancerError: What is known of the cluster does not suffice.
    """
    name, at_ms, given = look.picture.cluster, look.picture.taken_ms, (asked.fleet, asked.bounds, asked.tariff)
    if isinstance(question, DrainQuestion):
        _known(question.brokers, asked)
        drained = drain(*given, question.brokers)
        return advice_document(name, at_ms, asked, drained), drained.plan
    if question.overfull:
        raise RequestInvalid("a broker to fill, a rolling restart and a greatest usage are asked for one at a time")
    if question.misplaced_cuts:
        raise RequestInvalid("parts of bundles are moved by a plan that balances, and by no other")
    if question.most_usage is not None:
        return size_document(name, at_ms, asked, size(*given, question.most_usage)), None
    if question.rolling_restart:
        return rolling_document(name, at_ms, asked, rolling_restart(*given)), None
    if question.fill is not None:
        _known([question.fill], asked)
        filled = fill(*given, question.fill, FILL_AIM)
        return advice_document(name, at_ms, asked, filled), filled.plan
    found = balance(*given, question.aim, topics=asked.topics if question.cuts else None)
    alone = pulsar_alone(asked, random.Random(SEED).choice)  # noqa: S311 - it draws brokers, no secret
    return advice_document(name, at_ms, asked, found, alone), found.plan


def _known(brokers: Sequence[str], asked: AskedCluster) -> None:
    for broker in brokers:
        if broker not in asked.fleet.brokers:
            there = ", ".join(sorted(asked.fleet.brokers)) or "none"
            raise RequestInvalid(
                f"{broker!r} is no broker with known load; these are: {there}", hint="Name one of these, as it stands."
            )


def compared(question: ComparisonQuestion, look: ClusterLook) -> ComparisonDocument:
    """Compare strategies over the cluster's load.

    Raises:
        RequestInvalid: It names a strategy that there is not.
        BalancerError: What is known of the cluster does not suffice.
    """
    picture, told = look.picture, dict[str, object](question.settings)
    if question.recorded:
        return _replayed(question, look)
    load, left_out = pictured_load(picture, told), unknown(picture)
    fleet = load.frames[0]
    shown = ComparedLoadDocument(
        cluster=picture.cluster,
        taken_ms=picture.taken_ms,
        brokers=len(fleet.brokers),
        bundles=len(fleet.bundles),
        unknown_brokers=len(left_out.brokers),
        unknown_bundles=len(left_out.bundles),
    )
    return comparison_document(shown, told, rows_of(load, question, 0, look.recorded.calibration))


def _replayed(question: ComparisonQuestion, look: ClusterLook) -> ComparisonDocument:
    told, samples = dict[str, object](question.settings), look.recorded.samples
    load = recorded_load(look.picture, samples, told)
    last = load.frames[-1]
    shown = ComparedLoadDocument(
        cluster=samples[-1].cluster,
        taken_ms=samples[-1].taken_ms,
        brokers=len(last.brokers),
        bundles=len(last.bundles),
        samples=len(load.frames),
        first_ms=samples[0].taken_ms,
        last_ms=samples[-1].taken_ms,
    )
    asked = replace(question, rounds=max(question.rounds, len(load.frames)))
    return comparison_document(shown, told, rows_of(load, asked, 0, look.recorded.calibration))


def rows_of(
    load: ComparedLoad, question: ComparisonQuestion, seed: int, observed: Calibration | None = None
) -> list[ComparedRow]:
    """Play the strategies that are asked for.

    Args:
        load: Over it.
        question: Which, and for how long.
        seed: Of the dice with which Pulsar draws one of equally good brokers.
        observed: What prices are corrected by.

    Raises:
        RequestInvalid: There is no such strategy.
        SettingInvalid: A setting has a value that Pulsar could not take.
    """
    listed, wanted = list(contenders(load.settings)), question.strategies
    names = sorted({each.strategy for each in listed})
    for each in sorted(set(wanted) - set(names)):
        raise RequestInvalid(f"{each!r} is none of {', '.join(names)}", hint="Name strategies as they stand there.")
    times = calibrated(UnloadTimes(), observed)
    return list(
        compare(
            load,
            [each for each in listed if not wanted or each.strategy in wanted],
            lambda kind: Tariff(kind=kind, times=times),
            lambda: random.Random(seed).choice,  # noqa: S311 - it draws brokers, no secret
            question.rounds,
        )
    )
