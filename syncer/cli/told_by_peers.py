"""Names of clusters and excluded fields against what other regions tell, for ``syncer config check --connect``.

What they tell is read from the sidecar database, where the daemon keeps each region's last heartbeat. So a table can be
checked before the daemon is started with it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from syncer.cli.connecting import Attempt, dial_all
from syncer.conflict.cluster_names.disputes import disputes, twice, unknown
from syncer.conflict.exclusion.telling import shared_by_nobody, told_exclusions
from syncer.documents.configuration import DependencyDocument, ProblemDocument
from syncer.errors import StateMissing
from syncer.model import MetaPath, Region
from syncer.paths import CLUSTERS
from syncer.replication.core import Peculiarities
from syncer.replication.group.peer import Peer
from syncer.state.views.region import Views

if TYPE_CHECKING:
    from syncer.config import Config

FIELD: Final = "cluster_names"
MEND: Final = "Correct this table, or that of the other region, before the daemon is started with it."
GIVE_ANOTHER: Final = "Give it another name in the group, too, or take its declaration out of the store."


def compared_with_peers(
    config: Config, dialled: Sequence[DependencyDocument], *, timeout_s: float
) -> tuple[list[ProblemDocument], list[str]]:
    """Mistakes in this region's names of clusters, and warnings of what is likely to be one.

    Args:
        config: The configuration.
        dialled: What was found of the dependencies: what does not answer is not asked again.
        timeout_s: How long store and database are waited for.
    """
    own, ours = Region(config.region), config.region_names
    peers = _told(config, dialled, timeout_s)
    told = {region: each.names for region, each in peers.items()} | {own: ours}
    problems, warnings = list[ProblemDocument](), list[str]()
    if any(names.maps for names in told.values()):
        for each in disputes(told):
            if own in each.regions:
                problems.append(_problem(each.text, MEND))
            else:
                warnings.append(f"{each.text} (cluster-names-contradict)")
        known = {config.names.in_group(name) for name in _declared(config, dialled, timeout_s)}
        if known:
            problems += [_problem(what, GIVE_ANOTHER) for what in twice(ours, known)]
            warnings += [f"{what} (cluster-names-unclear)" for what in unknown(own, told, known)]
    excluded = told_exclusions(config.scope.exclusions().rules)
    for pattern, name in shared_by_nobody(excluded, {region: each.excluded for region, each in peers.items()}):
        warnings.append(f"{name} of {pattern} is excluded by every region: no change of it reaches anybody")
    return problems, warnings


def _problem(what: str, suggestion: str) -> ProblemDocument:
    return ProblemDocument(source="configuration", line=None, field=FIELD, what=what, suggestion=suggestion)


def _told(config: Config, dialled: Sequence[DependencyDocument], timeout_s: float) -> dict[Region, Peculiarities]:
    """In what each other region of the group differs from others, as this region's daemon has heard it last."""
    found: list[dict[Region, Peculiarities]] = []
    expected = config.peers.expected

    async def look(_: Attempt) -> None:
        try:
            views = Views.open(config.database_url(), Region(config.region))
        except StateMissing:
            return  # no daemon has heard anybody yet
        try:
            peers = {row.region: Peer.of(row) for row in views.peers()}
            counted = [each for each in peers if peers[each].counts and (expected is None or each in expected)]
            found.append({region: peers[region].rules.peculiar for region in counted})
        finally:
            views.close()

    if _answers(dialled, "database"):
        dial_all([Attempt("what other regions tell", look)], timeout_s=timeout_s)
    return found[0] if found else {}


def _declared(config: Config, dialled: Sequence[DependencyDocument], timeout_s: float) -> Collection[str]:
    """The clusters that the store here knows, by their names here."""
    found: list[frozenset[str]] = []

    async def look(attempt: Attempt) -> None:
        attempt.client = store = config.make_plain_store()
        await store.open()
        names = set[str]()
        async for page in store.scan(MetaPath(CLUSTERS)):
            names.update(entry.path.split("/")[3] for entry in page if entry.path.count("/") == 3 and entry.value)
        found.append(frozenset(names))

    if _answers(dialled, "store"):
        dial_all([Attempt("clusters of the store", look)], timeout_s=timeout_s)
    return found[0] if found else frozenset()


def _answers(dialled: Sequence[DependencyDocument], name: str) -> bool:
    return all(each.ok for each in dialled if each.name.partition(" ")[0] == name)
