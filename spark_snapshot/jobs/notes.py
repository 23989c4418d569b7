"""Notes to a comparison: what a reader should know of its snapshots, and of the scopes of their regions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from spark_snapshot.format.layout import Snapshot
from spark_snapshot.format.selection import Selection
from spark_snapshot.format.uncarried import uncarried
from syncer.conflict.classes.pairs import RegionScopes, contradictions, one_way_paths
from syncer.conflict.classes.telling import told_rules
from syncer.conflict.settings import Direction

_APART_MS: Final = 60_000
"""Snapshots that were taken so far apart show what was changed between them."""
_MEETS: Final = {
    Direction.APPLY: "both only apply, and none of the regions compared here publishes it: every change waits",
    Direction.PUBLISH: "both only publish: each goes on with its own value",
}


def notes_of(snapshots: Sequence[Snapshot], selection: Selection, scopes: RegionScopes) -> Iterator[str]:
    """What a reader should know.

    Args:
        snapshots: What is compared.
        selection: The part of it that is looked at.
        scopes: Of the regions.

    Raises:
        SnapshotDamaged: What a snapshot tells beside its manifest is not as it was written.
    """
    ordered = sorted(snapshots, key=lambda each: each.region)
    if not selection.within.whole:
        narrow = ", ".join(f"{each.region} ({each.extent})" for each in ordered if not each.extent.whole)
        yield f"Compared is {selection}: no further reach the snapshots of {narrow}."
    blind = [each.region for each in ordered if not each.manifest.about.registers]
    if blind:
        yield (
            f"Taken without the registers of a daemon: {', '.join(blind)}. Whose version is the newest is there the "
            "word of the store's own clock (or of nobody, where it keeps none), and deletes are not known: this is a "
            "picture of what differs, not of what should be done. Such rows are never told to other regions. A field "
            "that not every version of Pulsar knows, and that is absent there, counts as unknown, not as removed: its "
            "brokers may have dropped it, and its daemon may keep it."
        )
    for each in ordered:
        unstamped = sum(count.unstamped for count in each.manifest.kinds.values())
        if unstamped and each.manifest.about.registers:
            yield (
                f"{each.region}: its daemon has no register of {unstamped:,} resources; the store's own time stands "
                "in for their stamps (none, where it keeps none), and they are never told to other regions."
            )
        unseen = sum(count.unseen for count in each.manifest.kinds.values())
        if unseen:
            yield (
                f"{each.region}: its daemon had not taken {unseen:,} changes in its store yet when the snapshot was "
                "taken; their stamps are what it would give them at least."
            )
        if (found := uncarried(each.place)) is not None:
            yield (
                f"{each.region}: its store has namespaces of the form PROPERTY/CLUSTER/NAMESPACE: "
                f"{found.first_form.count:,}, among them {', '.join(found.first_form.named)}. They are not "
                "compared: each belongs to one cluster by its name, and nothing carries them. Pulsar 4.2 and later do "
                "not serve them."
            )
    times = [each.manifest.about.taken_at_ms for each in ordered]
    apart_ms = max(times) - min(times)
    if apart_ms > _APART_MS:
        yield (
            f"The snapshots were taken {apart_ms / 60_000:,.0f} minutes apart: what was changed between them differs "
            "here, and may be equal by now. A repair does no harm to it: what is later wins."
        )
    if not scopes.alike:
        yield from _of_scopes(scopes)


def _of_scopes(scopes: RegionScopes) -> Iterator[str]:
    yield (
        "The regions have different scopes: each pair is compared by what both carry. A path that only one of two "
        "regions carries is counted as not shared, and is no difference."
    )
    untold = {region for region, scope in scopes.scopes.items() if not told_rules(scope)}
    if untold:
        yield (
            f"The rules of {', '.join(sorted(untold))} are too many, or too long, to look for paths that flow in no "
            "direction."
        )
    for one, other in combinations(sorted(scopes.scopes.keys() - untold), 2):
        others = [scope for region, scope in scopes.scopes.items() if region not in {one, other}]
        for each in contradictions(one_way_paths(scopes.scopes[one], scopes.scopes[other]), others):
            patterns = each.ours if each.ours == each.theirs else f"{each.ours} and {each.theirs}"
            yield f"{patterns}: {one} and {other} {_MEETS[each.direction]}."
