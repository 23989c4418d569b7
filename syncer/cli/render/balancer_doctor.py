"""Rendering of the doctor's findings: each with its evidence and remedy, then what could not be judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.documents.words import counted

if TYPE_CHECKING:
    from syncer.documents.balancing.doctor import DiagnosisDocument, DiagnosisEvidenceDocument, DoctorDocument

_FINDINGS: Final = ("severity", "code", "where", "what")


def show_doctor(judged: DoctorDocument, form: Format) -> None:
    """Print findings.

    Args:
        judged: The document.
        form: Of the data.
    """
    if form is not Format.TABLE:
        output.document(judged, form)
        return
    rows = ((each.severity.value, each.code.value, each.where, each.what) for each in judged.found)
    output.table(_FINDINGS, rows, empty="no findings")
    for each in judged.found:
        _explain(each)
    for dark in judged.unjudged:
        say(f"cannot be judged: {', '.join(code.value for code in dark.codes)}: {dark.where}: {dark.because}")
    say(
        f"{judged.cluster}: {counted(len(judged.found), 'finding')},"
        f" {counted(len(judged.unjudged), 'question')} that cannot be judged"
    )


def _explain(found: DiagnosisDocument) -> None:
    say(f"{found.code.value}: {found.where} ({found.source})")
    for each in found.evidence:
        say(f"  {each.what}: {each.value}{_origin(each)}")
    say(f"hint: {found.remedy}")


def _origin(evidence: DiagnosisEvidenceDocument) -> str:
    """The place of a figure and its age, as far as it has them."""
    if evidence.where is None:
        return ""
    age = "" if evidence.age_ms is None else f", {evidence.age_ms // 1000} s old"
    return f" ({evidence.where}{age})"
