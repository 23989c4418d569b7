"""The rows of routes."""

from __future__ import annotations

from typing import Final

from tests.hostile.cells.columns import Column
from tests.hostile.cells.rows import Row, rows_of

_OPEN: Final = (
    "It is open by choice to whoever reaches it on this host: it shows counts, causes and names of regions, no value."
)
_READS: Final = "It changes nothing: asked again it is answered again, by what is true then."

OPEN: Final = tuple(f"route GET {path}" for path in ("/livez", "/readyz", "/metrics", "/openapi.json"))
_CLUSTER: Final = "/clusters/{cluster}"
READING: Final = tuple(
    f"route GET /api/v1{path}"
    for path in (
        "/status",
        "/version",
        "/configuration",
        "/regions",
        "/first-contact",
        "/paths",
        "/paths/{path}",
        "/events",
        "/holds",
        "/holds/{path}",
        "/hold-reasons/{reason}",
        "/conflicts",
        "/conflicts/{number}",
        "/conflicts-of/{region}",
        "/quarantine",
        "/quarantine/{number}",
        "/parked",
        "/operations",
        "/operations/{number}",
        "/jobs",
        "/jobs/{number}",
        "/snapshot-syncs",
        "/snapshot-syncs/{number}",
        "/migrations",
        "/migrations/{number}",
        "/migrations/{number}/events",
        "/migrations/{number}/report",
        "/move-runs",
        "/move-runs/{number}",
        f"{_CLUSTER}/load",
        f"{_CLUSTER}/doctor",
        f"{_CLUSTER}/advice",
        f"{_CLUSTER}/advice/plan",
        f"{_CLUSTER}/drain",
        f"{_CLUSTER}/drain/plan",
        f"{_CLUSTER}/comparison",
        f"{_CLUSTER}/ledgers/audit",
        f"{_CLUSTER}/ledgers/explain",
        f"{_CLUSTER}/ledgers/loss",
        f"{_CLUSTER}/ledgers/any-loss",
        f"{_CLUSTER}/ledgers/decommission",
        f"{_CLUSTER}/ledgers/under-replicated",
        f"{_CLUSTER}/ledgers/orphans",
        f"{_CLUSTER}/ledger-audit",
        f"{_CLUSTER}/ledger-audits",
        f"{_CLUSTER}/ledger-audits/{{number}}",
        f"{_CLUSTER}/ledger-changes",
        "/streams/events",
        "/streams/jobs",
        "/streams/operations",
        "/streams/status",
    )
)
LEAVING: Final = tuple(f"route POST /api/v1/{path}" for path in ("leave", "leave-by-force"))
CHANGING: Final = (
    *(f"route DELETE /api/v1/{noun}/{{number}}" for noun in ("jobs", "snapshot-syncs")),
    *(
        f"route POST /api/v1{path}"
        for path in (
            "/first-contact",
            "/regions/{region}/admit",
            "/regions/{region}/forget",
            "/regions/{region}/forget-by-force",
            "/rebuild",
            "/pause",
            "/pause-everywhere",
            "/resume",
            "/resume-everywhere",
            "/holds/{path}",
            "/hold-reasons/{reason}",
            "/conflicts/{number}/restore",
            "/conflicts/{number}/discard",
            "/conflicts-of/{region}/discard",
            "/quarantine/{number}/retry",
            "/quarantine/{number}/discard",
            "/snapshots",
            "/snapshots-by-force",
            "/diffs",
            "/snapshot-syncs",
            "/snapshot-syncs-by-force",
            "/migrations",
            "/migrations/{number}/go",
            "/migrations/{number}/auto",
            "/migrations/{number}/pause",
            "/migrations/{number}/resume",
            "/migrations/{number}/abort",
            "/migrations/{number}/undoable",
            "/migrations/{number}/rollback",
            "/migrations/{number}/close",
            "/move-runs",
            "/move-runs/{number}/stop",
        )
    ),
)
GUARDED: Final = (*READING, *CHANGING, *LEAVING)
"""Routes that want a right."""

ROUTES: Final[tuple[Row, ...]] = (
    *rows_of(OPEN, {Column.REPLAY: _READS, Column.FORGED: _OPEN}),
    *rows_of(READING, {Column.REPLAY: _READS}),
    *rows_of(CHANGING),
    *rows_of(
        LEAVING,
        {
            Column.REPLAY: "A region that has left has nothing left to leave: the second request fails, as "
            "test_requests_with_one_key_at_once_are_one_operation_with_one_answer shows for one with a key."
        },
    ),
)
