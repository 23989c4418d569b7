"""The daemon's database of a region, if there is one here: where it is, and how much of the bus it has taken in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import select

from syncer.config.model import Config
from syncer.model import Region
from syncer.state.sql import opening, tables
from syncer.state.views.region import Views


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """A daemon's database.

    Args:
        url: With its password, where there is one.
        password_file: Holds the password, where the configuration has it apart; workers elsewhere need it there.
        watermark: Up to which number everything of a sender has been taken in, by sender.
    """

    url: str = field(repr=False)
    password_file: Path | None
    watermark: Mapping[str, int]


def sidecar_of(config: Config) -> Sidecar | None:
    """The database of a region's daemon; ``None`` where no daemon has made one yet.

    Raises:
        ConfigError: Its settings are wrong.
        StateError: It is another region's, or cannot be read now.
    """
    url = config.database_url()
    parsed = opening.parse_url(url)
    file = opening.file_of(parsed)
    if not (opening.is_made(parsed) if file is None else opening.is_there(file)):
        return None
    views = Views.open(url, Region(config.region))  # refuses another region's
    views.close()
    engine = opening.connect(parsed, "reader")
    try:
        with opening.translated(parsed), engine.connect() as connection:
            rows = connection.execute(select(tables.consumed.c.sender, tables.consumed.c.through)).all()
    finally:
        engine.dispose()
    return Sidecar(
        url=url,
        password_file=config.state.password_file,
        watermark={sender: through for sender, through in rows if sender},
    )
