"""Bystanders: clients of other bundles on the connections that a bundle's publishers use."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.balancer.decoding.bundles import take_loaded_topics
from syncer.balancer.decoding.parts import PictureParts
from syncer.balancer.picture import FigureOrigin, LoadSource

REST = FigureOrigin(LoadSource.REST, "b1 topics", 5)
FIRST, SECOND, THIRD = "0x00000000_0x40000000", "0x40000000_0x80000000", "0x80000000_0xffffffff"
ONE, OTHER = "/10.0.0.1:40001", "/10.0.0.2:40001"


def topic(producing: list[str | None], consuming: list[str | None] | None = None, **changed: object) -> dict[str, Any]:
    return {
        "publishers": [client(each) for each in producing],
        "subscriptions": {"s": {"consumers": [client(each) for each in consuming or ()]}},
        "producerCount": len(producing),
        "msgRateIn": 10.0,
        "msgRateOut": 20.0,
        "msgThroughputIn": 1000.0,
        "msgThroughputOut": 2000.0,
        **changed,
    }


def client(address: str | None) -> dict[str, str]:
    return {"clientVersion": "Pulsar-CPP-v4.2.0"} | ({} if address is None else {"address": address})


def bystanders(**bundles: dict[str, Any]) -> dict[str, int]:
    ranges = {"first": FIRST, "second": SECOND, "third": THIRD}
    parts = PictureParts()
    answer = {
        "shop/orders": {ranges[name]: {"persistent": {f"persistent://{name}": it}} for name, it in bundles.items()}
    }
    take_loaded_topics("b1:8080", answer, REST, parts)
    names = {f"shop/orders/{range_}": name for name, range_ in ranges.items()}
    return {names[bundle]: count for bundle, count in parts.brokers.bystanders.get("b1:8080", {}).items()}


def test_clients_of_other_bundles_count_that_share_a_connection_with_a_publisher() -> None:
    found = bystanders(
        first=topic([ONE, ONE], [ONE, OTHER]), second=topic([ONE], [ONE, OTHER]), third=topic([OTHER], [])
    )
    assert found == {"first": 2, "second": 3, "third": 2}, "its own clients are part of its price already"


def test_a_consumer_alone_cuts_off_nobody_else() -> None:
    assert bystanders(first=topic([], [ONE], msgRateIn=0.0), second=topic([ONE])) == {"first": 0, "second": 1}


def test_a_connection_of_its_own_has_no_bystanders() -> None:
    assert bystanders(first=topic([ONE]), second=topic([OTHER])) == {"first": 0, "second": 0}


@pytest.mark.parametrize(
    "silent",
    [
        topic([ONE, None]),
        topic([ONE], [None]),
        topic([ONE], [""]),
        topic([ONE], producerCount=2),
        topic([ONE], subscriptions=None),
        topic([ONE], publishers=None),
        topic([]),
    ],
    ids=["publisher", "consumer", "empty", "fewer than counted", "no subscriptions", "no publishers", "not exposed"],
)
def test_what_is_not_told_of_one_client_makes_unknown_whoever_might_share_with_it(silent: dict[str, Any]) -> None:
    found = bystanders(first=silent, second=topic([ONE]), third=topic([], [ONE], msgRateIn=0.0))
    assert found == {"third": 0}, "only a bundle without publishers has none for certain"


def test_a_flaw_in_a_brokers_answer_makes_all_of_it_unknown() -> None:
    assert bystanders(first=topic([ONE], msgRateIn=-1), second=topic([], msgRateIn=0.0)) == {}
