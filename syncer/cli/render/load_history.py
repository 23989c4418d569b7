"""Rendering of a history of load: how much there is, then the bundles that changed their broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.cli.render import output
from syncer.cli.render.output import Format, out
from syncer.documents.words import counted, moment

if TYPE_CHECKING:
    from syncer.documents.balancing.history import CalibrationDocument, LoadHistoryDocument


def show_load_history(found: LoadHistoryDocument, form: Format) -> None:
    """Print a history."""
    if form is not Format.TABLE:
        output.document(found, form)
        return
    ratio = "-" if found.prediction_ratio is None else f"{found.prediction_ratio:.2f} of what was predicted"
    output.facts(
        [
            ("cluster", f"cluster.{found.cluster}"),
            ("file", f"{found.file}, {found.size_bytes} bytes"),
            ("samples", f"{found.samples}, from {moment(found.first_ms)} to {moment(found.last_ms)}"),
            ("changes of owner", found.owner_changes),
            ("our moves", f"{found.moves}, in the median they took {ratio}"),
            ("calibration", calibration_words(found.calibration) or "none: the tariff stands as it is"),
        ]
    )
    out("")
    output.table(
        ("bundle", "from", "to", "after", "by"),
        [
            (each.bundle, each.source, each.target, moment(each.after_ms), moment(each.by_ms))
            for each in found.latest_changes
        ],
        empty="no bundle was seen to change its broker",
    )


def calibration_words(found: CalibrationDocument | None) -> str:
    """A calibration in words; empty where there is none."""
    if found is None:
        return ""
    times = f"between {moment(found.since_ms)} and {moment(found.until_ms)}"
    return f"seconds times {found.ratio:.2f}, by {counted(found.moves, 'move')} observed here {times}"
