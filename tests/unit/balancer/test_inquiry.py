"""What a picture lets the planner be asked: clients by their versions, and brokers of which enough is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.balancer.cost.tariff import BundleClients
from syncer.balancer.inquiry import clients_of, comparable_fleet
from syncer.balancer.load import Rates
from syncer.balancer.picture import FigureOrigin, Known, LoadPicture, LoadSource, SeenBundle, SeenTopic
from syncer.errors import LoadDataInvalid
from tests.support.doctor_cases import broker, picture
from tests.support.load_documents import FIRST

HERE = FigureOrigin(LoadSource.REST, "b1 topics", 1)
JAVA, PYTHON = "Pulsar-Java-v3.2.0", "Pulsar-CPP-v4.2.0"


def told(producers: dict[str, int] | None, consumers: dict[str, int] | None) -> SeenTopic:
    return SeenTopic(traffic=Rates(), producer_versions=producers, consumer_versions=consumers)


def served(*topics: SeenTopic) -> LoadPicture:
    seen = SeenBundle(bundle=FIRST, topics=Known({str(number): each for number, each in enumerate(topics)}, HERE))
    return LoadPicture(cluster="east", taken_ms=1, bundles={FIRST: seen})


def test_a_bundles_clients_are_those_of_all_its_topics() -> None:
    found = clients_of(served(told({JAVA: 2}, {}), told({JAVA: 1, PYTHON: 1}, {PYTHON: 3})))
    assert found == {FIRST: BundleClients(producers={JAVA: 3, PYTHON: 1}, consumers={PYTHON: 3})}


def test_where_one_topic_does_not_tell_all_of_its_clients_the_mix_is_not_known() -> None:
    assert clients_of(served(told({JAVA: 2}, {}), told({JAVA: 1}, None))) == {}
    assert clients_of(LoadPicture(cluster="east", taken_ms=1, bundles={FIRST: SeenBundle(bundle=FIRST)})) == {}


def test_brokers_are_compared_where_more_than_one_is_known() -> None:
    seen = picture([broker(50, 20), broker(20, 5)])
    assert len(comparable_fleet(seen).brokers) == 2
    assert len(comparable_fleet(picture([broker(50, 20)])).brokers) == 1, "there is no other"
    dark = replace(seen, brokers={**seen.brokers, "b1:8080": replace(seen.brokers["b1:8080"], figures=None)})
    with pytest.raises(LoadDataInvalid, match=r"of 2 brokers of .* the load of 1 is not known"):
        comparable_fleet(dark)
