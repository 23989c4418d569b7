"""The commands that a daemon can be asked for by REST, and those that are about this host whatever is in use."""

from __future__ import annotations

from typing import Final

ROUTED: Final = frozenset(
    {
        "balancer advise",
        "balancer apply",
        "balancer compare",
        "balancer doctor",
        "balancer drain",
        "balancer load",
        "balancer runs",
        "balancer stop",
        "config show",
        "conflicts discard",
        "conflicts list",
        "conflicts restore",
        "conflicts show",
        "events tail",
        "explain",
        "holds confirm",
        "holds list",
        "holds reject",
        "jobs cancel",
        "jobs diff",
        "jobs list",
        "jobs show",
        "jobs take",
        "migration abort",
        "migration close",
        "migration events",
        "migration go",
        "migration list",
        "migration pause",
        "migration report",
        "migration resume",
        "migration rollback",
        "migration start",
        "migration status",
        "operations export",
        "operations list",
        "operations show",
        "parked list",
        "pause",
        "quarantine discard",
        "quarantine list",
        "quarantine retry",
        "regions admit",
        "regions forget",
        "regions join",
        "regions leave",
        "regions list",
        "resume",
        "snapshot cancel",
        "snapshot progress",
        "snapshot repairs",
        "snapshot sync",
        "state rebuild",
        "status",
    }
)
"""A command that gets its route comes in here, and asks for the region by :meth:`CommandSession.region`."""

INSTEAD: Final = {"snapshot take": "jobs take", "snapshot diff": "jobs diff"}
"""By command that works where it is called: the one that asks a daemon for the same."""

HERE: Final = frozenset(
    {
        "api client add",
        "api client list",
        "api client remove",
        "api token create",
        "api token list",
        "api token revoke",
        "backup create",
        "backup diff",
        "backup verify",
        "config check",
        "config schema",
        "context add",
        "context list",
        "context remove",
        "context use",
        "demo",
        "init",
        "keys create",
        "keys show",
        "migration rehearse",
        "notify test",
        "plan reverse",
        "plan show",
        "run",
        "state check",
        "state compact",
        "topic init",
    }
)
"""A context in use does not hinder them. Others without a route are refused then: they would act on another region."""
