"""Claims on a cluster's balancing: read of a namespace's properties, for each cluster its own."""

from __future__ import annotations

import pytest

from syncer.admin.balancing_claim import claim_in, claim_key


@pytest.mark.parametrize(
    ("policies", "claim"),
    [
        (None, None),
        ({}, ""),
        ({"properties": None}, ""),
        ({"properties": {claim_key("west"): "other"}}, ""),
        ({"properties": {claim_key("east"): "mine"}}, "mine"),
    ],
)
def test_a_claim_is_read_of_the_namespaces_properties(policies: dict[str, object] | None, claim: str | None) -> None:
    assert claim_in(policies, "east") == claim


def test_clusters_that_share_a_store_have_claims_of_their_own() -> None:
    assert claim_key("east") != claim_key("west")
