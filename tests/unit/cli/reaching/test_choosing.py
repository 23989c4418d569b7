"""Which server a command is for: what is named counts before what is in use, and nothing acts on the wrong region."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from syncer.cli.reaching.choosing import NamedSources, choose
from syncer.cli.reaching.contexts import KeptContexts, RegionContext, contexts_file, write_contexts
from syncer.cli.reaching.routed import HERE, ROUTED
from syncer.errors import ConfigError, NotFound

TOKEN = "syncer_0123_secret"


def named(
    server: str | None = None, context: str | None = None, *, option: bool = False, environment: bool = False
) -> NamedSources:
    return NamedSources(server=server, context=context, config_by_option=option, config_by_environment=environment)


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    east = RegionContext(server="https://east", token_file=tmp_path / "token")
    write_contexts(contexts_file(), KeptContexts(contexts={"east": east, "west": RegionContext(server="https://west")}))
    (tmp_path / "token").write_text(f"{TOKEN}\n")


def in_use(name: str) -> None:
    write_contexts(contexts_file(), KeptContexts.model_validate_json(contexts_file().read_bytes()).using(name))


def label(command: str, sources: NamedSources, **environment: str) -> str | None:
    found = choose(command, sources, environment)
    return found.label if found is not None else None


def test_what_counts_before_what() -> None:
    assert label("status", named()) is None
    in_use("west")
    assert label("status", named()) == "west"
    assert label("status", named(environment=True)) is None
    assert label("status", named(environment=True), SYNCER_SERVER="https://north") == "https://north"
    assert label("status", named(option=True), SYNCER_SERVER="https://north") is None
    assert label("status", named(context="east"), SYNCER_SERVER="https://north") == "east"
    assert label("status", named(server="https://south/"), SYNCER_SERVER="https://north") == "https://south"


def test_two_cannot_be_named() -> None:
    with pytest.raises(typer.BadParameter, match="either --server or --context"):
        choose("status", named("https://a", "east"))
    with pytest.raises(typer.BadParameter, match="--config is for the region of this host"):
        choose("status", named("https://a", option=True))
    with pytest.raises(NotFound, match="no context 'nope'"):
        choose("status", named(context="nope"))
    with pytest.raises(ConfigError, match="none of HTTP"):
        choose("status", named("east:1"))


def test_a_command_without_a_route_says_so_and_one_of_this_host_passes_by_what_is_in_use() -> None:
    in_use("east")
    with pytest.raises(typer.BadParameter, match="or ask by 'syncer jobs take'"):
        choose("snapshot take", named(), {})
    for command in ("snapshot take", "migration plan", "plan apply", "diff"):
        words = rf"'syncer {command}' works on the daemon's own host only, so east .*\(no-route\)"
        with pytest.raises(typer.BadParameter, match=words):
            choose(command, named())
    for command in ("run", "init", "context list", "config check"):
        assert choose(command, named()) is None
        with pytest.raises(typer.BadParameter, match="no-route"):
            choose(command, named(context="east"))
    assert not ROUTED & HERE


def test_the_next_command_names_the_same_server_and_secrets_are_read_when_it_is_reached(tmp_path: Path) -> None:
    found = choose("status", named(context="east"))
    assert found is not None
    assert (found.again, found.reached().token) == (("--context", "east"), TOKEN)
    assert TOKEN not in repr(found)
    by_file = choose("status", named("https://a"), {"SYNCER_TOKEN_FILE": str(tmp_path / "token"), "SYNCER_TOKEN": "x"})
    by_variable = choose("status", named("https://a"), {"SYNCER_TOKEN": TOKEN})
    assert by_file is not None
    assert by_variable is not None
    assert (by_file.again, by_file.reached().token, by_variable.reached().token) == (
        ("--server", "https://a"),
        TOKEN,
        TOKEN,
    )
    wrong = choose("status", named("https://a"), {"SYNCER_TOKEN": "two words", "SYNCER_CA_FILE": "missing"})
    assert wrong is not None
    with pytest.raises(ConfigError, match="SYNCER_TOKEN holds no token"):
        wrong.reached()
