"""An outage goes from the cut to working again, with every attempt between, and is each client's own."""

from __future__ import annotations

from deploy.lab.traffic.outages import connections_broken, outages

HEAD = "2026-11-25 12:00:0{} INFO  [140001] HandlerBase:158 | [persistent://t/n/x, {}] {}"
BROKER = "[127.0.0.1:4 -> 127.0.0.1:5] "


def line(second: str, client: str, text: str) -> str:
    return HEAD.format(second, client, text)


def test_a_first_connection_is_no_outage_and_one_that_lasts_is_none_yet() -> None:
    lines = [
        line("0.000", "p", "Getting connection from pool"),
        line("0.010", "p", "Created producer on broker " + BROKER),
        line("1.000", "p", "Schedule reconnection in 0.1 s"),
    ]
    assert outages(lines) == []


def test_each_client_has_its_own_cut_attempts_and_end() -> None:
    lines = [
        line("1.000", "p", "Schedule reconnection in 0.1 s"),
        line("1.005", "s, 0", "Schedule reconnection in 0.1 s"),
        line("1.101", "p", "Getting connection from pool"),
        "noise of another kind",
        line("1.104", "s, 0", "Getting connection from pool"),
        line("1.110", "p", "Schedule reconnection in 0.186 s"),
        line("1.150", "s, 0", "Created consumer on broker " + BROKER),
        line("1.297", "p", "Getting connection from pool"),
        line("1.340", "p", "Created producer on broker " + BROKER),
    ]
    consumer, producer = outages(lines)
    assert (consumer.role, consumer.lasted_ms, consumer.topic) == ("consumer", 145, "persistent://t/n/x")
    assert (producer.role, producer.lasted_ms, producer.delays_ms) == ("producer", 340, (100, 186))
    assert [at - producer.cut_ms for at in producer.attempts_ms] == [101, 297]


def test_what_comes_after_an_outage_is_another_one() -> None:
    cut = [line("1.000", "p", "Schedule reconnection in 0.1 s"), line("1.200", "p", "Created producer on broker [x]")]
    again = [each.replace("12:00:01", "12:00:07") for each in cut]
    assert [outage.lasted_ms for outage in outages(cut + again)] == [200, 200]


def test_a_look_up_that_is_repeated_counts_for_those_of_its_topic_that_wait() -> None:
    repeated = "2026-11-25 12:00:01.150 INFO  [140001] RetryableOperation:112 | Reschedule get-broker-{}"
    lines = [
        line("1.000", "p", "Schedule reconnection in 0.1 s"),
        repeated.format("persistent://t/n/x for 100 ms, remaining time: 29900 ms"),
        repeated.format("persistent://t/n/xy for 100 ms, remaining time: 29900 ms"),
        line("1.340", "p", "Created producer on broker " + BROKER),
        repeated.format("persistent://t/n/x for 200 ms, remaining time: 29700 ms"),
    ]
    (outage,) = outages(lines)
    assert outage.look_up_delays_ms == (100,)


def test_a_connection_that_is_given_up_is_told_by_the_error_of_a_publish() -> None:
    lines = [
        line("1.000", "p", "Schedule reconnection in 0.1 s"),
        f"2026-11-25 12:00:02.000 WARN  [1] ClientConnection:1521 | [{BROKER}] Received send error from server: fenced",
        line("3.000", "p", "Created producer on broker " + BROKER),
    ]
    (broken,) = connections_broken(lines)
    (outage,) = outages(lines)
    assert broken - outage.cut_ms == 1000
