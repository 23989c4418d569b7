"""Verdicts where some snapshots were not completed: what they lack of newer fields decides nothing."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from spark_snapshot.diff.excluded import ExcludedFields
from spark_snapshot.diff.sharing import CarryingRegions
from spark_snapshot.diff.unknown import Rejudge, Unchanged, UncompletedSides
from syncer.conflict.exclusion.rules import Exclusion
from syncer.conflict.scope import Rule
from syncer.conflict.settings import Direction
from syncer.errors import InvariantBroken
from syncer.model import MetaPath, Region, TieOrder
from syncer.plan.diffing import fingerprint
from tests.support.planning import value

SPACE = MetaPath("/admin/policies/acme/orders")
NEWER = {"is_allow_auto_update_schema_with_replicator": False}
WHOLE, RAW = value(message_ttl_in_seconds=60, **NEWER), value(message_ttl_in_seconds=60)
OTHER = value(message_ttl_in_seconds=61)
A, B, C = (Region(name) for name in "abc")


def row(
    region: str, held: bytes | None, at: int, *, origin: str = "register", hold: str | None = None
) -> dict[str, Any]:
    return {
        "region": region,
        "path": SPACE,
        "kind": "namespace",
        "tenant": "acme",
        "digest": None if held is None else fingerprint(SPACE, held),
        "updated_ms": at,
        "author": "" if held is None and hold else region,
        "origin": origin,
        "hold": hold,
        "value": held,
    }


def sides(unknown: str, own: str = "") -> UncompletedSides:
    """Snapshots that are not completed, some of them of regions that have the time to live for themselves."""
    rules = tuple((name, (Exclusion("/admin/policies/acme/*", ("message_ttl_in_seconds",)),)) for name in own)
    return UncompletedSides(unknown=frozenset(unknown), excluded=ExcludedFields(rules))


def judged(
    *rows: dict[str, Any], unknown: str, own: str = "", carriers: CarryingRegions | None = None
) -> list[dict[str, Any]]:
    judge = Rejudge(regions=(A, B, C), sides=sides(unknown, own), ties=TieOrder.SMALLER_REGION, carriers=carriers)
    return judge(pa.Table.from_pylist(list(rows))).to_pylist()


@pytest.mark.parametrize("at", [1, 9], ids=["it is older", "it is newer"])
def test_what_only_unknown_fields_differ_in_is_the_same(at: int) -> None:
    assert judged(row("a", WHOLE, 5), row("b", WHOLE, 5), row("c", RAW, at, origin="store"), unknown="c") == []
    assert judged(row("a", WHOLE, 5), row("b", RAW, at), row("c", WHOLE, 5), unknown="bc") == []


def test_what_a_completed_region_lacks_it_has_removed() -> None:
    (found,) = judged(row("a", WHOLE, 5), row("b", RAW, 7), row("c", RAW, 1, origin="store"), unknown="c")
    assert (found["winner"], found["losers"]) == ("b", ["a"])


def test_what_differs_otherwise_is_found_with_the_digest_that_is_stored() -> None:
    (found,) = judged(row("a", WHOLE, 5), row("b", WHOLE, 5), row("c", OTHER, 9, origin="store"), unknown="c")
    assert (found["class"], found["winner"], found["losers"]) == ("differs", "c", ["a", "b"])
    assert found["winner_digest"] == fingerprint(SPACE, OTHER)
    (found,) = judged(row("a", WHOLE, 5), row("b", None, 9, hold="x"), row("c", RAW, 1), unknown="c")
    assert (found["class"], found["losers"]) == ("held", ["b"])
    (found,) = judged(row("a", WHOLE, 5), row("b", None, 9), row("c", RAW, 1), unknown="c")
    assert (found["class"], found["losers"]) == ("deleted", ["a", "c"])


def test_a_path_that_nobody_has_is_a_bug() -> None:
    with pytest.raises(InvariantBroken):
        judged(row("a", None, 0, hold="x"), unknown="c")


def test_fields_come_from_the_version_that_counts_and_else_from_any() -> None:
    found = sides("bc").meant(SPACE, {"a": WHOLE, "b": OTHER, "c": RAW}, "b")
    assert json.loads(found["b"]) == {"message_ttl_in_seconds": 61, **NEWER}
    assert (json.loads(found["c"]), found["a"]) == (json.loads(WHOLE), WHOLE)
    assert sides("a").meant(SPACE, {"a": RAW}, "b") == {"a": RAW}


def test_a_region_has_not_changed_what_is_unknown() -> None:
    pairs = [(WHOLE, RAW), (WHOLE, OTHER), (RAW, WHOLE)]
    rows = [{"path": f"{SPACE}-{number}", "was": was, "now": now} for number, (was, now) in enumerate(pairs)]
    batch = pa.RecordBatch.from_pylist(rows)

    def same(*unknown: str) -> list[int]:
        (found,) = Unchanged(sides=UncompletedSides(unknown=frozenset(unknown)))([batch])
        return [int(str(path)[-1]) for path in found.column("path").to_pylist()]

    assert (same(), same("after"), same("before"), same("before", "after")) == ([], [0], [2], [0, 2])


OWN, OWN_MORE = value(message_ttl_in_seconds=5), value(message_ttl_in_seconds=5, max_topics_per_namespace=1)


@pytest.mark.parametrize("at", [1, 9], ids=["it is older", "it is newer"])
def test_what_differs_in_excluded_fields_alone_is_excluded(at: int) -> None:
    rows = (row("a", RAW, 5), row("b", RAW, 5), row("c", OWN, at, origin="store"))
    (found,) = judged(*rows, unknown="c", own="c")
    assert (found["path"], found["class"], found["underlying"]) == (SPACE, "excluded", None)
    assert len(judged(*rows, unknown="c")) == 1, "it is the exclusion that says so"
    assert judged(*rows, unknown="c")[0]["class"] == "differs"


def test_what_differs_besides_excluded_fields_is_found_as_it_is_stored() -> None:
    (found,) = judged(row("a", RAW, 5), row("b", RAW, 5), row("c", OWN_MORE, 9), unknown="c", own="c")
    assert (found["class"], found["winner"], found["losers"]) == ("differs", "c", ["a", "b"])
    assert found["winner_digest"] == fingerprint(SPACE, OWN_MORE)


def test_regions_without_exclusions_differ_although_another_one_has_the_field_for_itself() -> None:
    (found,) = judged(row("a", RAW, 5), row("b", OTHER, 6), row("c", OWN, 9, origin="store"), unknown="c", own="c")
    assert (found["class"], found["winner"], found["losers"]) == ("differs", "c", ["a"]), "b has what counts of it"
    rows = (row("a", RAW, 5), row("b", RAW, 6), row("c", OWN, 9))
    (found,) = judged(*rows, unknown="abc", own="abc")
    assert found["class"] == "excluded", "no region says what counts"


def test_values_that_cannot_be_read_differ() -> None:
    (found,) = judged(row("a", b"{", 5), row("c", OWN, 9), unknown="c", own="c")
    assert found["class"] == "differs"


def test_a_region_that_does_not_carry_the_path_has_no_part_in_it() -> None:
    every = (Rule("/admin/policies/**", Direction.BOTH),)
    carriers = CarryingRegions(((A, every), (B, (Rule("/admin/policies/other/**", Direction.BOTH),)), (C, every)))
    (found,) = judged(row("a", WHOLE, 5), row("c", OTHER, 9), unknown="c", carriers=carriers)
    assert (found["winner"], found["losers"]) == ("c", ["a"])
    assert judged(row("a", WHOLE, 5), row("c", RAW, 9), unknown="c", carriers=carriers) == []


def test_a_region_has_changed_nothing_by_a_change_of_what_is_its_own() -> None:
    batch = pa.RecordBatch.from_pylist([{"path": SPACE, "was": RAW, "now": OWN}])
    rules = (("after", (Exclusion("/admin/policies/**", ("message_ttl_in_seconds",)),)),)
    for excluded, same in ((ExcludedFields(rules), [SPACE]), (ExcludedFields(), [])):
        (found,) = Unchanged(sides=UncompletedSides(unknown=frozenset({"after"}), excluded=excluded))([batch])
        assert found.column("path").to_pylist() == same
