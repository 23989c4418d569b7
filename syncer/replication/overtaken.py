"""Topic policies that brokers keep in system topics: what the store tells of them beside what they are.

A topic has no compare-and-set: of a broker's edit and a write of ours that meet, one may be overwritten. The store puts
it back; where a later edit was faster, what was lost is kept here as a conflict that can be restored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from syncer.conflict.acts import Decision, Journal, Outcome, RecordConflict
from syncer.errors import ValueInvalid
from syncer.model import Digest, MetaPath, Millis, Stamp
from syncer.paths import kind_at
from syncer.replication.local.part import OwnStore
from syncer.stores.topic_policies import OvertakenPolicies, TopicPoliciesStanding

OVERTAKEN: Final = "overtaken"
"""Reason of the conflicts."""
WITHHELD: Final = "topic-policies-withheld"
REPLICATED: Final = "topic-policies-replicated"
_NAMED: Final = 5


def keep_overtaken(local: OwnStore, overtaken: Sequence[OvertakenPolicies], now: Millis) -> None:
    """Keep what was overwritten and could not be put back; what the group knows anyway is no loss.

    Raises:
        StateUnavailable: Nothing was kept; call again.
    """
    found = [each for each in overtaken if local.core.scope.contains(each.path)]
    if not found:
        return
    projections = local.core.replica.settings.projections
    with local.core.state.transaction() as tx:
        unit = local.units.begin(tx, now)
        unit.load([each.path for each in found])
        for each in found:
            register = unit[each.path]
            digest = _digest(local, each)
            known = {register.stored_digest, register.known.digest if register.known is not None else None}
            if digest is not None and digest in known:
                continue
            loser = Stamp(each.lost_at_ms, local.core.replica.settings.region)
            record = RecordConflict(
                path=each.path,
                loser=loser,
                loser_seen=register.stored_seen,
                loser_digest=digest,
                value=projections.carried(kind_at(each.path), each.value) if each.value is not None else None,
                winner=Stamp(each.by_at_ms, local.core.replica.settings.region),
                reason=OVERTAKEN,
            )
            detail = f"{OVERTAKEN}: a broker's edit was overwritten, and a later one came before it was put back"
            note = Journal(path=each.path, decision=Decision.ALARM, stamp=loser, digest=digest, detail=detail)
            unit.take(Outcome(register, (record, note)))
        unit.store()
    unit.settle()


def note_standing(local: OwnStore, standing: TopicPoliciesStanding | None) -> None:
    """Show how the source fares; ``None``: there is none."""
    local.telemetry.conditions.pop(WITHHELD, None)
    local.telemetry.conditions.pop(REPLICATED, None)
    local.telemetry.topic_policies = standing
    if standing is None:
        return
    for name, count in standing.counts.items():
        local.telemetry.tally["topic_policies", name] = count
    if standing.withheld:
        shown = "; ".join(f"{name}: {why}" for name, why in list(standing.withheld.items())[:_NAMED])
        local.telemetry.conditions[WITHHELD] = (
            f"{len(standing.withheld)} namespaces' topic policies are neither read nor written, and nothing is taken "
            f"for deleted there: {shown}"
        )
    if standing.replicated:
        local.telemetry.conditions[REPLICATED] = (
            f"{len(standing.replicated)} namespaces are geo-replicated, and Pulsar carries their global topic policies "
            f"itself: {', '.join(standing.replicated[:_NAMED])}"
        )


def _digest(local: OwnStore, each: OvertakenPolicies) -> Digest | None:
    if each.value is None:
        return None
    try:
        return local.core.replica.settings.projections.by_kind[kind_at(MetaPath(each.path))].digest(each.value)
    except ValueInvalid:
        return None
