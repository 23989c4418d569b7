"""The brokers' version picks the rules, and one that is not in the table is said to be unknown."""

from __future__ import annotations

import pytest

from syncer.balancer.settings import BalancerSettings, balancer_settings
from syncer.balancer.versions import RULES, balancer_rules, taken_from
from syncer.errors import VersionUnknown


@pytest.mark.parametrize(
    ("version", "read"),
    [
        ("4.0.8", (4, 0, 8)),
        ("4.0.12", (4, 0, 8)),
        ("4.2.4-SNAPSHOT", (4, 2, 4)),
        ("5.0.0-M1", (5, 0, 0)),
        ("5.0.1", (5, 0, 1)),
    ],
)
def test_a_version_has_the_rules_of_the_last_one_known_of_its_line(version: str, read: tuple[int, int, int]) -> None:
    assert balancer_rules(version) is RULES[read]
    assert taken_from(version) == ("4.0.8" if version == "4.0.12" else None)


@pytest.mark.parametrize("version", ["", "master", "4.0", "4.0.7", "4.1.0", "5.1.0", "6.0.0"])
def test_an_unknown_version_is_said(version: str) -> None:
    with pytest.raises(VersionUnknown, match=r"4\.0\.8, 4\.2\.4"):
        balancer_rules(version)


def test_a_version_leaves_out_what_it_does_not_know() -> None:
    given = balancer_settings({"loadBalancerSheddingExcludedNamespaces": "a/b"})
    assert balancer_rules("4.0.8").effective(given) == BalancerSettings()
    assert balancer_rules("5.0.1").effective(given) == given != BalancerSettings()


def test_later_versions_differ() -> None:
    assert not balancer_rules("4.0.8").excluded_namespaces
    assert balancer_rules("4.2.4").excluded_namespaces
    assert not balancer_rules("5.0.0").plan_by_name
    assert balancer_rules("5.0.1").plan_by_name
    assert [balancer_rules(each).uniform_surplus for each in ("4.0.8", "4.2.4", "5.0.0-M1")] == [1000, 0, 0]
