"""Checkup: all that the doctor finds in a case, the worst first, and all that it cannot judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.codes import DiagnosisSeverity
from syncer.balancer.doctor.cutting import unmovable_load
from syncer.balancer.doctor.diagnosis import Diagnosis, Unjudged
from syncer.balancer.doctor.differences import differing_brokers
from syncer.balancer.doctor.fights import settings_that_fight
from syncer.balancer.doctor.holdings import odd_holdings
from syncer.balancer.doctor.reports import flawed_reports
from syncer.balancer.doctor.silence import silent_shedders
from syncer.balancer.doctor.splitting import costly_splits

_FAMILIES: Final = (
    settings_that_fight,
    costly_splits,
    differing_brokers,
    silent_shedders,
    flawed_reports,
    odd_holdings,
    unmovable_load,
)
_ORDER: Final = tuple(DiagnosisSeverity)


@dataclass(frozen=True, slots=True)
class Checkup:
    """Findings, the worst first, and what could not be judged."""

    found: tuple[Diagnosis, ...]
    unjudged: tuple[Unjudged, ...]


def checkup(case: Case) -> Checkup:
    """Judge a case by all families of findings.

    Args:
        case: What is known.
    """
    answers = [answer for family in _FAMILIES for answer in family(case)]
    found = [each for each in answers if isinstance(each, Diagnosis)]
    return Checkup(
        tuple(sorted(found, key=lambda each: _ORDER.index(each.severity))),
        tuple(each for each in answers if isinstance(each, Unjudged)),
    )
