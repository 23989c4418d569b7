"""Bookies that are up, and cookies of all that ever were.

Source: ZKRegistrationManager, PulsarRegistrationClient, Cookie, BookKeeper 4.17.2.
"""

from __future__ import annotations

from typing import Final

from syncer.ledgers.decoding.messages import complete, parsed, text
from syncer.ledgers.decoding.numbers import int32
from syncer.ledgers.decoding.text_format import merged
from syncer.ledgers.decoding.undecodable import ValueDamaged
from syncer.ledgers.nodes import BookieCookie, BookieEndpoint, BookieRegistration

_OLD_COOKIE: Final = 3
_OLD_COOKIE_LINES: Final = 4


def registration(bookie: str, value: bytes, *, read_only: bool) -> BookieRegistration:
    """Decode the registration of a bookie; an old one is empty.

    Args:
        bookie: Its id, by the path.
        value: The bytes.
        read_only: It takes no entries.

    Raises:
        ValueDamaged: It is none.
    """
    message = parsed("BookieServiceInfoFormat", value)
    return BookieRegistration(
        bookie=bookie,
        read_only=read_only,
        endpoints=tuple(
            BookieEndpoint(
                text(each.id),
                text(each.host),
                each.port,
                text(each.protocol),
                tuple(map(text, each.auth)),
                tuple(map(text, each.extensions)),
            )
            for each in message.endpoints
        ),
        properties={text(each.key): text(each.value) for each in message.properties},
    )


def cookie(bookie: str, value: bytes) -> BookieCookie:
    """Decode a cookie: lines up to version 3, after it protobuf's text.

    Args:
        bookie: The bookie's id, by the path.
        value: The bytes.

    Raises:
        ValueDamaged: It is none.
    """
    first, _, rest = value.partition(b"\n")
    version = int32(text(first).strip(), "the version of the cookie")
    if version <= _OLD_COOKIE:
        lines = text(value).split("\n")
        if version < _OLD_COOKIE or len(lines) < _OLD_COOKIE_LINES:
            raise ValueDamaged(f"it is a cookie of version {version}, and is not read")
        return BookieCookie(
            bookie=bookie,
            layout_version=version,
            host=lines[1],
            journal_directories=lines[2],
            ledger_directories=_directories(lines[3]),
        )
    message = complete(merged("CookieFormat", rest))
    return BookieCookie(
        bookie=bookie,
        layout_version=version,
        host=message.bookieHost,
        journal_directories=message.journalDir,
        ledger_directories=_directories(message.ledgerDirs),
        index_directories=_directories(message.indexDirs),
        instance_id=message.instanceId or None,
    )


def _directories(given: str) -> tuple[str, ...]:
    """Directories behind their number; they are only shown, so that a number which does not fit is no matter."""
    return tuple(given.split("\t")[1:])
