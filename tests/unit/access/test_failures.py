"""Failures: an allowance for each address, in a table that does not grow."""

from __future__ import annotations

import pytest

from syncer.access.failures import BURST, OTHERS, PAUSE_S, Failures, neighbourhood


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", OTHERS),
        ("testclient", OTHERS),
    ],
)
def test_what_counts_as_one_address(address: str, expected: str) -> None:
    assert neighbourhood(address) == expected


def test_a_burst_is_allowed_and_one_more_after_each_pause() -> None:
    failures = Failures()
    assert [failures.fail("192.0.2.1", 0) for _ in range(BURST)] == [0] * BURST
    assert failures.fail("192.0.2.1", 0) == PAUSE_S
    assert failures.fail("192.0.2.1", 1) == PAUSE_S - 1
    assert failures.fail("192.0.2.2", 1) == 0
    assert failures.fail("192.0.2.1", PAUSE_S) == 0
    assert failures.fail("192.0.2.1", PAUSE_S) > 0
    assert failures.limited == 3


def test_a_full_table_forgets_who_is_whole_again_and_else_has_one_allowance_for_the_others() -> None:
    failures = Failures(burst=2, most=2)
    for address in ("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"):
        assert failures.fail(address, 0) == 0
    assert failures.fail("192.0.2.5", 0) > 0
    assert len(failures) == 3
    assert failures.fail("192.0.2.6", 1000) == 0
    assert len(failures) == 1
