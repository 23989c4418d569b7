"""The sample configurations are valid as they stand, and stay so with every offered setting switched on."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest

from syncer.config import Config, load
from syncer.config.adapters import STORES, installed

REPOSITORY = Path(__file__).resolve().parents[3]
SAMPLES = REPOSITORY / "deploy" / "config"
SERVICE = (REPOSITORY / "deploy" / "systemd" / "pulsar-syncer.service").read_text(encoding="utf-8")
OFFERED = re.compile(r"^#(?=[a-z\[])", re.MULTILINE)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("SYNCER_"):
            monkeypatch.delenv(name)


def sample(kind: str) -> Path:
    return SAMPLES / f"{kind}.toml"


def switched_on(kind: str, directory: Path) -> Path:
    """The sample with every setting that is offered as a comment."""
    text, count = OFFERED.subn("", sample(kind).read_text(encoding="utf-8"))
    assert count > 0
    file = directory / "config.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_there_is_one_sample_per_store_and_one_for_a_pair() -> None:
    assert {file.stem for file in SAMPLES.glob("*.toml")} == {*installed(STORES), "pair"}


def test_the_sample_of_a_pair_differs_in_its_database_only(tmp_path: Path) -> None:
    pair, alone = load_table(sample("pair")), load_table(sample("zookeeper"))
    state = pair.pop("state")
    alone.pop("state")
    assert pair == alone
    secret = tmp_path / "password"
    secret.write_text("p/w:d@1\n", encoding="utf-8")
    text = switched_on("pair", tmp_path).read_text(encoding="utf-8")
    assert isinstance(state, dict)
    (tmp_path / "config.toml").write_text(text.replace(state["password_file"], str(secret)), encoding="utf-8")
    assert load(tmp_path / "config.toml", environ={}).database_url() == state["url"].replace(
        "syncer@", "syncer:p%2Fw%3Ad%401@"
    )


@pytest.mark.parametrize("kind", sorted(installed(STORES)))
def test_the_sample_is_valid(kind: str) -> None:
    config = load(sample(kind), environ={})
    assert config.store.kind == kind
    assert config.region not in (config.peers.expected or ())


@pytest.mark.parametrize("kind", sorted(installed(STORES)))
def test_every_offered_setting_is_valid(kind: str, tmp_path: Path) -> None:
    assert load(switched_on(kind, tmp_path), environ={}).store.kind == kind


@pytest.mark.parametrize("kind", sorted(installed(STORES)))
def test_written_defaults_are_the_defaults(kind: str) -> None:
    config = load(sample(kind), environ={})
    bare = Config.model_validate({name: getattr(config, name) for name in ("region", "store", "bus")})
    for section in ("limits", "scope", "api", "log", "mode", "state"):
        assert getattr(config, section) == getattr(bare, section), section


@pytest.mark.parametrize("kind", sorted(installed(STORES)))
def test_the_daemon_may_write_and_read_where_the_sample_says(kind: str, tmp_path: Path) -> None:
    written = {config for config in paths(load_table(sample(kind))) if config.startswith("/var/lib/")}
    assert "StateDirectory=pulsar-syncer\n" in SERVICE
    assert {str(Path(path).parent) for path in written} == {"/var/lib/pulsar-syncer"}
    for path in paths(load_table(switched_on(kind, tmp_path))) - written:
        public = Path(path).parent == Path("/etc/pulsar-syncer")
        secret = path.startswith("/run/credentials/pulsar-syncer.service/credentials_")
        assert public or secret, path
        assert secret or not re.search("password|token|key", path), path


def test_credentials_of_the_service_reach_the_settings(tmp_path: Path) -> None:
    """As systemd lays them out: a directory's files with a prefix, a drop-in's file by its own name."""
    (tmp_path / "credentials_pulsar-token").write_text("not-a-setting", encoding="utf-8")
    (tmp_path / "credentials_ca.pem").write_text("not-a-setting", encoding="utf-8")
    (tmp_path / "log.level").write_text("debug\n", encoding="utf-8")
    config = load(sample("sqlite"), environ={"CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert config.log.level == "debug"


def load_table(file: Path) -> dict[str, object]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def paths(value: object) -> set[str]:
    """Every absolute path of a machine in a table; a chroot is a path of the store, and so is a pattern."""
    if isinstance(value, dict):
        return {path for key, inner in value.items() if key not in {"chroot", "pattern"} for path in paths(inner)}
    if isinstance(value, list):
        return {path for inner in value for path in paths(inner)}
    return {value} if isinstance(value, str) and value.startswith("/") else set()
