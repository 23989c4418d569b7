"""Verifying: nothing was left behind at blue, green has all, and everybody has come or is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from syncer.migration.course import MigrationStop, StopCode, shown
from syncer.migration.reading.at_once import all_of
from syncer.migration.running.control.moving import HELD, LAST, missing_at_green
from syncer.migration.running.control.tallying import Tally
from syncer.migration.running.control.watching import Watching
from syncer.migration.running.journal import MigrationJournal
from syncer.migration.running.looking import Looking
from syncer.migration.running.rolls import ROLL, Rolls
from syncer.migration.steering import DONE, StepEnd, StepResult


class Verifying:
    """Verifies that all namespaces of a migration were moved."""

    def __init__(
        self,
        here: Looking,
        there: Looking,
        journal: MigrationJournal,
        watch: Watching,
        rolls: Rolls,
        tally: Tally,
    ) -> None:
        self._here = here
        self._there = there
        self._journal = journal
        self._watch = watch
        self._rolls = rolls
        self._tally = tally

    async def verify(self, namespaces: Sequence[str], *, missing: int, accepted: Sequence[str]) -> StepResult:
        """Look at everything once more.

        Args:
            namespaces: That were moved.
            missing: How many clients may be missing.
            accepted: Codes of what an operator accepts as it is.

        Raises:
            AdminError: A call was refused or not answered.
        """
        if not (await self._watch.look(namespaces, whole=True)).drained:
            return StepResult(end=StepEnd.BACK)
        recall = self._journal.recall
        stop = await self._last(_all(await recall(LAST), LAST, namespaces))
        if stop is None and StopCode.INCOMPLETE not in accepted:
            stop = await self._lacking(_all(await recall(HELD), HELD, namespaces))
        if stop is None and StopCode.MISSING not in accepted:
            rolls = await recall(ROLL)
            stop = await self._missing([each for each in namespaces if f"{ROLL}{each}" in rolls], missing)
        if stop is not None:
            return StepResult(end=StepEnd.STOPPED, stop=stop)
        await self._tally.note(namespaces, self._watch.last)
        return DONE

    async def _last(self, ends: Mapping[str, str]) -> MigrationStop | None:
        """Nothing was written at blue behind the position at which a topic was closed."""
        names = sorted(ends)
        ledgers = await all_of(self._here.ledger, names)
        moved = {
            name: "open" if ledger.terminated is None else ledger.terminated
            for name, ledger in zip(names, ledgers, strict=True)
            if ledger is not None and ledger.terminated != ends[name]
        }
        if not moved:
            return None
        return MigrationStop(
            code=StopCode.LAST_MOVED,
            words=f"{shown(moved)} do not end at blue any more where they were closed",
            hint="Somebody has opened or deleted these topics: see what they hold before blue goes.",
            fatal=True,
        )

    async def _lacking(self, held: Mapping[str, Sequence[str]]) -> MigrationStop | None:
        lacking = await missing_at_green(self._there, held)
        if not lacking:
            return None
        reasons = {f"{name}: {why}": why for name, why in lacking.items()}
        return MigrationStop(
            code=StopCode.INCOMPLETE,
            words=f"green lacks what blue had: {shown(reasons)}",
            hint="If their owners have deleted them at green, resume: it is accepted as it is.",
        )

    async def _missing(self, namespaces: Sequence[str], most: int) -> MigrationStop | None:
        if not namespaces:
            return None
        answered = await self._rolls.call(namespaces)
        absent = {**answered.staying, **answered.missed}
        if len(absent) <= most:
            return None
        names = tuple(f"{who.role} {who.name} of {who.topic}, {client.address}" for who, client in absent.items())
        return MigrationStop(
            code=StopCode.MISSING,
            words=f"{shown(names)} have not come to green",
            hint="Restart these clients at green's address; if they are not needed any more, resume.",
        )


def _all(kept: Mapping[str, object], prefix: str, namespaces: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for namespace in namespaces:
        value = kept.get(f"{prefix}{namespace}")
        found |= value if isinstance(value, Mapping) else {}
    return found
