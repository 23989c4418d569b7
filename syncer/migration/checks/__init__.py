"""The preflight: every check, what was found, and whether a migration may begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from syncer.errors import PlanInvalid
from syncer.migration.checks import brokers, redirects, resources, traffic
from syncer.migration.checks.finding import Check, CheckFinding, CheckStage, ClusterPair, FindingSeverity
from syncer.migration.scope import Overrides

CHECKS: Final[Mapping[str, Check]] = {
    check.name: check for check in (*brokers.CHECKS, *redirects.CHECKS, *resources.CHECKS, *traffic.CHECKS)
}
"""All checks by their names, in the order in which an operator reads them."""

_ORDER: Final = tuple(CheckStage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one check has found.

    Attributes:
        overridden: Why an operator passes over what it found; empty: nobody does.
        due: Whether it has to hold by now.
    """

    check: Check
    findings: tuple[CheckFinding, ...]
    overridden: str
    due: bool

    @property
    def blocks(self) -> bool:
        """Whether the migration may not go on because of it."""
        if not self.due:
            return any(finding.severity is FindingSeverity.NEVER for finding in self.findings)
        return any(
            finding.severity is FindingSeverity.NEVER
            or (finding.severity is FindingSeverity.BLOCK and not self.overridden)
            for finding in self.findings
        )


def examine(picture: ClusterPair, overrides: Overrides, stage: CheckStage) -> tuple[Result, ...]:
    """Make every check.

    Args:
        picture: Both clusters, as they were just read.
        overrides: Checks that an operator passes over.
        stage: How far the migration is: what has to hold later only does not block yet, unless it could never hold.

    Raises:
        PlanInvalid: An override names no check.
    """
    if unknown := sorted(set(overrides.reasons) - set(CHECKS)):
        raise PlanInvalid(
            f"there is no check {unknown[0]!r}; the checks are {', '.join(CHECKS)}",
            hint="Make the plan again with overrides of these checks alone.",
        )
    return tuple(
        Result(
            check=check,
            findings=tuple(check.look(picture)),
            overridden=overrides.reasons.get(check.name, ""),
            due=_ORDER.index(check.stage) <= _ORDER.index(stage),
        )
        for check in CHECKS.values()
    )


def passed(results: Iterable[Result]) -> bool:
    """Whether a migration may go on."""
    return not any(result.blocks for result in results)
