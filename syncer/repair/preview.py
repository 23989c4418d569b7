"""Preview of a repair: what a plan would change in each region, and what would be refused. Nobody is asked anything."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from syncer.conflict.register import HELD_BACK
from syncer.model import EventType, Millis, Region
from syncer.repair.preconditions import Objection, Offer, Terms, objections
from syncer.repair.repair_file import DifferingPath, Head, RepairFile

SHOWN: Final = 1_000
"""Paths of a preview that are named; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What an operator lets pass.

    Args:
        deletes: However much is deleted.
        old: However long ago the snapshots were taken.
    """

    deletes: bool = False
    old: bool = False


@dataclass(slots=True, kw_only=True)
class Preview:
    """What a repair would change.

    Args:
        head: What was compared.
        changes: By region and what happens there (``create or change``, ``delete``, ``wait for a person``): how many.
        unstamped: By region: paths that its own daemon has to find in its store, or holds back.
        ignored: By native region: tellings that it would, or may, not take.
        shown: The first paths, in the plan's order.
        paths: How many there are.
        deletes: How many of these are deletes.
        sha256: Seal of the plan.
    """

    head: Head
    changes: Tally[tuple[Region, str]] = field(default_factory=Tally)
    unstamped: Tally[Region] = field(default_factory=Tally)
    ignored: Tally[Region] = field(default_factory=Tally)
    shown: list[DifferingPath] = field(default_factory=list)
    paths: int = 0
    deletes: int = 0
    sha256: str = ""


def preview(file: RepairFile, *, native: Collection[Region] = ()) -> Preview:
    """What a plan would change in each region. Nothing is asked of anybody.

    Args:
        file: The plan.
        native: Regions that run Pulsar's own synchronizer.

    Raises:
        PlanInvalid: The file is no plan, or is damaged.
    """
    with file.reading() as (head, findings):
        found = Preview(head=head)
        for each in findings:
            if len(found.shown) < SHOWN:
                found.shown.append(each)
            if each.event is None or held_back(each):
                found.unstamped[each.found_in] += 1
                continue
            what = "delete" if each.event.type is EventType.DELETED else "create or change"
            for region in each.losers:
                found.changes[region, "wait for a person" if region in each.held else what] += 1
                found.ignored[region] += region in native and may_be_ignored(each, region)
    found.paths, found.deletes, found.sha256 = file.totals.paths, file.totals.deletes, file.sha256
    found.ignored = +found.ignored
    return found


def refused(found: Preview, terms: Terms, now: Millis, consent: Consent) -> Iterator[Objection]:
    """Why a daemon on these terms would not begin, as far as anybody can tell without asking it."""
    head = found.head
    offer = Offer(rules=head.rules, taken_at_ms=head.taken_at_ms, paths=found.paths, deletes=found.deletes)
    return objections(offer, terms, now, old=consent.old, deletes=consent.deletes)


def held_back(finding: DifferingPath) -> bool:
    """Whether the version is a change that its own region has published to nobody: it waits for an operator there."""
    return finding.held.get(finding.found_in) in {reason.value for reason in HELD_BACK}


def may_be_ignored(finding: DifferingPath, region: Region) -> bool:
    """Whether a region that runs Pulsar's own synchronizer would ignore a telling, as far as is known.

    It takes what is told of a path that it lacks. Where it has a node, it ignores what is stamped before that node was
    last written, which is when the loser was written *there*: mostly after the winner's stamp. Where the plan does not
    say when that was, it may be.

    Source: ``AbstractMetadataStore.shouldIgnoreEvent``, Pulsar 4.0.8.
    """
    if finding.event is None or finding.cls == "only-in":
        return False
    written_ms = finding.written_ms.get(region)
    return written_ms is None or finding.event.stamp.updated_at_ms < written_ms
