"""Files that a person hands in: plans, repair plans, backups, snapshots' manifests, settings, spoilt in every way.

A sound file is cut, flipped, nested, or has any part replaced; where it bears a checksum over itself, half of them are
sealed anew, so that what lies behind the checksum is reached. Nothing but an error of ours comes out, whatever is
done with what was read.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from spark_snapshot.format.manifest import Described, SnapshotManifest, StoreFacts, read_manifest
from syncer import local_files
from syncer.admin.auth import OAuth2Auth, TokenAuth
from syncer.admin.oauth2 import OAuth2Tokens
from syncer.backup.layout import MANIFEST
from syncer.backup.reading import Backup
from syncer.backup.writing import drafted
from syncer.config import load
from syncer.config.group_keys import read_keys
from syncer.config.showing import shown
from syncer.conflict.scope import Scope
from syncer.errors import BackupError, ConfigError, PlanError, PreconditionFailed, SyncerError
from syncer.migration.reading import plan_file as migration_plan_file
from syncer.model import MetaPath, Millis, Region, TieOrder
from syncer.plan.operations import Operation, planned
from syncer.planning import plan_file
from syncer.repair import repair_file
from syncer.repair.repair_file import DifferingPath, Head, RegionPart, RepairFile
from tests.fuzz.shares import drawing
from tests.unit.migration.test_migration_plan import plan as migration_plan
from tests.unit.registers import X, Y, at, event

PATHS: Final = (MetaPath("/admin/policies/t"), MetaPath("/admin/policies/t/n"))
ODD: Final[tuple[Any, ...]] = (
    None, True, "", "\x00", "a\x00b", "\ud800", "\u202e", "é", "=", "YQ", "YQ==", "../x", "/etc/x", "9" * 400, 2**63,
    2**64, -1, 10**30, 10**400, 1e308, float("inf"), float("nan"), [], {}, [[]], {"": None}, "x" * 5000, "1@east",
)  # fmt: skip


def nested(depth: int) -> Any:
    value: Any = 0
    for turn in range(depth):
        value = [value] if turn % 2 else {"a": value}
    return value


def swapped(draw: st.DrawFn, node: Any) -> Any:
    """The document with something at some place replaced, taken out, or added."""
    if isinstance(node, (dict, list)) and node and draw(st.integers(0, 5)):
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = draw(st.sampled_from(keys))
        if draw(st.integers(0, 8)) == 0:
            if isinstance(node, dict):
                return {name: each for name, each in node.items() if name != key}
            return [each for index, each in enumerate(node) if index != key]
        inner = swapped(draw, node[key])
        if isinstance(node, dict):
            return {name: inner if name == key else each for name, each in node.items()}
        return [inner if index == key else each for index, each in enumerate(node)]
    return draw(st.sampled_from(ODD) | st.integers(1, 60).map(nested) | st.text(max_size=6) | st.integers())


def spoilt(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes, cut or flipped, or with something between them."""
    place = draw(st.integers(0, len(data)))
    match draw(st.integers(0, 3)):
        case 0:
            return data[:place]
        case 1:
            return data[:place] + bytes([draw(st.integers(0, 255))]) + data[place + 1 :]
        case 2:
            return (
                data[:place]
                + draw(st.sampled_from([b"\x00", b"\xff", b"[" * 100_000, b'{"a":' * 50_000]))
                + data[place:]
            )
        case _:
            return draw(st.binary(max_size=60))


def dumped(document: Any) -> bytes:
    return json.dumps(document).encode()


@dataclass
class Sound:
    """Sound files, and what is done with each."""

    folder: Path
    plan: dict[str, Any]
    migration: dict[str, Any]
    repair: list[dict[str, Any]]
    backup: dict[str, Any]
    snapshot: dict[str, Any]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    folder = tmp_path_factory.mktemp("sound")
    plan = planned(
        region=Region("east"),
        source="west",
        made_at_ms=Millis(1),
        operations=[
            Operation(path=PATHS[0], before=None, after=X),
            Operation(path=PATHS[1], before=b"\xff", after=None),
        ],
    )
    scope = Scope()
    repair_file.write(
        folder / "repair",
        Head(
            scope=scope.fingerprint,
            tie_order="smaller-region",
            projections={},
            regions=(RegionPart(region="east", snapshot="1", taken_at_ms=1),),
            made_at_ms=1,
        ),
        [
            DifferingPath(
                path=PATHS[0], found_in=Region("west"), cls="differs", losers=(Region("east"),), event=event(Y, at(1))
            )
        ],
    )
    with drafted(folder / "backup") as draft:
        draft.add([(path, X) for path in PATHS])
        draft.publish(region=Region("east"), clusters=("a",), taken_at_ms=Millis(1), made_by="test", scope=scope)
    manifest = SnapshotManifest(
        id="1",
        taken_at="now",
        about=Described(
            region="east", taken_at_ms=1, made_by="test", store=StoreFacts(kind="sqlite"), registers=False, scope=(),
            scope_fingerprint="", ties=TieOrder.SMALLER_REGION,
        ),
        buckets=1, kinds={}, files=(),
    ).sealed()  # fmt: skip
    return Sound(
        folder=folder,
        plan=json.loads(plan_file.to_text(plan)),
        migration=json.loads(migration_plan_file.to_text(migration_plan())),
        repair=[json.loads(line) for line in (folder / "repair").read_bytes().splitlines()],
        backup=json.loads((folder / "backup" / MANIFEST).read_bytes()),
        snapshot=json.loads(manifest.text()),
    )


def sealed(document: Any) -> Any:
    """With the checksum of a manifest made anew."""
    if not isinstance(document, dict):
        return document
    content = {name: each for name, each in document.items() if name != "sha256"}
    return {**content, "sha256": hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()}


def refused(use: Callable[[], object], *errors: type[SyncerError]) -> None:
    """It is used, or refused in words; nothing else comes out."""
    try:
        use()
    except errors as exc:
        assert exc.message
        assert exc.hint


@drawing("local files")
@given(st.data())
def test_a_plan_is_refused_in_words_or_can_be_used(sound: Sound, data: st.DataObject) -> None:
    document = data.draw(st.composite(lambda draw: swapped(draw, sound.plan))())
    if data.draw(st.booleans()):
        document = _sealed_plan(document)
    text = (
        dumped(document)
        if data.draw(st.integers(0, 3))
        else data.draw(st.composite(lambda d: spoilt(d, dumped(sound.plan)))())
    )
    file = sound.folder / "spoilt.plan"
    file.write_bytes(text)

    def use() -> None:
        plan = plan_file.read(file)
        assert plan_file.from_text(plan_file.to_text(plan)) == plan
        plan.reversed()

    refused(use, PlanError, PreconditionFailed)


def _sealed_plan(document: Any) -> Any:
    try:
        record = plan_file.PlanRecord.model_validate(document)
        return {**document, "sha256": record.seal()}
    except (ValidationError, SyncerError, ValueError):
        return document


@drawing("local files")
@given(st.data())
def test_a_plan_of_a_migration_is_refused_in_words_or_can_be_used(sound: Sound, data: st.DataObject) -> None:
    document = data.draw(st.composite(lambda draw: swapped(draw, sound.migration))())
    if data.draw(st.booleans()):
        document = _sealed_migration(document)
    text = dumped(document)
    if data.draw(st.integers(0, 3)) == 0:
        text = data.draw(st.composite(lambda draw: spoilt(draw, dumped(sound.migration)))())
    file = sound.folder / "spoilt.migration"
    file.write_bytes(text)

    def use() -> None:
        plan = migration_plan_file.read(file)
        assert migration_plan_file.from_text(migration_plan_file.to_text(plan).encode()) == plan

    refused(use, PlanError, PreconditionFailed)


def _sealed_migration(document: Any) -> Any:
    try:
        record = migration_plan_file.MigrationPlanRecord.model_validate_json(dumped(document))
        return {**document, "sha256": record.value().fingerprint}
    except (ValidationError, SyncerError, TypeError):
        return document


@drawing("local files")
@given(st.data())
def test_a_repair_plan_is_refused_in_words_or_can_be_used(sound: Sound, data: st.DataObject) -> None:
    at_line = data.draw(st.integers(0, len(sound.repair) - 1))
    lines = [*sound.repair]
    lines[at_line] = data.draw(st.composite(lambda draw: swapped(draw, lines[at_line]))())
    body = b"".join(dumped(line) + b"\n" for line in lines[:-1])
    end = lines[-1]
    if at_line < len(lines) - 1 and data.draw(st.booleans()):
        end = {"end": {**end["end"], "sha256": hashlib.sha256(body).hexdigest()}}
    text = body + json.dumps(end, separators=(",", ":")).encode() + b"\n"
    if data.draw(st.integers(0, 3)) == 0:
        text = data.draw(st.composite(lambda draw: spoilt(draw, text))())
    file = sound.folder / "spoilt.repair"
    file.write_bytes(text)
    refused(RepairFile(file).check, PlanError, PreconditionFailed)


@drawing("local files")
@given(st.data())
def test_a_backup_is_refused_in_words_or_can_be_used(sound: Sound, data: st.DataObject) -> None:
    folder = sound.folder / "spoilt.backup"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound.folder / "backup", folder)
    document = data.draw(st.composite(lambda draw: swapped(draw, sound.backup))())
    name = data.draw(st.sampled_from([MANIFEST, *(each["name"] for each in sound.backup["files"])]))
    if name == MANIFEST and data.draw(st.integers(0, 3)):
        (folder / MANIFEST).write_bytes(dumped(sealed(document) if data.draw(st.booleans()) else document))
    else:
        before = (folder / name).read_bytes()
        after = data.draw(st.composite(lambda draw: spoilt(draw, before))())
        (folder / name).write_bytes(after)
        if name != MANIFEST and data.draw(st.booleans()):
            files = [
                {**each, "bytes": len(after), "sha256": hashlib.sha256(after).hexdigest()}
                if each["name"] == name
                else each
                for each in sound.backup["files"]
            ]
            (folder / MANIFEST).write_bytes(dumped(sealed({**sound.backup, "files": files})))

    def use() -> None:
        backup = Backup(folder)
        backup.verify()
        list(backup.resources())

    refused(use, BackupError, PreconditionFailed)


@drawing("local files")
@given(st.data())
def test_a_manifest_of_a_snapshot_is_refused_in_words_or_can_be_used(sound: Sound, data: st.DataObject) -> None:
    document = data.draw(st.composite(lambda draw: swapped(draw, sound.snapshot))())
    text = dumped(sealed(document) if data.draw(st.booleans()) else document)
    if data.draw(st.integers(0, 3)) == 0:
        text = data.draw(st.composite(lambda draw: spoilt(draw, text))())
    refused(lambda: read_manifest(text, "here").text().encode("utf-8", "surrogatepass"), SyncerError)


# -- settings


HEAD: Final = "region: east\n"
BOMB: Final = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGED: Final = "a: &a {k: v}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 10)}]}}\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("deep.toml", "region = " + "[" * 5000 + "]" * 5000),
        ("tables.toml", "region = " + "{a=" * 5000 + "1" + "}" * 5000),
        ("dotted.toml", ".".join("a" * 5000) + " = 1"),
        ("headers.toml", "[" + ".".join("a" * 5000) + "]"),
        ("open.toml", "region = " + "[" * 100_000),
        ("number.toml", "region = " + "9" * 5000),
        ("date.toml", "region = 2026-13-45"),
        ("deep.yaml", HEAD + "store: " + "[" * 5000 + "]" * 5000),
        ("open.yaml", HEAD + "store: " + "[" * 100_000),
        ("mappings.yaml", HEAD + "store: " + "{a: " * 5000 + "1" + "}" * 5000),
        ("dashes.yaml", "- " * 5000 + "a"),
        ("bomb.yaml", HEAD + BOMB),
        ("merged.yaml", HEAD + MERGED),
        ("itself.yaml", HEAD + "store: &a [*a]"),
        ("itself-too.yaml", HEAD + "store: &a {b: *a}"),
        ("date.yaml", HEAD + "store: 2026-13-45"),
        ("number.yaml", HEAD + "store: " + "9" * 5000),
        ("odd-number.yaml", HEAD + "store: 0b"),
        ("sixty.yaml", HEAD + "store: " + ":".join(["59"] * 2000)),
        ("binary.yaml", HEAD + "store: !!binary é"),
        ("key.yaml", HEAD + "? [a]\n: b"),
        ("nul.toml", "region = 'a\x00b'"),
        ("large.toml", "# " + "x" * (2 << 20)),
    ],
)
def test_settings_that_are_none_are_refused_in_words(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as told:
        json.dumps(shown(load(file)))
    assert name in told.value.message or "region" in told.value.message or "store" in told.value.message
    assert told.value.hint


@drawing("local files")
@given(st.data())
def test_spoilt_settings_are_refused_in_words_or_can_be_used(sound: Sound, data: st.DataObject) -> None:
    document = {
        "region": "east",
        "store": {"kind": "sqlite", "path": "/s"},
        "bus": {"kind": "embedded", "path": "/b"},
        "limits": {"max_deletes": 5},
    }
    other = data.draw(st.composite(lambda draw: swapped(draw, document))())
    file = sound.folder / "spoilt.yaml"
    file.write_bytes(data.draw(st.sampled_from([dumped(other), yaml.safe_dump(other, allow_unicode=False).encode()])))
    refused(lambda: json.dumps(shown(load(file))), ConfigError)


# -- what is no file


def pipe(place: Path) -> None:
    os.mkfifo(place)


def folder(place: Path) -> None:
    place.mkdir()


def huge(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(1 << 40)  # a hole


def zeros(place: Path) -> None:
    place.write_bytes(b"\x00" * 1000)


def device(place: Path) -> None:
    place.symlink_to("/dev/zero")


def loop(place: Path) -> None:
    place.symlink_to(place)


NO_FILES: Final = (pipe, folder, huge, zeros, device, loop)


@pytest.mark.parametrize("make", NO_FILES)
def test_what_is_no_file_of_ours_keeps_nobody_waiting(tmp_path: Path, make: Callable[[Path], None]) -> None:
    place = tmp_path / "it.yaml"
    make(place)
    place.chmod(0o600) if not place.is_symlink() else None
    with pytest.raises(ConfigError):
        load(place)
    with pytest.raises(ConfigError):
        TokenAuth(file=place).read()
    with pytest.raises(ConfigError):
        read_keys([place])
    with pytest.raises(ConfigError):
        OAuth2Tokens(OAuth2Auth(issuer_url="http://x", credentials_file=place), timeout_s=1)._credentials()
    with pytest.raises((PlanError, PreconditionFailed)):
        plan_file.read(place)
    refused(RepairFile(place).check, PlanError, PreconditionFailed)


@pytest.mark.parametrize("make", NO_FILES)
def test_a_backup_has_no_pipes_links_or_holes(sound: Sound, tmp_path: Path, make: Callable[[Path], None]) -> None:
    for name in (MANIFEST, sound.backup["files"][0]["name"]):
        backup = tmp_path / name.replace("/", "-")
        shutil.copytree(sound.folder / "backup", backup)
        (backup / name).unlink()
        make(backup / name)
        with pytest.raises((BackupError, PreconditionFailed)):
            list(Backup(backup).resources())


def test_a_link_in_a_backup_is_not_followed(sound: Sound, tmp_path: Path) -> None:
    backup = tmp_path / "linked"
    shutil.copytree(sound.folder / "backup", backup)
    name = sound.backup["files"][0]["name"]
    (backup / name).rename(tmp_path / "elsewhere")
    (backup / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BackupError, match="it is a link"):
        list(Backup(backup).resources())
    (finding,) = Backup(backup).verify()
    assert "it is a link" in finding.detail
    other = tmp_path / "leading-out"
    shutil.copytree(sound.folder / "backup", other)
    (other / "tenants").rename(tmp_path / "tenants")
    (other / "tenants").symlink_to(tmp_path / "tenants")
    with pytest.raises(BackupError, match="tenants is a link"):
        list(Backup(other).resources())


def test_a_file_of_another_size_is_refused_before_it_is_read(sound: Sound, tmp_path: Path) -> None:
    backup = tmp_path / "grown"
    shutil.copytree(sound.folder / "backup", backup)
    with (backup / sound.backup["files"][0]["name"]).open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(BackupError, match="not as many bytes"):
        list(Backup(backup).resources())


@pytest.mark.parametrize("name", ["a\x00b", "\ud800", "x" * 5000])
def test_a_name_that_no_file_has_is_an_error_of_the_file(name: str) -> None:
    with pytest.raises(OSError, match=r"name|No such|too long"):
        local_files.read(Path(name), 10)


def test_a_secret_is_in_no_message(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    for content in (b"Geheimnis\xff", b"Geheimnis\x00", b"Geheimnis" * 10_000):
        file.write_bytes(content)
        with pytest.raises(ConfigError) as told:
            TokenAuth(file=file).read()
        assert "Geheimnis" not in told.value.message + repr(told.value.__cause__)
