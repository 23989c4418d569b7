"""Common to all renderings of answers about ledgers: sizes, names of which there are many, what an answer rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.documents.document import Document
from syncer.documents.ledgers.audit import LedgersSpreadDocument
from syncer.documents.ledgers.read import LedgersReadDocument
from syncer.documents.words import counted, moment

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP: Final = 1024
SHOWN: Final = 20
"""Names that are printed; JSON has more."""
Answer = TypeVar("Answer", bound=Document)


def show(found: Answer, form: Format, draw: Callable[[Answer], None]) -> None:
    """Print an answer in the form that is wished.

    Args:
        found: The document.
        form: Of the data.
        draw: Prints it for people.
    """
    if form is Format.TABLE:
        draw(found)
    else:
        output.document(found, form)


def say_names(what: str, names: Sequence[str], count: int) -> None:
    """Say the first of some names.

    Args:
        what: They are names of.
        names: As many as are known.
        count: Of all.
    """
    if names:
        more = "" if count <= SHOWN else f", and {count - SHOWN} more"
        say(f"{what}: {', '.join(names[:SHOWN])}{more}")


def rests_on(read: LedgersReadDocument) -> None:
    """Say when a store was read, and what of it was not.

    Args:
        read: What was read.
    """
    began = min((each.began_ms for each in read.parts), default=read.taken_ms)
    ended = max((each.ended_ms for each in read.parts), default=read.taken_ms)
    rows = sum(each.rows for each in read.parts)
    say(f"{read.cluster}: {counted(rows, 'path')} read from {moment(began)} to {moment(ended)}")
    for part in read.parts:
        if not part.whole:
            say(
                f"NOT WHOLE: {part.part.value}: {part.refused_count} refused, {part.undecodable_count} not understood, "
                f"{part.unfamiliar_count} at places unknown: what is said above is a lower bound"
            )


def sized(count: int) -> str:
    """Bytes as people read them.

    Args:
        count: Of bytes.
    """
    size, unit = float(count), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size /= _STEP
        unit += 1
    return f"{count} B" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def spread_told(spread: LedgersSpreadDocument) -> str:
    """Say how ledgers are spread over racks, or regions.

    Args:
        spread: How they are.
    """
    over = "2 regions" if spread.over == "regions" else f"{spread.min_racks} racks"
    found = spread.counted_by_auditor
    auditor = "" if found is None else f"; BookKeeper's auditor would count {found} of {spread.closed} closed ones"
    return f"{spread.ledgers - spread.not_spread} of {counted(spread.ledgers, 'ledger')} over at least {over}{auditor}"
