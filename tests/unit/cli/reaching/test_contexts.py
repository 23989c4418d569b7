"""Contexts as they are kept: whole, for their user alone, and not used where others may say where tokens go."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncer.cli.reaching.contexts import (
    MAX_CONTEXTS,
    KeptContexts,
    RegionContext,
    contexts_file,
    read_contexts,
    write_contexts,
)
from syncer.errors import ConfigError, NotFound, PreconditionFailed

EAST = RegionContext(server="https://east.example.com:8950", token_file=Path("/etc/token"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "xdg" / "pulsar-syncer" / "contexts.json"


def test_they_are_where_the_user_keeps_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert contexts_file() == tmp_path / "pulsar-syncer" / "contexts.json"
    for named in ("", "relative/is-ignored"):
        monkeypatch.setenv("XDG_CONFIG_HOME", named)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert contexts_file() == tmp_path / "home" / ".config" / "pulsar-syncer" / "contexts.json"


def test_what_is_kept_is_read_again_and_is_nobody_elses(file: Path) -> None:
    assert read_contexts(file) == KeptContexts()
    kept = KeptContexts().adding("east", EAST).using("east")
    write_contexts(file, kept)
    write_contexts(file, kept)
    assert read_contexts(file) == kept
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [each.name for each in file.parent.iterdir()] == [file.name], "no draft is left"


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_may_write_is_not_used(file: Path, mode: int) -> None:
    write_contexts(file, KeptContexts())
    file.chmod(mode)
    with pytest.raises(ConfigError, match="may be written by others than its owner") as caught:
        read_contexts(file)
    assert f"chmod 600 {file}" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"version": 2}', '{"contexts": {"a": {"server": 1}}}', "x" * (2 << 20)]
)
def test_a_file_of_something_else_is_said_to_be_so(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="holds no contexts"):
        read_contexts(file)


def test_names_are_once_there_and_the_one_in_use_goes_with_its_context() -> None:
    kept = KeptContexts().adding("east", EAST)
    with pytest.raises(PreconditionFailed, match="there is a context 'east'"):
        kept.adding("east", EAST)
    with pytest.raises(NotFound, match="no context 'west'"):
        kept.using("west")
    assert kept.using("east").without("east") == KeptContexts()
    assert kept.using("east").using(None).current is None
    with pytest.raises(NotFound):
        kept.without("west")
    full = KeptContexts(contexts={f"c{number}": EAST for number in range(MAX_CONTEXTS)})
    with pytest.raises(PreconditionFailed, match="no more are"):
        full.adding("one", EAST)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PreconditionFailed, match="cannot be made: Not a directory"):
        write_contexts(tmp_path / "file" / "below" / "contexts.json", KeptContexts())
