"""Assembling: the picture of all parts, and the contradictions between them.

The owner of a bundle is who holds it by the store or by the channel; only the owner's statistics of it count. A bundle
that its namespace's boundaries do not cut is not there: what tells of it is older than a split. One that nobody owns is
free, unless a broker has topics of it loaded, as the extensible manager's own topics are without an owner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from syncer.balancer.decoding.ownership import broker_of
from syncer.balancer.decoding.percentages import with_limits
from syncer.balancer.exempt import never_shed
from syncer.balancer.picture import (
    FigureOrigin,
    Known,
    LoadFindingKind,
    LoadManager,
    LoadPicture,
    Ownership,
    SeenBroker,
    SeenBundle,
    SeenNamespace,
    Tenure,
)
from syncer.balancer.ranges import namespace_of_bundle, range_text

if TYPE_CHECKING:
    from syncer.balancer.decoding.parts import PictureParts
    from syncer.balancer.load import BundleStats
    from syncer.balancer.picture import BrokerFigures

STALE_MS: Final = 30 * 60_000
"""Age at which a report is no figure any more: twice the longest pause of a broker that is well, and the time after
which Pulsar's extensible manager itself leaves a report out by default."""
AHEAD_MS: Final = 60_000
"""How far a broker's clock may be ahead of the reader's before it is said."""
_MS_A_MINUTE: Final = 60_000
_SHOWN: Final = 3
_FREE: Final = Ownership(Tenure.FREE, None)


def assembled(parts: PictureParts, *, cluster: str, taken_ms: int) -> LoadPicture:
    """Put a picture together; what is contradicted becomes unknown, and a finding.

    Args:
        parts: All that was decoded. Its notes get what is found here.
        cluster: Name of the cluster.
        taken_ms: When the reading began.
    """
    return _Assembly(parts, cluster, taken_ms).picture()


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class _Assembly:
    """The work on one picture."""

    parts: PictureParts
    cluster: str
    taken_ms: int

    def picture(self) -> LoadPicture:
        """All of it."""
        stale = self._stale()
        boundaries = {**self.parts.constraints.first_boundaries, **self.parts.constraints.boundaries}
        bundles = self._bundles(boundaries, stale)
        return LoadPicture(
            cluster=self.cluster,
            taken_ms=self.taken_ms,
            manager=self._manager(),
            brokers=self._brokers(stale, bundles),
            bundles=bundles,
            namespaces=self._namespaces(boundaries),
            policies=self.parts.constraints.policies,
            domains=self.parts.constraints.domains,
            settings=self.parts.constraints.settings,
            leader=self._leader(),
            findings=tuple(self.parts.notes.findings),
        )

    def _note(self, kind: LoadFindingKind, where: str, what: str, remedy: str = "") -> None:
        self.parts.notes.note(kind, where, what, remedy)

    def _stale(self) -> frozenset[str]:
        """Brokers whose reports are too old to be figures."""
        found = set()
        for broker, figures in self._figures().items():
            origin, written_ms = figures.origin, figures.origin.written_ms
            if written_ms is None:
                self._note(LoadFindingKind.MISSING, origin.where, "it says no time; its figures may be of any age")
            elif written_ms > self.taken_ms + AHEAD_MS:
                ahead_s = (written_ms - self.taken_ms) // 1000
                self._note(
                    LoadFindingKind.IMPOSSIBLE,
                    origin.where,
                    f"it is from {ahead_s} s ahead of this host's clock; its age is taken for 0",
                    "Set the clocks of this host and of the broker right.",
                )
            elif self.taken_ms - written_ms > STALE_MS:
                age = (self.taken_ms - written_ms) // _MS_A_MINUTE
                self._note(LoadFindingKind.STALE, origin.where, f"it is {age} min old; its figures are not used")
                found.add(broker)
        return frozenset(found)

    def _manager(self) -> LoadManager | None:
        managers = self.parts.brokers.managers
        kinds = set(managers.values())
        if len(kinds) > 1:
            of_each = {kind: [name for name, other in managers.items() if other is kind] for kind in kinds}
            modular, extensible = of_each[LoadManager.MODULAR], of_each[LoadManager.EXTENSIBLE]
            self._note(
                LoadFindingKind.CONTRADICTION,
                "the registry of brokers",
                f"{modular[0]} and {len(modular) - 1} more run the modular manager, {extensible[0]} and "
                f"{len(extensible) - 1} more the extensible one; neither is reckoned with",
                "Bring all brokers to one 'loadManagerClassName'.",
            )
            return None
        return next(iter(kinds), None)

    def _leader(self) -> Known[str] | None:
        leader = self.parts.brokers.leader
        if leader is not None and leader.value not in self.parts.brokers.registrations:
            if self.parts.brokers.registrations:
                self._note(
                    LoadFindingKind.CONTRADICTION,
                    leader.origin.where,
                    f"the leader {leader.value} is not registered; the leader stays unknown",
                    "Read the load again in a minute; if it stays so, restart that broker.",
                )
            return None
        return leader

    def _brokers(self, stale: frozenset[str], bundles: Mapping[str, SeenBundle]) -> dict[str, SeenBroker]:
        known, figures = self.parts.brokers, self._figures()
        self._note_unreported(bundles)
        self._note_asked(figures)
        seen: dict[str, SeenBroker] = {}
        for broker, registration in known.registrations.items():
            top = known.top.get(broker)
            seen[broker] = SeenBroker(
                broker=broker,
                registration=registration,
                figures=None if broker in stale or broker in known.unstarted else figures.get(broker),
                long_rate=known.long_rates.get(broker),
                top=None if top is None else Known(tuple(name for name in top.value if name in bundles), top.origin),
                bystanders=known.bystanders.get(broker, {}),
            )
            if broker not in figures:
                self._note(
                    LoadFindingKind.MISSING,
                    registration.origin.where,
                    f"no report of {broker} was read; its load is unknown until its next one",
                    "Read the load again later; under the extensible manager listen for up to 15 minutes.",
                )
        for broker in known.figures:
            if broker not in seen:
                self._note(
                    LoadFindingKind.CONTRADICTION,
                    known.figures[broker].origin.where,
                    f"it is of {broker}, which is not registered; its figures are not used",
                    "See whether the broker is up; its last report is taken away by the leader.",
                )
        return seen

    def _figures(self) -> dict[str, Known[BrokerFigures]]:
        """Each broker's report; where none was read, what it told when it was asked."""
        known = self.parts.brokers
        asked: dict[str, BrokerFigures] = {}
        for broker, told in known.asked.items():
            served = known.served.get(broker)
            if broker not in known.figures:
                traffic, topics = (None, None) if served is None else (served.traffic, served.number)
                asked[broker] = replace(told.value, traffic=traffic, topics=topics)
        heard = [each.value for each in known.figures.values()]
        limited = with_limits(asked, heard, self.parts.constraints.card_kbit)
        return {**known.figures, **{broker: Known(limited[broker], known.asked[broker].origin) for broker in limited}}

    def _note_asked(self, figures: Mapping[str, Known[BrokerFigures]]) -> None:
        asked = [broker for broker, told in figures.items() if told.value.asked]
        if asked:
            self._note(
                LoadFindingKind.MISSING,
                "the brokers' reports",
                f"none was heard of {_some(asked)}: usage is by broker-stats/metrics, traffic by broker-stats/topics, "
                "both asked just now; limits are taken for those of "
                "equal machines",
                "Listen longer for the reports themselves, 15 minutes at most.",
            )

    def _note_unreported(self, bundles: Mapping[str, SeenBundle]) -> None:
        """Say of each broker of the modular manager how many bundles of its own it does not report."""
        unreported: dict[str, list[str]] = {}
        for name, seen in bundles.items():
            owner = None if seen.owner is None else seen.owner.value.broker
            if owner is not None and seen.stats is None and not never_shed(name):
                unreported.setdefault(owner, []).append(name)
        for broker, names in unreported.items():
            figures = self.parts.brokers.figures.get(broker)
            if figures is not None and self.parts.brokers.managers.get(broker) is LoadManager.MODULAR:
                self._note(
                    LoadFindingKind.MISSING,
                    figures.origin.where,
                    f"{len(names)} bundles that {broker} owns have no figures in its report, {min(names)} is one",
                    "Read the load again after its next report; one without loaded topics is in none of them.",
                )

    def _namespaces(self, boundaries: Mapping[str, Known[tuple[int, ...]]]) -> dict[str, SeenNamespace]:
        groups = self.parts.constraints.groups
        return {
            name: SeenNamespace(namespace=name, boundaries=boundaries.get(name), group=groups.get(name))
            for name in dict.fromkeys([*boundaries, *groups])
        }

    def _bundles(
        self, boundaries: Mapping[str, Known[tuple[int, ...]]], stale: frozenset[str]
    ) -> dict[str, SeenBundle]:
        known = self.parts.bundles
        cut = {
            f"{namespace}/{range_text(lower, upper)}": None
            for namespace, found in boundaries.items()
            for lower, upper in pairwise(found.value)
        }
        free = None if known.ownership_read is None else Known(_FREE, known.ownership_read)
        seen: dict[str, SeenBundle] = {}
        for bundle in {**cut, **dict.fromkeys([*known.owners, *known.reported, *known.topics])}:
            if bundle not in cut and namespace_of_bundle(bundle) in boundaries:
                self._note_uncut(bundle)
                continue
            told = known.owners.get(bundle)
            owner = self._owner(bundle, told) if told is not None else None if bundle in known.topics else free
            seen[bundle] = SeenBundle(
                bundle=bundle,
                owner=owner,
                stats=self._stats(bundle, owner, stale),
                averages=known.averages.get(bundle),
                topics=known.topics.get(bundle),
            )
        return seen

    def _note_uncut(self, bundle: str) -> None:
        known = self.parts.bundles
        owner = known.owners.get(bundle)
        if owner is not None:
            where = owner.origin.where
        else:
            reports = known.reported.get(bundle)
            where = next(iter(reports.values())).origin.where if reports else known.topics[bundle].origin.where
        self._note(
            LoadFindingKind.CONTRADICTION,
            where,
            f"it tells of {bundle}, which the namespace's boundaries do not cut; the bundle is left out",
            "Read the load again after the next report; if it stays so, look for a split that did not end.",
        )

    def _owner(self, bundle: str, told: Known[Ownership]) -> Known[Ownership] | None:
        brokers = self.parts.brokers
        broker = None if told.value.broker is None else broker_of(told.value.broker, brokers.addresses)
        if broker is not None and broker not in brokers.registrations:
            if brokers.registrations:
                self._note(
                    LoadFindingKind.CONTRADICTION,
                    told.origin.where,
                    f"{bundle} is owned by {broker}, which is not registered; its owner stays unknown",
                )
            return None
        return told if broker == told.value.broker else Known(replace(told.value, broker=broker), told.origin)

    def _stats(self, bundle: str, owner: Known[Ownership] | None, stale: frozenset[str]) -> Known[BundleStats] | None:
        reports = self.parts.bundles.reported.get(bundle, {})
        if owner is not None:
            broker = owner.value.broker
            for other, report in reports.items():
                if other != broker:
                    holder = "nobody" if broker is None else broker
                    self._note_foreign(bundle, other, f"{holder} owns it", report.origin)
            return None if broker is None or broker in stale else reports.get(broker)
        if len(reports) > 1:
            first, second, *_ = reports
            self._note_foreign(bundle, first, f"{second} reports it, too", reports[first].origin)
            return None
        return next((report for broker, report in reports.items() if broker not in stale), None)

    def _note_foreign(self, bundle: str, broker: str, but: str, origin: FigureOrigin) -> None:
        self._note(
            LoadFindingKind.CONTRADICTION,
            origin.where,
            f"{broker} reports {bundle}, but {but}; these figures are not used",
            "Read the load again after the broker's next report; if it stays so, unload the bundle.",
        )
