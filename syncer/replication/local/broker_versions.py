"""Broker versions: what is known of the region's brokers, and absences that wait until all of them were asked.

A field that lacks was removed only by a broker that knows it. So before an absence is taken for a removal every broker
is asked for its version, after the value was read; and after any of them has become newer, all that the store holds is
read once before anything that lacks there counts.

All of it is in memory and may be lost. Units: milliseconds.
"""

from __future__ import annotations

from typing import Final

from syncer.admin import etcd_ending
from syncer.admin.version_probe import BrokersTold
from syncer.conflict.fields.brokers import Brokers
from syncer.conflict.fields.kept import unknown_places
from syncer.conflict.fields.table import VERSIONS, Edge, beyond
from syncer.conflict.replica import Replica
from syncer.model import MetaPath, Millis, Revision
from syncer.paths import kind_at
from syncer.replacing import replace
from syncer.replication.local.absences import AGAIN_MS, AT_ONCE_MS, SOON_MS, DroppedFields
from syncer.replication.local.dirty import ReadCause
from syncer.replication.local.part import OwnStore

UNTOLD: Final = "broker-versions-unknown"
NEWER: Final = "broker-version-newer"
OLDER: Final = "broker-version-older"
_UNKNOWN: Final = "which fields it drops is not known, so no field that lacks in the store counts as removed"
DROPPED: Final = "broker-fields-unknown"
INCOMPLETE_PAGE: Final = 200
PLACES_SHOWN: Final = 6


def want(local: OwnStore, now: Millis) -> dict[MetaPath, Revision] | None:
    """The absences that wait for an answer, if it is time to ask; ``None``: it is not."""
    versions = local.versions
    since = now - versions.asked_at
    whole = versions.asked_at and not versions.told.trouble
    pause_ms = SOON_MS if not whole else AT_ONCE_MS if versions.waiting else AGAIN_MS
    if 0 <= since < pause_ms:
        return None
    return dict(versions.waiting)


def answer(local: OwnStore, doubted: dict[MetaPath, Revision], told: BrokersTold, now: Millis) -> None:
    """Take an answer.

    Args:
        local: The region's own store.
        doubted: The absences that had been read before it was asked for.
        told: What the brokers said.
        now: Our clock.
    """
    versions = local.versions
    versions.asked_at, versions.told = now, told
    _tell(local)
    oldest = told.oldest
    if oldest is None:
        return  # what waits goes on waiting; what is known of the brokers stands until they say otherwise
    known, found = local.core.replica.settings.brokers, Brokers.of(oldest, told.newest or oldest)
    if known != found:
        if known is None or known.version is None or oldest > known.version or found.beyond != known.beyond:
            versions.unsettled = versions.rescan = True
        versions.changed = True
        local.core.replica = Replica(replace(local.core.replica.settings, brokers=found))
    versions.vouched.update(doubted)
    for path in doubted:
        versions.waiting.pop(path, None)
    local.dirty.add(doubted, ReadCause.DUE)


def _tell(local: OwnStore) -> None:
    """Say in the status what is not as it should be."""
    versions = local.versions
    ends = etcd_ending.ending(local.core.place.kind, versions.told)
    if ends is not None:
        local.telemetry.conditions[etcd_ending.ENDS] = ends
    elif versions.told.versions and not versions.told.trouble:  # who could not be asked has not become older
        local.telemetry.conditions.pop(etcd_ending.ENDS, None)
    local.telemetry.conditions.pop(UNTOLD, None)
    local.telemetry.conditions.pop(NEWER, None)
    local.telemetry.conditions.pop(OLDER, None)
    trouble = versions.told.trouble
    if trouble and local.core.replica.settings.brokers is not None:
        waits = f"; {len(versions.waiting)} paths wait for it" if versions.waiting else ""
        local.telemetry.conditions[UNTOLD] = (
            f"which versions of Pulsar the brokers here have is not known ({trouble}), so no field that is "
            f"newer than {VERSIONS[0]} counts as removed{waits}"
        )
    edges = {beyond(each) for each in versions.told.extremes}
    if Edge.OLDER in edges:
        local.telemetry.conditions[OLDER] = (
            f"a broker here is older than {VERSIONS[0]}, the oldest version known to this program: {_UNKNOWN}; "
            "upgrade that broker"
        )
    if Edge.NEWER in edges:
        local.telemetry.conditions[NEWER] = (
            f"a broker here is newer than {VERSIONS[-1]}, the newest version known to this program: {_UNKNOWN}; "
            "upgrade this program"
        )


def mark_incomplete(local: OwnStore, now: Millis) -> None:
    """Look again, page by page, at paths whose store lacks kept fields.

    What the brokers know now is written back. What they do not know is told by a condition once all pages were seen.
    """
    versions, brokers = local.versions, local.core.replica.settings.brokers
    if brokers is None or brokers.version is None or versions.unsettled or local.core.observing:
        return
    if versions.incomplete_after is None:
        if 0 <= now - versions.incomplete_at < AGAIN_MS:
            return
        versions.incomplete_at, versions.incomplete_after = now, MetaPath("")
        versions.dropped = DroppedFields()
    with local.core.state.transaction() as tx:
        page = tx.incomplete(INCOMPLETE_PAGE, versions.incomplete_after)
    page_end = page[-1].path if len(page) == INCOMPLETE_PAGE else None
    page = [each for each in page if local.core.scope.contains(each.path)]
    local.dirty.add([each.path for each in page if local.core.replica.owes(each)], ReadCause.DUE)
    for each in page:
        if each.kept is not None and each.stored_alive:
            kind = kind_at(each.path)
            versions.dropped.add(kind, unknown_places(each.kept.gone, brokers.known(kind)))
    versions.incomplete_after = page_end
    if page_end is None:
        _tell_dropped(local, brokers)


def _tell_dropped(local: OwnStore, brokers: Brokers) -> None:
    """Say in the status which fields have no effect here, since the brokers do not know them."""
    dropped = local.versions.dropped
    local.telemetry.conditions.pop(DROPPED, None)
    if not dropped.paths or brokers.beyond:  # which ones brokers beyond the table know nobody can say
        return
    places = sorted(dropped.places)
    more = f", and {len(places) - PLACES_SHOWN} more" if len(places) > PLACES_SHOWN else ""
    versions = ", ".join(local.versions.told.in_order)
    paths = "1 path has" if dropped.paths == 1 else f"{dropped.paths} paths have"
    local.telemetry.conditions[DROPPED] = (
        f"not all brokers here ({versions}) know fields that {paths}: "
        f"{', '.join(places[:PLACES_SHOWN])}{more}; they are not in the store, so they have no effect in this region; "
        "they are kept, and published with each change"
    )
