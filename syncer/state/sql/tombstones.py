"""The part of a transaction about the dead: tombstones, which of them are gone, and since when paths are carried."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, Select, delete, func, insert, select, tuple_

from syncer.conflict.classes.periods import ScopePeriod
from syncer.conflict.tombstones import COUNTED
from syncer.model import MetaPath, Millis, Stamp
from syncer.replacing import replace
from syncer.state.contract.membership import Membership
from syncer.state.contract.tombstones import Tombstone
from syncer.state.sql import tables
from syncer.state.sql.cache import Cache
from syncer.state.sql.statements import upserting


def membership_of(connection: Connection) -> Membership:
    """A region's place in the group."""
    table = tables.membership
    row = connection.execute(select(table.c.floor, table.c.left_at)).first()
    return Membership(floor=row[0], left_at=row[1]) if row is not None else Membership()


class TombstoneRows:
    """Methods of :class:`~syncer.state.contract.transaction.Transaction` about tombstones and membership."""

    _connection: Connection
    _cache: Cache
    touched: set[MetaPath]

    def dead(self, limit: int, until: Millis, after: tuple[Millis, MetaPath] | None = None) -> list[Tombstone]:
        """Tombstones with nothing due, stamped at most ``until``, by time and path, beyond ``after``."""
        c = tables.registers.c
        query = select(c.path, c.k_time, c.k_region).where(tables.DEAD, c.k_time <= until)
        if after is not None:
            query = query.where(tuple_(c.k_time, c.path) > tuple_(*after))
        found = self._connection.execute(query.order_by(c.k_time, c.path).limit(limit))
        return [Tombstone(path, Stamp(time, region)) for path, time, region in found]

    def deletes_passed(self, since: Millis, limit: int) -> list[Millis]:
        """When the latest local deletes were journaled as published, after ``since``, oldest first; not those held."""
        at = tables.journal.c.at
        query = select(at).where(tables.DELETES, at > since).order_by(at.desc()).limit(limit)
        return list(self._connection.execute(query).scalars())[::-1]

    def dying(self, limit: int, after: MetaPath | None = None) -> list[MetaPath]:
        """Paths that are known to be deleted while something of them is unsettled, in path order, beyond ``after``."""
        c = tables.registers.c
        query = select(c.path).where(tables.UNSETTLED, c.k_digest.is_(None), c.k_time.is_not(None))
        query = query.where(c.path > (after or "")).order_by(c.path).limit(limit)
        return list(self._connection.execute(query).scalars())

    def unapplied(self) -> tuple[int, Millis | None]:
        """Deletes that are due and events that wait for their time: how many, and the smallest stamp time.

        It costs the same however many there are: they are counted to :data:`syncer.conflict.tombstones.COUNTED`.
        """
        times, future = tables.registers.c.k_time, tables.future_events.c.time
        deletes, first = self._earliest(select(times.label("at")).where(tables.UNSEATED))
        events, early = self._earliest(select(future.label("at")))
        return min(deletes + events, COUNTED), min((at for at in (first, early) if at is not None), default=None)

    def _earliest(self, times: Select[tuple[int]]) -> tuple[int, Millis | None]:
        """How many times there are, as far as is counted, and the smallest."""
        some = times.order_by("at").limit(COUNTED).subquery()
        count, first = self._connection.execute(select(func.count(), func.min(some.c.at))).one()
        return count, first

    def drop_tombstones(self, paths: Collection[MetaPath], floor: Millis) -> None:
        """Forget these registers; none of them is alive."""
        dropped = list(paths)
        self.touched.update(dropped)
        table = tables.registers
        self._connection.execute(delete(table).where(table.c.path.in_(dropped)))
        for path in dropped:
            self._cache.registers.put(path, None)
        self._keep_membership(replace(self.membership(), floor=floor))

    def membership(self) -> Membership:
        """This region's place in the group."""
        return membership_of(self._connection)

    def set_left(self, left_at: Millis | None) -> None:
        """Note that this region has left the group, or has not."""
        self._keep_membership(replace(self.membership(), left_at=left_at))

    def scope_periods(self) -> tuple[ScopePeriod, ...]:
        """The latest scopes of this region, the oldest first."""
        table = tables.scope_periods
        rows = self._connection.execute(select(table.c.began_at, table.c.rules).order_by(table.c.number))
        return tuple(ScopePeriod(began, rules) for began, rules in rows)

    def keep_scope_periods(self, periods: Sequence[ScopePeriod]) -> None:
        """Keep these, and no others."""
        table = tables.scope_periods
        self._connection.execute(delete(table))
        rows = [
            {"number": number, "began_at": each.began_ms, "rules": each.rules} for number, each in enumerate(periods, 1)
        ]
        if rows:
            self._connection.execute(insert(table), rows)

    def _keep_membership(self, membership: Membership) -> None:
        row = {"one": 1, "floor": membership.floor, "left_at": membership.left_at}
        self._connection.execute(upserting(self._connection.dialect, tables.membership), row)
