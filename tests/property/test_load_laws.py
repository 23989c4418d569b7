"""Laws of decoding load: no document breaks it, no flaw becomes a figure, and each flaw is said."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from hypothesis import example, given
from hypothesis import strategies as st

from syncer.balancer.decoding.assembling import assembled
from syncer.balancer.decoding.records import BROKER_LOAD, CHANNEL, TOP_BUNDLES, LoadRecords, TopicRecord
from syncer.balancer.loads import extensible_load, fleet_of, modular_load
from syncer.balancer.picture import LoadPicture
from syncer.errors import LoadDataInvalid
from tests.support.load_documents import (
    FIRST,
    NOW_MS,
    broker_load,
    lookup_data,
    small_cluster,
    taken,
    top_bundles,
    unit,
)

Steps = tuple[str | int, ...]

WRONG: Final[tuple[object, ...]] = (None, "x", "", True, [], {}, -1, -0.5, float("nan"), float("inf"), "NaN", 10**400)
"""What stands for no figure."""
REPLACED: Final = st.sampled_from(WRONG) | st.recursive(
    st.none() | st.booleans() | st.text(max_size=5) | st.just(float("nan")) | st.floats(max_value=-1e-300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value: object, at: Steps = ()) -> Iterator[Steps]:
    """Every place in a JSON value, the whole one first."""
    yield at
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*at, name))
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*at, number))


PLACES: Final = [(path, steps) for path, document in small_cluster().items() for steps in places(document) if steps]
FIGURES: Final = [
    (path, steps)
    for path, steps in PLACES
    if path.startswith("/loadbalance/")
    and (
        steps[-1] in {"usage", "limit"}
        or str(steps[-1]).startswith(("msg", "num"))
        or steps[-1] in {"topics", "producerCount"}
    )
]


def picture_of(documents: dict[str, Any]) -> LoadPicture:
    return assembled(taken(documents), cluster="east", taken_ms=NOW_MS)


def changed(path: str, steps: Steps, value: object) -> dict[str, Any]:
    documents = copy.deepcopy(small_cluster())
    inner = documents[path]
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = value
    return documents


def figures_of(picture: LoadPicture) -> Iterator[float | int | None]:
    for broker in picture.brokers.values():
        if broker.long_rate is not None:
            yield broker.long_rate.value
        if broker.figures is not None:
            found = broker.figures.value
            yield from (found.topics, found.bundle_count, found.producers, found.consumers)
            rates = found.traffic
            yield from (
                () if rates is None else (rates.rate_in, rates.rate_out, rates.throughput_in, rates.throughput_out)
            )
            usages = (found.usages.cpu, found.usages.memory, found.usages.direct_memory, found.usages.bandwidth_in)
            yield from (each.usage for each in usages if each is not None)
    for bundle in picture.bundles.values():
        if bundle.stats is not None:
            stats = bundle.stats.value
            yield from (
                stats.topics,
                stats.producers,
                stats.consumers,
                stats.traffic.rate_in,
                stats.traffic.throughput_out,
            )


WHOLE: Final = picture_of(small_cluster())
KNOWN: Final = frozenset(figures_of(WHOLE))


@given(st.sampled_from(PLACES), REPLACED)
def test_no_change_of_a_document_breaks_it_or_makes_a_figure(place: tuple[str, Steps], value: object) -> None:
    picture = picture_of(changed(*place, value))
    assert {each for each in figures_of(picture) if each is not None} <= KNOWN, "a figure that nobody has written"
    for convert in (modular_load, fleet_of):
        with suppress(LoadDataInvalid):  # not of one manager: a clear error
            convert(picture)


@given(st.sampled_from(FIGURES), st.sampled_from(WRONG))
@example(("/loadbalance/brokers/b1:8080", ("bandwidthIn", "limit")), -1)
def test_a_figure_that_cannot_be_true_is_said(place: tuple[str, Steps], value: object) -> None:
    path, steps = place
    picture = picture_of(changed(path, steps, value))
    if steps[-1] == "limit" and isinstance(value, float | int) and not isinstance(value, bool) and -10 < value < 0:
        assert picture.findings == (), "Pulsar reports a limit below zero itself"
    else:
        assert picture.findings
        assert path in {each.where[: len(path)] for each in picture.findings}


@given(st.sampled_from(sorted(small_cluster())), st.data())
def test_a_document_that_is_cut_short_is_said_and_the_others_are_read(path: str, data: st.DataObject) -> None:
    documents = small_cluster()
    whole = json.dumps(documents[path]).encode()
    documents[path] = whole[: data.draw(st.integers(min_value=1, max_value=len(whole) - 1))]
    picture = picture_of(documents)
    assert path in {each.where for each in picture.findings}
    others = {name: each for name, each in small_cluster().items() if name != path}
    if not path.startswith("/admin/clusters"):
        assert replace(picture, findings=()) == replace(picture_of(others), findings=())


HEARD: Final[dict[tuple[str, str], dict[str, Any]]] = {
    (BROKER_LOAD, "b1:8080"): broker_load(),
    (TOP_BUNDLES, "b1:8080"): top_bundles(FIRST),
    (CHANNEL, FIRST): unit(),
}
HEARD_PLACES: Final = [(key, steps) for key, document in HEARD.items() for steps in places(document) if steps]


def heard_picture(documents: dict[tuple[str, str], dict[str, Any]]) -> LoadPicture:
    parts = taken({"/loadbalance/brokers/b1:8080": lookup_data()}, ownership_read=False)
    records = LoadRecords(channel_read=True)
    for (topic, key), document in documents.items():
        records.put(topic, TopicRecord(key, json.dumps(document).encode(), NOW_MS))
    records.take(parts)
    return assembled(parts, cluster="east", taken_ms=NOW_MS)


HEARD_KNOWN: Final = frozenset(figures_of(heard_picture(HEARD)))


@given(st.sampled_from(HEARD_PLACES), REPLACED)
def test_no_change_of_a_message_breaks_it_or_makes_a_figure(
    place: tuple[tuple[str, str], Steps], value: object
) -> None:
    key, steps = place
    documents = copy.deepcopy(HEARD)
    inner: Any = documents[key]
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = value
    picture = heard_picture(documents)
    assert {each for each in figures_of(picture) if each is not None} <= HEARD_KNOWN
    owner = picture.bundles[FIRST].owner if FIRST in picture.bundles else None
    assert owner is None or owner.value.broker in {"b1:8080", None}
    for convert in (extensible_load, fleet_of):
        with suppress(LoadDataInvalid):  # not of one manager: a clear error
            convert(picture)


@given(st.dictionaries(st.sampled_from(sorted(small_cluster())), st.binary(max_size=60)))
def test_no_bytes_break_it(values: dict[str, bytes]) -> None:
    documents: dict[str, Any] = {**small_cluster(), **values}
    assert {each for each in figures_of(picture_of(documents)) if each is not None} <= KNOWN
