"""Commands by a user who has no right to the database, or to the configuration: a real one, whom the kernel refuses."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from syncer.documents.status import VerdictDocument
from syncer.state.sql.database import SqlState
from tests.support.stranger import CLOSED, OWNER, PRIVILEGED, SHUT, STRANGER, run
from tests.unit.registers import HERE


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody can reach, unlike pytest's own: configurations, and databases with a writer."""
    folder = Path(tempfile.mkdtemp(prefix="syncer-rights-"))
    folder.chmod(0o755)
    for name in ("warm", "asked"):
        (folder / name).mkdir(mode=0o755)
        config = folder / f"{name}.toml"
        config.write_text(
            f'region = "here"\n[store]\nkind = "sqlite"\npath = "{folder}/s.db"\n'
            f'[bus]\nkind = "embedded"\npath = "{folder}/b.db"\n[state]\npath = "{folder}/{name}/state.db"\n',
            encoding="utf-8",
        )
        config.chmod(0o644)
    states = [SqlState.open(f"sqlite:///{folder}/{name}/state.db", HERE) for name in ("warm", "asked")]
    for state in states:
        state.activate()
    for file in (*folder.glob("*/state.db*"),):
        file.chmod(0o666)
    yield folder
    for state in states:
        state.close()
    for each in (folder / "asked", *folder.glob("asked/*"), folder / "asked.toml"):
        if each.exists():
            each.chmod(0o700)
    shutil.rmtree(folder)


def check_refused(place: Path, *commands: tuple[str, ...], closed: Path) -> None:
    """Each command leaves with 6, and says what is closed, whose it is, and how to run it."""
    config = place / "asked.toml"
    results = run(place / "warm.toml", *(("--config", str(config), *command) for command in commands))
    for command, result in zip(commands, results, strict=True):
        assert result.exit_status == 6, (command, result)
        assert result.stdout == ""
        message, hint = result.stderr.splitlines()
        assert message.startswith(f"error: user {STRANGER} has no right to the sidecar database {place}/asked/state.db")
        assert message.endswith(f"belongs to user {OWNER}")
        assert (f"{closed} is closed" in message) == (closed.name != "state.db")
        assert hint == f"hint: Run it as that user: sudo -u {OWNER} syncer --config {config} {' '.join(command)}"


def test_a_closed_directory_is_said_with_its_owner_and_the_command(place: Path) -> None:
    """As the shipped unit makes it: not even whether the file is there can be seen."""
    (place / "asked").chmod(CLOSED)
    commands = [("status",), ("state", "check"), ("holds", "list"), ("pause", "--timeout", "0")]
    check_refused(place, *commands, closed=place / "asked")


def test_a_closed_file_is_said(place: Path) -> None:
    (place / "asked" / "state.db").chmod(SHUT)
    check_refused(place, ("status",), ("state", "check"), closed=place / "asked" / "state.db")


def test_a_closed_side_file_is_said(place: Path) -> None:
    (place / "asked" / "state.db-wal").chmod(SHUT)
    check_refused(place, ("status",), closed=place / "asked" / "state.db-wal")


@pytest.mark.skipif(not PRIVILEGED, reason="whoever owns a file may write it")
def test_who_may_read_only_sees_the_status_and_asks_for_nothing(place: Path) -> None:
    for file in (place / "asked").iterdir():
        file.chmod(0o644)
    (looked,) = run(place / "warm.toml", ("--config", str(place / "asked.toml"), "status"))
    assert looked.exit_status == 0, looked
    check_refused(place, ("pause", "--timeout", "0"), closed=place / "asked" / "state.db")


@pytest.mark.skipif(not PRIVILEGED, reason="whoever owns a directory may write it")
def test_a_database_that_nobody_has_open_needs_a_directory_to_write_in(place: Path) -> None:
    """SQLite makes its side files to read, too."""
    with closing(SqlState.open(f"sqlite:///{place}/asked/other.db", HERE)) as state:
        state.activate()
    (place / "asked" / "other.db").chmod(0o644)
    config = place / "asked.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("asked/state.db", "asked/other.db"), encoding="utf-8")
    (result,) = run(place / "warm.toml", ("--config", str(config), "status"))
    assert result.exit_status == 6, result
    assert f"{place}/asked is closed; it belongs to user {OWNER}" in result.stderr


def test_the_verdict_of_a_stranger_is_that_it_has_no_rights(place: Path) -> None:
    (place / "asked").chmod(CLOSED)
    command = ("status", "--check", "--config", str(place / "asked.toml"))
    told, document = run(place / "warm.toml", command, (*command, "-o", "json"))
    assert (told.exit_status, document.exit_status) == (6, 6)
    verdict, step = told.stdout.splitlines()
    assert verdict.startswith(f"not allowed: user {STRANGER} has no right to the sidecar database")
    assert step == f"next: sudo -u {OWNER} syncer {' '.join(command)}  # as the user whose database it is"
    found = VerdictDocument.model_validate_json(document.stdout)
    assert (found.verdict, found.exit_status) == ("not-allowed", 6)
    assert [each.code for each in found.reasons] == ["state-access-denied"]


def test_a_database_that_is_not_there_is_missing_and_not_closed(place: Path) -> None:
    config = place / "asked.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("asked/state.db", "asked/none.db"), encoding="utf-8")
    (result,) = run(place / "warm.toml", ("--config", str(config), "status"))
    assert result.exit_status == 4


def test_a_configuration_that_may_not_be_read_is_said_with_its_owner(place: Path) -> None:
    config = place / "asked.toml"
    config.chmod(SHUT)
    looked, ran = run(place / "warm.toml", ("status", "--config", str(config)), ("run", "--config", str(config)))
    assert looked.exit_status == 6
    message, hint = looked.stderr.splitlines()
    assert message == (
        f"error: the configuration file {config} cannot be read: Permission denied; {config} belongs to user {OWNER}"
    )
    assert hint == f"hint: Run it as that user: sudo -u {OWNER} syncer status --config {config}"
    assert ran.exit_status == 78, "the service manager does not start it again"


def test_a_configuration_that_the_environment_names_is_named_to_sudo(place: Path) -> None:
    (place / "asked").chmod(CLOSED)
    config = str(place / "asked.toml")
    (result,) = run(place / "warm.toml", ("status",), environment={"SYNCER_CONFIG": config})
    assert result.exit_status == 6
    assert f"sudo -u {OWNER} syncer status --config {config}\n" in result.stderr
