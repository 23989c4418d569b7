"""Reads what a daemon's registers say its store holds, from its sidecar database, in pages by key.

Each register is whole, and as it was when its page was read; pages follow each other by key, so none comes twice and
none that was there all the time is left out. The daemon goes on meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
from sqlalchemy import URL, and_, case, or_, select

from spark_snapshot.sources.reach import Reach
from syncer.conflict.classes.moving import FROZEN
from syncer.conflict.projection import json_of
from syncer.conflict.register import HoldReason
from syncer.errors import ConfigError, StateUnavailable
from syncer.local_files import secret_text
from syncer.model import MetaPath
from syncer.paths import classify, tenant_of
from syncer.state.sql import opening, rows, tables

PAGE_ROWS: Final = 5_000

_TABLE: Final = tables.registers.c
_COLUMNS: Final = (
    _TABLE.path, _TABLE.s_digest, _TABLE.s_time, _TABLE.s_region, _TABLE.s_by, _TABLE.s_seen,
    _TABLE.k_time, _TABLE.k_region, _TABLE.hold_reason, case((tables.INCOMPLETE, _TABLE.kept)),
)  # fmt: skip


class RegisterRow(NamedTuple):
    """A row of ``spark_snapshot.format.rows.REGISTERS``. A plain tuple: millions are made."""

    path: str
    kind: str
    tenant: str
    digest: bytes | None
    updated_ms: int
    author: str
    by: str
    seen: str
    known_ms: int
    known_author: str
    hold: str | None
    gone: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """Where a sidecar database is.

    Args:
        url: Without a password.
        password_file: Holds the password of the user that the URL names.
    """

    url: str
    password_file: Path | None = None

    def located(self) -> URL:
        """The URL to connect with.

        Raises:
            ConfigError: It is no URL of a database, or the password cannot be read.
        """
        url = opening.parse_url(self.url)
        if self.password_file is None:
            return url
        try:
            return url.set(password=secret_text(self.password_file))
        except OSError as exc:
            raise ConfigError(f"the password of the sidecar database cannot be read: {exc.strerror}") from exc


def read(database: Database, reach: Reach) -> Iterator[list[RegisterRow]]:
    """Read the registers of what is asked for.

    One that was never seated says nothing of the store: it comes only when it is held, as absent at the time 0.

    Raises:
        ConfigError: The URL cannot be used.
        StateForeign: The database has no schema that this version knows.
        StateUnavailable: It does not exist or cannot be read now.
    """
    url = database.located()
    path = opening.file_of(url)
    if path is not None and not path.exists():
        raise StateUnavailable(f"there is no sidecar database at {path}", hint="Check 'state.path' or 'state.url'.")
    engine = opening.connect(url, "reader")
    try:
        with opening.translated(url), engine.connect() as connection, connection.begin():
            if opening.revision(connection) is None:
                raise StateUnavailable(
                    f"{opening.safe(url)} is no sidecar database yet", hint="The daemon makes it when it starts first."
                )
        for root in reach.roots:
            after = ""
            while True:
                below = and_(_TABLE.path > max(after, f"{root}/"), _TABLE.path < f"{root}0")
                here = and_(_TABLE.path == root, _TABLE.path > after)
                query = select(*_COLUMNS).where(or_(here, below)).order_by(_TABLE.path).limit(PAGE_ROWS)
                with opening.translated(url), engine.connect() as connection, connection.begin():
                    read_rows = connection.execute(query).all()
                page = [_register(row) for row in read_rows if _asked_for(row, reach)]
                if page:
                    yield page
                if len(read_rows) < PAGE_ROWS:
                    break
                after = read_rows[-1][0]
    finally:
        engine.dispose()


def without_password(url: str) -> tuple[str, str | None]:
    """A URL of a database as it may be shown, and the password that was in it.

    Raises:
        ConfigError: It is no URL of a database, or has another secret in its parameters.
    """
    parsed = opening.parse_url(url)
    secret = parsed.query.get("password")
    others = [name for name in opening.SECRET_PARAMETERS if name in parsed.query and name != "password"]
    if others:
        raise ConfigError(
            f"'state.url' has {others[0]} in its parameters, which cannot be handed to readers of Spark",
            hint="Use a password file of libpq (PGPASSFILE) that every worker has.",
        )
    password = parsed.password or (secret if isinstance(secret, str) else None)
    shown = parsed.set(password=None).difference_update_query(["password"]).set(drivername=parsed.get_backend_name())
    return shown.render_as_string(hide_password=False), None if password is None else str(password)


def _asked_for(row: Sequence[Any], reach: Reach) -> bool:
    """Whether a row says something; one whose path came into the scope, and was not read since, says nothing yet."""
    path, stored, by, hold = MetaPath(row[0]), row[2], row[4], row[8]
    unmet = by is not None and by.startswith(FROZEN)
    return (stored is not None or hold is not None) and not unmet and reach.wants(path)


def _register(row: Sequence[Any]) -> RegisterRow:
    path, digest, time, region, by, seen, known_time, known_region, hold, kept = row
    resource = classify(MetaPath(path))
    assert resource is not None  # noqa: S101 - what is asked for is a resource
    if hold == HoldReason.UNTOLD and known_time is not None:
        hold = None  # it was told of after all
    return RegisterRow(
        path=path,
        kind=resource.kind.value,
        tenant=tenant_of(MetaPath(path)),
        digest=None if digest is None else bytes(digest),
        updated_ms=time or 0,
        author=region or "",
        by=by or "",
        seen=_sorted(seen),
        known_ms=known_time or 0,
        known_author=known_region or "",
        hold=hold,
        gone=None if kept is None else _gone(kept),
    )


def _gone(data: bytes) -> bytes | None:
    """What a store lacks as an object; with fields that are its own, an array: their names and the group's values."""
    kept = rows.kept_in(data)
    if kept is None or not (kept.gone or kept.excluded):
        return None
    return json_of([kept.gone, list(kept.excluded), kept.group] if kept.excluded else kept.gone)


def _sorted(seen: str | None) -> str:
    return orjson.dumps(orjson.loads(seen), option=orjson.OPT_SORT_KEYS).decode() if seen else "{}"
