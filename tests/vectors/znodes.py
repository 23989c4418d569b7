"""Play ``bk-znodes.json``: nodes of BookKeeper beside ledgers, read by their paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from syncer.ledgers.decoding.entries import ledger_entry
from syncer.ledgers.decoding.undecodable import Undecodable
from syncer.ledgers.nodes import (
    AuditorCheck,
    AuditorTask,
    AuditorVote,
    BookieCookie,
    BookieEndpoint,
    BookieRegistration,
    LedgerLayout,
    RecoveryLock,
    ReplicationLayout,
    UnderReplicationMark,
)
from tests.vectors.comparing import same

Row = Mapping[str, Any]
_PATHS: Mapping[str, str] = {
    "UnderreplicatedLedgerFormat": "underreplication/ledgers/0000/0000/0000/0007/urL0000000007",
    "LockDataFormat": "underreplication/locks/urL0000000007",
    "AuditorVoteFormat": "underreplication/auditorelection/V_0000000003",
    "CheckAllLedgersFormat": "underreplication/checkallledgersctime",
    "PlacementPolicyCheckFormat": "underreplication/placementpolicycheckctime",
    "ReplicasCheckFormat": "underreplication/replicascheckctime",
    "BookieServiceInfoFormat": "available/bk-0:3181",
    "Cookie": "cookies/bk-0:3181",
    "LedgerRereplicationLayoutFormat": "underreplication/LAYOUT",
    "LedgerLayout": "LAYOUT",
}
_TIMES: Mapping[AuditorTask, str] = {
    AuditorTask.ALL_LEDGERS: "checkAllLedgersCTime",
    AuditorTask.PLACEMENT: "placementPolicyCheckCTime",
    AuditorTask.REPLICAS: "replicasCheckCTime",
}


def differences(case: Row, meta: Row) -> Iterator[str]:
    """Yield what differs in a case."""
    found = ledger_entry(f"/ledgers/{_PATHS[case['type']]}", bytes.fromhex(case["hex"]), None)
    if "error" in case:
        yield from same("refused", True, isinstance(found, Undecodable))
    elif found is None or isinstance(found, Undecodable):
        yield f"refused: {found}"
    else:
        yield from same(type(found).__name__, case["expect"], _AS_JAVA[type(found)](found))


def _present(**values: Any) -> dict[str, Any]:
    """The fields that are there."""
    return {name: value for name, value in values.items() if value not in (None, [], "")}


def _directories(given: tuple[str, ...]) -> str:
    return "\t".join([str(len(given)), *given]) if given else ""


def _mark(node: UnderReplicationMark) -> dict[str, Any]:
    return _present(replica=list(node.bookies), ctime=node.marked_ms)


def _cookie(node: BookieCookie) -> dict[str, Any]:
    return _present(
        bookieHost=node.host,
        journalDir=node.journal_directories,
        ledgerDirs=_directories(node.ledger_directories),
        instanceId=node.instance_id,
        indexDirs=_directories(node.index_directories),
    )


def _endpoint(each: BookieEndpoint) -> dict[str, Any]:
    return _present(
        id=each.endpoint_id,
        port=each.port,
        host=each.host,
        protocol=each.protocol,
        auth=list(each.auth),
        extensions=list(each.extensions),
    )


def _registration(node: BookieRegistration) -> dict[str, Any]:
    properties = [{"key": key, "value": value} for key, value in node.properties.items()]
    return _present(endpoints=[_endpoint(each) for each in node.endpoints], properties=properties)


def _layout(node: LedgerLayout) -> dict[str, Any]:
    return {
        "layoutFormatVersion": node.format_version,
        "managerFactoryClass": node.factory,
        "managerVersion": node.factory_version,
    }


def _replication_layout(node: ReplicationLayout) -> dict[str, Any]:
    return {"type": node.kind, "version": node.version}


def _lock(node: RecoveryLock) -> dict[str, Any]:
    return _present(bookieId=node.host)


def _vote(node: AuditorVote) -> dict[str, Any]:
    return _present(bookieId=node.bookie)


def _check(node: AuditorCheck) -> dict[str, Any]:
    return _present(**{_TIMES[node.task]: node.ended_ms})


_AS_JAVA: Mapping[type, Callable[[Any], dict[str, Any]]] = {
    UnderReplicationMark: _mark,
    RecoveryLock: _lock,
    AuditorVote: _vote,
    AuditorCheck: _check,
    BookieRegistration: _registration,
    BookieCookie: _cookie,
    LedgerLayout: _layout,
    ReplicationLayout: _replication_layout,
}
