"""Pulsar's properties become typed settings, and a bad value is named."""

from __future__ import annotations

import pytest

from syncer.balancer.settings import BalancerSettings, balancer_settings, changed_settings
from syncer.errors import SettingInvalid


def test_nothing_given_is_pulsars_defaults() -> None:
    assert balancer_settings({"brokerServicePort": "6650"}) == BalancerSettings()


def test_text_and_json_are_read_alike() -> None:
    text = {
        "loadBalancerCPUResourceWeight": "0.5",
        "lowerBoundarySheddingEnabled": "true",
        "minUnloadMessage": "7",
        "loadBalancerSheddingExcludedNamespaces": "a/b, c/d",
    }
    typed = {
        "loadBalancerCPUResourceWeight": 0.5,
        "lowerBoundarySheddingEnabled": True,
        "minUnloadMessage": 7,
        "loadBalancerSheddingExcludedNamespaces": ["a/b", "c/d"],
    }
    assert balancer_settings(text) == balancer_settings(typed) != BalancerSettings()


def test_a_misspelt_key_counts_while_the_right_one_is_one() -> None:
    old = {"loadBalancerBandwithInResourceWeight": "0.3"}
    assert balancer_settings(old).usage.bandwidth_in == 0.3
    assert balancer_settings({**old, "loadBalancerBandwidthInResourceWeight": "0.7"}).usage.bandwidth_in == 0.7


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("minUnloadMessage", "many", "a whole number of 32 bits"),
        ("minUnloadMessage", 2**31, "a whole number of 32 bits"),
        ("minUnloadMessage", True, "a whole number of 32 bits"),
        ("maxUnloadPercentage", "NaN", "a number"),
        ("maxUnloadPercentage", None, "a number"),
        ("loadBalancerTransferEnabled", "perhaps", "true or false"),
        ("loadBalancerSheddingExcludedNamespaces", 3, "names"),
        ("loadBalancerLoadSheddingStrategy", 3, "text"),
    ],
)
def test_a_bad_value_is_named(name: str, value: object, wanted: str) -> None:
    with pytest.raises(SettingInvalid, match=rf"{name} is .* must be {wanted}"):
        balancer_settings({name: value})


def test_properties_that_are_changed_leave_the_others_as_they_are() -> None:
    before = balancer_settings({"minUnloadMessage": 7, "loadBalancerSheddingEnabled": False})
    after = changed_settings(before, {"minUnloadMessage": "8"})
    assert (after.uniform.min_unload_rate, after.shedding.enabled) == (8, False)
    assert changed_settings(before, {}) == before
