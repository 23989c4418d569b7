"""Steps that set policies of a namespace or of a topic, one call each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import quote

from syncer.admin.calls import namespace_url, topic_url
from syncer.migration.policies import Flat
from syncer.migration.policies.calls import TOPIC_LEVEL, PolicyCall, PolicyLevel
from syncer.migration.preparing.step import AdminRequest, PreparationKind, PreparationStep, Unprepared


def policy_steps(
    kind: PreparationKind, level: PolicyLevel, subject: str, wanted: Flat, present: Flat, names: Iterable[str]
) -> Iterator[PreparationStep | Unprepared]:
    """Give each of some policies its wanted value.

    Args:
        kind: Of the steps.
        level: Whether the policies are a namespace's or a topic's.
        subject: Which one's.
        wanted: Policies that are to be set.
        present: Policies that are set.
        names: Which of them; a name that is not wanted is taken off.
    """
    base = topic_url(subject) if level is TOPIC_LEVEL else namespace_url(subject)
    for name in names:
        value, before = wanted.get(name), present.get(name)
        call = level.call(name)
        request = None if call is None else _request(base, call, name, value)
        if call is None or request is None:
            yield Unprepared(
                subject=f"{subject}, {name}",
                why="the admin API has no call that "
                + (f"takes it off, and green has {before!r}" if value is None else f"sets it to {value!r}"),
                remedy="set it at both clusters alike, or override the check 'policies'",
            )
            continue
        yield PreparationStep(
            kind=kind,
            subject=f"{subject}, {name}",
            method=request.method,
            path=request.path,
            body=request.body,
            why=_why(kind, level, name, value),
            before=before,
            undo=_request(base, call, name, before),
        )


def _why(kind: PreparationKind, level: PolicyLevel, name: str, value: object) -> str:
    if kind is not PreparationKind.RESTORE and level.protects(name) and value is not None:
        return "nothing that waits at green may be dropped while the migration lasts"
    return "blue does not set it" if value is None else "blue has it so"


def _request(base: str, call: PolicyCall, name: str, value: object) -> AdminRequest | None:
    """The call that gives a policy a value; ``None`` as value takes it off, which cannot always be done."""
    part = name.partition("/")[2]
    if value is None and call.removal is not None:
        method, path = call.removal
        return AdminRequest(method=method, path=f"{base}/{path.format(part)}")
    if value is None and call.permanent:
        return None
    path = call.path.format(part or quote(str(value), safe=""))
    given = call.unset if value is None else value
    return AdminRequest(method=call.method, path=f"{base}/{path}", body=given if call.has_body else None)
