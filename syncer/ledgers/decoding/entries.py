"""Entries of a store, each decoded by its path below the root of the ledgers.

A path that says nothing (a folder, a generator of ids) is passed over; one below a folder of ledgers that names no id
is undecodable, since it may be a ledger. On etcd a folder has no entry, on ZooKeeper an empty one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from syncer.ledgers.decoding import recovery
from syncer.ledgers.decoding.layout import ledger_layout
from syncer.ledgers.decoding.ledger import ledger_metadata
from syncer.ledgers.decoding.messages import text
from syncer.ledgers.decoding.service import cookie, registration
from syncer.ledgers.decoding.undecodable import Undecodable, ValueDamaged, ValueKind, undecodable
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.nodes import InstanceId, RecoveryDisabled, StoreNode
from syncer.ledgers.paths import ROOT, holds_ledgers, ledger_id_of, short_id_of

Decoded: TypeAlias = LedgerMetadata | StoreNode | Undecodable
_Decoder: TypeAlias = Callable[[str, bytes], StoreNode]


def ledger_entry(path: str, value: bytes, created_ms: int | None, root: str = ROOT) -> Decoded | None:
    """Decode an entry below the root; None for one that says nothing, or lies elsewhere.

    Args:
        path: Its whole path.
        value: Its bytes.
        created_ms: When the store made it, where it tells.
        root: Of the ledgers.
    """
    if not path.startswith(f"{root}/"):
        return None
    relative = path[len(root) + 1 :]
    usual = short_id_of(relative)
    if usual is not None:
        return ledger_metadata(path, usual, value, created_ms)
    top, _, below = relative.partition("/")
    if holds_ledgers(top):
        return _ledger(path, relative, value, created_ms)
    kind, decode = _decoder(top, below)
    if decode is None:
        return None
    try:
        return decode(relative.rpartition("/")[2], value)
    except (ValueDamaged, UnicodeDecodeError) as error:
        return undecodable(kind, path, error)


def _ledger(path: str, relative: str, value: bytes, created_ms: int | None) -> LedgerMetadata | Undecodable | None:
    ledger_id = ledger_id_of(relative)
    if ledger_id is not None and relative.rpartition("/")[2].startswith(_LEDGER):
        return ledger_metadata(path, ledger_id, value, created_ms)
    return Undecodable(ValueKind.LEDGER, path, "its path names no id of a ledger") if value else None


def _decoder(top: str, below: str) -> tuple[ValueKind, _Decoder | None]:
    """The kind of a node that is no ledger, and what decodes it."""
    match top, below:
        case "LAYOUT", "":
            return ValueKind.LAYOUT, lambda _, value: ledger_layout(value)
        case "INSTANCEID", "":
            return ValueKind.LAYOUT, lambda _, value: InstanceId(text(value))
        case "cookies", bookie if _is_name(bookie):
            return ValueKind.COOKIE, cookie
        case "available", "readonly":
            return ValueKind.BOOKIE, None
        case "available", bookie if _is_name(bookie):
            return ValueKind.BOOKIE, lambda name, value: registration(name, value, read_only=False)
        case "available", bookie if bookie.startswith("readonly/") and _is_name(bookie.removeprefix("readonly/")):
            return ValueKind.BOOKIE, lambda name, value: registration(name, value, read_only=True)
        case "underreplication", _:
            return _recovery_decoder(below)
    return ValueKind.LEDGER, None


def _recovery_decoder(below: str) -> tuple[ValueKind, _Decoder | None]:
    """The kind of a node of auto-recovery, and what decodes it."""
    folder, _, rest = below.partition("/")
    if not rest:
        if below in recovery.CHECKS:
            return ValueKind.AUDITOR, recovery.check
        return _RECOVERY.get(below, (ValueKind.RECOVERY_SETTING, None))
    match folder:
        case "ledgers" if rest.count("/") == _FOLDERS_OF_A_MARK:
            return ValueKind.MARK, recovery.mark
        case "locks" if _is_name(rest):
            return ValueKind.LOCK, recovery.lock
        case "auditorelection" if _is_name(rest):
            return ValueKind.AUDITOR, recovery.vote
    return ValueKind.RECOVERY_SETTING, None


def _is_name(rest: str) -> bool:
    return bool(rest) and "/" not in rest


_LEDGER: Final = "L"
"""First letter of a ledger's name: folders of the long layout look like short ids without it."""
_FOLDERS_OF_A_MARK: Final = 4
_RECOVERY: Final[dict[str, tuple[ValueKind, _Decoder]]] = {
    "LAYOUT": (ValueKind.RECOVERY_SETTING, lambda _, value: recovery.replication_layout(value)),
    "disable": (ValueKind.RECOVERY_SETTING, lambda _, __: RecoveryDisabled()),
    "lostBookieRecoveryDelay": (ValueKind.RECOVERY_SETTING, lambda _, value: recovery.delay(value)),
    "leader": (ValueKind.AUDITOR, lambda _, value: recovery.leader(value)),
}
