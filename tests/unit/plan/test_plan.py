"""Plans at their edges: what is refused and why, what gives way to whom, how a plan reads."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from syncer.conflict.guards import Related, Topics
from syncer.conflict.settings import Settings
from syncer.errors import InvariantBroken, PlanStale
from syncer.model import MetaPath, Millis, Region
from syncer.plan.diffing import diff, differing, fingerprint, operation, pictured
from syncer.plan.operations import Action, Operation, Plan, Standing, planned
from syncer.plan.rendering import changes, summary
from syncer.plan.review import ALLOWABLE, Reason, TargetFacts, review, to_be_asked, to_be_read

HERE = Region("east")
TENANT = MetaPath("/admin/policies/acme")
SPACE = MetaPath("/admin/policies/acme/orders")
TOPIC = MetaPath("/admin/partitioned-topics/acme/orders/persistent/paid")
CLUSTER = MetaPath("/admin/clusters/green")
EVERYTHING = frozenset({TENANT, SPACE, TOPIC, CLUSTER})


def value(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


BLUE = value(replication_clusters=["blue"])


def plan_of(*operations: Operation) -> Plan:
    return planned(region=HERE, source="west", made_at_ms=Millis(1), operations=operations)


def put(path: MetaPath, after: bytes, before: bytes | None = None) -> Operation:
    return Operation(path=path, before=before, after=after)


def gone(path: MetaPath, before: bytes = b"{}") -> Operation:
    return Operation(path=path, before=before, after=None)


def around(**changed: Any) -> TargetFacts:
    usual = TargetFacts(
        settings=Settings(region=HERE, clusters=frozenset({"blue"})),
        scope=EVERYTHING,
        clusters=frozenset({"blue"}),
        alive=frozenset({TENANT, SPACE}),
        related={SPACE: Related()},
    )
    return replace(usual, **changed)


def reasons(plan: Plan, facts: TargetFacts, **options: Any) -> dict[MetaPath, list[Reason]]:
    found = review(plan, facts, **options)
    assert {each.path for each in found.accepted} | found.refused.keys() == {each.path for each in plan.operations}
    return {path: [each.reason for each in refusals] for path, refusals in found.refused.items()}


@pytest.mark.parametrize(
    ("operation", "facts", "reason"),
    [
        (put(TOPIC, value(partitions=2), value(partitions=4)), {}, Reason.FEWER_PARTITIONS),
        (put(SPACE, value(replication_clusters=["global"]), BLUE), {}, Reason.LEAVES_CLUSTER_OUT),
        (put(SPACE, value(replication_clusters=["blue", "red"])), {}, Reason.UNKNOWN_CLUSTER),
        (put(TENANT, b"no json"), {}, Reason.UNREADABLE),
        (put(TENANT, value(adminRoles=[]), b"no json"), {}, Reason.UNREADABLE),
        (gone(TOPIC), {"topics": {TOPIC: Topics.SOME}}, Reason.HAS_TOPICS),
        (gone(SPACE), {"topics": {SPACE: Topics.CANNOT_ASK}}, Reason.HAS_TOPICS),
        (gone(SPACE), {}, Reason.HAS_TOPICS),
        (gone(TOPIC, b"no json"), {"topics": {TOPIC: Topics.SOME}}, Reason.HAS_TOPICS),
        (
            put(TENANT, value(adminRoles=["x"]), value()),
            {"settings": Settings(region=HERE, bus_paths=frozenset({TENANT}))},
            Reason.BUS_RESOURCE,
        ),
    ],
)
def test_a_guard_refuses_until_a_person_names_its_reason(
    operation: Operation, facts: dict[str, Any], reason: Reason
) -> None:
    plan, target = plan_of(operation), around(**facts)
    assert reasons(plan, target, deletes=True) == {operation.path: [reason]}
    others = ALLOWABLE - {reason}
    assert reasons(plan, target, deletes=True, allow=others) == {operation.path: [reason]}
    assert reasons(plan, target, deletes=True, allow=frozenset({reason})) == {}


BOTH = value(replication_clusters=["blue", "green"])
LATER = value(replication_clusters=["blue", "green"], message_ttl_in_seconds=60)
ALLOWED = value(replication_clusters=["blue", "green"], allowed_clusters=["blue"])
POLICIES = MetaPath("/admin/topic-policies/global/acme/orders/persistent/paid")
TO_GREEN, TO_BLUE = value(replicationClusters=["green"]), value(replicationClusters=["blue"])


def of_policies(related: dict[MetaPath, bytes | None], **changed: Any) -> TargetFacts:
    """A target in which these stand at related paths of the namespace and of its topic policies."""
    documents = {path: None if each is None else json.loads(each) for path, each in related.items()}
    known = frozenset({"blue", "green"})
    each = dict.fromkeys((SPACE, POLICIES), Related(documents=documents))
    return around(**{"scope": EVERYTHING | {POLICIES}, "clusters": known, "related": each, **changed})


@pytest.mark.parametrize(
    ("operations", "stands", "refused"),
    [
        ([put(POLICIES, TO_GREEN)], {SPACE: BOTH}, {POLICIES}),
        ([put(POLICIES, TO_GREEN)], {SPACE: ALLOWED}, set()),
        ([put(POLICIES, TO_BLUE)], {SPACE: BOTH}, set()),
        ([put(SPACE, BOTH, ALLOWED)], {POLICIES: TO_GREEN}, {SPACE}),
        ([put(SPACE, BOTH, ALLOWED)], {POLICIES: TO_BLUE}, set()),
        ([put(SPACE, BOTH, ALLOWED), put(POLICIES, TO_GREEN, TO_BLUE)], {SPACE: ALLOWED}, {SPACE, POLICIES}),
        ([put(SPACE, ALLOWED, BOTH), put(POLICIES, TO_GREEN, TO_BLUE)], {SPACE: BOTH}, {POLICIES}),
        ([put(SPACE, ALLOWED), put(POLICIES, TO_GREEN)], {SPACE: None}, set()),
        ([put(SPACE, LATER, BOTH), put(POLICIES, TO_GREEN)], {SPACE: BOTH}, {POLICIES}),
        ([put(SPACE, BOTH), put(POLICIES, TO_GREEN)], {SPACE: None}, {SPACE, POLICIES}),
    ],
)
def test_no_plan_brings_both_halves_that_delete_a_topic(
    operations: list[Operation], stands: dict[MetaPath, bytes | None], refused: set[MetaPath]
) -> None:
    plan, target = plan_of(*operations), of_policies(stands)
    found = reasons(plan, target)
    assert {path for path, each in found.items() if Reason.LEAVES_CLUSTER_OUT in each} == refused
    assert reasons(plan, target, allow=frozenset({Reason.LEAVES_CLUSTER_OUT})) == {}


def test_related_values_are_read_only_where_a_guard_needs_them() -> None:
    plan = plan_of(put(POLICIES, TO_GREEN), put(SPACE, BOTH, ALLOWED), put(TENANT, value(adminRoles=[])))
    unread = replace(of_policies({}), related={})
    assert to_be_read(plan, unread) == (SPACE, POLICIES)
    assert reasons(plan, unread) == {path: [Reason.LEAVES_CLUSTER_OUT] for path in (SPACE, POLICIES)}
    assert to_be_read(plan_of(put(POLICIES, TO_BLUE), put(SPACE, ALLOWED, BOTH)), unread) == ()


def test_a_delete_is_performed_only_when_it_is_asked_for() -> None:
    plan = plan_of(gone(TENANT))
    assert reasons(plan, around()) == {TENANT: [Reason.DELETE]}
    assert reasons(plan, around(), allow=frozenset(Reason)) == {TENANT: [Reason.DELETE]}
    assert reasons(plan, around(), deletes=True) == {}


def test_an_orphan_is_never_made() -> None:
    topic = put(TOPIC, value(partitions=4))
    nobody = around(alive=frozenset())
    assert reasons(plan_of(topic), nobody, allow=frozenset(Reason)) == {TOPIC: [Reason.PARENT_MISSING]}
    family = plan_of(topic, put(SPACE, BLUE), put(TENANT, value(adminRoles=[])))
    assert reasons(family, nobody) == {}
    assert [each.path for each in family.operations] == [TENANT, SPACE, TOPIC]


def test_a_child_waits_with_its_parent_that_is_refused() -> None:
    family = plan_of(put(TOPIC, value(partitions=4)), put(SPACE, value(replication_clusters=["blue", "red"])))
    target = around(alive=frozenset({TENANT}))
    assert reasons(family, target) == {SPACE: [Reason.UNKNOWN_CLUSTER], TOPIC: [Reason.PARENT_MISSING]}
    assert reasons(family, target, allow=frozenset({Reason.UNKNOWN_CLUSTER})) == {}


def test_a_parent_goes_only_after_all_its_children() -> None:
    other = MetaPath(f"{TENANT}/other")
    living = around(children={TENANT: frozenset({SPACE, other})}, topics={SPACE: Topics.NONE})
    assert reasons(plan_of(gone(TENANT)), living, deletes=True, allow=frozenset(Reason)) == {
        TENANT: [Reason.CHILDREN_ALIVE]
    }
    (told,) = review(plan_of(gone(TENANT)), living, deletes=True).refused[TENANT]
    assert told.detail == f"{SPACE} and 1 more would outlive it"
    (told,) = review(plan_of(gone(TENANT), gone(SPACE)), living, deletes=True).refused[TENANT]
    assert told.detail == f"{other} would outlive it"
    only = replace(living, children={TENANT: frozenset({SPACE})})
    assert reasons(plan_of(gone(TENANT), gone(SPACE)), only, deletes=True) == {}


def test_a_parent_does_not_go_from_above_a_child_that_the_plan_makes() -> None:
    plan = plan_of(gone(TENANT), put(SPACE, BLUE))
    assert reasons(plan, around(), deletes=True) == {TENANT: [Reason.CHILDREN_ALIVE]}


def test_a_path_that_the_region_does_not_carry_is_refused_for_good() -> None:
    plan = plan_of(put(TENANT, value(adminRoles=[])))
    assert reasons(plan, around(scope=frozenset()), allow=frozenset(Reason)) == {TENANT: [Reason.OUT_OF_SCOPE]}


def test_what_the_region_only_publishes_is_not_taken_from_another_one() -> None:
    plan = plan_of(put(TENANT, value(adminRoles=["a"]), b"{}"), put(TOPIC, value(partitions=4), value(partitions=2)))
    foreign, applied = replace(plan, origin=Region("west")), frozenset({TENANT})
    assert reasons(plan, around(applied=applied)) == {}
    assert reasons(foreign, around(applied=applied), allow=frozenset(Reason)) == {TOPIC: [Reason.NOT_APPLIED]}
    assert reasons(foreign, around(scope=applied, applied=applied)) == {TOPIC: [Reason.OUT_OF_SCOPE]}
    assert foreign.reversed().origin is None, "what stood here comes back"


def excluding(*names: str) -> dict[str, Any]:
    """Of a region that has these fields of the tenant for itself."""
    own = frozenset(names)
    return {"settings": Settings(region=HERE, excluded=lambda path: own if path == TENANT else frozenset())}


@pytest.mark.parametrize(
    ("before", "after"), [(value(a=5, b=1), value(a=60, b=1)), (value(b=1), value(a=60, b=1)), (value(a=5), b"{}")]
)
def test_an_update_of_an_excluded_field_alone_is_refused_for_good(before: bytes, after: bytes) -> None:
    plan = plan_of(put(TENANT, after, before))
    assert reasons(plan, around()) == {}
    found = review(plan, around(**excluding("a")), allow=frozenset(Reason))
    assert [each.reason for each in found.refused[TENANT]] == [Reason.EXCLUDED_FIELD]
    assert (found.plan, dict(found.spared)) == (plan, {})
    assert found.refused[TENANT][0].detail.startswith("a: excluded in this region")


def test_an_update_leaves_excluded_fields_and_names_them() -> None:
    plan = plan_of(put(TENANT, value(a=60, b=2, c=3), value(a=5, b=1)), put(TOPIC, value(partitions=4)))
    found = review(plan, around(**excluding("a", "c", "d")))
    assert (found.refused, found.spared) == ({}, {TENANT: ("a", "c")})
    after = {each.path: json.loads(each.after or b"") for each in found.accepted}
    assert after == {TENANT: {"a": 5, "b": 2}, TOPIC: {"partitions": 4}}
    assert review(plan, around(**excluding("d"))).plan == plan


def test_a_number_and_a_truth_value_are_not_the_same_field() -> None:
    found = review(plan_of(put(TENANT, value(a=1, b=1), value(a=5, b=True))), around(**excluding("a")))
    assert (found.refused, found.spared) == ({}, {TENANT: ("a",)})
    refused = review(plan_of(put(TENANT, value(a=1), value(a=True))), around(**excluding("a"))).refused
    assert [each.reason for each in refused[TENANT]] == [Reason.EXCLUDED_FIELD]


def test_what_another_region_has_is_made_without_excluded_fields_and_what_stood_here_with_them() -> None:
    plan, facts = plan_of(put(TENANT, value(a=60, b=1))), around(applied=EVERYTHING, **excluding("a"))
    foreign = review(replace(plan, origin=Region("west")), facts)
    assert ([json.loads(each.after or b"") for each in foreign.accepted], foreign.spared) == (
        [{"b": 1}],
        {TENANT: ("a",)},
    )
    assert review(plan, facts).accepted == plan.operations
    gone_too = review(plan_of(gone(TENANT, value(a=5))), facts, deletes=True)
    assert (gone_too.refused, gone_too.spared) == ({}, {})


def test_of_what_cannot_be_read_no_field_is_excluded() -> None:
    plan = plan_of(put(TENANT, b"no json", value(a=5)))
    assert reasons(plan, around(**excluding("a"))) == {TENANT: [Reason.UNREADABLE]}


def test_a_cluster_that_the_plan_itself_makes_is_known() -> None:
    space = put(SPACE, value(replication_clusters=["blue", "green"]))
    assert reasons(plan_of(space), around()) == {SPACE: [Reason.UNKNOWN_CLUSTER]}
    assert reasons(plan_of(space, put(CLUSTER, value(serviceUrl="x"))), around()) == {}
    assert reasons(plan_of(space, gone(CLUSTER)), around(), deletes=True) == {SPACE: [Reason.UNKNOWN_CLUSTER]}


def test_brokers_are_asked_only_where_a_guard_depends_on_the_answer() -> None:
    plan = plan_of(gone(SPACE), gone(TENANT), put(TOPIC, value(partitions=1)))
    assert to_be_asked(plan, around()) == (SPACE,)
    assert to_be_asked(plan, around(topics={SPACE: Topics.NONE})) == ()


def test_a_path_has_one_operation_and_it_changes_something() -> None:
    with pytest.raises(InvariantBroken, match="two operations"):
        plan_of(gone(TENANT), put(TENANT, b"{}"))
    with pytest.raises(InvariantBroken, match="changes nothing"):
        put(TENANT, b"{}", b"{}")
    with pytest.raises(InvariantBroken, match="no resource"):
        put(MetaPath("/ledgers/LAYOUT"), b"{}")
    with pytest.raises(InvariantBroken, match="no resource"):
        put(MetaPath("/pulsar-syncer/east/fence"), b"{}")
    with pytest.raises(InvariantBroken, match="no resource"):
        fingerprint(MetaPath("/admin"), b"{}")


def test_the_reverse_can_be_of_a_part() -> None:
    plan = plan_of(gone(TENANT), put(SPACE, BLUE))
    assert [(each.path, each.action) for each in plan.reversed(only=[SPACE]).operations] == [(SPACE, Action.DELETE)]
    assert plan.reversed().source == "before: west"


def test_only_the_named_paths_are_looked_at() -> None:
    here, there = {TENANT: value(a=1), SPACE: value(a=1)}, {TENANT: value(a=2), SPACE: value(a=2)}
    plan = diff(here, there, region=HERE, source="west", made_at_ms=Millis(1), paths=[SPACE, TOPIC])
    assert [each.path for each in plan.operations] == [SPACE]


def test_an_update_is_told_field_by_field() -> None:
    before = value(message_ttl_in_seconds=60, bundles={"numBundles": 4}, backlog={"a": {"limit": 1, "same": 0}}, old=1)
    after = value(message_ttl_in_seconds=120, bundles={"numBundles": 8}, backlog={"a": {"limit": 2, "same": 0}}, x=None)
    update = operation(SPACE, before, after)
    assert update is not None
    assert summary(update) == "backlog.a.limit: 1 → 2; message_ttl_in_seconds: 60 → 120; old: 1 → -; x: - → null"
    assert [each.field for each in changes(update)] == ["backlog.a.limit", "message_ttl_in_seconds", "old", "x"]


def test_a_long_value_is_cut_for_people_only() -> None:
    update = operation(TENANT, value(adminRoles=[]), value(adminRoles=["r" * 100]))
    assert update is not None
    assert len(summary(update)) < 90
    assert json.loads(changes(update)[0].after or "") == ["r" * 100]


def test_what_is_no_document_is_told_by_its_size() -> None:
    assert summary(put(SPACE, b"12345", b"{}")) == "not readable: 2 bytes → 5 bytes"
    assert summary(put(SPACE, value(bundles=1), value(bundles=2))) == "cluster-local fields only"


def test_what_cannot_be_read_is_taken_byte_for_byte() -> None:
    assert operation(TENANT, None, None) is None
    assert operation(TENANT, b"\xff", b"\xff") is None
    taken = operation(TENANT, value(adminRoles=[]), b"\xff")
    assert taken is not None
    assert taken.after == b"\xff"
    assert fingerprint(TENANT, b"\xff") != fingerprint(TENANT, b"\xfe")
    laid = operation(SPACE, b"\xff", value(bundles=8, replication_clusters=["blue"]))
    assert laid is not None
    assert json.loads(laid.after or b"")["bundles"] == 8, "as if nothing stood there: what was there cannot be read"


@pytest.mark.parametrize("one", [gone(TENANT), put(TENANT, b"{}")])
def test_a_create_and_a_delete_change_no_field(one: Operation) -> None:
    assert (summary(one), changes(one)) == ("", ())


def test_a_plan_is_performed_on_what_it_fits_and_on_what_it_has_performed() -> None:
    paid = value(partitions=4)
    plan = plan_of(put(TOPIC, paid), gone(SPACE, BLUE))
    after = plan.apply_to({TENANT: b"{}", SPACE: BLUE})
    assert after == {TENANT: b"{}", TOPIC: paid}
    assert plan.apply_to(after) == after
    with pytest.raises(PlanStale, match="acme/orders: changed since"):
        plan.apply_to({SPACE: b"{}"})


@pytest.mark.parametrize(
    ("present", "standing"),
    [
        (b'{"b": 2, "a": {"d": 4, "c": 3}}', Standing.READY),
        (b'{"b":1,"a":{"c":3,"d":4}}', Standing.ALREADY),
        (b'{"a":{"c":3,"d":4},"b":3}', Standing.STALE),
        (b"no json", Standing.STALE),
        (None, Standing.STALE),
    ],
)
def test_the_order_of_fields_is_no_change(present: bytes | None, standing: Standing) -> None:
    update = put(SPACE, b'{"a":{"c":3,"d":4},"b":1}', b'{"a":{"c":3,"d":4},"b":2}')
    assert update.standing(present) is standing


def test_what_is_no_document_is_judged_by_its_bytes() -> None:
    update = put(SPACE, b"[1, 2]", b"[1,2]")
    assert [update.standing(each) for each in (b"[1,2]", b"[1, 2]", b"[ 1,2]")] == list(Standing)


def test_a_picture_holds_the_fingerprint_of_every_value() -> None:
    values = {TENANT: value(adminRoles=["ops"]), SPACE: b"no json"}
    assert pictured(values) == {path: fingerprint(path, each) for path, each in values.items()}


def test_what_is_written_to_a_cluster_is_laid_over_what_only_its_store_knows() -> None:
    there = MetaPath("/admin/clusters/east")
    update = put(there, value(peerClusterNames=["west"]), value())
    kept = json.loads(update.written(value(authenticationParameters="login")) or b"")
    assert kept == {"authenticationParameters": "login", "peerClusterNames": ["west"]}
    born = json.loads(put(there, value(peerClusterNames=["west"])).written(None) or b"")
    assert born["peerClusterNames"] == ["west"]
    assert "authenticationParameters" not in born
    assert gone(there).written(value()) is None
    topic = MetaPath("/admin/policies/acme")
    assert put(topic, value(adminRoles=["a"])).written(value()) == value(adminRoles=["a"])


def test_what_both_lack_is_no_operation_and_a_path_alone_is_looked_at() -> None:
    assert operation(TENANT, None, None) is None
    assert operation(SPACE, BLUE, b" " + BLUE) is None
    same = {TENANT: value(a=1)}
    assert diff(same, dict(same), region=HERE, source="west", made_at_ms=Millis(1)).operations == ()
    here, there = {TENANT: value(a=1), SPACE: BLUE}, {TENANT: value(a=2)}
    alone = diff(here, there, region=HERE, source="west", made_at_ms=Millis(1), paths=[TENANT])
    assert ([each.path for each in alone.operations], alone.left) == ([TENANT], ())
    assert diff(here, there, region=HERE, source="west", made_at_ms=Millis(1)).left == (SPACE,)
    whole = diff(here, there, region=HERE, source="west", made_at_ms=Millis(1), deletes=True)
    assert {each.path: each.after is None for each in whole.operations} == {TENANT: False, SPACE: True}
    assert list(differing(pictured(here), pictured(there), lambda _: True)) == [TENANT, SPACE]
    assert list(differing(pictured(here), pictured(there), lambda path: path == SPACE)) == [SPACE]
