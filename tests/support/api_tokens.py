"""Tokens of the HTTP surface, made as ``syncer api token create`` does."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from syncer.access import token_file, tokens
from syncer.access.roles import AccessRole
from syncer.access.tokens import ID_BYTES, SECRET_BYTES


def made(
    file: Path, name: str, *, role: AccessRole = AccessRole.READ, values: bool = False, expires: datetime | None = None
) -> str:
    """Make a token; it may see no values unless told so."""
    with token_file.changing(file) as change:
        rights, new = tokens.made(
            change.rights,
            os.urandom(ID_BYTES + SECRET_BYTES),
            name=name,
            role=role,
            values=values,
            expires=expires,
            now=datetime.now(UTC),
        )
        change.write(rights)
    return new.text
