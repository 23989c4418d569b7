"""Backups: whole or not there, readable, stable, and never used when a single byte of them is not as it was."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from syncer.backup.layout import MANIFEST, Manifest, ScopeRule, file_of
from syncer.backup.reading import Backup, Fault
from syncer.backup.side import BackupSide
from syncer.backup.taking import take_backup
from syncer.backup.writing import drafted
from syncer.conflict.classes.telling import NOTED_CHARACTERS, RULES_NOTED
from syncer.conflict.scope import Rule, Scope
from syncer.conflict.settings import Direction
from syncer.errors import BackupDamaged, BackupInvalid, InvariantBroken, PreconditionFailed, StoreUnavailable
from syncer.model import MetaPath, Region
from syncer.planning.sources import LiveSide
from syncer.stores.sqlite import SqliteConfig, SqliteStore
from tests.support.planning import NOW, contents, fill, plan_between, resources, value

EAST = Region("east")
TENANT = MetaPath("/admin/policies/acme")
TOPICS_FILE = "tenants/acme/partitioned-topics.json"
ODD = {
    MetaPath("/admin/policies/raw"): b"\xff\xfe no json",
    MetaPath("/admin/policies/scalar"): b"17",
    MetaPath("/admin/policies/big"): b'{"n":123456789012345678901234567890,"f":1e5}',
    MetaPath("/admin/policies/lines"): json.dumps({"a": "x\u2028y\x85z\r\n  },\n"}, ensure_ascii=False).encode(),
    MetaPath("/admin/policies/.hidden"): value(adminRoles=[]),
    MetaPath("/admin/policies/ä ü"): value(adminRoles=["é"]),
    MetaPath("/admin/policies/" + "long" * 60): value(adminRoles=[]),
    MetaPath("/admin/resourcegroups/gold"): value(publishRateInMsgs=1),
}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(SqliteConfig(path=tmp_path / "east.db"))
    await store.open()
    await fill(store, resources("acme", topics=3) | ODD)
    yield store
    await store.close()


@pytest.fixture
def side(store: SqliteStore) -> LiveSide:
    return LiveSide(store, EAST, Scope())


@pytest.fixture
async def saved(side: LiveSide, tmp_path: Path) -> Path:
    return await taken(side, tmp_path / "backup")


async def taken(side: LiveSide, target: Path) -> Path:
    await take_backup(side, target, clusters=("pulsar-east",), now=NOW, made_by="test")
    return target


def files(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


@pytest.mark.anyio
async def test_a_backup_differs_from_its_region_in_nothing(side: LiveSide, saved: Path) -> None:
    backup = Backup(saved)
    assert backup.verify() == ()
    there = BackupSide(backup)
    assert (await there.picture()) == (await side.picture())
    plan = await plan_between(side, there, deletes=True)
    assert (plan.operations, plan.left) == ((), ())
    assert there.name == "backup of region east, taken 2023-11-14 22:13:20Z"
    raw = [path for path, stored in ODD.items() if stored in {b"17", b"\xff\xfe no json"}]
    assert await there.values(raw) == {path: ODD[path] for path in raw}, "what is no document survives byte for byte"


@pytest.mark.anyio
async def test_the_same_state_gives_the_same_files(side: LiveSide, saved: Path, tmp_path: Path) -> None:
    assert files(await taken(side, tmp_path / "again")) == files(saved)


@pytest.mark.anyio
async def test_a_file_reads_well_and_its_number_follows_the_tenants(saved: Path) -> None:
    names = files(saved).keys()
    assert {name for name in names if name.startswith("tenants/acme/")} == {
        "tenants/acme/tenant.json",
        "tenants/acme/namespaces.json",
        TOPICS_FILE,
    }
    assert {"resource-groups.json", "tenants/%2Ehidden/tenant.json", "tenants/%C3%A4%20%C3%BC/tenant.json"} <= names
    text = (saved / TOPICS_FILE).read_text(encoding="utf-8")
    assert text.splitlines()[:7] == [
        "[",
        "  {",
        '    "name": "persistent://acme/orders/topic-00000",',
        '    "path": "/admin/partitioned-topics/acme/orders/persistent/topic-00000",',
        '    "value": {',
        '      "partitions": 4',
        "    }",
    ]
    assert [each["name"] for each in json.loads(text)] == [
        f"persistent://acme/orders/topic-0000{number}" for number in range(3)
    ]
    manifest = Backup(saved).manifest
    assert manifest.resources == {"namespace": 2, "partitioned-topic": 3, "resource-group": 1, "tenant": 8}
    assert (manifest.region, manifest.clusters, manifest.made_by) == ("east", ("pulsar-east",), "test")


@pytest.mark.anyio
async def test_one_that_exists_is_never_touched(side: LiveSide, saved: Path, tmp_path: Path) -> None:
    before = files(saved)
    with pytest.raises(PreconditionFailed, match="exists; it is left as it is"):
        await taken(side, saved)
    assert files(saved) == before
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(PreconditionFailed, match="exists"):
        await taken(side, tmp_path / "dangling")


@pytest.mark.anyio
async def test_a_backup_that_fails_leaves_nothing(store: SqliteStore, tmp_path: Path) -> None:
    class Breaking(LiveSide):
        async def pages(self) -> AsyncIterator[list[tuple[MetaPath, bytes]]]:
            yield [(TENANT, b"{}")]
            raise StoreUnavailable("gone")

    before = sorted(tmp_path.iterdir())
    with pytest.raises(StoreUnavailable):
        await taken(Breaking(store, EAST, Scope()), tmp_path / "half")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.anyio
async def test_somebody_who_was_quicker_wins(side: LiveSide, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    with drafted(target) as draft:
        draft.add([(TENANT, b"{}")])
        target.mkdir()
        with pytest.raises(PreconditionFailed, match="exists"):
            draft.publish(region="east", clusters=(), taken_at_ms=NOW, made_by="test", scope=Scope())
    assert list(target.iterdir()) == []


@pytest.mark.anyio
async def test_a_place_that_cannot_be_written(side: LiveSide, tmp_path: Path) -> None:
    with pytest.raises(PreconditionFailed, match="cannot be written"):
        await taken(side, tmp_path / "absent" / "backup")


@pytest.mark.anyio
async def test_a_child_is_never_there_without_its_parent(store: SqliteStore, tmp_path: Path) -> None:
    """The scan passes by before a tenant is made, and meets its namespace; another namespace is gone by the end."""

    class Passing(LiveSide):
        async def pages(self) -> AsyncIterator[list[tuple[MetaPath, bytes]]]:
            gone = MetaPath("/admin/policies/gone/away")
            yield [*((path, stored) for path, stored in resources("acme", topics=1).items() if path != TENANT)]
            yield [(gone, value(a=1))]

    backup = Backup(await taken(Passing(store, EAST, Scope()), tmp_path / "backup"))
    assert {path for path, _ in backup.resources()} == resources("acme", topics=1).keys()


@pytest.mark.anyio
async def test_the_last_value_of_a_path_that_was_met_twice_counts(store: SqliteStore, tmp_path: Path) -> None:
    class Twice(LiveSide):
        async def pages(self) -> AsyncIterator[list[tuple[MetaPath, bytes]]]:
            yield [(TENANT, value(a=1))]
            yield [(TENANT, value(a=2))]

    backup = Backup(await taken(Twice(store, EAST, Scope()), tmp_path / "backup"))
    assert list(backup.resources()) == [(TENANT, b'{"a":2}')]


@pytest.mark.anyio
async def test_an_empty_region_has_an_empty_backup(store: SqliteStore, tmp_path: Path) -> None:
    class Nothing(LiveSide):
        async def pages(self) -> AsyncIterator[list[tuple[MetaPath, bytes]]]:
            return
            yield []

    backup = Backup(await taken(Nothing(store, EAST, Scope()), tmp_path / "backup"))
    assert (backup.verify(), list(backup.resources())) == ((), [])


# -- damage


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-10])


def flip(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b'"partitions": 4', b'"partitions": 5', 1))


def append(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"[]\n")


def swap(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"topic-00000", b"topic-00009"))


def garble(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"topic", b"\xff\xfe", 1))


def empty(file: Path) -> None:
    file.write_bytes(b"")


def move(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"/acme/", b"/other/"))


def flatten(file: Path) -> None:
    whole = b'"value": {\n      "partitions": 4\n    }'
    file.write_bytes(file.read_bytes().replace(whole, b'"value": []'.ljust(len(whole)), 1))


def reformat(file: Path) -> None:
    file.write_text(json.dumps(json.loads(file.read_bytes())), encoding="utf-8")


@pytest.mark.anyio
@pytest.mark.parametrize("damage", [cut, flip, append, swap, garble, empty, move, flatten, reformat])
async def test_a_changed_file_is_found_by_every_reader(damage: object, saved: Path) -> None:
    assert callable(damage)
    damage(saved / TOPICS_FILE)
    backup = Backup(saved)
    (finding,) = backup.verify()
    assert (finding.file, finding.fault) == (TOPICS_FILE, Fault.DAMAGED)
    assert finding.detail.startswith(TOPICS_FILE)
    with pytest.raises(BackupDamaged, match=TOPICS_FILE):
        await BackupSide(backup).picture()
    with pytest.raises(BackupDamaged, match=TOPICS_FILE):
        await BackupSide(backup).values([TENANT])


@pytest.mark.anyio
async def test_verify_names_every_file_that_is_missing_extra_or_damaged(saved: Path) -> None:
    (saved / "resource-groups.json").unlink()
    (saved / "tenants" / "acme" / "notes.txt").write_text("mine", encoding="utf-8")
    (saved / ".git").mkdir()
    (saved / ".git" / "HEAD").write_text("ref", encoding="utf-8")
    flip(saved / TOPICS_FILE)
    assert [(each.file, each.fault) for each in Backup(saved).verify()] == [
        ("resource-groups.json", Fault.MISSING),
        ("tenants/acme/notes.txt", Fault.EXTRA),
        (TOPICS_FILE, Fault.DAMAGED),
    ]
    with pytest.raises(BackupDamaged, match=r"resource-groups\.json: missing"):
        list(Backup(saved).resources())


@pytest.mark.anyio
async def test_what_cannot_be_read_as_a_file_is_named(saved: Path) -> None:
    (saved / TOPICS_FILE).unlink()
    (saved / TOPICS_FILE).mkdir()
    with pytest.raises(BackupDamaged, match="it is no regular file"):
        list(Backup(saved).resources())
    (finding,) = Backup(saved).verify()
    assert (finding.file, finding.fault) == (TOPICS_FILE, Fault.DAMAGED)


def test_a_directory_that_is_no_backup(tmp_path: Path) -> None:
    with pytest.raises(BackupInvalid, match=r"holds no MANIFEST\.json"):
        Backup(tmp_path)
    with pytest.raises(BackupInvalid, match="holds no"):
        Backup(tmp_path / "absent")
    (tmp_path / MANIFEST).write_text('{"format": "other"}', encoding="utf-8")
    with pytest.raises(BackupInvalid, match="no manifest of a backup"):
        Backup(tmp_path)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("old", "new", "error", "told"),
    [
        ('"version": 2', '"version": 3', BackupInvalid, "version 3; this program reads versions 1 and 2"),
        ('"version": 2', '"version": 1', BackupDamaged, "has version 2"),
        ('"region": "east"', '"region": "west"', BackupDamaged, "its checksum"),
        ('"resources": 3', '"resources": -1', BackupDamaged, "resources"),
        ("}", "", BackupDamaged, "no JSON"),
    ],
)
async def test_a_manifest_that_is_not_as_it_was(
    saved: Path, old: str, new: str, error: type[Exception], told: str
) -> None:
    manifest = saved / MANIFEST
    text = manifest.read_text(encoding="utf-8")
    assert old in text
    manifest.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(error, match=told):
        Backup(saved)


COSTLY: dict[str, list[str]] = {
    "many": [f"/admin/policies/{number}" for number in range(RULES_NOTED + 1)],
    "long": ["/admin/policies/" + "a*" * NOTED_CHARACTERS],
}
"""Patterns that would cost each path of a backup very many steps."""


@pytest.mark.anyio
@pytest.mark.parametrize("patterns", COSTLY.values(), ids=COSTLY.keys())
async def test_a_manifest_with_more_rules_than_are_read_is_refused(saved: Path, patterns: list[str]) -> None:
    manifest = Manifest.model_validate_json((saved / MANIFEST).read_bytes())
    rules = tuple(ScopeRule(pattern=each, direction=Direction.BOTH) for each in patterns)
    sealed = manifest.model_copy(update={"scope": rules}).sealed()
    (saved / MANIFEST).write_text(sealed.text(), encoding="utf-8")
    with pytest.raises(BackupInvalid, match="where at most") as caught:
        Backup(saved)
    assert caught.value.code == "backup-invalid"


@pytest.mark.anyio
async def test_a_manifest_with_a_rule_that_is_none_is_refused(saved: Path) -> None:
    manifest = Manifest.model_validate_json((saved / MANIFEST).read_bytes())
    rules = (ScopeRule(pattern="/elsewhere/**", direction=Direction.BOTH),)
    (saved / MANIFEST).write_text(manifest.model_copy(update={"scope": rules}).sealed().text(), encoding="utf-8")
    with pytest.raises(BackupInvalid, match="lies outside what may be replicated"):
        Backup(saved)


@pytest.mark.anyio
@pytest.mark.parametrize("patterns", COSTLY.values(), ids=COSTLY.keys())
async def test_nobody_writes_a_backup_that_would_not_be_read(
    store: SqliteStore, tmp_path: Path, patterns: list[str]
) -> None:
    side = LiveSide(store, EAST, Scope([Rule(each, Direction.BOTH) for each in patterns]))
    with pytest.raises(PreconditionFailed, match="where at most"):
        await taken(side, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["../outside.json", "/etc/passwd", "tenants//x.json", TOPICS_FILE])
async def test_a_manifest_never_leads_out_of_its_directory(saved: Path, name: str) -> None:
    manifest = Manifest.model_validate_json((saved / MANIFEST).read_bytes())
    forged = manifest.files[0].model_copy(update={"name": name})
    sealed = manifest.model_copy(update={"files": (*manifest.files, forged)}).sealed()
    (saved / MANIFEST).write_text(sealed.text(), encoding="utf-8")
    with pytest.raises(BackupDamaged, match="names of files"):
        Backup(saved)


@pytest.fixture
def _lax_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.anyio
@pytest.mark.usefixtures("_lax_umask")
async def test_only_its_owner_may_read_it_whatever_the_umask(side: LiveSide, tmp_path: Path) -> None:
    target = await taken(side, tmp_path / "backup")
    modes = {each: each.stat().st_mode & 0o777 for each in (target, *target.rglob("*"))}
    assert len(modes) > 3
    assert {mode for each, mode in modes.items() if each.is_file()} == {0o600}
    assert {mode for each, mode in modes.items() if each.is_dir()} == {0o700}


def test_only_resources_have_a_file() -> None:
    with pytest.raises(InvariantBroken):
        file_of(MetaPath("/ledgers/LAYOUT"))


@pytest.mark.anyio
async def test_a_region_is_restored_to_what_it_was(store: SqliteStore, side: LiveSide, saved: Path) -> None:
    assert (await contents(side)).keys() == {path for path, _ in Backup(saved).resources()}
