"""Values of topics, cursors and schemas, compressed or not.

Source: MetaStoreImpl, BookkeeperSchemaStorage, Pulsar 4.0.8.
"""

from __future__ import annotations

from syncer.ledgers.decoding.compression import is_wrapped, unwrapped
from syncer.ledgers.decoding.messages import Dynamic, parsed, text
from syncer.ledgers.decoding.undecodable import Undecodable, ValueDamaged, ValueKind, undecodable
from syncer.ledgers.managed import EntryPosition, LedgerOfTopic, ManagedCursor, ManagedLedger, Offload, SchemaLedgers


def managed_ledger(path: str, value: bytes) -> ManagedLedger | Undecodable:
    """Decode the value of a topic; an empty one is that of a topic which has no ledger yet.

    Args:
        path: Where it was read.
        value: The bytes.
    """
    try:
        message = managed_message("ManagedLedgerInfo", value)
    except ValueDamaged as error:
        return undecodable(ValueKind.MANAGED_LEDGER, path, error)
    return ManagedLedger(
        ledgers=tuple([_ledger(info) for info in message.ledgerInfo]),
        terminated_at=_position(message.terminatedPosition) if message.HasField("terminatedPosition") else None,
        properties={text(each.key): text(each.value) for each in message.properties},
    )


def managed_cursor(path: str, value: bytes) -> ManagedCursor | Undecodable:
    """Decode the value of a cursor.

    Args:
        path: Where it was read.
        value: The bytes.
    """
    try:
        message = managed_message("ManagedCursorInfo", value)
    except ValueDamaged as error:
        return undecodable(ValueKind.CURSOR, path, error)
    ledger_id = message.cursorsLedgerId
    marked = message.HasField("markDeleteLedgerId")
    return ManagedCursor(
        ledger_id=ledger_id if ledger_id >= 0 else None,
        mark_delete=EntryPosition(message.markDeleteLedgerId, message.markDeleteEntryId) if marked else None,
        deleted_ranges=tuple(
            [
                (_position(each.lowerEndpoint), _position(each.upperEndpoint))
                for each in message.individualDeletedMessages
            ]
        ),
        properties={text(each.name): each.value for each in message.properties},
        texts={text(each.name): text(each.value) for each in message.cursorProperties},
    )


def schema_ledgers(path: str, value: bytes) -> SchemaLedgers | Undecodable:
    """Decode the value of a topic's schemas.

    Args:
        path: Where it was read.
        value: The bytes.
    """
    try:
        message = parsed("SchemaLocator", value)
    except ValueDamaged as error:
        return undecodable(ValueKind.SCHEMA, path, error)
    entries = [message.info, *reversed(message.index)]
    return SchemaLedgers(tuple(dict.fromkeys(each.position.ledgerId for each in entries)))


def managed_message(name: str, value: bytes) -> Dynamic:
    """Read the message of a topic or of a cursor; where the wrapper is not sound, all of it is read as plain.

    Args:
        name: Of the message.
        value: The bytes.

    Raises:
        ValueDamaged: It is none, neither wrapped nor plain.
    """
    if not is_wrapped(value):
        return parsed(name, value)
    try:
        return parsed(name, unwrapped(value))
    except ValueDamaged:
        try:
            return parsed(name, value)
        except ValueDamaged:
            pass
        raise


def _ledger(info: Dynamic) -> LedgerOfTopic:
    return LedgerOfTopic(
        info.ledgerId,
        info.entries if info.HasField("entries") else None,
        info.size if info.HasField("size") else None,
        info.timestamp or None,
        _offload(info.offloadContext) if info.HasField("offloadContext") else None,
    )


def _offload(context: Dynamic) -> Offload:
    return Offload(context.complete, context.bookkeeperDeleted, text(context.driverMetadata.name))


def _position(message: Dynamic) -> EntryPosition:
    return EntryPosition(message.ledgerId, message.entryId)
