"""``/api/v1/streams``: the status, events, operations and jobs as they change, by server-sent events."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Query, Request

from api.admission import ANYBODY, Admission, Opening, Reader, needs
from api.documents import READING
from api.inside import RegionInside
from api.shared_status import SharedStatus
from api.streams.hub import Hub
from api.streams.log_hub import LogHub
from api.streams.places import Streams
from api.streams.response import EventStream
from api.streams.sources import EventSource, JobSource, OperationSource
from api.streams.status_hub import StatusHub
from syncer.access.roles import AccessRole, Caller
from syncer.inspection.jobs import places_of

LastEventId = Annotated[
    str, Header(alias="Last-Event-ID", max_length=1_000, description="Id of the last event that was got: go on behind.")
]
After = Annotated[
    int | None,
    Query(ge=0, le=2**63 - 1, description="Without Last-Event-ID: go on behind this number, as a list gives it."),
]
FOLLOWING: Final[dict[int | str, dict[str, Any]]] = {
    **READING,
    200: {"description": "Events; see 'Streams' in the reference of HTTP for 'gap' and 'end'."},
    429: {**READING[429], "description": "Too many streams of this client, or requests without a good credential."},
}
StatusReader = Annotated[Caller, Depends(needs(AccessRole.READ, opening=Opening.STATUS))]


def router(shared: SharedStatus, inside: RegionInside, streams: Streams) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1/streams", tags=["streams"], default_response_class=EventStream)
    pace = streams.pace
    of_status = StatusHub("status", shared, pace)
    of_events = LogHub("events", EventSource(), inside, pace)
    of_operations = LogHub("operations", OperationSource(), inside, pace)
    of_jobs = LogHub("jobs", JobSource(lambda: places_of(inside.config)), inside, pace)

    def stream(hub: Hub, caller: Caller, request: Request, last: str, opening: Opening | None = None) -> EventStream:
        admission: Admission = request.app.state.admission
        return EventStream(
            hub,
            streams,
            client=caller.credential if caller.credential != ANYBODY else caller.origin,
            last_event_id=last,
            recheck=lambda: admission.recheck(request, AccessRole.READ, opening=opening),
        )

    @routes.get("/status", status_code=200, responses=FOLLOWING)
    async def status(caller: StatusReader, request: Request, last: LastEventId = "") -> EventStream:
        """Events 'status': the document of /api/v1/status, as it is and whenever more than an age in it changes."""
        return stream(of_status, caller, request, last, Opening.STATUS)

    @routes.get("/events", status_code=200, responses=FOLLOWING)
    async def events(caller: Reader, request: Request, last: LastEventId = "", after: After = None) -> EventStream:
        """Events 'event': items of /api/v1/events, as they are decided."""
        return stream(of_events, caller, request, _behind(last, after))

    @routes.get("/operations", status_code=200, responses=FOLLOWING)
    async def operations(caller: Reader, request: Request, last: LastEventId = "", after: After = None) -> EventStream:
        """Events 'operation': items of /api/v1/operations, as they are asked for, and as they are answered."""
        return stream(of_operations, caller, request, _behind(last, after))

    @routes.get("/jobs", status_code=200, responses=FOLLOWING)
    async def jobs(caller: Reader, request: Request, last: LastEventId = "", after: After = None) -> EventStream:
        """Events 'job': jobs without stored values, as they are queued, begun, to be cancelled, and over."""
        return stream(of_jobs, caller, request, _behind(last, after))

    return routes


def _behind(last: str, after: int | None) -> str:
    return last or ("" if after is None else str(after))
