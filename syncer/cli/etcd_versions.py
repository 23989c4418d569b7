"""Versions of the brokers whose metadata is in etcd, for ``syncer config check --connect``: 5.0 refuses that store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from syncer.admin.etcd_ending import ENDS, ETCD, ending, unsure
from syncer.admin.version_probe import BrokersTold
from syncer.cli.connecting import Attempt, dial_all
from syncer.config.admin_clients import broker_probes
from syncer.documents.configuration import DependencyDocument

if TYPE_CHECKING:
    from syncer.config import Config

_SILENT: Final = BrokersTold(trouble="the admin API does not answer")


def etcd_warnings(config: Config, dialled: Sequence[DependencyDocument], *, timeout_s: float) -> list[str]:
    """Warn where brokers are about to lose etcd, or where nobody can tell whether they are.

    Args:
        config: The configuration.
        dialled: What was found of the dependencies: an admin API that does not answer is not asked again.
        timeout_s: How long brokers are waited for.
    """
    if config.store.kind != ETCD:
        return []
    told = _asked(config, timeout_s) if all(each.ok for each in dialled if each.name == "admin") else _SILENT
    said = ending(config.store.kind, told) or unsure(config.store.kind, told)
    return [f"{said} ({ENDS})"] if said is not None else []


def _asked(config: Config, timeout_s: float) -> BrokersTold:
    found: list[BrokersTold] = []

    async def ask(_: Attempt) -> None:
        async with broker_probes(config, config.make_store()) as (_topics, versions):
            found.append(await versions.versions())

    (row,) = dial_all([Attempt("versions of the brokers", ask)], timeout_s=timeout_s)
    return found[0] if found else BrokersTold(trouble=row.cause)
