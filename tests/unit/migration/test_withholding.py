"""What records and answers of a migration show of its calls: no credential, whatever call has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from syncer.admin.calls import AdminCalls
from syncer.cli.render.migration_rehearsal import preparation_document
from syncer.conflict.fields.offloading import CARRIED, STAYS
from syncer.migration.preparing.step import Preparation, PreparationKind, PreparationStep
from syncer.migration.running.clock import WallClock
from syncer.migration.running.control.calls import RecordedCalls
from syncer.migration.withholding import shown_body
from tests.property.test_credentials import LEAVING, Place, planted
from tests.unit.migration.test_migration_plan import plan

SECRET: Final = "Geheimnis"
NAMESPACE: Final = "/admin/v2/namespaces/acme/orders"
OFFLOAD: Final[dict[str, Any]] = {
    **dict.fromkeys(STAYS, SECRET),
    **dict.fromkeys(CARRIED, SECRET),
    "managedLedgerOffloadThresholdInBytes": 5,
    "managedLedgerOffloadBucket": None,
    "aFieldOfANewerVersion": {"x": SECRET},
}
CALLS: Final = [
    (NAMESPACE, {"message_ttl_in_seconds": 5, "offload_policies": OFFLOAD}),
    (f"{NAMESPACE}/offloadPolicies", OFFLOAD),
    ("/admin/v2/persistent/acme/orders/t/offloadPolicies?applied=false", OFFLOAD),
    (f"{NAMESPACE}/offloadPolicies", [SECRET]),
    ("/admin/v2/clusters/west", {"serviceUrl": f"http://me:{SECRET}@west:8080", "authenticationParameters": SECRET}),
    ("/admin/v2/clusters/west", {"below": [{"brokerClientTlsKeyStorePassword": SECRET}]}),
]


@pytest.mark.parametrize(("path", "body"), CALLS, ids=range(len(CALLS)))
def test_no_credential_is_shown(path: str, body: Any) -> None:
    assert SECRET not in repr(shown_body(path, body))


@pytest.mark.parametrize(("kind", "place"), LEAVING, ids=str)
def test_no_field_of_any_kind_that_looks_like_a_credential_is_shown(kind: str, place: Place) -> None:
    del kind
    assert SECRET not in repr(shown_body(NAMESPACE, planted(place)))


def test_all_else_is_shown_as_it_is() -> None:
    body = {
        "message_ttl_in_seconds": 5,
        "properties": {"a": "b"},
        "replication_clusters": ["a"],
        "auth_policies": {},
        "allowed_topic_property_keys_for_metrics": ["a"],
    }
    assert shown_body(NAMESPACE, body) == body
    assert shown_body(f"{NAMESPACE}/messageTTL", 5) == 5
    assert shown_body(f"{NAMESPACE}/messageTTL", None) is None
    assert shown_body(f"{NAMESPACE}/offloadPolicies", None) is None
    shown = shown_body(NAMESPACE, {"offload_policies": OFFLOAD, "schemaPassword": None})
    assert shown["schemaPassword"] is None
    assert shown["offload_policies"].keys() == OFFLOAD.keys()
    assert shown["offload_policies"]["managedLedgerOffloadThresholdInBytes"] == 5
    assert shown["offload_policies"]["managedLedgerOffloadBucket"] is None
    assert shown["offload_policies"]["managedLedgerOffloadDriver"] == "withheld"


@dataclass
class Taking(AdminCalls):
    """An API that takes whatever is asked for."""

    asked: list[object] = field(default_factory=list)

    async def get(self, path: str) -> Any:
        raise NotImplementedError(path)

    async def send(self, method: str, path: str, body: object = None) -> None:
        self.asked.append((method, path, body))

    def at(self, broker: str) -> Taking:
        raise NotImplementedError(broker)


async def test_green_gets_the_credentials_and_the_record_does_not() -> None:
    calls = Taking()

    async def nothing() -> None:
        """No broker is in trouble."""

    recorded = RecordedCalls(calls, WallClock(), nothing)
    for path, body in CALLS:
        await recorded.send("PUT", path, body)
    assert calls.asked == [("PUT", path, body) for path, body in CALLS]
    rows = recorded.taken()
    assert [row["answer"] for row in rows] == ["done"] * len(CALLS)
    assert SECRET not in repr(rows)


def test_the_steps_that_are_shown_have_none() -> None:
    steps = tuple(
        PreparationStep(
            kind=PreparationKind.POLICY, subject="x", method="PUT", path=path, body=body, why="blue has it so"
        )
        for path, body in CALLS
    )
    assert SECRET not in preparation_document(plan(), Preparation(steps=steps, unprepared=())).model_dump_json()
