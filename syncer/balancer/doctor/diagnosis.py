"""Diagnosis: a finding with its evidence and remedy, or a question that cannot be judged, and the reason."""

from __future__ import annotations

from dataclasses import dataclass

from syncer.balancer.doctor.codes import MEANINGS, DiagnosisCode, DiagnosisSeverity
from syncer.balancer.picture import FigureOrigin


@dataclass(frozen=True, slots=True)
class DiagnosisEvidence:
    """A figure that a finding rests on, as text; without an origin it is reckoned from the others."""

    what: str
    value: str
    origin: FigureOrigin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """A finding: where, what is wrong there, the figures that show it, and the exact setting or command that helps."""

    code: DiagnosisCode
    where: str
    what: str
    evidence: tuple[DiagnosisEvidence, ...]
    remedy: str

    @property
    def severity(self) -> DiagnosisSeverity:
        """How bad it is."""
        return MEANINGS[self.code].severity

    @property
    def source(self) -> str:
        """Where its rule is told."""
        return MEANINGS[self.code].source


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """Codes that cannot be judged at a place, since something is not known."""

    codes: tuple[DiagnosisCode, ...]
    where: str
    because: str


Answer = Diagnosis | Unjudged
