"""JSON document of the doctor's findings: each with evidence, source and age, and what could not be judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.balancer.doctor.codes import DiagnosisCode, DiagnosisSeverity
from syncer.balancer.picture import LoadSource
from syncer.documents.document import Document

if TYPE_CHECKING:
    from syncer.balancer.doctor.checkup import Checkup
    from syncer.balancer.doctor.diagnosis import Diagnosis, DiagnosisEvidence
    from syncer.balancer.picture import LoadPicture


class DiagnosisEvidenceDocument(Document):
    """A figure; ``source`` is null where it is reckoned from the others, ``age_ms`` where its place tells no time."""

    what: str
    value: str
    source: LoadSource | None
    where: str | None
    age_ms: int | None


class DiagnosisDocument(Document):
    """A finding; ``source`` is where its rule is told: a proposal, request or issue of Pulsar, or a class."""

    code: DiagnosisCode
    severity: DiagnosisSeverity
    where: str
    what: str
    evidence: list[DiagnosisEvidenceDocument]
    remedy: str
    source: str


class UnjudgedDocument(Document):
    """Codes that cannot be judged at a place, and the reason."""

    codes: list[DiagnosisCode]
    where: str
    because: str


class DoctorDocument(Document):
    """``syncer balancer doctor``."""

    cluster: str
    taken_ms: int
    found: list[DiagnosisDocument]
    unjudged: list[UnjudgedDocument]


def doctor_document(picture: LoadPicture, judged: Checkup) -> DoctorDocument:
    """Make the document of a checkup.

    Args:
        picture: The picture that was judged.
        judged: All that was found in it.
    """
    return DoctorDocument(
        cluster=picture.cluster,
        taken_ms=picture.taken_ms,
        found=[_diagnosis(each, picture.taken_ms) for each in judged.found],
        unjudged=[
            UnjudgedDocument(codes=list(each.codes), where=each.where, because=each.because) for each in judged.unjudged
        ],
    )


def _diagnosis(found: Diagnosis, taken_ms: int) -> DiagnosisDocument:
    return DiagnosisDocument(
        code=found.code,
        severity=found.severity,
        where=found.where,
        what=found.what,
        evidence=[_evidence(each, taken_ms) for each in found.evidence],
        remedy=found.remedy,
        source=found.source,
    )


def _evidence(each: DiagnosisEvidence, taken_ms: int) -> DiagnosisEvidenceDocument:
    origin = each.origin
    return DiagnosisEvidenceDocument(
        what=each.what,
        value=each.value,
        source=None if origin is None else origin.source,
        where=None if origin is None else origin.where,
        age_ms=None if origin is None else origin.age_ms(taken_ms),
    )
