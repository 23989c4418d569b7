"""Play ``managed-ledger-info.json``: values of topics and cursors, compressed by each codec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from syncer.ledgers.decoding.managed import managed_cursor, managed_ledger, managed_message
from syncer.ledgers.decoding.undecodable import Undecodable
from syncer.ledgers.managed import ManagedLedger
from tests.vectors.comparing import same

Row = Mapping[str, Any]


def differences(case: Row, meta: Row) -> Iterator[str]:
    """Yield what differs in a case."""
    value = bytes.fromhex(case["hex"])
    found = (managed_ledger if case["type"] == "ManagedLedgerInfo" else managed_cursor)("/managed-ledgers", value)
    if "error" in case:
        yield from same("refused", True, isinstance(found, Undecodable))
        return
    if isinstance(found, Undecodable):
        yield f"refused: {found.why}"
        return
    message = managed_message(case["type"], value)
    yield from same("message", case["expect"], fields(message))
    yield from same("plain bytes", case["protoHex"], message.SerializeToString().hex())
    if isinstance(found, ManagedLedger):
        yield from same("ledgers", [each["ledgerId"] for each in _infos(case)], [each[0] for each in found.ledgers])
    else:
        own = case["expect"]["cursorsLedgerId"]
        yield from same("ledger of the cursor", None if own < 0 else own, found.ledger_id)


def fields(message: Any) -> dict[str, Any]:
    """The fields of a message that are there, by name."""
    return {field.name: _plain(field, value) for field, value in message.ListFields()}


def _infos(case: Row) -> list[Row]:
    infos: list[Row] = case["expect"].get("ledgerInfo", [])
    return infos


def _plain(field: FieldDescriptor, value: Any) -> Any:
    if field.is_repeated:
        return [_one(field, each) for each in value]
    return _one(field, value)


def _one(field: FieldDescriptor, value: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return fields(value)
    return value.decode() if isinstance(value, bytes) else value
