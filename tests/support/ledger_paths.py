"""Paths that BookKeeper and Pulsar write for ledgers, in every layout, with their kinds; and others beside them."""

from __future__ import annotations

from typing import Final

from syncer.wanted.ledgers import LedgerPathKind

KINDS: Final = {
    "/ledgers/00/0000/L0042": LedgerPathKind.LEDGER,
    "/ledgers/21/4748/L3646": LedgerPathKind.LEDGER,
    "/ledgers/000/0000/0021/4748/L3647": LedgerPathKind.LEDGER,
    "/ledgers/922/3372/0368/5477/L5807": LedgerPathKind.LEDGER,
    "/ledgers/L0000000042": LedgerPathKind.LEDGER,
    "/ledgers/L-000000001": LedgerPathKind.LEDGER,
    "/ledgers/00/0000/no-ledger": LedgerPathKind.LEDGER,
    "/ledgers/LAYOUT": LedgerPathKind.LAYOUT,
    "/ledgers/INSTANCEID": LedgerPathKind.INSTANCE,
    "/ledgers/available/host:3181": LedgerPathKind.BOOKIE,
    "/ledgers/available/readonly/host:3181": LedgerPathKind.READ_ONLY_BOOKIE,
    "/ledgers/cookies/host:3181": LedgerPathKind.COOKIE,
    "/bookies": LedgerPathKind.RACKS,
    "/ledgers/underreplication/LAYOUT": LedgerPathKind.RECOVERY_STATE,
    "/ledgers/underreplication/disable": LedgerPathKind.RECOVERY_STATE,
    "/ledgers/underreplication/lostBookieRecoveryDelay": LedgerPathKind.RECOVERY_STATE,
    "/ledgers/underreplication/checkallledgersctime": LedgerPathKind.RECOVERY_STATE,
    "/ledgers/underreplication/placementpolicycheckctime": LedgerPathKind.RECOVERY_STATE,
    "/ledgers/underreplication/replicascheckctime": LedgerPathKind.RECOVERY_STATE,
    "/ledgers/underreplication/ledgers/0000/0000/0000/002a/urL0000000042": LedgerPathKind.UNDER_REPLICATED,
    "/ledgers/underreplication/locks/urL0000000042": LedgerPathKind.LOCK,
    "/ledgers/underreplication/auditorelection": LedgerPathKind.AUDITOR,
    "/ledgers/underreplication/auditorelection/V_0000000001": LedgerPathKind.AUDITOR,
    "/ledgers/underreplication/leader": LedgerPathKind.AUDITOR,
    "/managed-ledgers/acme/orders/persistent/invoices": LedgerPathKind.MANAGED_LEDGER,
    "/managed-ledgers/acme/orders/persistent/invoices/a%2Fb": LedgerPathKind.CURSOR,
    "/managed-ledgers/acme/orders/persistent/persistent": LedgerPathKind.MANAGED_LEDGER,
    "/managed-ledgers/acme/orders/persistent/persistent/sub": LedgerPathKind.CURSOR,
    "/managed-ledgers/acme/west/orders/persistent/invoices": LedgerPathKind.MANAGED_LEDGER,
    "/managed-ledgers/acme/west/orders/persistent/invoices/sub": LedgerPathKind.CURSOR,
    "/managed-ledgers/pulsar/system/persistent/__transaction_log_0": LedgerPathKind.MANAGED_LEDGER,
    "/managed-ledgers/plain": LedgerPathKind.UNFAMILIAR,
    "/managed-ledgers/acme/orders/else": LedgerPathKind.UNFAMILIAR,
    "/schemas/acme/orders/invoices": LedgerPathKind.SCHEMA,
    "/schemas/acme/orders": LedgerPathKind.UNFAMILIAR,
}
NOT_WANTED: Final = (
    "/ledgers",
    "/ledgers/idgen",
    "/ledgers/idgen/ID-0000000001",
    "/ledgers/idgen-long/HOB-0000000001/x",
    "/ledgers/available/readonly",
    "/ledgers/00",
    "/ledgers/00/0000",
    "/ledgers/000/0000/0021/4748",
    "/ledgers/00/0000/L0042/deeper",
    "/ledgers/0000/0000/L0042",
    "/ledgers/underreplication",
    "/ledgers/underreplication/locks",
    "/ledgers-of-others/00/0000/L0042",
    "/admin/policies/acme",
    "/loadbalance/brokers/host:8080",
    "/bookies/deeper",
    "/managed-ledgers",
)
