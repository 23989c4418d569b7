"""No credential of offloading is in anything but its own store: not on the bus, in databases, files, outputs, logs."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from syncer.conflict.changeover import ABLE, NEWEST
from syncer.conflict.projection import FORMERS, PROJECTIONS
from syncer.model import MetaPath, ResourceKind
from syncer.replication.local import going_over
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import Bystander, change, changes_on, heartbeat
from tests.shell.region import Site, active, path_of, tenant
from tests.shell.test_cluster_secrets import SECRET, _invoke, fields, left

NAMESPACE: Final = ResourceKind.NAMESPACE
SPACE: Final = path_of("acme/orders")
POLICIES: Final = MetaPath("/admin/topic-policies/global/acme/orders/persistent/t")
SCOPE: Final = {"global_topic_policies": True}
CAN: Final = tuple(sorted(ABLE))
BEFORE: Final = {**NEWEST.ids, **{str(kind): formers[0].id for kind, formers in FORMERS.items()}}


def offload(bucket: str) -> dict[str, str]:
    """Policies of offloading with a secret in each place that has one."""
    return {
        "managedLedgerOffloadBucket": bucket,
        "s3ManagedLedgerOffloadCredentialId": SECRET,
        "s3ManagedLedgerOffloadCredentialSecret": SECRET,
        "gcsManagedLedgerOffloadServiceAccountKeyFile": f"/keys/{SECRET}",
        "aFieldOfANewerVersion": SECRET,
    }


def namespace(bucket: str, ttl: int) -> bytes:
    """A namespace that offloads."""
    return json.dumps({"message_ttl_in_seconds": ttl, "offload_policies": offload(bucket)}).encode()


def policies(bucket: str, ttl: int) -> bytes:
    """Topic policies that offload."""
    return json.dumps({"isGlobal": True, "messageTTLInSeconds": ttl, "offloadPolicies": offload(bucket)}).encode()


def holding(folder: Path) -> set[str]:
    """Names of files that hold the secret, but for the stores."""
    return {name for name, content in left(folder).items() if SECRET.encode() in content}


async def test_a_secret_of_offloading_is_in_nothing_but_its_own_store(
    make_site: MakeSite, bus_file: Path, tmp_path: Path
) -> None:
    sites = [make_site(name, scope=SCOPE) for name in ("east", "west")]
    east, west = sites
    for site in sites:
        site.writer.put(path_of("acme"), tenant("a"))
        site.writer.put(SPACE, namespace(site.name, 0))
        site.writer.put(POLICIES, policies(site.name, 0))
    async with east.running(), west.running():
        await active(east, west)
        east.writer.put(path_of("acme/new"), namespace("east", 5))
        await until(lambda: west.get(path_of("acme/new")), "it is carried")
        assert "offload_policies" not in fields(west, path_of("acme/new"))
        east.writer.put(SPACE, namespace("changed", 60))
        east.writer.put(POLICIES, policies("changed", 60))
        await until(lambda: fields(west, SPACE).get("message_ttl_in_seconds") == 60, "the namespace is carried")
        await until(lambda: fields(west, POLICIES).get("messageTTLInSeconds") == 60, "the topic's policies are")
        assert fields(west, SPACE) == json.loads(namespace("west", 60))
        assert fields(west, POLICIES) == json.loads(policies("west", 60))
        for number, site in enumerate(sites):
            site.writer.put(SPACE, namespace(site.name, 70 + number))  # a conflict, or nearly
        await until(lambda: fields(east, SPACE)["message_ttl_in_seconds"] > 60, "written")
        east.writer.put(path_of("acme/odd"), namespace("odd", 1)[:-9])
        await until(lambda: "value-invalid" in east.codes(), "what cannot be read is set aside")
        west.writer.delete(POLICIES)
        await until(lambda: "messageTTLInSeconds" not in fields(east, POLICIES), "the delete is carried")
        assert fields(east, POLICIES) == {"isGlobal": True, "offloadPolicies": offload("changed")}
    configs = [site.folder / "config.yaml" for site in sites]
    for site, config in zip(sites, configs, strict=True):
        config.write_text(site.dumped(), encoding="utf-8")
    west.writer.put(path_of("acme/third"), namespace("third", 3))
    commands = (
        ("backup", "create", str(tmp_path / "backup")),
        ("backup", "verify", str(tmp_path / "backup")),
        ("diff", "--with", str(configs[1]), "-o", "json"),
        ("diff", "--with", str(configs[1]), "--save", str(tmp_path / "made.plan")),
        ("plan", "show", str(tmp_path / "made.plan"), "-o", "json"),
        ("conflicts", "list", "-o", "json"),
        ("conflicts", "show", "1"),
        ("quarantine", "list", "-o", "json"),
        ("explain", SPACE, "-o", "json"),
        ("explain", POLICIES, "-o", "json"),
        ("events", "tail", "-n", "100"),
        ("status", "-o", "json"),
    )
    heard = [await anyio.to_thread.run_sync(_invoke, configs[0], command) for command in commands]
    for site in sites:
        site.writer.close()
    assert holding(tmp_path) == set()
    assert not [event.path for event in changes_on(bus_file) if SECRET.encode() in (event.value or b"")]
    assert not [said[:300] for said in heard if SECRET in said]
    assert b"acme/third" in left(tmp_path)["made.plan"]


async def test_where_all_regions_carry_the_numbers_travel_and_no_secret_does(
    make_site: MakeSite, bus_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(going_over, "RESTS_MS", 0)
    sites = [make_site(name, scope={**SCOPE, "carry_offload": True}) for name in ("east", "west")]
    east, west = sites
    part = {"managedLedgerOffloadThresholdInBytes": 5, "managedLedgerOffloadMaxThreads": 3}
    for site in sites:
        site.writer.put(path_of("acme"), tenant("a"))
        site.writer.put(SPACE, namespace(site.name, 0))
    async with east.running(), west.running():
        await active(east, west)
        new = path_of("acme/new")
        east.writer.put(new, json.dumps({"offload_policies": offload("east") | part}).encode())
        await until(
            lambda: west.get(new) and fields(west, new).get("offload_policies") == part, "the numbers alone are"
        )
        east.writer.put(SPACE, json.dumps({"offload_policies": offload("east") | part}).encode())
        await until(
            lambda: fields(west, SPACE)["offload_policies"] == offload("west") | part, "the numbers are carried"
        )
        west.writer.put(SPACE, json.dumps({"offload_policies": offload("changed")}).encode())
        await until(lambda: fields(east, SPACE)["offload_policies"] == offload("east"), "so is their removal")
    for site in sites:
        site.writer.close()
    assert holding(tmp_path) == set()
    told = [event.value or b"" for event in changes_on(bus_file)]
    assert any(b"managedLedgerOffloadThresholdInBytes" in value for value in told)
    assert not [value for value in told if SECRET.encode() in value]


def digest(site: Site) -> Any:
    with closing(sqlite3.connect(site.database)) as database:
        row = database.execute("SELECT s_digest FROM registers WHERE path = ?", [SPACE]).fetchone()
    return None if row is None else row[0]


async def test_what_a_database_held_is_gone_once_all_members_are_new(
    make_site: MakeSite, bus_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(going_over, "RESTS_MS", 0)
    east = make_site("east", scope=SCOPE, peers={"expected": ["west"]})
    east.writer.put(path_of("acme"), tenant("a"))
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        scope = east.config().compiled_scope().fingerprint
        await west.say(heartbeat(projections=BEFORE, scope=scope))
        await until(lambda: east.report().get("disagreements") == [], "it works as its member does")
        east.writer.put(SPACE, namespace("east", 60))
        await until(lambda: digest(east) == FORMERS[NAMESPACE][0].digest(namespace("east", 60)), "by that")
        await west.say(change(path_of("zeta/waits"), namespace("west", 61)))  # its tenant does not exist: it waits here
        await until(lambda: east.status().counts.due == 1, "it is known, and waits")
        east.writer.put(path_of("acme/odd"), namespace("odd", 1)[:-9])
        await until(lambda: "value-invalid" in east.codes(), "what cannot be read is set aside")
        assert "state.db" in "".join(holding(east.folder)), "the group's value was kept here"
        await west.say(heartbeat(projections=BEFORE, able=CAN, ready=CAN, scope=scope))
        await until(lambda: digest(east) == PROJECTIONS[NAMESPACE].digest(namespace("east", 60)), "it goes over")
        await until(lambda: ">" not in json.dumps(east.report().get("conditions", "")), "and arrives")
        await until(lambda: not holding(east.folder), "nothing of it is left but in the store")
        assert fields(east, SPACE) == json.loads(namespace("east", 60))
