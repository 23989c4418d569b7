"""Entries by their paths: folders say nothing, a ledger without an id is told, other roots are others' business."""

from __future__ import annotations

import pytest

from syncer.ledgers.decoding.entries import ledger_entry
from syncer.ledgers.decoding.undecodable import Undecodable, ValueKind
from syncer.ledgers.nodes import (
    AuditorCheck,
    AuditorPlace,
    AuditorTask,
    AuditorVote,
    BookieCookie,
    BookieRegistration,
    InstanceId,
    StoreNode,
)


@pytest.mark.parametrize(
    ("relative", "value"),
    [
        ("00", b""),
        ("000/0000/0021", b""),
        ("idgen", b""),
        ("idgen-long/HOB-0000000001", b"x"),
        ("available", b""),
        ("available/readonly", b""),
        ("cookies", b""),
        ("underreplication", b""),
        ("underreplication/ledgers/0000/0000", b""),
        ("underreplication/locks", b""),
        ("underreplication/auditorelection", b'bookieId: "bk-0"'),
        ("underreplication/unheardof", b"x"),
    ],
)
def test_folders_and_others_say_nothing(relative: str, value: bytes) -> None:
    assert ledger_entry(f"/ledgers/{relative}", value, None) is None


@pytest.mark.parametrize("path", ["/ledgers", "/ledgersX/00/0000/L0007", "/00/0000/L0007", "__metadata_x"])
def test_what_lies_elsewhere_says_nothing(path: str) -> None:
    assert ledger_entry(path, b"x", None) is None


@pytest.mark.parametrize(
    ("relative", "value", "node"),
    [
        ("INSTANCEID", b"2b6c", InstanceId("2b6c")),
        ("available/bk-0", b"", BookieRegistration(bookie="bk-0", read_only=False)),
        ("available/readonly/bk-0", b"", BookieRegistration(bookie="bk-0", read_only=True)),
        ("underreplication/leader", b'"bk-0"', AuditorVote(AuditorPlace.PULSAR, 0, "bk-0")),
        ("underreplication/auditorelection/V_0000000012", b'bookieId: "b"', AuditorVote(AuditorPlace.NATIVE, 12, "b")),
        ("underreplication/replicascheckctime", b"", AuditorCheck(AuditorTask.REPLICAS, None)),
        (
            "cookies/bk-0",
            b"3\nhost:1\n/j\n2\t/a\t/b",
            BookieCookie(
                bookie="bk-0",
                layout_version=3,
                host="host:1",
                journal_directories="/j",
                ledger_directories=("/a", "/b"),
            ),
        ),
    ],
)
def test_each_node_is_read_by_its_path(relative: str, value: bytes, node: StoreNode) -> None:
    assert ledger_entry(f"/bk/{relative}", value, None, root="/bk") == node


@pytest.mark.parametrize(
    ("relative", "value", "kind", "words"),
    [
        ("00/0000/M0007", b"x", ValueKind.LEDGER, "names no id"),
        ("999/9999/9999/9999/L9999", b"x", ValueKind.LEDGER, "names no id"),
        ("00/0000/L0007", b"", ValueKind.LEDGER, "does not begin"),
        ("cookies/bk-0", b"2\nx", ValueKind.COOKIE, "version 2"),
        ("cookies/bk-0", b"", ValueKind.COOKIE, "no number"),
        ("cookies/bk-0", b"5\n", ValueKind.COOKIE, "required fields are missing"),
        ("LAYOUT", b"3\na:1", ValueKind.LAYOUT, "version 3; 1 and 2 are known"),
        ("LAYOUT", b"2", ValueKind.LAYOUT, "does not name a manager"),
        ("LAYOUT", b"2\na:x", ValueKind.LAYOUT, "no number"),
        ("underreplication/lostBookieRecoveryDelay", b"soon", ValueKind.RECOVERY_SETTING, "no number"),
        ("underreplication/leader", b"{", ValueKind.AUDITOR, "no JSON"),
        ("underreplication/leader", b"7", ValueKind.AUDITOR, "no text"),
        ("underreplication/leader", b"\xff\xfe\x00", ValueKind.AUDITOR, "no JSON"),
        ("underreplication/auditorelection/V_x", b"", ValueKind.AUDITOR, "none of a vote"),
        ("underreplication/ledgers/0000/0000/0000/0007/urL-7", b"", ValueKind.MARK, "no id of a ledger"),
        ("underreplication/locks/urLx", b"", ValueKind.LOCK, "no id of a ledger"),
        ("available/bk-0", b"\xff", ValueKind.BOOKIE, "no protobuf message"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_path(relative: str, value: bytes, kind: ValueKind, words: str) -> None:
    found = ledger_entry(f"/ledgers/{relative}", value, None)
    assert isinstance(found, Undecodable)
    assert (found.kind, found.path) == (kind, f"/ledgers/{relative}")
    assert words in found.why
