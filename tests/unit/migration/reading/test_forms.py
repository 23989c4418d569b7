"""JSON becomes the evidence that it is, or an error that names the call: never another one, never a guess."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncer.errors import AdminError
from syncer.migration.evidence import (
    ClientSeen,
    ClusterUrls,
    Flow,
    LedgerSeen,
    Mark,
    ReplicatorSeen,
    StatsAnswer,
    SubscriptionSeen,
    TenantSeen,
    TopicSeen,
)
from syncer.migration.reading import forms
from syncer.migration.reading.namespaces import TOPIC_POLICIES
from syncer.replacing import replace
from tests.unit.migration.reading.samples import (
    CLUSTER,
    INTERNAL_INFO,
    INTERNAL_STATS,
    LOADED,
    MARK,
    SCHEMA,
    STATS,
    TENANT,
    TOPIC,
    URLS,
)

CALL = "the call"
GREEN = ClusterUrls(
    http="http://green:8080",
    https="https://green:8443",
    pulsar="pulsar://green:6650",
    pulsar_ssl="pulsar+ssl://green:6651",
)
LEDGER = LedgerSeen(terminated=None, migrated=False)
FLOW = Flow(entries_added=9, pending_adds=0, last="7:8", ledger_state="LedgerOpened", entries=12, size_bytes=1_800)
SEEN = TopicSeen(
    name=TOPIC,
    ledger=LEDGER,
    answer=StatsAnswer.LOADED,
    flow=FLOW,
    producers=(
        ClientSeen(name="blue-0-1", address="/10.0.0.1:50001", version="Pulsar-Java-v4.0.8", mean_entry_bytes=120.5),
    ),
    waiting_producers=1,
    subscriptions={
        "audit": SubscriptionSeen(
            kind="Shared",
            backlog=4,
            unacked=3,
            delayed=1,
            given=7,
            replicated=True,
            properties={"team": "billing"},
            consumers=(ClientSeen(name="ab1x", address="/10.0.0.2:50002", version="Pulsar-CPP-v3.7.2"),),
        )
    },
    replicators={"north": ReplicatorSeen(backlog=5, connected=True)},
    deduplicates=True,
    ongoing_transactions=2,
)
STORED = LedgerSeen(
    terminated="7:8",
    migrated=True,
    cursors={"audit": "7:4", "a/b c": "7:8", "kept-apart": None, "new": None},
    replicators={"north": "7:3"},
    ledgers={5: 10, 7: None},
)


def loaded_topic(call: str, answer: object) -> TopicSeen:
    return forms.loaded_topic(call, TOPIC, answer, LEDGER, FLOW)


def retention(call: str, answer: object) -> object:
    return forms.policy(call, answer, TOPIC_POLICIES["retention"])


def rate(call: str, answer: object) -> int | None:
    return forms.publish_rate(call, {"publishRate": answer})


Form = Callable[[str, object], object]
FORMS: dict[str, tuple[Form, Any, object]] = {
    "version": (forms.version, "4.0.8\n", "4.0.8"),
    "texts": (forms.texts, {"clusterName": "blue", "unset": None}, {"clusterName": "blue"}),
    "urls": (forms.urls, CLUSTER, GREEN),
    "mark": (forms.mark, MARK, Mark(migrated=False, target=GREEN)),
    "tenant": (
        forms.tenant,
        TENANT,
        TenantSeen(admin_roles=frozenset({"ops"}), allowed_clusters=frozenset({"blue", "green"})),
    ),
    "loaded topics": (forms.loaded_topics, LOADED, {TOPIC, "non-persistent://acme/orders/ticks"}),
    "marked": (forms.marked, {"migrated": True}, True),
    "policy": (retention, {"retentionTimeInMinutes": 60}, {"retentionTimeInMinutes": 60}),
    "rate": (rate, {"publishThrottlingRateInMsg": -1, "publishThrottlingRateInByte": 40}, 40),
    "schema": (forms.schema, SCHEMA, SCHEMA),
    "internal-info": (forms.ledger, INTERNAL_INFO, STORED),
    "internalStats": (forms.flow, INTERNAL_STATS, FLOW),
    "stats": (loaded_topic, STATS, SEEN),
}
WRITTEN: dict[str, Any] = json.loads((Path(__file__).parent / "written_by_pulsar.json").read_text())
"""What Pulsar 4.0.8 writes of empty objects: its own classes, by its own ``ObjectMapperFactory``."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3),
    max_leaves=6,
)
ABSENT = object()


def places(value: object, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Ways to everything in an answer, itself included."""
    yield above
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from places(each, (*above, key))


def changed(answer: object, place: tuple[str | int, ...], value: object) -> Any:
    """An answer with something else at a place, or nothing."""
    if not place:
        return None if value is ABSENT else value
    copied: Any = copy.deepcopy(answer)
    inner = copied
    for key in place[:-1]:
        inner = inner[key]
    if value is ABSENT:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return copied


def test_what_pulsars_own_classes_write_is_taken() -> None:
    seen = {name: FORMS[name.partition(" without ")[0]][0](CALL, answer) for name, answer in WRITTEN.items()}
    urls = ClusterUrls(http="http://g:8080")
    assert seen == {
        "stats": TopicSeen(
            name=TOPIC,
            ledger=LEDGER,
            answer=StatsAnswer.LOADED,
            flow=FLOW,
            producers=(ClientSeen(name="blue-0-1", address="/10.0.0.1:50001", version="Pulsar-Java-v4.0.8"),),
            subscriptions={
                "audit": SubscriptionSeen(kind="", backlog=0, consumers=(ClientSeen(name="", address="", version=""),))
            },
            replicators={"north": ReplicatorSeen(backlog=0, connected=False)},
        ),
        "internalStats": Flow(
            entries_added=0, pending_adds=0, last="7:-1", ledger_state="LedgerOpened", entries=0, size_bytes=0
        ),
        "internal-info": LedgerSeen(terminated=None, migrated=False, cursors={"a/b": None}, ledgers={7: None}),
        "urls": urls,
        "mark": Mark(migrated=True, target=replace(urls, pulsar="pulsar://g:6650")),
        "mark without an address": Mark(migrated=False, target=ClusterUrls()),
        "tenant": TenantSeen(admin_roles=frozenset({"ops"}), allowed_clusters=frozenset({"blue"})),
        "tenant without anything": TenantSeen(admin_roles=frozenset(), allowed_clusters=frozenset()),
        "marked": False,
        "rate": 40,
    }


@pytest.mark.parametrize("name", FORMS)
def test_an_answer_becomes_what_it_says(name: str) -> None:
    form, answer, seen = FORMS[name]
    assert form(CALL, answer) == seen


def refusal(form: Form, answer: object) -> str:
    """Why an answer is refused, if it is."""
    try:
        form(CALL, answer)
    except AdminError as error:
        return error.message
    return f"{CALL}: taken"


@settings(max_examples=300)
@given(st.data())
def test_whatever_else_stands_there_is_taken_or_refused_by_name(data: st.DataObject) -> None:
    form, answer, _ = FORMS[data.draw(st.sampled_from(sorted(FORMS)))]
    place = data.draw(st.sampled_from(list(places(answer))))
    odd = changed(answer, place, data.draw(st.just(ABSENT) | JSON))
    assert refusal(form, odd).startswith(f"{CALL}: ")


NEEDED = [
    ("mark", "migrated"),
    ("schema", "type"),
    ("rate", "publishThrottlingRateInByte"),
    ("internal-info", "cursors"),
    ("internal-info", "ledgers"),
    ("internal-info", "cursors", "audit", "cursorsLedgerId"),
    ("internal-info", "terminatedPosition", "entryId"),
    *(("internalStats", each) for each in ("entriesAddedCounter", "pendingAddEntriesCount", "totalSize", "state")),
    *(("stats", each) for each in ("publishers", "subscriptions", "replication", "waitingPublishers")),
    ("stats", "subscriptions", "audit", "msgBacklog"),
    ("stats", "subscriptions", "audit", "isDurable"),
    ("stats", "replication", "north", "replicationBacklog"),
]


@pytest.mark.parametrize("place", NEEDED, ids=" ".join)
@pytest.mark.parametrize("odd", [ABSENT, None, "<html>"], ids=["absent", "null", "page"])
def test_what_is_needed_is_named_where_it_is_missing_or_odd(place: tuple[str, ...], odd: object) -> None:
    form, answer, _ = FORMS[place[0]]
    if odd == "<html>" and place[-1] in {"type", "state"}:
        odd = 7
    with pytest.raises(AdminError) as caught:
        form(CALL, changed(answer, place[1:], odd))
    assert repr(".".join(place[1:])) in caught.value.message


@pytest.mark.parametrize(
    ("name", "place", "seen"),
    [
        ("mark", ("migratedClusterUrl",), Mark(migrated=False, target=ClusterUrls())),
        ("tenant", ("adminRoles",), TenantSeen(admin_roles=frozenset(), allowed_clusters=frozenset({"blue", "green"}))),
        ("marked", ("migrated",), False),
        ("policy", (), None),
    ],
)
def test_nothing_is_a_value_of_some_fields(name: str, place: tuple[str, ...], seen: object) -> None:
    form, answer, _ = FORMS[name]
    assert form(CALL, changed(answer, place, ABSENT)) == seen


def test_clusters_need_not_have_every_address() -> None:
    assert forms.urls(CALL, {"serviceUrl": URLS["serviceUrl"]}).missing == (
        "serviceUrlTls",
        "brokerServiceUrl",
        "brokerServiceUrlTls",
    )


def test_clients_may_tell_neither_version_nor_address() -> None:
    stats = changed(STATS, ("publishers", 0, "clientVersion"), ABSENT)
    stats = changed(stats, ("subscriptions", "audit", "consumers", 0, "address"), ABSENT)
    seen = loaded_topic(CALL, stats)
    assert seen.producers[0].version == ""
    assert seen.subscriptions["audit"].consumers[0].address == ""


@pytest.mark.parametrize(("told", "deduplicates"), [("Disabled", False), ("Initialized", False), ("Recovering", True)])
def test_deduplication_that_begins_counts(told: str, deduplicates: bool) -> None:
    assert loaded_topic(CALL, {**STATS, "deduplicationStatus": told}).deduplicates is deduplicates


@pytest.mark.parametrize("told", [{"publishThrottlingRateInByte": -1}, {"publishThrottlingRateInByte": 0}])
def test_a_rate_that_limits_nothing_is_none(told: dict[str, int]) -> None:
    assert rate(CALL, told) is None
    assert forms.publish_rate(CALL, {}) is None


@pytest.mark.parametrize("answer", ["", "x" * 101, "4.0\n<html>", 4.0, None])
def test_a_version_is_a_short_line(answer: object) -> None:
    with pytest.raises(AdminError):
        forms.version(CALL, answer)


@pytest.mark.parametrize("form", [int, dict, list, bool])
def test_a_page_is_no_policy(form: type) -> None:
    with pytest.raises(AdminError, match="not of type"):
        forms.policy(CALL, "<html>", form)


def test_a_switch_is_no_number() -> None:
    with pytest.raises(AdminError, match="not of type int"):
        forms.policy(CALL, True, int)
