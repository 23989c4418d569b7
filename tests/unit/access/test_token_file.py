"""The file on disk: who may own it, replaced whole, one writer at a time."""

from __future__ import annotations

import os
import stat
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from syncer.access import token_file, tokens
from syncer.access.roles import AccessRole
from syncer.access.tokens import ID_BYTES, SECRET_BYTES, RightsFile
from syncer.errors import PreconditionFailed, RightsUnreadable
from syncer.waiting import WAIT_S

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def add(path: Path, name: str) -> str:
    with token_file.changing(path) as change:
        rights, made = tokens.made(
            change.rights,
            os.urandom(ID_BYTES + SECRET_BYTES),
            name=name,
            role=AccessRole.ADMIN,
            values=False,
            expires=None,
            now=NOW,
        )
        change.write(rights)
    return made.text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


def test_there_is_none_yet(path: Path) -> None:
    assert token_file.read(path).rights == RightsFile()
    assert token_file.read(path).stamp == token_file.stamp_of(path)


def test_what_is_written_is_read_and_its_mode_is_for_its_owner_alone(path: Path) -> None:
    text = add(path, "grafana")
    found = token_file.read(path)
    assert tokens.found_token(found.rights, text) is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert found.stamp == token_file.stamp_of(path)
    assert {each.name for each in path.parent.iterdir()} == {"tokens.json", ".tokens.json.lock"}


def test_a_mode_that_was_set_stays(path: Path) -> None:
    add(path, "one")
    path.chmod(0o640)
    add(path, "two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_leads_to_the_file_and_stays_one(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(path)
    add(link, "one")
    assert link.is_symlink()
    assert len(token_file.read(path).rights.tokens) == 1


@pytest.mark.parametrize("mode", [0o604, 0o620, 0o602, 0o666])
def test_a_file_that_strangers_may_use_is_refused(mode: int, path: Path) -> None:
    add(path, "one")
    path.chmod(mode)
    with pytest.raises(RightsUnreadable, match=f"{mode:04o}") as refused:
        token_file.read(path)
    assert "chmod 600" in refused.value.hint


def test_a_file_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(path, "one")
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    if path.stat().st_uid == 0:
        os.chown(path, 4712, -1)
    with pytest.raises(RightsUnreadable, match="belongs to user"):
        token_file.read(path)


@pytest.mark.parametrize("content", [b"", b"\xff", b"x" * (token_file.MAX_BYTES + 1), b"{}{}"])
def test_what_is_no_file_of_tokens_is_refused(content: bytes, path: Path) -> None:
    path.touch(0o600)
    path.write_bytes(content)
    with pytest.raises(RightsUnreadable, match=r"tokens\.json"):
        token_file.read(path)


def test_a_pipe_and_a_folder_keep_nobody_waiting(path: Path, tmp_path: Path) -> None:
    os.mkfifo(path, 0o600)
    for each in (path, tmp_path):
        with pytest.raises(RightsUnreadable, match=r"regular file|directory"):
            token_file.read(each)


def test_many_at_once_lose_nothing(path: Path) -> None:
    threads = [threading.Thread(target=add, args=(path, f"name-{number}")) for number in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(WAIT_S)
    assert {each.name for each in token_file.read(path).rights.tokens} == {f"name-{number}" for number in range(12)}


def test_a_file_that_cannot_be_written_is_left_as_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(path, "one")
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(PreconditionFailed, match="No space left"):
        add(path, "two")
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 2
    with pytest.raises(PreconditionFailed, match="cannot be written"):
        add(path / "below", "three")
