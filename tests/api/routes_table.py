"""Every route of a region: who may ask it, and a request that is good as far as its form goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

READ, OPERATE, ADMIN, VALUES = "read", "operate", "admin", "read with values"


@dataclass(frozen=True)
class RouteRow:
    """A route.

    Args:
        method: Of HTTP.
        template: Of its path, as the description has it.
        needs: Least rights.
        good: The status of a request by somebody who has them, without If-Match.
        path: An example; the template itself if not given.
        body: Of the example.
    """

    method: str
    template: str
    needs: str
    good: int = 200
    path: str = ""
    body: dict[str, Any] | None = field(default=None, hash=False)

    @property
    def route(self) -> str:
        """The template as the router has it."""
        return self.template.replace("{path}", "{path:path}")

    @property
    def asked(self) -> str:
        """The method of a request that is good: of a stream, which has no end, its head."""
        return "HEAD" if self.template.startswith(f"{API}/streams/") else self.method

    @property
    def example(self) -> str:
        return self.path or self.template


WHY: Final = {"reason": "TICKET-7"}
HELD: Final = "admin/policies/held-remote"
API: Final = "/api/v1"

ROUTES: Final = (
    RouteRow("GET", f"{API}/status", READ),
    RouteRow("GET", f"{API}/regions", READ),
    RouteRow("GET", f"{API}/first-contact", READ),
    RouteRow("POST", f"{API}/first-contact", ADMIN, 428, body=WHY),
    RouteRow("POST", f"{API}/leave", ADMIN, 202, body=WHY),
    RouteRow("POST", f"{API}/leave-by-force", ADMIN, 202, body=WHY),
    RouteRow("POST", f"{API}/regions/{{region}}/forget", ADMIN, 202, f"{API}/regions/there/forget", WHY),
    RouteRow(
        "POST", f"{API}/regions/{{region}}/forget-by-force", ADMIN, 202, f"{API}/regions/there/forget-by-force", WHY
    ),
    RouteRow("POST", f"{API}/regions/{{region}}/admit", ADMIN, 202, f"{API}/regions/there/admit", WHY),
    RouteRow("POST", f"{API}/rebuild", ADMIN, 202, body={**WHY, "without": ["there"]}),
    RouteRow("POST", f"{API}/pause", OPERATE, 202, body=WHY),
    RouteRow("POST", f"{API}/pause-everywhere", ADMIN, 202, body=WHY),
    RouteRow("POST", f"{API}/resume", OPERATE, 202, body=WHY),
    RouteRow("POST", f"{API}/resume-everywhere", ADMIN, 202, body=WHY),
    RouteRow("GET", f"{API}/paths", READ),
    RouteRow("GET", f"{API}/paths/{{path}}", VALUES, path=f"{API}/paths/admin/policies/quiet"),
    RouteRow("GET", f"{API}/events", READ),
    RouteRow("GET", f"{API}/holds", READ),
    RouteRow("GET", f"{API}/holds/{{path}}", READ, path=f"{API}/holds/{HELD}"),
    RouteRow("POST", f"{API}/holds/{{path}}", OPERATE, 428, f"{API}/holds/{HELD}", body={**WHY, "decision": "confirm"}),
    RouteRow("GET", f"{API}/hold-reasons/{{reason}}", READ, path=f"{API}/hold-reasons/first-contact"),
    RouteRow(
        "POST",
        f"{API}/hold-reasons/{{reason}}",
        OPERATE,
        428,
        f"{API}/hold-reasons/first-contact",
        body={**WHY, "decision": "reject"},
    ),
    RouteRow("GET", f"{API}/conflicts", READ),
    RouteRow("GET", f"{API}/conflicts/{{number}}", READ, path=f"{API}/conflicts/1"),
    RouteRow("POST", f"{API}/conflicts/{{number}}/restore", OPERATE, 428, f"{API}/conflicts/1/restore", WHY),
    RouteRow("POST", f"{API}/conflicts/{{number}}/discard", OPERATE, 428, f"{API}/conflicts/1/discard", WHY),
    RouteRow("GET", f"{API}/conflicts-of/{{region}}", READ, path=f"{API}/conflicts-of/here"),
    RouteRow("POST", f"{API}/conflicts-of/{{region}}/discard", OPERATE, 428, f"{API}/conflicts-of/here/discard", WHY),
    RouteRow("GET", f"{API}/quarantine", READ),
    RouteRow("GET", f"{API}/quarantine/{{number}}", READ, path=f"{API}/quarantine/1"),
    RouteRow("POST", f"{API}/quarantine/{{number}}/retry", OPERATE, 428, f"{API}/quarantine/1/retry", WHY),
    RouteRow("POST", f"{API}/quarantine/{{number}}/discard", OPERATE, 428, f"{API}/quarantine/1/discard", WHY),
    RouteRow("GET", f"{API}/parked", READ),
    RouteRow("GET", f"{API}/operations", READ),
    RouteRow("GET", f"{API}/operations/{{number}}", READ, 404, f"{API}/operations/1"),
    RouteRow("GET", f"{API}/jobs", READ),
    RouteRow("GET", f"{API}/jobs/{{number}}", READ, 404, f"{API}/jobs/1"),
    RouteRow("DELETE", f"{API}/jobs/{{number}}", OPERATE, 404, f"{API}/jobs/1?reason=TICKET-7"),
    RouteRow("POST", f"{API}/snapshots", OPERATE, 202, body={**WHY, "tenants": ["acme"]}),
    RouteRow("POST", f"{API}/snapshots-by-force", ADMIN, 202, body={**WHY, "accept_shrunken": True}),
    RouteRow("POST", f"{API}/diffs", OPERATE, 202, body={**WHY, "snapshots": ["here", "there"]}),
    RouteRow("GET", f"{API}/snapshot-syncs", READ),
    RouteRow("GET", f"{API}/snapshot-syncs/{{number}}", READ, 404, f"{API}/snapshot-syncs/1"),
    RouteRow("POST", f"{API}/snapshot-syncs", OPERATE, 422, f"{API}/snapshot-syncs?reason=TICKET-7"),
    RouteRow("POST", f"{API}/snapshot-syncs-by-force", ADMIN, 422, f"{API}/snapshot-syncs-by-force?reason=TICKET-7"),
    RouteRow("DELETE", f"{API}/snapshot-syncs/{{number}}", OPERATE, 404, f"{API}/snapshot-syncs/1?reason=TICKET-7"),
    RouteRow("GET", f"{API}/migrations", READ),
    RouteRow("GET", f"{API}/migrations/{{number}}", READ, 404, f"{API}/migrations/1"),
    RouteRow("GET", f"{API}/migrations/{{number}}/events", READ, 404, f"{API}/migrations/1/events"),
    RouteRow("GET", f"{API}/migrations/{{number}}/report", READ, 404, f"{API}/migrations/1/report"),
    RouteRow("POST", f"{API}/migrations", OPERATE, 422, f"{API}/migrations?reason=TICKET-7&sha256={'0' * 64}"),
    RouteRow("POST", f"{API}/migrations/{{number}}/go", ADMIN, 428, f"{API}/migrations/1/go", WHY),
    RouteRow("POST", f"{API}/migrations/{{number}}/auto", ADMIN, 428, f"{API}/migrations/1/auto", WHY),
    RouteRow("POST", f"{API}/migrations/{{number}}/pause", OPERATE, 404, f"{API}/migrations/1/pause", WHY),
    RouteRow("POST", f"{API}/migrations/{{number}}/resume", OPERATE, 428, f"{API}/migrations/1/resume", WHY),
    RouteRow("POST", f"{API}/migrations/{{number}}/abort", OPERATE, 428, f"{API}/migrations/1/abort", WHY),
    RouteRow("POST", f"{API}/migrations/{{number}}/undoable", OPERATE, 404, f"{API}/migrations/1/undoable", WHY),
    RouteRow("POST", f"{API}/migrations/{{number}}/rollback", ADMIN, 428, f"{API}/migrations/1/rollback", WHY),
    RouteRow("POST", f"{API}/migrations/{{number}}/close", ADMIN, 428, f"{API}/migrations/1/close", WHY),
    RouteRow("GET", f"{API}/move-runs", READ),
    RouteRow("GET", f"{API}/move-runs/{{number}}", READ, 404, f"{API}/move-runs/1"),
    RouteRow("POST", f"{API}/move-runs", OPERATE, 422, f"{API}/move-runs?reason=TICKET-7"),
    RouteRow("POST", f"{API}/move-runs/{{number}}/stop", OPERATE, 412, f"{API}/move-runs/1/stop", WHY),
    *(
        RouteRow("GET", f"{API}/clusters/{{cluster}}/{what}", READ, 404, f"{API}/clusters/nope/{what}{query}")
        for what, query in (
            ("load", ""),
            ("doctor", ""),
            ("advice", ""),
            ("advice/plan", ""),
            ("drain", "?broker=b:1"),
            ("drain/plan", "?broker=b:1"),
            ("comparison", ""),
            ("ledgers/audit", ""),
            ("ledgers/explain", "?what=1"),
            ("ledgers/loss", "?bookie=b:1"),
            ("ledgers/any-loss", "?size=2"),
            ("ledgers/decommission", "?bookie=b:1"),
            ("ledgers/under-replicated", ""),
            ("ledgers/orphans", ""),
            ("ledger-audits", ""),
            ("ledger-audit", ""),
            ("ledger-changes", ""),
        )
    ),
    RouteRow(
        "GET",
        f"{API}/clusters/{{cluster}}/ledger-audits/{{number}}",
        READ,
        404,
        f"{API}/clusters/nope/ledger-audits/1",
    ),
    RouteRow("GET", f"{API}/configuration", ADMIN),
    RouteRow("GET", f"{API}/version", READ),
    RouteRow("GET", f"{API}/streams/status", READ),
    RouteRow("GET", f"{API}/streams/events", READ),
    RouteRow("GET", f"{API}/streams/operations", READ),
    RouteRow("GET", f"{API}/streams/jobs", READ),
)
