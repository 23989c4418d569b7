"""Ids and paths: each layout there and back, the border of the short form, and what is no ledger."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.ledgers.paths import (
    LAST_ID,
    SHORT_IDS,
    flat_path,
    hierarchical_number,
    holds_ledgers,
    ledger_id_of,
    ledger_path,
    lock_path,
    long_path,
    mark_path,
    marked_ledger_id,
    short_id_of,
    short_path,
)

IDS = st.integers(min_value=0, max_value=LAST_ID) | st.integers(min_value=SHORT_IDS - 3, max_value=SHORT_IDS + 3)


@given(IDS)
def test_every_layout_leads_back_to_the_id(ledger_id: int) -> None:
    short = short_path(ledger_id)
    for path in [flat_path(ledger_id), long_path(ledger_id), ledger_path(ledger_id), *([short] if short else [])]:
        assert ledger_id_of(path) == ledger_id
        assert holds_ledgers(path.partition("/")[0])
    for path in (mark_path(ledger_id), lock_path(ledger_id)):
        assert marked_ledger_id(path.rpartition("/")[2]) == ledger_id


@given(
    IDS.map(ledger_path)
    | IDS.map(flat_path)
    | st.from_regex(r"\d{2}/\d{4}/L\d{4}")
    | st.text("0123/L-\u0660", max_size=14)
)
def test_what_is_read_as_the_usual_path_is_so_by_every_rule(relative: str) -> None:
    found = short_id_of(relative)
    if found is None:
        assert short_path(ledger_id_of(relative) or 0) != relative
    else:
        assert ledger_id_of(relative) == found
        assert holds_ledgers(relative.partition("/")[0])
        assert relative.rpartition("/")[2].startswith("L")


def test_the_long_form_begins_where_javas_int_ends() -> None:
    assert ledger_path(SHORT_IDS - 1) == "21/4748/L3646"
    assert ledger_path(SHORT_IDS) == "000/0000/0021/4748/L3647"
    assert short_path(SHORT_IDS) is None


def test_a_mark_has_its_folders_in_hexadecimal_and_its_name_in_decimal() -> None:
    assert mark_path(5868811882) == "underreplication/ledgers/0000/0001/5dce/f66a/urL5868811882"


@pytest.mark.parametrize(
    "relative",
    [
        "00/0000",
        "available/readonly/bk:3181",
        "-00/0000/L0042",
        "999/9999/9999/9999/L9999",
        "00/0000/",
        "L9999999999999999999",
        "",
        "idgen-long/HOB-00/ID-0",
    ],
)
def test_what_is_no_id_of_a_ledger_is_none(relative: str) -> None:
    assert ledger_id_of(relative) is None


@pytest.mark.parametrize(
    ("relative", "number"),
    [
        ("1/2/L3", 123),
        ("00/0001/X0042", 10042),
        ("-1/2/L3", -123),
        ("00/0000/L0042/", 42),
        ("L0000000042", None),
        ("999/9999/9999/9999/L9999", None),
        (f"00/{'0' * 200}/L1", None),
    ],
)
def test_numbers_of_paths_are_read_as_loosely_as_bookkeeper_does(relative: str, number: int | None) -> None:
    assert hierarchical_number(relative) == number


@pytest.mark.parametrize("leaf", ["urL", "urL-7", "L0000000007", "urL99999999999999999999", "urL00000x"])
def test_what_is_no_name_of_a_mark_is_none(leaf: str) -> None:
    assert marked_ledger_id(leaf) is None


@pytest.mark.parametrize(
    "top", ["available", "cookies", "LAYOUT", "INSTANCEID", "underreplication", "idgen", "idgen-long", "0", "0000"]
)
def test_other_children_of_the_root_hold_no_ledgers(top: str) -> None:
    assert not holds_ledgers(top)
