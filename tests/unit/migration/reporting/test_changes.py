"""What was set is told with when it was put back, also where whoever had set it was killed."""

from __future__ import annotations

from syncer.migration.reporting.changes import changes_of
from tests.unit.migration.reporting.samples import act, happened


def test_each_change_is_told_once_with_both_times() -> None:
    events = happened(
        ("guarded", {"acts": [act("set", 1, "a", "key")]}),
        ("let-go", {"acts": [act("set", 2), act("back", 3, None)]}),
        ("marked", {"namespaces": []}),
        ("let-go", {"acts": [act("set", 4, 99)]}),
    )
    assert [(each.subject == "key", each.value, each.set_at_ms, each.back_at_ms) for each in changes_of(events)] == [
        (True, "a", 1, None),
        (False, "166", 2, 3),
        (False, "99", 4, None),
    ]


def test_what_a_killed_daemon_had_set_is_told_when_it_is_put_back() -> None:
    (change,) = changes_of(happened(("put-back", {"acts": [act("back", 3, None)]})))
    assert (change.value, change.set_at_ms, change.back_at_ms) == (None, None, 3)


def test_what_both_clusters_have_of_one_name_is_told_apart() -> None:
    there = {"cluster": "green"}
    events = happened(
        ("guarded", {"acts": [act("set", 1, "1", "key"), {**act("set", 2, "1", "key"), **there}]}),
        ("released", {"acts": [act("back", 3, None, "key"), {**act("back", 4, None, "key"), **there}]}),
    )
    assert [(each.cluster, each.set_at_ms, each.back_at_ms) for each in changes_of(events)] == [
        ("blue", 1, 3),
        ("green", 2, 4),
    ]
