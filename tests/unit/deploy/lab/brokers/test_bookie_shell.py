"""What BookKeeper's shell prints is read: ledgers, marks, the auditor, and nothing that its clients log beside it."""

from __future__ import annotations

import pytest

from deploy.lab.brokers.bookie_shell import (
    PrintedLedger,
    printed_auditor,
    printed_ids,
    printed_ledgers,
    printed_marks,
    printed_to_move,
)
from deploy.lab.process import ServerFailed

LIST = "org.apache.bookkeeper.tools.cli.commands.bookie.ListLedgersCommand"
MARKS = "org.apache.bookkeeper.tools.cli.commands.autorecovery.ListUnderReplicatedCommand"
AUDITOR = "org.apache.bookkeeper.tools.cli.commands.autorecovery.WhoIsAuditorCommand"
NOISE = "2026-01-02T03:04:05,006+0000 [main] INFO  org.apache.zookeeper.ZooKeeper - Session: 0x1000 closed\n"
CLOSED = (
    "LedgerMetadata{formatVersion=3, ensembleSize=2, writeQuorumSize=2, ackQuorumSize=1, state=CLOSED, length=30, "
    "lastEntryId=9, digestType=CRC32C, password=base64:, ensembles={0=[h:1, h:2], 5=[h:1, h:3]}, "
    "customMetadata={application=base64:cHVsc2Fy, pulsar/managed-ledger=base64:YS9i}}"
)
OPEN = (
    "LedgerMetadata{formatVersion=3, ensembleSize=1, writeQuorumSize=1, ackQuorumSize=1, state=OPEN, "
    "digestType=CRC32C, password=base64:, ensembles={0=[h:1]}, customMetadata={}}"
)


def said(command: str, *lines: str) -> str:
    log = "".join(f"2026-01-02T03:04:05,006+0000 [main-1] INFO  {command} - {line}\n" for line in lines)
    return NOISE + log + NOISE


def test_ledgers_are_read_with_their_ensembles_and_what_was_added() -> None:
    output = said(LIST, "ledgerID: 3", CLOSED, "ledgerID: 41", OPEN)
    assert printed_ids(output) == [3, 41]
    ledgers = printed_ledgers(output)
    assert ledgers[3].ensembles == {0: ("h:1", "h:2"), 5: ("h:1", "h:3")}
    assert ledgers[3].custom == {"application": b"pulsar", "pulsar/managed-ledger": b"a/b"}
    assert {key: ledgers[3].fields[key] for key in ("state", "length", "lastEntryId", "ackQuorumSize")} == {
        "state": "CLOSED",
        "length": "30",
        "lastEntryId": "9",
        "ackQuorumSize": "1",
    }
    assert isinstance(ledgers[41], PrintedLedger)
    assert (ledgers[41].custom, "lastEntryId" in ledgers[41].fields) == ({}, False)


def test_marks_are_read_with_the_bookies_that_are_missing() -> None:
    lines = ("7", "\tCtime : 1795730137478", "\tMissingReplica : h:1", "\tMissingReplica : h:2", "8", "\tCtime : 1")
    output = said(MARKS, *lines, "Under replicated ledger count: 2")
    assert printed_marks(output) == {7: ("h:1", "h:2"), 8: ()}


def test_marks_that_are_not_as_many_as_were_counted_are_refused() -> None:
    with pytest.raises(ServerFailed, match="counts 2 marks"):
        printed_marks(said(MARKS, "7", "Under replicated ledger count: 2"))


def test_the_auditor_is_read_or_nobody() -> None:
    assert printed_auditor(said(AUDITOR, "Auditor: h:1")) == "h:1"
    assert printed_auditor(said(AUDITOR, "No auditor elected")) is None


def test_each_count_of_what_is_to_move_is_read() -> None:
    line = (
        "[main] INFO  org.apache.bookkeeper.client.BookKeeperAdmin - Count of Ledgers which need to be rereplicated: "
    )
    assert printed_to_move(f"{line}4\n{NOISE}{line}1\n") == [4, 1]
