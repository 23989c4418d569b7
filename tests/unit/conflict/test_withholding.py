"""What a cluster's data let out of their store: peers and addresses, and nothing that opens a door."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any, Final

import pytest

from syncer.conflict.acts import Act, FillConflict, HoldEvent, Journal, Publish, Quarantine, RecordConflict
from syncer.conflict.completing import without_withheld
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.projection import PROJECTIONS, WITHHELD, Projection, canonical, carried, parse
from syncer.conflict.register import Intent, Register, Stored, Wish
from syncer.conflict.withholding import (
    carried_entry,
    carried_value,
    group_value,
    holds_withheld,
    reprojected,
    withheld_payload,
    withholds,
)
from syncer.model import (
    Counter,
    EventType,
    MetadataChangeEvent,
    MetaPath,
    Millis,
    ResourceKind,
    Revision,
    Stamp,
    Version,
)
from syncer.stores.contract import Entry, Put
from tests.property.strategies import NOW, TENANT
from tests.unit.conflict.test_apply import facts
from tests.unit.registers import THERE, at, moment, replica

PATH: Final = MetaPath("/admin/clusters/west")
CLUSTER: Final = PROJECTIONS[ResourceKind.CLUSTER]
FORMER: Final = Projection(
    id="cluster/1", local=frozenset({"migrated", "migratedClusterUrl"}), sets=(("peerClusterNames",),)
)
SECRET: Final = "Geheimnis"

REPLICATED: Final = {"peerClusterNames": ["north"]}
ADDRESSES: Final[dict[str, Any]] = {
    "serviceUrl": "http://west:8080",
    "serviceUrlTls": "https://west:8443",
    "brokerServiceUrl": "pulsar://west:6650",
    "brokerServiceUrlTls": "pulsar+ssl://west:6651",
    "proxyServiceUrl": "pulsar+ssl://proxy:4443",
    "proxyProtocol": "SNI",
    "listenerName": "outside",
    "brokerClientTlsEnabled": True,
}
WITHIN: Final[dict[str, Any]] = {
    "authenticationPlugin": "org.example.Plugin",
    "authenticationParameters": f"token:{SECRET}",
    "brokerClientAuthenticationPlugin": "org.example.Plugin",
    "brokerClientAuthenticationParameters": f"token:{SECRET}",
    "brokerClientTlsEnabledWithKeyStore": True,
    "brokerClientTlsTrustStoreType": "JKS",
    "brokerClientTlsTrustStore": "/etc/trust.jks",
    "brokerClientTlsTrustStorePassword": SECRET,
    "brokerClientTlsKeyStoreType": "JKS",
    "brokerClientTlsKeyStore": "/etc/key.jks",
    "brokerClientTlsKeyStorePassword": SECRET,
    "brokerClientTrustCertsFilePath": "/etc/ca.pem",
    "brokerClientKeyFilePath": "/etc/key.pem",
    "brokerClientCertificateFilePath": "/etc/cert.pem",
    "brokerClientSslFactoryPlugin": "org.example.Factory",
    "brokerClientSslFactoryPluginParams": SECRET,
    "tlsAllowInsecureConnection": True,
    "migrated": True,
    "migratedClusterUrl": {"serviceUrl": "http://green:8080"},
    "aFieldOfANewerVersion": SECRET,
}
"""With the above, every field of ``ClusterDataImpl`` of Pulsar 4.0.8, and of what may come."""


def encoded(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def whole(**changes: Any) -> bytes:
    return encoded(**{**REPLICATED, **ADDRESSES, **WITHIN, **changes})


def entry(value: bytes, revision: str = "8") -> Entry:
    return Entry(path=PATH, value=value, revision=Revision(revision), modified_at_ms=Millis(NOW))


def version(value: bytes | None, stamp: Stamp, *, kept: bool = True, by: Projection = CLUSTER) -> Version:
    counter = Counter(f"{stamp.region}~1")
    digest = None if value is None else by.digest(value)
    seen = {counter: stamp.updated_at_ms}
    return Version(stamp=stamp, by=counter, seen=seen, digest=digest, value=value if kept else None)


def stored(value: bytes, stamp: Stamp, revision: str = "7", *, by: Projection = CLUSTER) -> Stored:
    held = version(value, stamp, by=by)
    return Stored(stamp=stamp, by=held.by, seen=held.seen, digest=held.digest, revision=Revision(revision))


def settled(value: bytes, stamp: Stamp, *, by: Projection = CLUSTER) -> Register:
    return Register(path=PATH, known=version(value, stamp, kept=False, by=by), stored=stored(value, stamp, by=by))


def event(value: bytes | None, stamp: Stamp) -> MetadataChangeEvent:
    told = version(value, stamp)
    return MetadataChangeEvent(
        type=EventType.MODIFIED if value is not None else EventType.DELETED,
        resource=ResourceKind.CLUSTER,
        resource_name="west",
        path=PATH,
        value=value,
        stamp=stamp,
        by=told.by,
        seen=told.seen,
    )


def clean(*acts: Act) -> None:
    """Nothing that is stored or sent has a secret."""
    for act in acts:
        match act:
            case Publish(event=told) | HoldEvent(event=told):
                assert SECRET.encode() not in (told.value or b"")
            case RecordConflict(value=value) | Quarantine(value=value) | FillConflict(value=value):
                assert SECRET.encode() not in (value or b"")
            case Journal(detail=detail):
                assert SECRET not in detail


# -- the value


def test_what_is_carried_is_what_is_replicated_and_the_addresses() -> None:
    assert parse(CLUSTER.carried(whole())) == {**REPLICATED, **ADDRESSES}
    assert CLUSTER.project(whole()) == REPLICATED
    assert CLUSTER.carried(whole()) == canonical({**REPLICATED, **ADDRESSES})
    assert CLUSTER.digest(CLUSTER.carried(whole())) == CLUSTER.digest(whole())


def test_a_new_cluster_gets_the_addresses_and_an_old_one_keeps_its_own_fields() -> None:
    assert parse(CLUSTER.overlay(whole(), None)) == {**REPLICATED, **ADDRESSES}
    own = {**ADDRESSES, **WITHIN, "serviceUrl": "http://mine:1"}
    assert parse(CLUSTER.overlay(whole(peerClusterNames=["x"]), encoded(**own))) == {"peerClusterNames": ["x"], **own}


def test_an_address_with_a_login_stays() -> None:
    value = encoded(serviceUrl=f"http://me:{SECRET}@west:8080", brokerServiceUrl="pulsar://west:6650")
    assert parse(CLUSTER.carried(value)) == {"brokerServiceUrl": "pulsar://west:6650"}


@pytest.mark.parametrize("value", [b"", b"{", b"[]", SECRET.encode(), b'{"peerClusterNames":["\\ud800"]}'])
def test_what_cannot_be_read_stays_whole(value: bytes) -> None:
    assert CLUSTER.carried(value) == WITHHELD


def test_other_kinds_have_no_secrets() -> None:
    policies = MetaPath("/admin/clusters/west/namespaceIsolationPolicies")
    for path in (TENANT, policies, MetaPath("/admin/clusters")):
        assert not withholds(path)
        assert carried_value(path, b"{ }") == b"{ }"
    assert withholds(PATH)
    assert carried(ResourceKind.TENANT, b"{ }") == b"{ }"
    for present in (None, replace(entry(b""), path=PATH), replace(entry(b"x"), path=TENANT)):
        assert carried_entry(present.path if present else PATH, present) is present


# -- observing


def test_a_local_change_leaves_without_its_secrets() -> None:
    for before in (Register(path=PATH), settled(encoded(peerClusterNames=["old"]), at(-9))):
        outcome = replica().observe(before, entry(whole()), moment())
        clean(*outcome.acts)
        (told,) = [act.event for act in outcome.acts if isinstance(act, Publish)]
        assert parse(told.value or b"") == {**REPLICATED, **ADDRESSES}


def test_a_baseline_leaves_without_its_secrets() -> None:
    outcome = replica().observe(Register(path=PATH), entry(whole()), moment(first_scan_done=False))
    clean(*outcome.acts)
    assert outcome.register.known is not None


def test_a_secret_that_changes_is_no_change() -> None:
    before = settled(whole(), at(-9))
    outcome = replica().observe(before, entry(whole(authenticationParameters="another")), moment())
    assert outcome.acts == ()
    assert outcome.register.stored is not None
    assert outcome.register.stored.revision == "8"


def test_an_edit_that_may_not_leave_is_kept_without_its_secrets() -> None:
    before = settled(encoded(peerClusterNames=["old"]), at(-9))
    outcome = replica().observe(before, entry(whole()), moment(), publishes=False)
    clean(*outcome.acts)
    assert [act.reason for act in outcome.acts if isinstance(act, RecordConflict)] == ["drift"]


def test_a_value_that_cannot_be_read_is_set_aside_without_it() -> None:
    outcome = replica().observe(settled(whole(), at(-9)), entry(f'{{"{SECRET}'.encode()), moment())
    clean(*outcome.acts)
    assert [act.value for act in outcome.acts if isinstance(act, Quarantine)] == [WITHHELD]


# -- folding and seating


def test_what_a_member_of_the_former_projection_tells_is_taken_without_its_secrets() -> None:
    outcome = replica().fold(Register(path=PATH), event(whole(), at(-5, THERE)), Millis(NOW))
    clean(*outcome.acts)
    assert outcome.register.known is not None
    assert SECRET.encode() not in (outcome.register.known.value or b"")
    ahead = replica().fold(Register(path=PATH), event(whole(), at(99_000_000, THERE)), Millis(NOW))
    assert [type(act) for act in ahead.acts] == [HoldEvent, Journal]
    clean(*ahead.acts)


def test_a_loser_is_kept_without_its_secrets_and_the_store_keeps_them() -> None:
    before = settled(whole(), at(-9))
    met = replica().fold(before, event(encoded(peerClusterNames=["other"]), at(-5, THERE)), Millis(NOW))
    clean(*met.acts)
    outcome = replica().apply_due(met.register, entry(whole(), "7"), facts(), "batch")
    clean(*outcome.acts)
    assert any(isinstance(act, FillConflict) for act in outcome.acts)
    assert isinstance(outcome.write, Put)
    assert parse(outcome.write.value) == {"peerClusterNames": ["other"], **ADDRESSES, **WITHIN}


def test_what_is_asserted_or_restored_is_told_without_its_secrets() -> None:
    known = version(encoded(peerClusterNames=["other"]), at(-1, THERE))
    asserting = replace(settled(whole(), at(-9)), known=known, wish=Wish.REASSERT)
    outcome = replica().apply_due(asserting, entry(whole(), "7"), facts(), "batch")
    clean(*outcome.acts)
    restored = replica().restore(settled(whole(), at(-9)), whole(peerClusterNames=["again"]), {}, Millis(NOW))
    clean(*restored.acts)
    assert restored.register.known is not None
    assert parse(restored.register.known.value or b"") == {"peerClusterNames": ["again"], **ADDRESSES}


# -- a database of the former projection


def test_a_digest_of_the_former_projection_is_made_anew_and_that_is_no_change() -> None:
    before = settled(whole(), at(-9), by=FORMER)
    outcome = replica().observe(before, entry(whole(), "7"), moment())
    assert [type(act) for act in outcome.acts] == [FillConflict]
    clean(*outcome.acts)
    after = outcome.register
    assert after.known is not None
    assert after.stored is not None
    assert after.known.digest == after.stored.digest == CLUSTER.digest(whole())
    assert not after.due
    assert replica().observe(after, entry(whole(), "7"), moment()).acts == ()


@pytest.mark.parametrize("kept", [True, False])
def test_what_waits_to_be_written_is_made_anew_too_where_its_value_is_known(kept: bool) -> None:
    other = whole(peerClusterNames=["other"])
    before = replace(settled(whole(), at(-9), by=FORMER), known=version(other, at(-5, THERE), kept=kept, by=FORMER))
    after = replica().observe(before, entry(whole(), "7"), moment()).register
    assert after.known is not None
    assert after.known.digest == (CLUSTER if kept else FORMER).digest(other)


def test_only_a_living_value_of_a_cluster_is_looked_at() -> None:
    dead = Register(path=PATH, stored=replace(stored(whole(), at(-9)), digest=None))
    for register, found in (
        (Register(path=PATH), entry(whole())),
        (dead, entry(whole(), "7")),
        (settled(whole(), at(-9)), entry(b"", "7")),
        (replace(settled(whole(), at(-9)), path=TENANT), replace(entry(whole(), "7"), path=TENANT)),
    ):
        assert reprojected(register, found).register is register


def test_an_unknown_value_whose_digest_is_made_anew_stays_unknown() -> None:
    before = replace(settled(whole(), at(-9), by=FORMER), known=None)
    after = replica().observe(before, entry(whole(), "7"), moment(), publishes=False).register
    assert after.known is None


# -- policies of offloading, which stay in their store whole

NAMESPACE: Final = MetaPath("/admin/policies/acme/orders")
TOPIC: Final = MetaPath("/admin/topic-policies/global/persistent/acme/orders/t")
OFFLOADED: Final = json.dumps(
    {"message_ttl_in_seconds": 1, "offload_policies": {"s3ManagedLedgerOffloadCredentialSecret": SECRET}}
).encode()
LEFT: Final = b'{"message_ttl_in_seconds":1}'


def test_what_the_group_may_have_is_without_what_is_withheld() -> None:
    assert group_value(NAMESPACE, OFFLOADED) == LEFT
    assert group_value(NAMESPACE, None) is None
    assert group_value(MetaPath("/elsewhere"), OFFLOADED) == OFFLOADED
    alone = json.dumps({"isGlobal": True, "offloadPolicies": {"x": SECRET}}).encode()
    assert group_value(TOPIC, alone) is None, "topic policies with nothing else are none of the group"


@pytest.mark.parametrize("text", [OFFLOADED, base64.b64encode(OFFLOADED), b'{"offload\\u005fpolicies":1}'])
def test_a_withheld_field_is_found_in_plain_text_in_base64_and_escaped(text: bytes) -> None:
    assert holds_withheld(text)
    assert not holds_withheld(LEFT)
    assert not holds_withheld(base64.b64encode(LEFT))


def test_of_what_could_not_be_handled_is_kept_what_the_group_may_have_or_nothing() -> None:
    assert withheld_payload(NAMESPACE, LEFT) == LEFT
    assert withheld_payload(NAMESPACE, OFFLOADED) == LEFT
    assert withheld_payload(None, OFFLOADED) == WITHHELD
    assert withheld_payload(NAMESPACE, OFFLOADED[:-5]) == WITHHELD


def test_a_register_is_kept_without_what_is_withheld_and_is_the_same_where_it_has_none() -> None:
    kept = KeptFields(store={"offload_policies": 1, "x": 2}, gone={"offload_policies": 1}, owed={"y": 3})
    clean = KeptFields(store={"x": 2}, owed={"y": 3})
    register = Register(
        path=NAMESPACE,
        known=version(OFFLOADED, at(0, THERE)),
        kept=kept,
        intent=Intent(batch="b", version=version(LEFT, at(0, THERE)), expected=None, kept=kept),
    )
    left = without_withheld(register)
    assert left.known is not None
    assert left.known.value == LEFT
    assert left.kept == clean
    assert left.intent is not None
    assert left.intent.kept == clean
    assert without_withheld(left) is left
    elsewhere = Register(path=MetaPath("/elsewhere"), kept=kept)
    assert without_withheld(elsewhere) is elsewhere
    unknown = Register(path=NAMESPACE)
    assert without_withheld(unknown) is unknown
