"""What no move helps: a hash that no bundle holds, a single bundle, a topic over the limit of a split."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.cutting import unmovable_load
from syncer.balancer.doctor.diagnosis import Answer, Diagnosis, Unjudged
from syncer.balancer.load import BundleStats, Rates
from syncer.balancer.picture import Known, SeenBundle, SeenNamespace, SeenTopic
from tests.support.doctor_cases import MIB, STORE, broker, case, with_bundle

BUNDLE = "t/n0/0x00000000_0x00000001"
UNSERVABLE = "persistent://t/n/crafted-caaccacaaccaaaaaaccaaacacccacccaaaaaaaaa"
"""Its hash is 0xffffffff."""


def answers(code: str, known: Case) -> list[Answer]:
    found = unmovable_load(known)
    return [each for each in found if (code == each.code if isinstance(each, Diagnosis) else code in each.codes)]


def test_a_topic_that_no_bundle_holds_is_found() -> None:
    known = replace(case(), topics=Known({UNSERVABLE, "persistent://t/n/other"}, STORE))
    (found,) = answers("topic-unservable", known)
    assert isinstance(found, Diagnosis)
    assert (found.where, found.evidence[0].value) == (UNSERVABLE, "0xffffffff")
    assert answers("topic-unservable", replace(known, topics=Known({UNSERVABLE[:-1] + "c"}, STORE))) == []
    assert [type(each) for each in answers("topic-unservable", replace(known, topics=None))] == [Unjudged]


@pytest.mark.parametrize(
    ("rate", "size", "found"),
    [(30_000.0, 100.0 * MIB, 0), (30_001.0, 0.0, 1), (0.0, 100.0 * MIB + 1, 1)],
)
def test_a_topic_that_is_over_the_limit_alone_is_found(rate: float, size: float, found: int) -> None:
    known = case([broker(50, 1)])
    topics = {"persistent://t/n0/a": SeenTopic(traffic=Rates(rate, 0.0, size, 0.0))}
    known = with_bundle(known, BUNDLE, replace(known.picture.bundles[BUNDLE], topics=Known(topics, STORE)))
    assert len(answers("hot-topic", known)) == found


def test_unknown_topics_and_limits_are_not_judged() -> None:
    known = case()
    assert [type(each) for each in answers("hot-topic", known)] == [Unjudged]
    unset = replace(known, picture=replace(known.picture, settings=None))
    assert [type(each) for each in answers("hot-topic", unset)] == [Unjudged]


def namespace(name: str, *boundaries: int, rate: float | None = 9.0, brokers: int = 2) -> Case:
    known = case([broker(50, 1)] * brokers)
    whole = f"{name}/0x00000000_0xffffffff"
    stats = None if rate is None else Known(BundleStats(Rates(rate, 0.0, 0.0, 0.0)), STORE)
    known = with_bundle(known, whole, SeenBundle(bundle=whole, stats=stats))
    seen = SeenNamespace(namespace=name, boundaries=Known(boundaries, STORE) if boundaries else None)
    return replace(known, picture=replace(known.picture, namespaces={name: seen}))


def test_a_busy_namespace_of_one_bundle_is_found() -> None:
    (found,) = answers("single-bundle", namespace("t/one", 0, 0xFFFFFFFF))
    assert isinstance(found, Diagnosis)
    assert found.remedy == "Run 'pulsar-admin namespaces split-bundle t/one --bundle 0x00000000_0xffffffff'."
    for other in (
        namespace("t/two", 0, 0x80000000, 0xFFFFFFFF),
        namespace("t/idle", 0, 0xFFFFFFFF, rate=0.0),
        namespace("t/alone", 0, 0xFFFFFFFF, brokers=1),
        namespace("pulsar/system", 0, 0xFFFFFFFF),
        namespace("pulsar/b0:8080", 0, 0xFFFFFFFF),
    ):
        assert answers("single-bundle", other) == []
    for dark in (namespace("t/dark", 0, 0xFFFFFFFF, rate=None), namespace("t/uncut")):
        assert [type(each) for each in answers("single-bundle", dark)] == [Unjudged]
