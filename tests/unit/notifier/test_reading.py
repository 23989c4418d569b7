"""What stands, as it is read of the status: what is not known is neither told nor over."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.documents.status import SnapshotsDocument, StatusDocument
from syncer.notices.rules import Outstanding
from syncer.notifier.reading import NOTHING, divergence, failed_jobs

NOW = 1_700_000_000_000
LIMIT = 600_000


def peer(region: str, compared: str | None, *, member: bool = True) -> dict[str, Any]:
    empty = dict.fromkeys(
        ("mode", "version", "heard_at_ms", "heard_age_s", "skew_s", "watermark_ms", "equal_at_ms", "same_rules")
    )
    return {"region": region, "here": False, "compared": compared, "differing_paths": 3, "member": member, **empty}


def status(*peers: dict[str, Any], snapshots: SnapshotsDocument | None = None) -> StatusDocument:
    waiting = dict.fromkeys(("due", "holds", "future_events", "parked", "conflicts", "quarantine", "operations"), 0)
    return StatusDocument.model_validate(
        {
            "region": "east",
            "daemon": "running",
            "mode": "active",
            "reported_at_ms": NOW,
            "reported_age_s": 0,
            "paused": None,
            "baseline_done": True,
            "watch_whole": True,
            "epoch": 1,
            "fence": 1,
            "paths": 0,
            "outbox": {"depth": 0, "oldest_age_s": None},
            "waiting": waiting,
            "snapshots": snapshots,
            "daemons": [],
            "peers": list(peers),
            "conditions": [],
            "not_carried": [],
        }
    )


def differs(since: int) -> dict[str, dict[str, Any]]:
    return {"west": {"state": "differs", "differs_since_ms": since}}


def test_a_region_that_differs_for_longer_than_it_may_is_told_of() -> None:
    found = divergence(status(peer("west", "differs")), differs(NOW - LIMIT - 1), NOW, LIMIT)
    assert found is not None
    assert (found.count, found.since_ms, found.reasons) == (1, NOW - LIMIT - 1, (("west", 3),))


@pytest.mark.parametrize(
    ("peers", "since", "over"),
    [
        ([peer("west", "differs")], NOW - LIMIT, False),
        ([peer("west", "unknown")], NOW, False),
        ([peer("west", None)], NOW, False),
        ([peer("west", "equal"), peer("north", None)], NOW, False),
        ([peer("west", "equal")], NOW, True),
        ([peer("west", "equal"), peer("north", None, member=False)], NOW, True),
        ([peer("west", "differs", member=False)], 0, True),
        ([], NOW, True),
    ],
    ids=range(8),
)
def test_it_is_over_once_all_members_are_equal(peers: list[dict[str, Any]], since: int, over: bool) -> None:
    assert divergence(status(*peers), differs(since), NOW, LIMIT) == (NOTHING if over else None)


@pytest.mark.parametrize(
    ("snapshots", "found"),
    [
        (None, NOTHING),
        (SnapshotsDocument(running=False), None),
        (SnapshotsDocument(running=True, last_succeeded=True), NOTHING),
        (
            SnapshotsDocument(running=False, trouble="secret words", last_succeeded=False, last_ended_at_ms=5),
            Outstanding(
                count=1,
                since_ms=5,
                reasons=(("snapshot-failed", 1),),
                detail="the last snapshot on schedule failed; 'syncer status' says why",
            ),
        ),
    ],
    ids=["none-on-schedule", "not-known-yet", "well", "failed"],
)
def test_a_snapshot_that_failed_is_told_of_without_its_words(
    snapshots: SnapshotsDocument | None, found: Outstanding | None
) -> None:
    assert failed_jobs(status(snapshots=snapshots)) == found
