"""Lost updates by operators are refused: a decision is about the path as it was shown, not about what came since.

A decision is performed some time after the look at it: the operator thinks, the daemon has other work. What another
region or a broker has written meanwhile would be overruled by somebody who never saw it. So each decision carries what
was shown, as text in the arguments of its operation, and is refused where it is not so any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from syncer.conflict.register import Hold, Register, Shown
from syncer.errors import PreconditionFailed
from syncer.model import Digest, MetaPath, Millis, Region, Stamp

HOLDS: Final = "Look at it again with 'syncer holds list'."
"""Where to look again at what is held."""

FACTS: Final = ("known", "stored", "digest")
"""Arguments of an operation that say how a path was shown."""
HOLD_FACTS: Final = ("reason", "since")
"""Arguments that say, beside its stamp, which hold was shown."""
_UNSAID: Final = "It was asked by hand, or by an older version: look again, and decide anew with this version."


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What an operator was shown of a path with a hold.

    Args:
        shown: What was known of it, and what stood in the store.
        stamp: Of the change that was held.
        reason: Why it was.
        since_ms: Since when: a hold that ended and began again is another one.
    """

    shown: Shown
    stamp: Stamp
    reason: str
    since_ms: Millis


def arguments(shown: Shown, hold: Hold | None = None) -> dict[str, str]:
    """How a path is shown, as arguments of an operation; with a hold also which one it is."""
    facts = {
        "known": _text(shown.known),
        "stored": _text(shown.stored),
        "digest": shown.digest.hex() if shown.digest is not None else "",
    }
    if hold is None:
        return facts
    return {"stamp": str(hold.stamp), "reason": hold.reason.value, "since": str(hold.since_ms), **facts}


def shown_in(told: Mapping[str, str]) -> Shown:
    """How a path was shown, by the arguments of an operation.

    Raises:
        PreconditionFailed: They do not say it.
    """
    if any(name not in told for name in FACTS):
        raise PreconditionFailed("the operation does not say what was shown", hint=_UNSAID)
    try:
        digest = Digest(bytes.fromhex(told["digest"])) if told["digest"] else None
    except ValueError:
        raise PreconditionFailed(f"{told['digest']!r} is no digest", hint=_UNSAID) from None
    known, stored = (stamp_in(told[name]) if told[name] else None for name in ("known", "stored"))
    return Shown(known=known, stored=stored, digest=digest)


def look_in(told: Mapping[str, str]) -> Look:
    """Which hold was shown, and how its path, by the arguments of an operation.

    Raises:
        PreconditionFailed: They do not say it.
    """
    if any(name not in told for name in ("stamp", *HOLD_FACTS)):
        raise PreconditionFailed("the operation does not say which hold was shown", hint=_UNSAID)
    return Look(
        shown=shown_in(told),
        stamp=stamp_in(told["stamp"]),
        reason=told["reason"],
        since_ms=Millis(_number(told["since"])),
    )


def look_at(register: Register, hold: Hold) -> Look:
    """What an operator who looks now is shown of a path with a hold."""
    return Look(shown=register.shows, stamp=hold.stamp, reason=hold.reason.value, since_ms=hold.since_ms)


def until_in(told: Mapping[str, str]) -> Millis:
    """Until when holds have begun that were all shown at once, by the arguments of an operation.

    Raises:
        PreconditionFailed: They do not say it.
    """
    if "until" not in told:
        raise PreconditionFailed("the operation does not say what was shown", hint=_UNSAID)
    return Millis(_number(told["until"]))


def stamp_in(text: str) -> Stamp:
    """A stamp as it prints itself; a region may have an ``@`` of its own, a time has none.

    Raises:
        PreconditionFailed: It is none.
    """
    time, _, region = text.partition("@")
    if not region:
        raise PreconditionFailed(f"{text!r} is no stamp; one looks like 1700000000000@us-east")
    return Stamp(Millis(_number(time)), Region(region))


def check_shown(register: Register, shown: Shown, hint: str) -> None:
    """Refuse a decision about a path that is not as it was shown any more.

    Args:
        register: The path's register.
        shown: What was shown.
        hint: Where to look again.

    Raises:
        PreconditionFailed: It is not.
    """
    now = register.shows
    if now != shown:
        raise PreconditionFailed(f"{_differs(register.path, now, shown)}; nothing was decided", hint=hint)


def check_look(register: Register, look: Look) -> None:
    """Refuse a decision about another hold than the one that was shown, or about a path that is not as it was.

    Raises:
        PreconditionFailed: It is not.
    """
    hold = register.hold
    if hold is None:
        raise PreconditionFailed(f"nothing is held at {register.path}", hint="See 'syncer holds list'.")
    if (hold.stamp, hold.reason.value, hold.since_ms) != (look.stamp, look.reason, look.since_ms):
        raise PreconditionFailed(
            f"{register.path}: another change is held now ({hold.stamp}, {hold.reason.value}) than the one that was "
            f"shown ({look.stamp}, {look.reason}); nothing was decided",
            hint=HOLDS,
        )
    check_shown(register, look.shown, HOLDS)


def _differs(path: MetaPath, now: Shown, shown: Shown) -> str:
    if now.known != shown.known:
        return f"{path}: the newest change is {_words(now.known)} now, and was {_words(shown.known)} when it was shown"
    if now.stored != shown.stored:
        return f"{path}: the store holds {_words(now.stored)} now, and held {_words(shown.stored)} when it was shown"
    return f"{path}: the store holds another value than the one that was shown"


def _words(stamp: Stamp | None) -> str:
    return str(stamp) if stamp is not None else "nothing"


def _text(stamp: Stamp | None) -> str:
    return str(stamp) if stamp is not None else ""


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise PreconditionFailed(f"{text!r} is no time in milliseconds", hint=_UNSAID)
    return int(text)
