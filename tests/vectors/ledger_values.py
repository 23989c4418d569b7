"""Play ``ledger-metadata.json``: values of ledgers, and what BookKeeper's reader makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from syncer.ledgers.decoding.ledger import ledger_metadata
from syncer.ledgers.decoding.undecodable import Undecodable
from syncer.ledgers.metadata import LedgerMetadata, LedgerState
from tests.vectors.comparing import same

Row = Mapping[str, Any]
_STATES: Mapping[LedgerState, str] = {
    LedgerState.OPEN: "OPEN",
    LedgerState.IN_RECOVERY: "IN_RECOVERY",
    LedgerState.CLOSED: "CLOSED",
}


def differences(case: Row, meta: Row) -> Iterator[str]:
    """Yield what differs in a case; a password is not kept, so that only its presence is compared."""
    value = bytes.fromhex(case["hex"])
    found = ledger_metadata("/ledgers", case["ledgerId"], value, case["storeCtime"])
    if "error" in case:
        yield from same("refused", True, isinstance(found, Undecodable))
    elif isinstance(found, Undecodable):
        yield f"refused: {found.why}"
    else:
        wanted = {name: value for name, value in case["expect"].items() if name != "passwordHex"}
        yield from same("ledger", wanted, as_java(found))


def as_java(ledger: LedgerMetadata) -> dict[str, Any]:
    """Write a ledger as BookKeeper's class shows it."""
    origin = ledger.origin
    return {
        "ledgerId": ledger.ledger_id,
        "formatVersion": origin.format_version,
        "state": _STATES[ledger.state],
        "isClosed": ledger.is_closed,
        "ensembleSize": ledger.quorums.ensemble,
        "writeQuorumSize": ledger.quorums.write,
        "ackQuorumSize": ledger.quorums.ack,
        "length": ledger.length_bytes or 0,
        "lastEntryId": -1 if ledger.last_entry is None else ledger.last_entry,
        "ctime": -1 if origin.created_ms is None else origin.created_ms,
        "storesCtime": origin.created_in_value,
        "cToken": origin.creation_token,
        "hasPassword": origin.has_password,
        "digestType": None if origin.digest is None else origin.digest.name,
        "ensembles": [{"firstEntryId": first, "bookies": list(bookies)} for first, bookies in ledger.segments],
        "customMetadata": {key: value.hex() for key, value in origin.custom.items()},
    }
