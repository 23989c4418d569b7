"""The process that looks at a cluster, or answers a question about it, while the daemon does its own work.

It is gentler than the daemon, and ends by itself soon after the daemon has given it up.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Final, assert_never

import anyio

from syncer import log
from syncer.balancer.running import plan_file
from syncer.errors import SyncerError
from syncer.inspection.balancing.answering import answered
from syncer.inspection.balancing.looking import look_at
from syncer.inspection.balancing.plans import plan_for
from syncer.inspection.balancing.questions import PlanQuestion
from syncer.inspection.inquiries.child import AnswerTask, LedgersTask, LookTask, answer_of, failure_of
from syncer.inspection.ledgers.answering import answered as answered_of_ledgers
from syncer.jobs.processes import NICENESS
from syncer.terminal import json_text

if TYPE_CHECKING:
    from syncer.inspection.balancing.looking import ClusterLook
    from syncer.inspection.inquiries.child import Task

GRACE_S: Final = 5
"""So long after its time is over the process lives at most."""
_FAST: Final = 1
_STDOUT: Final = 1
_STDERR: Final = 2


def perform(task: Task) -> bytes:
    """Do a task.

    Raises:
        SyncerError: See :func:`syncer.inspection.balancing.looking.look_at` and the functions ``answered`` of
            :mod:`syncer.inspection.balancing.answering` and :mod:`syncer.inspection.ledgers.answering`.
    """
    match task:
        case LookTask():
            return zlib.compress(pickle.dumps(anyio.run(look_at, task.config, task.wish)), _FAST)
        case AnswerTask():
            look: ClusterLook = pickle.loads(zlib.decompress(task.look))  # noqa: S301 - a look of our own
            if isinstance(task.question, PlanQuestion):
                return plan_file.to_text(plan_for(task.question, look)).encode()
            return json_text(answered(task.question, look).model_dump(mode="json")).encode()
        case LedgersTask():
            found = answered_of_ledgers(task.question, task.config, task.wish)
            return json_text(found.model_dump(mode="json")).encode()
        case _:
            assert_never(task)


def main() -> None:
    """Do the task of stdin."""
    answer = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)  # client libraries may talk
    os.nice(NICENESS)
    log.configure(level="warning")
    within_s, task = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - the daemon's own
    signal.alarm(int(within_s) + GRACE_S)
    try:
        said = answer_of(perform(task))
    except SyncerError as exc:
        said = failure_of(exc)
    with suppress(BrokenPipeError), os.fdopen(answer, "wb") as out:  # the daemon may be gone
        out.write(said)


if __name__ == "__main__":
    main()
