"""Play ``bk-store-dumps.json``: all nodes of a store, to which a real driver wrote one small cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from syncer.ledgers.decoding.entries import Decoded, ledger_entry
from syncer.ledgers.decoding.undecodable import Undecodable
from syncer.ledgers.metadata import LedgerMetadata, LedgerState
from syncer.ledgers.nodes import (
    AuditorCheck,
    AuditorVote,
    BookieCookie,
    BookieRegistration,
    LedgerLayout,
    RecoveryDelay,
    RecoveryDisabled,
    RecoveryLock,
    UnderReplicationMark,
)
from tests.vectors.comparing import same

Row = Mapping[str, Any]
LEDGERS = (0, 7, 10042, 2147483646, 2147483647, 5868811882)
LAST_ENTRY = 99
ROCKSDB_HEADER = (41).to_bytes(4, "big") + (1).to_bytes(4, "big")


def differences(case: Row, meta: Row) -> Iterator[str]:
    """Yield what differs in a case."""
    root = _root(case["nodes"])
    decoded = [ledger_entry(node["path"], _value(node), None, root) for node in case["nodes"]]
    found: list[Decoded] = [each for each in decoded if each is not None]
    yield from same("undecodable", [], [each for each in found if isinstance(each, Undecodable)])
    ledgers = {each.ledger_id: (each.state, each.last_entry) for each in found if isinstance(each, LedgerMetadata)}
    wanted = {each: (LedgerState.OPEN, None) if each % 2 else (LedgerState.CLOSED, LAST_ENTRY) for each in LEDGERS}
    yield from same("ledgers", wanted, ledgers)
    marks = {each.ledger_id: each.bookies for each in found if isinstance(each, UnderReplicationMark)}
    yield from same("marks", {7: ("bk-2:3181", "bk-1:3181"), 10042: (), 5868811882: ("bk-2:3181",)}, marks)
    yield from same("locks", [7], [each.ledger_id for each in found if isinstance(each, RecoveryLock)])
    bookies = {each.bookie: each.read_only for each in found if isinstance(each, BookieRegistration)}
    yield from same("bookies", {"bk-0:3181": False, "bk-1:3181": True}, bookies)
    cookies = {each.bookie for each in found if isinstance(each, BookieCookie)}
    yield from same("cookies", {"bk-0:3181", "bk-1:3181", "bk-2:3181"}, cookies)
    yield from same("disabled", True, RecoveryDisabled() in found)
    yield from same("delay", True, RecoveryDelay(30) in found)
    yield from same("checks", 3, sum(isinstance(each, AuditorCheck) for each in found))
    votes = [each for each in found if isinstance(each, AuditorVote)]
    leader = min(votes, key=lambda vote: vote.number).bookie if votes else None
    yield from same("auditor", case["auditor"], leader)
    layouts = [each.factory for each in found if isinstance(each, LedgerLayout)]
    yield from same("layout", [] if "pulsar" in case["name"] else [case["layoutFactory"]], layouts)


def _value(node: Row) -> bytes:
    """The value; RocksDB keeps it behind a header that begins with its own size."""
    value = bytes.fromhex(node["hex"])
    return value[len(ROCKSDB_HEADER) + 33 :] if value.startswith(ROCKSDB_HEADER) else value


def _root(nodes: list[Row]) -> str:
    [path] = [node["path"] for node in nodes if node["path"].endswith("/INSTANCEID")]
    root: str = path.removesuffix("/INSTANCEID")
    return root
