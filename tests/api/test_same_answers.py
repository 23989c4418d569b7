"""The REST API and the command line tell the same: same database, same JSON; and no command is without a route."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
import typer

from syncer.cli.main import app
from syncer.state.contract.jobs import JobKind
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.api.conftest import Region
from tests.api.routes_table import API
from tests.support.jobs import wanted
from tests.support.region_database import Run, good

SAME: Final = (
    ("regions list", f"{API}/regions"),
    ("holds list", f"{API}/holds"),
    ("holds list --limit 1", f"{API}/holds?limit=1"),
    ("conflicts list", f"{API}/conflicts"),
    ("conflicts show 1", f"{API}/conflicts/1"),
    ("quarantine list", f"{API}/quarantine"),
    ("parked list", f"{API}/parked"),
    ("operations list", f"{API}/operations"),
    ("operations show 1", f"{API}/operations/1"),
    ("explain /admin/policies/quiet", f"{API}/paths/admin/policies/quiet"),
    ("explain /admin/policies/held-remote", f"{API}/paths/admin/policies/held-remote"),
    ("regions join", f"{API}/first-contact"),
    ("jobs list --limit 1", f"{API}/jobs?limit=1"),
    ("jobs show 1", f"{API}/jobs/1"),
    ("snapshot repairs", f"{API}/snapshot-syncs"),
    ("migration list", f"{API}/migrations"),
    ("balancer runs", f"{API}/move-runs"),
    ("config show", f"{API}/configuration"),
)

ROUTED: Final = {
    **{command: path for command, path in SAME if len(command.split()) == 2 and "/" not in command},
    "explain": f"{API}/paths/{{path}}",
    "conflicts show": f"{API}/conflicts/{{number}}",
    "operations show": f"{API}/operations/{{number}}",
    "status": f"{API}/status",
    "events tail": f"{API}/events",
    "operations export": f"{API}/operations",
    "holds confirm": f"{API}/holds/{{path}}",
    "holds reject": f"{API}/holds/{{path}}",
    "conflicts restore": f"{API}/conflicts/{{number}}/restore",
    "conflicts discard": f"{API}/conflicts/{{number}}/discard",
    "quarantine retry": f"{API}/quarantine/{{number}}/retry",
    "quarantine discard": f"{API}/quarantine/{{number}}/discard",
    "pause": f"{API}/pause",
    "resume": f"{API}/resume",
    "regions leave": f"{API}/leave",
    "regions forget": f"{API}/regions/{{region}}/forget",
    "regions admit": f"{API}/regions/{{region}}/admit",
    "state rebuild": f"{API}/rebuild",
    "jobs list": f"{API}/jobs",
    "jobs show": f"{API}/jobs/{{number}}",
    "jobs take": f"{API}/snapshots",
    "jobs diff": f"{API}/diffs",
    "jobs cancel": f"{API}/jobs/{{number}}",
    "snapshot take": f"{API}/snapshots",
    "snapshot diff": f"{API}/diffs",
    "snapshot sync": f"{API}/snapshot-syncs",
    "snapshot cancel": f"{API}/snapshot-syncs/{{number}}",
    "snapshot progress": f"{API}/snapshot-syncs/{{number}}",
    **{
        f"balancer {verb}": f"{API}/clusters/{{cluster}}/{what}"
        for verb, what in (
            ("load", "load"),
            ("doctor", "doctor"),
            ("advise", "advice"),
            ("drain", "drain"),
            ("compare", "comparison"),
        )
    },
    **{
        f"ledgers {verb}": f"{API}/clusters/{{cluster}}/ledgers/{what}"
        for verb, what in (
            ("audit", "audit"),
            ("explain", "explain"),
            ("what-if", "loss"),
            ("decommission", "decommission"),
            ("under-replicated", "under-replicated"),
            ("orphans", "orphans"),
        )
    },
    "ledgers history list": f"{API}/clusters/{{cluster}}/ledger-audits",
    "ledgers history show": f"{API}/clusters/{{cluster}}/ledger-audits/{{number}}",
    "ledgers history changes": f"{API}/clusters/{{cluster}}/ledger-changes",
    "balancer apply": f"{API}/move-runs",
    "balancer stop": f"{API}/move-runs/{{number}}/stop",
    "migration status": f"{API}/migrations/{{number}}",
    "migration start": f"{API}/migrations",
    **{
        f"migration {verb}": f"{API}/migrations/{{number}}/{verb}"
        for verb in ("go", "pause", "resume", "abort", "rollback", "close", "report")
    },
    "migration events": f"{API}/migrations/{{number}}/events",
}
"""By command: the route that does the same."""

FOLDER: Final = "it reads the folder by packages of Spark, which the daemon does without; jobs name what was taken"
BESIDE: Final = "it reads both clusters beside the daemon"
HOST: Final = "it is about files of this host, and needs no daemon"
EXCEPTIONS: Final = {
    "init": HOST,
    "run": "it is the daemon",
    "demo": "it has regions of its own",
    "config check": HOST,
    "context add": HOST,
    "context use": HOST,
    "context list": HOST,
    "context remove": HOST,
    "config schema": HOST,
    "scope test": "it reads the store beside the daemon",
    "topic init": "it sets up the bus, before there is a daemon",
    "notify test": "it calls webhooks from this host",
    "keys create": HOST,
    "keys show": HOST,
    "api token create": "who may do what is not decided by who may do something",
    "api token list": "as 'api token create'",
    "api token revoke": "as 'api token create'",
    "api client add": "as 'api token create'",
    "api client list": "as 'api token create'",
    "api client remove": "as 'api token create'",
    "diff": "it compares stores beside the daemon",
    "plan show": HOST,
    "plan apply": "it writes a store beside the daemon",
    "plan reverse": HOST,
    "balancer history show": "it reads a file beside the daemon",
    "balancer history export": "as 'balancer history show'",
    "backup create": HOST,
    "backup verify": HOST,
    "backup diff": HOST,
    "backup restore": "it writes a store beside the daemon",
    "snapshot list": FOLDER,
    "snapshot show": FOLDER,
    "snapshot prune": HOST,
    "snapshot remove": HOST,
    "snapshot restore": HOST,
    "snapshot reverse": HOST,
    "state check": HOST,
    "state compact": HOST,
    "migration plan": BESIDE,
    "migration preflight": BESIDE,
    "migration rehearse": "it plays clusters of its own",
    "migration prepare": BESIDE,
    "migration reverse": BESIDE,
}
"""By command: why it has no route."""


@pytest.mark.parametrize(("command", "path"), SAME, ids=[command for command, _ in SAME])
def test_both_tell_the_same(command: str, path: str, region: Region, run: Run, views: Views, state: SqlState) -> None:
    views.ask("pause", {"everywhere": "true"}, "ann", "why")
    with state.transaction() as tx:
        for tenant in ("acme", "beta"):
            tx.ask_job(wanted(JobKind.TAKE, tenants=[tenant]))
    told: dict[str, Any] = region.get(path).json()
    printed: dict[str, Any] = json.loads(good(run(*command.split(), "-o", "json")))
    assert _lasting(told) == _lasting(printed)


def _lasting(found: Any) -> Any:
    """Without ages, which go on between two looks."""
    if isinstance(found, dict):
        return {name: _lasting(each) for name, each in found.items() if not name.endswith("age_s")}
    return [_lasting(each) for each in found] if isinstance(found, list) else found


def test_every_command_has_its_route_or_a_reason(region: Region) -> None:
    commands = set(_commands())
    assert commands == ROUTED.keys() | EXCEPTIONS.keys()
    assert not ROUTED.keys() & EXCEPTIONS.keys()
    described = region.described()
    assert [route for route in ROUTED.values() if route not in described] == []


def _commands() -> list[str]:
    found: list[str] = []
    rest = [("", typer.main.get_command(app))]
    while rest:
        name, command = rest.pop()
        below = getattr(command, "commands", None)
        if below is None:
            found.append(name)
        else:
            rest += [(f"{name} {each}".strip(), child) for each, child in below.items()]
    return found
