"""A process that writes into a region's sidecar database as a daemon does, for tests of two writers.

``python -m tests.support.state_writer URL race ROUNDS``: become the writer again and again, whoever else does, and put
events into the outbox; each event that was committed is printed, as ``EPOCH NUMBER``.

``python -m tests.support.state_writer URL hold``: become the writer, begin a transaction, write, print ``open``, wait
for a line on stdin, commit, and print how that ended: ``committed`` or the code of the error; then how the next one
ended. With ``pipeline`` instead of ``hold`` it waits in the middle of sending many rows.
"""

from __future__ import annotations

import random
import sys
import time
from contextlib import closing

import psycopg

from syncer.errors import Fenced, StateUnavailable
from syncer.model import Counter, EventType, MetadataChangeEvent, MetaPath, Millis, Region, ResourceKind, Stamp
from syncer.state.sql.database import SqlState

REGION = Region("us-east")


def event(text: str) -> MetadataChangeEvent:
    """A change whose value is the text."""
    return MetadataChangeEvent(
        type=EventType.MODIFIED,
        resource=ResourceKind.TENANT,
        resource_name="t",
        path=MetaPath("/admin/policies/t"),
        value=text.encode(),
        stamp=Stamp(Millis(1), REGION),
        by=Counter("us-east~1"),
        seen={},
    )


def race(state: SqlState, rounds: int) -> None:
    """Fight for being the writer."""
    number = 0
    for _ in range(rounds):
        try:
            epoch = state.activate().epoch
            end = time.monotonic() + random.uniform(0, 0.03)
            while time.monotonic() < end:
                number += 1
                with state.transaction() as work:
                    work.enqueue([event(f"{epoch} {number}")])
                print(epoch, number, flush=True)
        except (Fenced, StateUnavailable):
            continue


def hold(state: SqlState, *, pipelined: bool) -> None:
    """Keep a transaction open until told to commit it."""
    epoch = state.activate().epoch
    try:
        with state.transaction() as work:
            work.enqueue([event(f"{epoch} 1")])
            if pipelined:
                raw = work._connection.connection.driver_connection
                assert isinstance(raw, psycopg.Connection)
                with raw.pipeline():  # as it is while many rows are sent
                    raw.execute("SELECT 1")
                    raw.pgconn.send_flush_request()
                    raw.pgconn.flush()
                    print("open", flush=True)
                    sys.stdin.readline()
            else:
                print("open", flush=True)
                sys.stdin.readline()
    except (Fenced, StateUnavailable) as exc:
        print(exc.code, flush=True)
    except psycopg.OperationalError:  # raised between the layers, by the pipeline of the test
        print(StateUnavailable.code, flush=True)
    else:
        print("committed", flush=True)
    while True:
        try:
            with state.transaction():
                return
        except StateUnavailable:  # the server is not dialled again at once
            time.sleep(0.1)
        except Fenced as exc:
            print(exc.code, flush=True)
            return


def main(arguments: list[str]) -> None:
    """Do what the arguments say."""
    url, what, *rest = arguments
    with closing(SqlState.open(url, REGION)) as state:
        if what == "race":
            race(state, int(rest[0]))
        else:
            hold(state, pipelined=what == "pipeline")


if __name__ == "__main__":
    main(sys.argv[1:])
