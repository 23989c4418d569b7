"""Paths of ledgers: every form that BookKeeper and Pulsar write is found by its kind, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_snapshot.sources.folders import Folders
from spark_snapshot.sources.reach import Share
from syncer.model import MetaPath, Revision
from syncer.wanted.ledgers import LedgerPart, LedgerPathKind, ledger_paths
from tests.support.ledger_paths import KINDS, NOT_WANTED

EVERYTHING = ledger_paths()


def kind_of(path: str, *parts: LedgerPart, root: str = "/ledgers") -> str | None:
    found = Folders(ledger_paths(*parts, root=MetaPath(root))).found(MetaPath(path), b"value", None, Revision("1"))
    return None if found is None else found.kind


@pytest.mark.parametrize(("path", "kind"), KINDS.items())
def test_every_path_has_its_kind(path: str, kind: LedgerPathKind) -> None:
    assert kind_of(path) == kind


@pytest.mark.parametrize("path", NOT_WANTED)
def test_nothing_else_is_wanted(path: str) -> None:
    assert kind_of(path) is None


def test_each_path_is_in_one_part_and_below_its_roots_only() -> None:
    for path, kind in KINDS.items():
        assert [part for part in LedgerPart if kind_of(path, part) == kind] == [
            part for part in LedgerPart if kind_of(path, part) is not None
        ]
        assert len([part for part in LedgerPart if kind_of(path, part)]) == 1, path
    assert ledger_paths(LedgerPart.RECOVERY).roots == ("/ledgers/underreplication",)
    assert ledger_paths(LedgerPart.REFERENCES).roots == ("/managed-ledgers", "/schemas")
    assert "/ledgers" not in ledger_paths(LedgerPart.BOOKIES).roots
    assert set(EVERYTHING.roots) == {"/ledgers", "/managed-ledgers", "/schemas", "/bookies"}


@pytest.mark.parametrize("root", ["/bk/ledgers", "/l.e+d"])
def test_the_root_is_what_it_is_set_to(root: str) -> None:
    for path, kind in KINDS.items():
        if path.startswith("/ledgers/"):
            assert kind_of(path, root=root) is None
            assert kind_of(path.replace("/ledgers", root, 1), root=root) == kind


@given(number=st.integers(0, (1 << 63) - 1), of=st.integers(1, 5))
def test_the_ledgers_of_every_id_are_in_one_share_ten_thousand_by_ten_thousand(number: int, of: int) -> None:
    if number < (1 << 31) - 1:
        digits = f"{number:010d}"
        above = f"/ledgers/{digits[:2]}/{digits[2:6]}"
    else:
        digits = f"{number:019d}"
        above = f"/ledgers/{digits[:3]}/{digits[3:7]}/{digits[7:11]}/{digits[11:15]}"
    shares = [Folders(EVERYTHING, Share(index, of)) for index in range(of)]
    holders = [index for index, each in enumerate(shares) if each.wants(MetaPath(f"{above}/L{digits[-4:]}"))]
    assert len(holders) == 1
    assert [index for index, each in enumerate(shares) if each.wants(MetaPath(f"{above}/L{0:04d}"))] == holders
    way = above
    while way.count("/") > 1:
        assert shares[holders[0]].enters(MetaPath(way)), way
        way = way.rpartition("/")[0]


@pytest.mark.parametrize("of", [2, 3])
def test_every_path_is_in_one_share(of: int) -> None:
    shares = [Folders(EVERYTHING, Share(index, of)) for index in range(of)]
    for path in KINDS:
        holders = [each for each in shares if each.wants(MetaPath(path))]
        assert len(holders) == 1, path
        way = path.rpartition("/")[0]
        while way not in {"", *(root.rpartition("/")[0] for root in EVERYTHING.roots)}:
            assert holders[0].enters(MetaPath(way)), way
            way = way.rpartition("/")[0]


def test_ledgers_are_read_at_no_moment_and_forgive_what_may_not_be_read() -> None:
    terms = ledger_paths(LedgerPart.LEDGERS, max_reads_per_s=9).terms
    assert (terms.moment, terms.forgiving, terms.created, terms.max_reads_per_s) == (False, True, True, 9)
    assert ledger_paths(moment=True).terms.moment


def test_a_topic_is_its_tenants_and_a_ledger_nobodys() -> None:
    folders = Folders(EVERYTHING)
    for path, tenant in (
        ("/managed-ledgers/acme/orders/persistent/invoices/sub", "acme"),
        ("/schemas/acme/orders/invoices", "acme"),
        ("/ledgers/00/0000/L0042", ""),
        ("/bookies", ""),
    ):
        found = folders.found(MetaPath(path), b"v", None, Revision("1"))
        assert found is not None
        assert found.tenant == tenant


def test_kinds_are_plain_texts_which_every_encoding_can_hold() -> None:
    assert {type(shape.kind) for shape in EVERYTHING.shapes} == {str}
