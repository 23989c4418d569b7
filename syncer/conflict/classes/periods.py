"""Scope periods: since when a region has carried a path, as far as its database has kept its scopes.

A region takes nothing from the bus of a path that it does not carry, and nobody waits for it before a delete is
forgotten. So of the time before a path came into the scope it knows no deletes, and has no floor that shows them: a
version of that time that it does not know may be what was deleted since.

    since(path)   the beginning of the latest run of periods whose scopes all carry the path

Invariant: a period begins no earlier than the one before it. The database keeps the latest :data:`PERIODS_KEPT`; of
the time before the first of these nothing is known, unless that one began with the database. A database of an older
version has kept none: its first period has no rules that can be read, so of its time nothing is known either.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from syncer.conflict.classes.telling import scope_kept
from syncer.conflict.scope import Scope
from syncer.errors import PayloadInvalid
from syncer.model import MetaPath, Millis

PERIODS_KEPT: Final = 16
WITH_THE_DATABASE: Final = Millis(0)
"""The beginning of a database's first period."""
UNDATED: Final = Millis(2**62)
"""The beginning of a period whose daemon has not become the region's writer: later than anything."""


class ScopePeriod(NamedTuple):
    """A time in which a region had one scope.

    Args:
        began_ms: Since when, by the region's clock; or one of the two special times.
        rules: Of the scope, as one text.
    """

    began_ms: Millis
    rules: str


@dataclass(frozen=True)
class ScopePeriods:
    """The periods of a region, the oldest first.

    Args:
        kept: As its database has them.
    """

    kept: tuple[ScopePeriod, ...] = ()

    def under(self, scope: Scope) -> ScopePeriods:
        """Return the periods of a daemon that starts with a scope; another scope than before begins an undated one."""
        if self.kept and self.kept[-1].rules == scope.text:
            return self
        began = UNDATED if self.kept else WITH_THE_DATABASE
        return ScopePeriods((*self.kept, ScopePeriod(began, scope.text))[-PERIODS_KEPT:])

    def dated(self, now: Millis) -> ScopePeriods:
        """Return the periods once the daemon is the region's writer: what is undated begins now."""
        found = list[ScopePeriod]()
        for each in self.kept:
            latest = max(now, found[-1].began_ms) if found else now
            found.append(each if each.began_ms != UNDATED else each._replace(began_ms=latest))
        return self if tuple(found) == self.kept else ScopePeriods(tuple(found))

    def since(self, path: MetaPath) -> Millis:
        """Return since when the path, a resource, is carried; :data:`UNDATED` where it is not, or nobody knows."""
        found = UNDATED
        for period, scope in zip(reversed(self.kept), reversed(self.scopes), strict=True):
            if scope is None or not scope.carries_resource(path):
                break
            found = period.began_ms
        return found

    def after(self, scope: Scope) -> tuple[Scope | None, ...]:
        """Return the scopes since the latest period with this one; ``None``: one of a version that wrote it otherwise.

        Where none of the periods has it, that is all of them.
        """
        found = list[Scope | None]()
        for period, each in zip(reversed(self.kept), reversed(self.scopes), strict=True):
            if period.rules == scope.text:
                break
            found.append(each)
        return tuple(found)

    def other_than(self, scope: Scope) -> bool:
        """Return whether any period has another scope than this one."""
        return any(period.rules != scope.text for period in self.kept)

    @cached_property
    def scopes(self) -> tuple[Scope | None, ...]:
        """The scopes, the oldest first; ``None``: one of a version that wrote it otherwise."""
        return tuple(_scope_of(each.rules) for each in self.kept)


def _scope_of(rules: str) -> Scope | None:
    try:
        return scope_kept(rules)
    except PayloadInvalid:
        return None


NO_PERIODS: Final = ScopePeriods()
