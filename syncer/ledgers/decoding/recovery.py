"""Nodes of auto-recovery: marks, locks, the auditor, its checks and settings.

Source: ZkLedgerUnderreplicationManager, ZkLedgerAuditorManager, BookKeeper 4.17.2; PulsarLedgerAuditorManager 4.0.8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from syncer.ledgers.decoding.messages import complete, parsed, text
from syncer.ledgers.decoding.numbers import int64
from syncer.ledgers.decoding.text_format import merged
from syncer.ledgers.decoding.undecodable import ValueDamaged
from syncer.ledgers.nodes import (
    AuditorCheck,
    AuditorPlace,
    AuditorTask,
    AuditorVote,
    RecoveryDelay,
    RecoveryLock,
    ReplicationLayout,
    UnderReplicationMark,
)
from syncer.ledgers.paths import marked_ledger_id

_VOTE: Final = re.compile(r"V_(\d{1,19})")
_CHECKS: Final[Mapping[str, tuple[AuditorTask, str, str]]] = {
    "checkallledgersctime": (AuditorTask.ALL_LEDGERS, "CheckAllLedgersFormat", "checkAllLedgersCTime"),
    "placementpolicycheckctime": (AuditorTask.PLACEMENT, "PlacementPolicyCheckFormat", "placementPolicyCheckCTime"),
    "replicascheckctime": (AuditorTask.REPLICAS, "ReplicasCheckFormat", "replicasCheckCTime"),
}
CHECKS: Final = frozenset(_CHECKS)
"""Nodes that tell when a check of the auditor ended last."""


def mark(leaf: str, value: bytes) -> UnderReplicationMark:
    """Decode a mark of under-replication.

    Args:
        leaf: The last part of its path.
        value: The bytes.

    Raises:
        ValueDamaged: It is none.
    """
    message = merged("UnderreplicatedLedgerFormat", value)
    marked_ms = message.ctime if message.HasField("ctime") else None
    return UnderReplicationMark(_marked(leaf), tuple(message.replica), marked_ms)


def lock(leaf: str, value: bytes) -> RecoveryLock:
    """Decode the lock of a ledger that is being copied.

    Args:
        leaf: The last part of its path.
        value: The bytes.

    Raises:
        ValueDamaged: It is none.
    """
    return RecoveryLock(_marked(leaf), merged("LockDataFormat", value).bookieId)


def vote(leaf: str, value: bytes) -> AuditorVote:
    """Decode a vote for an auditor, of BookKeeper's own driver.

    Args:
        leaf: The last part of its path.
        value: The bytes.

    Raises:
        ValueDamaged: It is none.
    """
    number = _VOTE.fullmatch(leaf)
    if number is None:
        raise ValueDamaged("its name is none of a vote")
    return AuditorVote(AuditorPlace.NATIVE, int(number[1]), merged("AuditorVoteFormat", value).bookieId)


def leader(value: bytes) -> AuditorVote:
    """Decode the auditor of Pulsar's driver: a JSON text.

    Args:
        value: The bytes.

    Raises:
        ValueDamaged: It is none.
    """
    try:
        bookie = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueDamaged("it is no JSON") from error
    if not isinstance(bookie, str):
        raise ValueDamaged("its JSON is no text")
    return AuditorVote(AuditorPlace.PULSAR, 0, bookie)


def check(leaf: str, value: bytes) -> AuditorCheck:
    """Decode the time at which a check of the auditor ended last.

    Args:
        leaf: One of :data:`CHECKS`.
        value: The bytes.

    Raises:
        ValueDamaged: It is none.
    """
    task, message, field = _CHECKS[leaf]
    read = parsed(message, value)
    return AuditorCheck(task, getattr(read, field) if read.HasField(field) else None)


def delay(value: bytes) -> RecoveryDelay:
    """Decode the time that a lost bookie is waited for.

    Args:
        value: The bytes.

    Raises:
        ValueDamaged: It is no number.
    """
    return RecoveryDelay(int64(text(value), "the delay"))


def replication_layout(value: bytes) -> ReplicationLayout:
    """Decode how marks are laid out.

    Args:
        value: The bytes.

    Raises:
        ValueDamaged: It is none.
    """
    message = complete(merged("LedgerRereplicationLayoutFormat", value))
    return ReplicationLayout(message.type, message.version)


def _marked(leaf: str) -> int:
    ledger_id = marked_ledger_id(leaf)
    if ledger_id is None:
        raise ValueDamaged("its name ends in no id of a ledger")
    return ledger_id
