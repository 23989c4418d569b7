"""Each guard at its edges: what is held, what passes, and what has to be asked first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from syncer.conflict.acts import Need
from syncer.conflict.cluster_names.disputes import ANY_NAME
from syncer.conflict.guards import (
    IN_DISPUTE,
    TABLE,
    UNTOLD_TOPICS,
    Danger,
    DeleteWindow,
    Facts,
    GuardRefusal,
    Proposal,
    Related,
    Topics,
    examine,
    named_clusters,
    objections,
    recent_flips,
    wants_answer,
    weighs_related,
)
from syncer.conflict.register import Hold, HoldReason, Register
from syncer.conflict.settings import Limits, Settings
from syncer.errors import InvariantBroken
from syncer.model import MetaPath, Millis, Region, ResourceKind, Stamp
from tests.property.strategies import NOW, PATH_OF_KIND
from tests.unit.registers import HERE, THERE, X, at, stored, version

NAMESPACE, TENANT = ResourceKind.NAMESPACE, ResourceKind.TENANT
POLICIES = ResourceKind.TOPIC_POLICY
TOPIC = ResourceKind.PARTITIONED_TOPIC
BLUE, GREEN = {"replication_clusters": ["blue"]}, {"replication_clusters": ["green"]}


def proposal(
    kind: ResourceKind, present: Any, proposed: Any, *, clusters: tuple[str, ...] = ("blue",), **changes: Any
) -> Proposal:
    """A write to a value that its author had seen, in a region that serves ``clusters`` and knows blue and green."""
    facts = Facts(
        now=NOW,
        clusters=frozenset({"blue", "green"}),
        topics=changes.pop("topics", Topics.NOT_ASKED),
        related=changes.pop("related", Related()),
    )
    register = Register(path=PATH_OF_KIND[kind], stored=stored(X, at(0)))
    return replace(
        Proposal(
            register=register,
            known=version(X, at(5, THERE), at(0)),
            kind=kind,
            present=present,
            proposed=proposed,
            facts=facts,
            settings=Settings(region=HERE, clusters=frozenset(clusters)),
        ),
        **changes,
    )


def reason(asked: Proposal) -> HoldReason | str | None:
    refusal = examine(asked)
    if refusal is None:
        return None
    return refusal.reason or {Need.TOPICS: "ask", Need.RELATED: "read"}[refusal.need]


# -- the table


def test_every_danger_has_a_cell_for_every_kind_of_resource() -> None:
    assert set(TABLE) == set(Danger)
    assert {danger: set(cells) for danger, cells in TABLE.items()} == {danger: set(ResourceKind) for danger in Danger}


def test_a_cell_without_a_guard_says_why_the_danger_does_not_exist() -> None:
    reasons = [cell for cells in TABLE.values() for cell in cells.values() if isinstance(cell, str)]
    assert [each for each in reasons if len(each.split()) < 4 or not each.endswith(".")] == []


@pytest.mark.parametrize("kind", ResourceKind)
def test_what_is_examined_are_the_cells_of_the_kind(kind: ResourceKind, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Danger] = []

    def cell(danger: Danger) -> Any:
        return lambda _: asked.append(danger)

    for danger, cells in TABLE.items():
        if not isinstance(cells[kind], str):
            monkeypatch.setitem(cells, kind, cell(danger))
    assert examine(proposal(kind, {}, {})) is None
    assert asked == [danger for danger in Danger if not isinstance(TABLE[danger][kind], str)]
    asked.clear()
    assert list(objections(proposal(kind, {}, {}), (Danger.BUS_RESOURCE,))) == []
    assert asked == [Danger.BUS_RESOURCE]


# -- (a) mass deletes


def window_of(**limits: Any) -> DeleteWindow:
    """A window of a database where nothing was deleted."""
    window = DeleteWindow(Limits(**limits))
    window.begin(())
    return window


def passes(window: DeleteWindow, deletes: int, alive: int, now: Millis = NOW) -> bool:
    """Whether so many pass; if so, they have."""
    if not window.permits(deletes, alive, now):
        return False
    window.passed(deletes, now)
    return True


def test_deletes_pass_up_to_the_bound_of_the_window() -> None:
    window = window_of(max_deletes=5, min_deletes=0, max_delete_fraction=1.0)
    assert passes(window, 3, 1_000)
    assert passes(window, 2, 997)
    assert not passes(window, 1, 995)
    assert passes(window, 0, 995)


def test_deletes_pass_up_to_a_share_of_what_was_alive_when_the_window_began() -> None:
    window = window_of(max_deletes=10_000, min_deletes=0, max_delete_fraction=0.1)
    assert passes(window, 6, 100)
    assert passes(window, 4, 94)
    assert not passes(window, 1, 90)


def test_a_small_store_may_lose_a_few_paths() -> None:
    window = window_of(min_deletes=10)
    assert passes(window, 10, 12)
    assert not passes(window, 1, 2)


def test_the_window_moves() -> None:
    window = window_of(max_deletes=2, delete_window_ms=Millis(100))
    assert passes(window, 2, 1_000)
    assert not passes(window, 1, 998, Millis(NOW + 99))
    assert passes(window, 1, 998, Millis(NOW + 100))


def test_what_is_held_does_not_count() -> None:
    window = window_of(max_deletes=10)
    assert not passes(window, 11, 10_000)
    assert passes(window, 10, 10_000)


def test_what_was_not_stored_does_not_count() -> None:
    """A transaction that fails is tried again: its deletes are asked about twice."""
    window = window_of(max_deletes=10)
    assert window.permits(10, 10_000, NOW)
    assert passes(window, 10, 10_000)


def test_a_window_begins_with_what_a_former_daemon_let_pass() -> None:
    window = DeleteWindow(Limits(max_deletes=10, delete_window_ms=Millis(100)))
    window.begin([Millis(NOW - 100)] * 4 + [Millis(NOW - 99)] * 7)
    assert not window.permits(4, 10_000, NOW)
    assert window.permits(3, 10_000, NOW)
    assert window.permits(10, 10_000, Millis(NOW + 1))


def test_as_many_as_the_bound_tell_as_much_as_all() -> None:
    limits = Limits(max_deletes=3, max_delete_fraction=1.0, delete_window_ms=Millis(100))
    whole, latest = DeleteWindow(limits), DeleteWindow(limits)
    passed = [Millis(NOW - 60 + 10 * number) for number in range(6)]
    whole.begin(passed)
    latest.begin(passed[-whole.kept :])
    for offset in range(0, 120, 5):
        now = Millis(NOW + offset)
        for deletes in range(1, 5):
            assert whole.permits(deletes, 50, now) == latest.permits(deletes, 50, now)


def test_a_window_that_knows_nothing_of_before_lets_nothing_pass() -> None:
    window = DeleteWindow(Limits())
    assert not window.begun
    window.passed(1, NOW)
    assert not window.begun, "nor does it know by what passes now"
    with pytest.raises(InvariantBroken):
        window.permits(1, 10_000, NOW)
    window.begin(())
    assert window.begun


# -- (b) a cluster left out


@pytest.mark.parametrize(
    ("present", "proposed", "clusters", "expected"),
    [
        (BLUE, GREEN, ("blue",), HoldReason.LEAVES_CLUSTER_OUT),
        (BLUE, {}, ("blue",), HoldReason.LEAVES_CLUSTER_OUT),
        ({"allowed_clusters": ["blue"]}, GREEN, ("blue",), HoldReason.LEAVES_CLUSTER_OUT),
        (BLUE, {**GREEN, "allowed_clusters": ["blue"]}, ("blue",), None),
        (BLUE, {"replication_clusters": ["green", "blue"]}, ("blue",), None),
        (GREEN, GREEN, ("blue",), None),
        (BLUE, GREEN, (), None),
        (BLUE, {**BLUE, "allowed_clusters": ["green"]}, ("blue",), HoldReason.LEAVES_CLUSTER_OUT),
        ({**BLUE, "allowed_clusters": ["green"]}, {**BLUE, "allowed_clusters": ["green"], "x": 1}, ("blue",), None),
        (None, {**BLUE, "allowed_clusters": ["green"]}, ("blue",), None),
        (BLUE, {**BLUE, "allowed_clusters": []}, ("blue",), None),
        ({"replication_clusters": ["blue", "green"]}, GREEN, ("blue", "green"), HoldReason.LEAVES_CLUSTER_OUT),
        (GREEN, GREEN, ("blue", "green"), None),
        (None, GREEN, ("blue",), "ask"),
        ({}, GREEN, ("blue",), "ask"),
        ({"replication_clusters": []}, GREEN, ("blue",), "ask"),
        (None, BLUE, ("blue",), None),
        (None, {}, ("blue",), "ask"),
    ],
)
def test_no_namespace_leaves_a_cluster_out_that_serves_it(
    present: Any, proposed: Any, clusters: tuple[str, ...], expected: HoldReason | str | None
) -> None:
    assert reason(proposal(NAMESPACE, present, proposed, clusters=clusters)) == expected


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        (Topics.NONE, None),
        (Topics.SOME, HoldReason.LEAVES_CLUSTER_OUT),
        (Topics.CANNOT_ASK, HoldReason.LEAVES_CLUSTER_OUT),
    ],
)
@pytest.mark.parametrize("present", [None, {}])
def test_a_namespace_without_a_name_may_leave_clusters_out_where_no_topics_are(
    present: Any, topics: Topics, expected: HoldReason | None
) -> None:
    assert reason(proposal(NAMESPACE, present, GREEN, topics=topics)) == expected


def test_tenants_leave_no_topics_behind() -> None:
    assert reason(proposal(TENANT, {"allowedClusters": ["blue"]}, {"allowedClusters": ["green"]})) is None


# -- (b) of topic policies

SPACE, PATHS = PATH_OF_KIND[NAMESPACE], (PATH_OF_KIND[POLICIES], MetaPath(f"{PATH_OF_KIND[POLICIES]}2"))
TO_BLUE, TO_GREEN = {"replicationClusters": ["blue"]}, {"replicationClusters": ["green"]}
BOTH = {"replication_clusters": ["blue", "green"]}
ALLOWED = {**BOTH, "allowed_clusters": ["blue"]}


@pytest.mark.parametrize(
    ("present", "proposed", "namespace", "expected"),
    [
        (None, TO_GREEN, BOTH, HoldReason.LEAVES_CLUSTER_OUT),
        (None, TO_GREEN, ALLOWED, None),
        (None, TO_GREEN, {**GREEN, "allowed_clusters": ["blue"]}, None),
        (None, TO_GREEN, None, HoldReason.LEAVES_CLUSTER_OUT),
        (TO_BLUE, TO_GREEN, BOTH, HoldReason.LEAVES_CLUSTER_OUT),
        (TO_BLUE, {}, GREEN, HoldReason.LEAVES_CLUSTER_OUT),
        (TO_BLUE, None, GREEN, HoldReason.LEAVES_CLUSTER_OUT),
        (TO_BLUE, None, BOTH, None),
        (TO_GREEN, {**TO_GREEN, "maxConsumersPerTopic": 3}, BOTH, None),
        (None, {"replicationClusters": []}, BOTH, None),
        (None, TO_BLUE, BOTH, None),
    ],
)
def test_no_topic_policy_leaves_a_cluster_out_that_its_namespace_does_not_allow(
    present: Any, proposed: Any, namespace: Any, expected: HoldReason | None
) -> None:
    asked = proposal(POLICIES, present, proposed, related=Related(documents={SPACE: namespace}))
    assert reason(asked) == expected


@pytest.mark.parametrize("related", [None, Related()])
def test_the_namespace_of_a_dangerous_topic_policy_is_read_first(related: Related | None) -> None:
    assert reason(proposal(POLICIES, None, TO_GREEN, related=related)) == "read"
    assert reason(proposal(POLICIES, None, TO_BLUE, related=related)) is None
    assert reason(proposal(POLICIES, {}, {"maxConsumersPerTopic": 3}, related=related)) is None
    assert reason(proposal(POLICIES, None, TO_GREEN, related=related, clusters=())) is None


def test_a_namespace_that_cannot_be_read_errs_on_the_safe_side() -> None:
    refusal = examine(
        proposal(POLICIES, None, TO_GREEN, related=Related(untold={SPACE: "the store did not tell of it"}))
    )
    assert refusal is not None
    assert refusal.reason is HoldReason.LEAVES_CLUSTER_OUT
    assert refusal.detail == "its namespace could not be read here: the store did not tell of it"


@pytest.mark.parametrize(
    ("present", "proposed", "policies", "expected"),
    [
        (ALLOWED, BOTH, TO_GREEN, HoldReason.LEAVES_CLUSTER_OUT),
        (ALLOWED, BOTH, TO_BLUE, None),
        (ALLOWED, BOTH, {"maxConsumersPerTopic": 3}, None),
        (ALLOWED, BOTH, {"replicationClusters": []}, None),
        (ALLOWED, BOTH, None, None),
        (ALLOWED, {**ALLOWED, "message_ttl_in_seconds": 1}, TO_GREEN, None),
        (BOTH, {**BOTH, "message_ttl_in_seconds": 1}, TO_GREEN, None),
        (None, BOTH, TO_GREEN, HoldReason.LEAVES_CLUSTER_OUT),
        (None, ALLOWED, TO_GREEN, None),
    ],
)
def test_no_namespace_stops_to_allow_a_cluster_that_a_topic_policy_leaves_out(
    present: Any, proposed: Any, policies: Any, expected: HoldReason | None
) -> None:
    asked = proposal(NAMESPACE, present, proposed, related=Related(documents={PATHS[0]: policies}))
    assert reason(asked) == expected


def test_topic_policies_are_read_only_where_a_namespace_stops_to_allow_a_cluster() -> None:
    assert reason(proposal(NAMESPACE, ALLOWED, BOTH, related=None)) == "read"
    assert reason(proposal(NAMESPACE, BOTH, {**BOTH, "message_ttl_in_seconds": 1}, related=None)) is None
    assert reason(proposal(NAMESPACE, ALLOWED, ALLOWED, related=None)) is None


def test_a_namespace_s_refusal_names_a_topic_policy() -> None:
    untold = Related(untold=dict.fromkeys(PATHS, "the store did not tell of it"))
    refusal = examine(proposal(NAMESPACE, ALLOWED, BOTH, related=untold))
    what = f"topic policies here could not be read: {PATHS[0]} and 1 more: the store did not tell of it"
    assert refusal == GuardRefusal(HoldReason.LEAVES_CLUSTER_OUT, what)
    told = Related(documents={PATHS[0]: TO_BLUE, PATHS[1]: TO_GREEN}, untold={})
    refusal = examine(proposal(NAMESPACE, ALLOWED, BOTH, related=told))
    what = f"topic policies here leave out blue, and brokers would delete their topics: {PATHS[1]}"
    assert refusal == GuardRefusal(HoldReason.LEAVES_CLUSTER_OUT, what)


@pytest.mark.parametrize(
    ("kind", "detail", "expected"),
    [
        (POLICIES, "its namespace could not be read here: x", True),
        (NAMESPACE, "topic policies here could not be read: x", True),
        (NAMESPACE, "brokers of blue would delete its topics", False),
        (NAMESPACE, UNTOLD_TOPICS, False),
    ],
)
def test_a_hold_that_weighs_related_paths_is_told_from_others(kind: ResourceKind, detail: str, expected: bool) -> None:
    hold = Hold(reason=HoldReason.LEAVES_CLUSTER_OUT, stamp=at(5, THERE), since_ms=NOW, detail=detail)
    register = proposal(kind, {}, {}).register
    assert weighs_related(replace(register, hold=hold)) is expected
    assert not weighs_related(replace(register, hold=replace(hold, reason=HoldReason.UNKNOWN_CLUSTER)))
    assert not weighs_related(register)


def test_the_refusal_names_the_clusters() -> None:
    refusal = examine(proposal(NAMESPACE, {"replication_clusters": ["b", "a"]}, GREEN, clusters=("b", "a")))
    assert refusal == GuardRefusal(HoldReason.LEAVES_CLUSTER_OUT, "brokers of a, b would delete its topics")


# -- (c) fewer partitions


@pytest.mark.parametrize(
    ("present", "proposed", "expected"),
    [
        (4, 3, HoldReason.FEWER_PARTITIONS),
        (4, 4, None),
        (4, 5, None),
        (4, "8", HoldReason.FEWER_PARTITIONS),
        (4, None, HoldReason.FEWER_PARTITIONS),
        (None, 0, None),
    ],
)
def test_partitions_only_grow(present: Any, proposed: Any, expected: HoldReason | None) -> None:
    def document(count: Any) -> dict[str, Any]:
        return {} if count is None else {"partitions": count}

    assert reason(proposal(TOPIC, document(present), document(proposed))) == expected


def test_a_new_topic_has_no_fewer_partitions() -> None:
    assert reason(proposal(TOPIC, None, {"partitions": 1})) is None
    assert reason(proposal(TENANT, {"partitions": 4}, {"partitions": 1})) is None


# -- (d) unknown clusters


@pytest.mark.parametrize(
    ("kind", "present", "proposed", "expected"),
    [
        (TENANT, None, {"allowedClusters": ["nowhere"]}, HoldReason.UNKNOWN_CLUSTER),
        (TENANT, {"allowedClusters": ["nowhere"]}, {"allowedClusters": ["nowhere", "blue"]}, None),
        (TENANT, None, {"allowedClusters": ["blue", "green"]}, None),
        (TENANT, None, {"allowedClusters": ["global"]}, None),
        (TENANT, None, {"allowedClusters": "nowhere"}, HoldReason.UNREADABLE_TO_BROKERS),
        (TENANT, None, {"allowedClusters": [7, None]}, None),
        (NAMESPACE, BLUE, {"replication_clusters": ["blue", "nowhere"]}, HoldReason.UNKNOWN_CLUSTER),
        (NAMESPACE, BLUE, {**BLUE, "allowed_clusters": ["blue", "nowhere"]}, HoldReason.UNKNOWN_CLUSTER),
        (ResourceKind.RESOURCE_GROUP, None, {"allowedClusters": ["nowhere"]}, None),
        (TENANT, {"allowedClusters": ["blue"]}, None, None),
        (POLICIES, None, {"replicationClusters": ["blue", "nowhere"]}, HoldReason.UNKNOWN_CLUSTER),
        (POLICIES, {"replicationClusters": ["blue", "nowhere"]}, {"replicationClusters": ["nowhere", "blue"]}, None),
        (POLICIES, None, {"replicationClusters": ["blue", "green"]}, None),
    ],
)
def test_no_policy_newly_names_a_cluster_that_is_not_known_here(
    kind: ResourceKind, present: Any, proposed: Any, expected: HoldReason | None
) -> None:
    assert reason(proposal(kind, present, proposed)) == expected


def test_nothing_names_no_cluster() -> None:
    assert named_clusters(TENANT, None) == frozenset()


# -- (k) what brokers cannot read


@pytest.mark.parametrize(
    ("kind", "proposed", "told"),
    [
        (TENANT, {"adminRoles": "me"}, "adminRoles: an array is due, found a text"),
        (NAMESPACE, {**BLUE, "retention_policies": 5}, "retention_policies: an object is due, found a number 5"),
        (TOPIC, {"partitions": "many"}, "partitions: a whole number of 32 bits is due, found a text"),
        (POLICIES, {"maxMessageSize": []}, "maxMessageSize: a whole number of 32 bits is due, found an array"),
    ],
)
def test_what_brokers_could_not_read_is_held(kind: ResourceKind, proposed: Any, told: str) -> None:
    refusal = examine(proposal(kind, None, proposed, clusters=("blue",)))
    assert refusal is not None
    assert (refusal.reason, refusal.detail) == (
        HoldReason.UNREADABLE_TO_BROKERS,
        f"brokers here could not read it: {told}",
    )
    assert reason(proposal(kind, None, None)) is None


# -- (j) names in dispute


@pytest.mark.parametrize(
    ("kind", "proposed", "doubted", "expected"),
    [
        (NAMESPACE, BLUE, {THERE: {"blue"}}, HoldReason.UNKNOWN_CLUSTER),
        (NAMESPACE, BLUE, {HERE: {"blue"}}, HoldReason.UNKNOWN_CLUSTER),
        (NAMESPACE, BLUE, {THERE: {"green"}, HERE: {"red"}}, None),
        (NAMESPACE, BLUE, {Region("elsewhere"): {"blue"}}, None),
        (NAMESPACE, {**BLUE, "topicDispatchRate": {"green": {}}}, {THERE: {"green"}}, HoldReason.UNKNOWN_CLUSTER),
        (TENANT, {"allowedClusters": ["blue"]}, {THERE: {"blue"}}, HoldReason.UNKNOWN_CLUSTER),
        (NAMESPACE, BLUE, {THERE: {ANY_NAME}}, HoldReason.UNKNOWN_CLUSTER),
        (NAMESPACE, {"replication_clusters": []}, {HERE: {ANY_NAME}}, HoldReason.LEAVES_CLUSTER_OUT),
        (NAMESPACE, None, {THERE: {"blue"}}, "ask"),
    ],
)
def test_what_names_a_cluster_in_dispute_waits_even_where_it_was_named_before(
    kind: ResourceKind, proposed: Any, doubted: dict[Region, set[str]], expected: HoldReason | str | None
) -> None:
    asked = proposal(kind, {**BLUE, "message_ttl_in_seconds": 1}, proposed)
    names = {region: frozenset(each) for region, each in doubted.items()}
    assert reason(replace(asked, facts=replace(asked.facts, doubted=names))) == expected


def test_a_name_in_dispute_is_named_and_an_operator_may_decide() -> None:
    asked = proposal(NAMESPACE, BLUE, BLUE)
    asked = replace(asked, facts=replace(asked.facts, doubted={THERE: frozenset({"blue"})}))
    assert examine(asked) == GuardRefusal(HoldReason.UNKNOWN_CLUSTER, f"{IN_DISPUTE}: blue")
    allowed = replace(asked.register, allowed=asked.known.stamp)
    assert examine(replace(asked, register=allowed)) is None


# -- (e) first contact


@pytest.mark.parametrize(
    ("found", "also", "expected"),
    [
        (Stamp(Millis(1), HERE), (), HoldReason.FIRST_CONTACT),
        (Stamp(Millis(1), HERE), (Stamp(Millis(1), HERE),), None),
        (at(0), (), None),
        (Stamp(Millis(0), HERE), (), None),
    ],
    ids=["baseline", "seen-by-the-author", "a-change", "drift"],
)
@pytest.mark.parametrize("value", [X, None])
def test_a_value_of_first_contact_is_not_replaced_unseen(
    value: bytes | None, found: Stamp, also: tuple[Stamp, ...], expected: HoldReason | None
) -> None:
    asked = proposal(
        TENANT,
        {},
        None if value is None else {},
        register=Register(path=PATH_OF_KIND[TENANT], stored=stored(X, found)),
        known=version(value, at(5, THERE), *also),
    )
    assert reason(asked) == expected
    refusal = examine(asked)
    if refusal is not None:
        assert ("another value" in refusal.detail) is (value is not None)


def test_there_is_no_first_contact_with_nothing() -> None:
    for before in (None, stored(None, Stamp(Millis(1), HERE))):
        register = Register(path=PATH_OF_KIND[TENANT], stored=before)
        asked = proposal(TENANT, None, {}, register=register, known=version(X, at(5, THERE)))
        assert reason(asked) is None


# -- (f) flipping


@pytest.mark.parametrize(("flips", "expected"), [(5, None), (6, HoldReason.FLAPPING), (16, HoldReason.FLAPPING)])
def test_a_path_may_flip_that_often(flips: int, expected: HoldReason | None) -> None:
    asked = proposal(TENANT, {}, {})
    flapping = replace(asked.register, flips=tuple(Millis(NOW - step) for step in range(flips, 0, -1)))
    assert reason(replace(asked, register=flapping)) == expected


def test_only_flips_within_the_window_count() -> None:
    limits = Limits(flip_window_ms=Millis(100), max_flips=2)
    flips = tuple(Millis(NOW - age) for age in (101, 100, 99, 1))
    assert recent_flips(flips, NOW, limits) == (NOW - 99, NOW - 1)
    assert len(recent_flips(tuple([NOW] * 16), NOW, limits)) == 3


# -- (g) topics still there


@pytest.mark.parametrize("kind", [NAMESPACE, TOPIC])
@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        (Topics.NOT_ASKED, "ask"),
        (Topics.NONE, None),
        (Topics.SOME, HoldReason.HAS_TOPICS),
        (Topics.CANNOT_ASK, HoldReason.HAS_TOPICS),
    ],
)
def test_topics_are_not_deleted_from_under_their_namespace(
    kind: ResourceKind, topics: Topics, expected: HoldReason | str | None
) -> None:
    assert reason(proposal(kind, {}, None, topics=topics)) == expected


def test_other_deletes_ask_for_no_topics() -> None:
    assert reason(proposal(TENANT, {}, None)) is None
    assert reason(proposal(NAMESPACE, None, None)) is None
    assert reason(proposal(TOPIC, {}, {})) is None


# -- (h) the bus's own


@pytest.mark.parametrize("proposed", [{}, None])
def test_the_bus_is_never_changed_from_afar(proposed: Any) -> None:
    asked = proposal(TENANT, {}, proposed)
    settings = replace(asked.settings, bus_paths=frozenset({asked.register.path}))
    assert reason(replace(asked, settings=settings)) is HoldReason.BUS_RESOURCE


# -- a person's permission


def test_what_a_person_let_pass_is_not_asked_again() -> None:
    asked = proposal(NAMESPACE, BLUE, GREEN)
    assert reason(asked) is HoldReason.LEAVES_CLUSTER_OUT
    allowed = replace(asked.register, allowed=asked.known.stamp)
    assert reason(replace(asked, register=allowed)) is None
    assert reason(replace(asked, register=replace(allowed, allowed=at(4, THERE)))) is HoldReason.LEAVES_CLUSTER_OUT


# -- what is held for want of an answer


@pytest.mark.parametrize(
    ("kind", "present", "proposed"), [(NAMESPACE, {}, None), (TOPIC, {}, None), (NAMESPACE, {}, GREEN)]
)
@pytest.mark.parametrize(
    ("topics", "expected"), [(Topics.CANNOT_ASK, True), (Topics.SOME, False), (Topics.NONE, False)]
)
def test_only_what_nobody_could_tell_wants_an_answer(
    kind: ResourceKind, present: Any, proposed: Any, topics: Topics, expected: bool
) -> None:
    asked = proposal(kind, present, proposed, topics=topics)
    refusal = examine(asked)
    hold = None
    if refusal is not None and refusal.reason is not None:
        hold = Hold(reason=refusal.reason, stamp=asked.known.stamp, since_ms=NOW, detail=refusal.detail)
    assert wants_answer(replace(asked.register, hold=hold)) is expected


def test_the_words_alone_make_no_question() -> None:
    """Somebody else's words, as a store's refusal, may be the same."""
    hold = Hold(reason=HoldReason.STORE_REFUSED, stamp=at(5, THERE), since_ms=NOW, detail=UNTOLD_TOPICS)
    assert not wants_answer(replace(proposal(TOPIC, {}, None).register, hold=hold))


# -- (i) topics that became scalable


@pytest.mark.parametrize("proposed", [{"partitions": 8}, None])
@pytest.mark.parametrize(
    ("scalable", "topics", "expected"),
    [
        (Topics.SOME, Topics.NOT_ASKED, HoldReason.SCALABLE_TOPIC),
        (Topics.NOT_ASKED, Topics.SCALABLE, HoldReason.SCALABLE_TOPIC),
        (Topics.NONE, Topics.SCALABLE, HoldReason.SCALABLE_TOPIC),
        (Topics.NOT_ASKED, Topics.NOT_ASKED, "ask"),
        (Topics.NOT_ASKED, Topics.NONE, None),
        (Topics.NONE, Topics.NONE, None),
    ],
)
def test_what_became_a_scalable_topic_is_neither_grown_nor_deleted(
    proposed: Any, scalable: Topics, topics: Topics, expected: HoldReason | str | None
) -> None:
    asked = proposal(TOPIC, {"partitions": 4}, proposed, topics=topics)
    assert reason(replace(asked, facts=replace(asked.facts, scalable=scalable))) == expected


def test_where_nobody_can_tell_of_scalable_topics_a_topic_grows_and_is_not_deleted() -> None:
    grows = proposal(TOPIC, {"partitions": 4}, {"partitions": 8}, topics=Topics.CANNOT_ASK)
    assert reason(replace(grows, facts=replace(grows.facts, scalable=Topics.NOT_ASKED))) is None
    gone = proposal(TOPIC, {"partitions": 4}, None, topics=Topics.CANNOT_ASK)
    assert reason(replace(gone, facts=replace(gone.facts, scalable=Topics.NOT_ASKED))) is HoldReason.HAS_TOPICS


@pytest.mark.parametrize("present", [None, {"partitions": 4}])
def test_a_scalable_topic_stands_in_the_way_of_nothing_else(present: Any) -> None:
    asked = proposal(TOPIC, present, {"partitions": 4, "properties": {"a": "b"}})
    assert reason(replace(asked, facts=replace(asked.facts, scalable=Topics.SOME))) is None
    tenant = proposal(TENANT, {}, None)
    assert reason(replace(tenant, facts=replace(tenant.facts, scalable=Topics.NOT_ASKED))) is None
