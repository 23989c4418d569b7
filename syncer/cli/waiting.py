"""Wait for a daemon that has just been started until the first scan of its store is done."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from syncer.errors import NotInTime, ServerUnreachable, StateMissing, StateUnavailable

if TYPE_CHECKING:
    from syncer.cli.session import CommandSession
    from syncer.documents.status import StatusDocument

POLL_S: Final = 0.2

_START_IT: Final = "Start it ('syncer run'); if it was started, its log says why it stopped."


def wait_for_first_scan(session: CommandSession, timeout_s: float) -> None:
    """Wait until a daemon runs and has read the whole store once; the database need not be there yet.

    Raises:
        NotInTime: It did not come to that in time.
        ConfigError: The configuration is wrong.
        StateError: The database can never be used as it is: another region's, of another version, closed to this user.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        lacking = _lacking(session)
        if lacking is None:
            return
        if time.monotonic() >= deadline:
            what, hint = lacking
            raise NotInTime(f"the first scan is not done after {timeout_s:g} s: {what}", hint=hint)
        time.sleep(min(POLL_S, max(0.0, deadline - time.monotonic())))


def _lacking(session: CommandSession) -> tuple[str, str] | None:
    """What the first scan still waits for, and what an operator does about it; ``None``: it is done."""
    try:
        with session.region() as region:
            found = region.status()
    except StateMissing as exc:
        return exc.message, f"No daemon has begun to work. {_START_IT}"
    except (StateUnavailable, ServerUnreachable) as exc:
        return exc.message, exc.hint
    return _unfinished(found)


def _unfinished(found: StatusDocument) -> tuple[str, str] | None:
    if found.daemon == "never-started":
        return "no daemon has reported yet", _START_IT
    if found.daemon == "silent":
        return f"the daemon has been silent for {found.reported_age_s or 0:.0f} s", _START_IT
    if not found.baseline_done:
        return "the daemon reads its store", "A large store takes minutes: wait longer, or see the log of the daemon."
    return None
