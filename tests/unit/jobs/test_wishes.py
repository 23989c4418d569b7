"""Wishes for jobs: what may be asked for from afar, and what it becomes on a command line."""

from __future__ import annotations

import pytest

from syncer.errors import InvariantBroken, PreconditionFailed
from syncer.jobs.wishes import MAX_NAMES, arguments_of, job_named_in, options_of, waits
from syncer.model import Millis
from syncer.state.contract.jobs import JobKind, JobRow


def job(kind: JobKind, **arguments: object) -> JobRow:
    return JobRow(id=1, kind=kind, arguments=arguments, asked_by="ann", reason="", asked_at_ms=Millis(1))


def test_a_wish_becomes_a_command() -> None:
    wish = arguments_of(JobKind.TAKE, {"tenants": "acme,beta", "allow_empty": "false", "accept_shrunken": "true"})
    assert wish == {"tenants": ["acme", "beta"], "accept_shrunken": True}
    assert options_of(job(JobKind.TAKE, **wish)) == ("--accept-shrunken", "--tenant=acme", "--tenant=beta")
    wish = arguments_of(JobKind.DIFF, {"snapshots": "east,20261121T030000123Z-1a2b3c", "fields": "true", "tenants": ""})
    assert options_of(job(JobKind.DIFF, **wish)) == (
        "--fields", "--limit=100", "--", "east", "20261121T030000123Z-1a2b3c",
    )  # fmt: skip
    assert options_of(job(JobKind.TAKE)) == ()


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (JobKind.TAKE, {"offline": "/etc"}, "takes no argument 'offline'"),
        (JobKind.TAKE, {"folder": "x"}, "takes no argument 'folder'"),
        (JobKind.TAKE, {"tenants": "--conf"}, "is no name"),
        (JobKind.TAKE, {"tenants": "acme,../x"}, "is no name"),
        (JobKind.TAKE, {"allow_empty": "yes"}, "allow_empty is true or false"),
        (JobKind.DIFF, {}, "two snapshots or more"),
        (JobKind.DIFF, {"snapshots": "east"}, "two snapshots or more"),
        (JobKind.DIFF, {"snapshots": "/etc/passwd,east"}, "is no name"),
        (JobKind.DIFF, {"snapshots": "s3a://bucket/x,east"}, "is no name"),
        (JobKind.DIFF, {"snapshots": "-o,east"}, "is no name"),
        (JobKind.DIFF, {"snapshots": ".hidden,east"}, "is no name"),
        (JobKind.DIFF, {"snapshots": "ea\nst,east"}, "is no name"),
        (JobKind.DIFF, {"snapshots": ",".join(["east"] * (MAX_NAMES + 1))}, "17 names"),
        (JobKind.DIFF, {"snapshots": "a,b", "report": "x"}, "takes no argument 'report'"),
    ],
)
def test_what_may_not_be_asked_for(kind: JobKind, given: dict[str, str], said: str) -> None:
    with pytest.raises(PreconditionFailed, match=said):
        arguments_of(kind, given)


def test_the_answer_to_a_wish_names_the_job() -> None:
    assert job_named_in(waits(17)) == 17
    with pytest.raises(InvariantBroken, match="paused"):
        job_named_in("paused")
