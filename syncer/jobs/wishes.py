"""Wishes for jobs, as operations bring them: what may be asked for, and how it is called on the command line.

Whoever asks may sit on another machine, so a wish names snapshots by their names in the configured folder, and no path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from syncer.errors import InvariantBroken, PreconditionFailed
from syncer.state.contract.jobs import JobKind, JobRow

MAX_QUEUED: Final = 20
MAX_NAMES: Final = 16
MAX_SHOWN: Final = 100
"""Paths that a comparison names in what is kept of it; all are counted."""
_NAME: Final = re.compile(r"[A-Za-z0-9_][\w.:=@+%-]{0,199}", re.ASCII)
_TAKES: Final = frozenset({"tenants", "allow_empty", "accept_shrunken"})
_COMPARES: Final = frozenset({"snapshots", "tenants", "fields", "plan"})
_MANY: Final = frozenset({"snapshots", "tenants"})


def arguments_of(kind: JobKind, given: Mapping[str, str]) -> dict[str, object]:
    """Read the arguments of a job from those of an operation: lists are divided by commas, flags are ``true``.

    Args:
        kind: Of the job.
        given: Of a ``take``: ``tenants``, ``allow_empty``, ``accept_shrunken``. Of a ``diff``: ``snapshots`` (two or
            more ids, beginnings of ids, or regions for their newest), ``tenants``, ``fields``, ``plan``.

    Raises:
        PreconditionFailed: An argument is unknown, or is no name of the folder.
    """
    unknown = sorted(set(given) - (_TAKES if kind is JobKind.TAKE else _COMPARES))
    if unknown:
        raise PreconditionFailed(f"a job '{kind}' takes no argument {unknown[0]!r}", hint="See 'syncer jobs --help'.")
    found: dict[str, object] = {}
    for name, text in given.items():
        if name in _MANY:
            if words := [word for word in text.split(",") if word]:
                found[name] = _names(words)
        elif text not in {"true", "false"}:
            raise PreconditionFailed(f"{name} is true or false, not {text!r}", hint="See 'syncer jobs --help'.")
        elif text == "true":
            found[name] = True
    named = found.get("snapshots", ())
    if kind is JobKind.DIFF and (not isinstance(named, Sequence) or len(named) < 2):
        raise PreconditionFailed("a comparison needs two snapshots or more", hint="See 'syncer snapshot list'.")
    return found


def require_open(job: JobRow) -> None:
    """Refuse to end what has ended.

    Raises:
        PreconditionFailed: The job is over.
    """
    if job.over:
        raise PreconditionFailed(f"job {job.id} is over: it is {job.state}", hint="See 'syncer jobs list'.")


def waits(number: int) -> str:
    """The answer to who has asked for a job; :func:`job_named_in` reads it."""
    return f"job {number} waits"


def job_named_in(answer: str) -> int:
    """The number of the job that an operation has queued, by its answer.

    Raises:
        InvariantBroken: The answer is of another operation.
    """
    found = re.fullmatch(r"job (\d+) waits", answer)
    if found is None:
        raise InvariantBroken(f"no job was queued by an operation that was answered {answer!r}")
    return int(found[1])


def _names(words: Sequence[str]) -> list[str]:
    if len(words) > MAX_NAMES:
        raise PreconditionFailed(f"{len(words)} names; {MAX_NAMES} may be given", hint="Ask for several jobs.")
    for word in words:
        if _NAME.fullmatch(word) is None:
            raise PreconditionFailed(
                f"{word!r} is no name: paths and addresses are not taken here",
                hint="Name a snapshot of the configured folder by its id, or by its region for its newest.",
            )
    return list(words)


def options_of(job: JobRow) -> tuple[str, ...]:
    """The arguments of a job as its command takes them; those with a name first, then ``--`` and snapshots."""
    arguments = job.arguments
    tenants, snapshots = (_listed(arguments.get(name)) for name in ("tenants", "snapshots"))
    flags = ("allow_empty", "accept_shrunken", "fields")
    options = [f"--{name.replace('_', '-')}" for name in flags if arguments.get(name) is True]
    options += [f"--tenant={name}" for name in tenants]
    if job.kind is JobKind.DIFF:
        options += [f"--limit={MAX_SHOWN}", "--", *snapshots]
    return tuple(options)


def _listed(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []
