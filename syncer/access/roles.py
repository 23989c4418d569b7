"""Roles and callers: what somebody who asks over HTTP may do, and how the audit trail names them.

    read ⊂ operate ⊂ admin          each may what the ones before it may
    values                          apart from roles: stored values and payloads, as they are

There are no rights by tenant or namespace: whoever may operate, may operate on every path of the region.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class AccessRole(StrEnum):
    """What a caller may do."""

    READ = "read"
    """See all but values and payloads."""
    OPERATE = "operate"
    """Decide what waits, pause and resume, start and cancel jobs."""
    ADMIN = "admin"
    """What is dangerous: by force, whole regions, deletes without a bound."""

    def covers(self, needed: AccessRole) -> bool:
        """Whether this role may what another one may."""
        return _RANK[self] >= _RANK[needed]


_RANK: Final = {AccessRole.READ: 0, AccessRole.OPERATE: 1, AccessRole.ADMIN: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody whose credential was accepted.

    Args:
        name: Who, as operations name who asked: the name that a token, or a certificate's subject, was given.
        role: What they may do.
        values: Whether they may see stored values and payloads.
        credential: Which credential it was, without any secret: ``token:NAME`` or ``mtls:SUBJECT``.
        origin: Address that the request came from.
    """

    name: str
    role: AccessRole
    values: bool
    credential: str
    origin: str
