"""Going over to another projection, once every member of the group can work by it.

From one moment on digests are made by the other one. What is due is looked through in the database, and all that the
store holds is read once; until both are done the other regions are told so, and neither they nor this one write what
values of these kinds say. A daemon that ends meanwhile goes on with it when it starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import structlog

from syncer.conflict.acts import Outcome
from syncer.conflict.changeover import ProjectionsInUse, Works, chosen, made_anew, ready
from syncer.conflict.completing import without_withheld
from syncer.conflict.projection import CARRYING, FORMER, PROJECTIONS
from syncer.conflict.replica import Replica
from syncer.errors import StateUnavailable
from syncer.model import Millis, Region, ResourceKind
from syncer.replacing import replace
from syncer.replication.core import GoingOver
from syncer.replication.group.peer import own_rules
from syncer.replication.local.part import OwnStore

log = structlog.get_logger()

CHANGE: Final = "projections-change"
OLDER: Final = "projections-older"
NOT_CARRIED: Final = "offload-not-carried"
_NAMED: Final = 5
"""Members that a condition names."""
_PAGE: Final = 1_000
_PAGES: Final = 5
"""Of what is due, at a time."""
RESTS_MS: Final = 60_000
LONGEST_REST_MS: Final = 3_600_000
"""How long it rests after it was begun: the first time, and at most."""


def ready_ids(local: OwnStore) -> tuple[str, ...]:
    """The projections that all members can work by, as far as this region sees; for its heartbeats."""
    projections, peers, expected = local.core.replica.settings.projections, local.group.peers, local.group.expected
    return tuple(
        sorted(each for kind in FORMER for each in ready(kind, projections, peers.works(kind, expected).values()))
    )


def look_again(local: OwnStore, now: Millis) -> None:
    """Begin to go over where the group works by another one, or do the next piece of that.

    Whoever speaks as a member can have it begun, and each time all of the store is read: so it rests in between, each
    time for longer.
    """
    projections, state = local.core.replica.settings.projections, local.core.going_over
    local.telemetry.conditions.pop(CHANGE, None)
    local.telemetry.conditions.pop(OLDER, None)
    members = {kind: local.group.peers.works(kind, local.group.expected) for kind in FORMER}
    wanted = {kind: chosen(kind, projections, works.values()) for kind, works in members.items()}
    _say_who_carries_nothing(local, members)
    given_up = [kind for kind in CARRYING if projections.withholds_yet(kind) and wanted[kind] != CARRYING[kind].id]
    if given_up:
        projections = projections.giving_up(given_up)
        _begin(local, projections, now)
    if projections.former:
        kinds = ", ".join(projections.ids[kind] for kind in sorted(projections.former))
        local.telemetry.conditions[CHANGE] = (
            f"this region compares values in another way from now on ({kinds}) and reads its store for that; what "
            "others say of these kinds is written once it is done"
        )
        _look_through(local, now)
        _arrive(local)
        return
    _say_who_is_waited_for(local, members)
    towards = projections.towards(wanted)
    if towards.former and not 0 <= now - state.begun_at < state.rest_ms:
        _begin(local, towards, now)


def _begin(local: OwnStore, towards: ProjectionsInUse, now: Millis) -> None:
    _use(local, towards)
    rest_ms = min(max(2 * local.core.going_over.rest_ms, RESTS_MS), LONGEST_REST_MS)
    local.core.going_over = GoingOver(wants_scan=True, begun_at=now, rest_ms=Millis(rest_ms))


def _say_who_carries_nothing(local: OwnStore, members: Mapping[ResourceKind, Mapping[Region, Works | None]]) -> None:
    """Show which members keep this region from carrying policies of offloading, where it is set to."""
    local.telemetry.conditions.pop(NOT_CARRIED, None)
    projections, kind = local.core.replica.settings.projections, ResourceKind.NAMESPACE
    wanted = CARRYING[kind].id
    waits = [
        f"{region} ({'was never heard' if each is None else 'is not set to'})"
        for region, each in members[kind].items()
        if each is None or wanted not in each.able
    ]
    if wanted in projections.able and waits:
        local.telemetry.conditions[NOT_CARRIED] = (
            f"no region carries policies of offloading, since not all are set to (scope.carry_offload): "
            f"{', '.join(waits[:_NAMED])}"
        )


def _say_who_is_waited_for(local: OwnStore, members: Mapping[ResourceKind, Mapping[Region, Works | None]]) -> None:
    for kind, works in members.items():
        newest, in_use = PROJECTIONS[kind].id, local.core.replica.settings.projections.by_kind[kind].id
        waits = [
            f"{region} ({'was never heard' if each is None else 'waits itself' if newest in each.able else 'cannot'})"
            for region, each in works.items()
            if each is None or newest not in each.ready
        ]
        if in_use != newest and waits:
            local.telemetry.conditions[OLDER] = (
                f"{kind}: compared by {in_use}, not {newest}: {', '.join(waits[:_NAMED])}"
            )


def scanned(local: OwnStore) -> None:
    """All that the store holds was read, and every answer decided."""
    if local.core.replica.settings.projections.former and not local.core.going_over.wants_scan:
        local.core.going_over.scan_done = True
        _arrive(local)


def _arrive(local: OwnStore) -> None:
    """End going over, once all is read; what is carried from then on is found by reading the store once more."""
    projections, state = local.core.replica.settings.projections, local.core.going_over
    if projections.former and state.scan_done and state.due_seen and _others_are_there(local):
        if _withholds_more(projections):
            _withhold(local)
        _use(local, projections.arrived)
        state.wants_scan = any(map(projections.withholds_yet, CARRYING))


def _others_are_there(local: OwnStore) -> bool:
    """Whether every other member takes what is carried from now on; before that none of it leaves."""
    projections = local.core.replica.settings.projections
    return all(
        works is not None and works.in_use == CARRYING[kind].id
        for kind in CARRYING
        if projections.withholds_yet(kind)
        for works in local.group.peers.works(kind, local.group.expected).values()
    )


def _withholds_more(projections: ProjectionsInUse) -> bool:
    """Whether a projection keeps fields in their store that the former one has carried."""
    return any(projections.by_kind[kind].withheld - former.withheld for kind, former in projections.former.items())


def _withhold(local: OwnStore) -> None:
    """Take what stays in its store from now on out of the database, and out of its file.

    A daemon that ends before it has arrived does it again.
    """
    with local.core.state.transaction() as tx:
        rows = tx.withhold(without_withheld)
    log.info("withheld_fields_taken_out", rows=rows)
    try:
        local.core.state.erase_deleted()
    except StateUnavailable as exc:
        log.warning("withheld_fields_not_erased", cause=exc.message, hint="Stop the daemon; syncer state compact.")


def _use(local: OwnStore, projections: ProjectionsInUse) -> None:
    core = local.core
    with core.state.transaction() as tx:
        identity = tx.set_identity(projections=projections.kept_as)
    core.identity, settings = identity, replace(core.replica.settings, projections=projections)
    core.replica = Replica(settings)
    local.group.peers.work_by(own_rules(projections, core.scope.fingerprint, settings.ties))


def _look_through(local: OwnStore, now: Millis) -> None:
    """Look through the next page of what is due: its values are in the database, and perhaps not in the store."""
    state = local.core.going_over
    for _ in range(_PAGES):
        if state.due_seen:
            return
        _look_at_page(local, now)


def _look_at_page(local: OwnStore, now: Millis) -> None:
    state = local.core.going_over
    with local.core.state.transaction() as tx:
        page = tx.due(_PAGE, state.due_after)
        unit = local.units.begin(tx, now)
        unit.load([register.path for register in page])
        for register in page:
            made, acts = made_anew(local.core.replica.settings.projections, register, ())
            unit.take(Outcome(made, acts))
        unit.store()
    unit.settle()
    if len(page) < _PAGE:
        state.due_seen = True
        _arrive(local)
    else:
        state.due_after = page[-1].path
