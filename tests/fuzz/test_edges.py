"""Whatever people and programs hand in: configuration, key files, requests, command lines. Clear words, no crash."""

from __future__ import annotations

import json
import os
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from api.app import create_app
from syncer.cli.main import app
from syncer.config import Config, ConfigInvalid, load
from syncer.config.group_keys import read_keys
from syncer.config.sample import sample
from syncer.config.showing import shown
from syncer.dispositions import ExitCode
from syncer.errors import ConfigError
from tests.api.test_app import Daemon
from tests.fuzz.shares import drawing
from tests.support.environment import without_settings

LINES: Final = [
    line.lstrip("#")
    for store, bus in (("sqlite", "embedded"), ("zookeeper", "pulsar"), ("etcd", "pulsar"))
    for line in sample(store=store, bus=bus).splitlines()
    if "=" in line or line.lstrip("#").startswith("[")
]
WORDS: Final = [
    "true",
    "0",
    "-1",
    "1e999",
    "nan",
    '""',
    '"30s"',
    "[]",
    "{}",
    '"\\u0000"',
    '"/"',
    "9" * 30,
    "1979-05-27",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("edges")


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    without_settings(monkeypatch)


@st.composite
def files(draw: st.DrawFn) -> str:
    """A configuration's text: lines of sound ones in any order, some with another value, some with anything."""
    chosen = draw(st.lists(st.sampled_from(LINES), max_size=12))
    whole = draw(st.booleans())
    lines = sample(store="sqlite", bus="embedded").splitlines() + chosen if whole else chosen
    if lines:
        for at in draw(st.lists(st.integers(0, len(lines) - 1), max_size=3)):
            name, equals, _ = lines[at].partition("=")
            lines[at] = f"{name}{equals} {draw(st.sampled_from(WORDS))}"
    lines += draw(st.lists(st.text(max_size=20), max_size=1))
    return "\n".join(lines)


@drawing("configuration")
@given(files(), st.sampled_from(["toml", "yaml"]))
def test_a_configuration_is_refused_in_words_or_can_be_used(folder: Path, text: str, form: str) -> None:
    file = folder / f"config.{form}"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        config = load(file)
    except ConfigInvalid as exc:
        assert exc.problems
        assert all(problem.what and problem.field for problem in exc.problems)
        return
    except ConfigError as exc:
        assert str(file) in exc.message
        return
    assert isinstance(config, Config)
    json.dumps(shown(config))
    config.compiled_scope()
    config.settings()


@drawing("key files")
@given(st.one_of(st.binary(max_size=120), st.text(string.ascii_letters + string.digits + "+/=\n ", max_size=100)))
def test_a_key_file_is_refused_in_words_or_holds_a_key(folder: Path, content: bytes | str) -> None:
    file = folder / "group.key"
    file.touch(mode=0o600)
    raw = content.encode() if isinstance(content, str) else content
    file.write_bytes(raw)
    try:
        (key,) = read_keys([file])
    except ConfigError as exc:
        assert str(file) in exc.message
        assert len(raw.strip()) < 8 or raw.strip().decode("latin-1") not in exc.message + exc.hint
        return
    assert len(raw.strip()) >= 43
    assert len(key.id) == 12


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(create_app(Daemon()), raise_server_exceptions=True) as client:
        yield client


DESCRIBED: Final[dict[str, Any]] = create_app(Daemon()).openapi()
printable = st.text(string.printable.strip(), max_size=30)


@drawing("HTTP")
@given(
    st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]),
    st.sampled_from(
        [*DESCRIBED["paths"], "/openapi.json", "/", "/nothing", "/api/v1/status/x", "//livez", "/livez/.."]
    ),
    st.dictionaries(printable, printable, max_size=3),
    st.dictionaries(
        st.sampled_from(["Accept", "Range", "If-Match", "Content-Type", "X-Forwarded-For", "Accept-Encoding"]),
        printable,
        max_size=3,
    ),
    st.binary(max_size=100),
)
def test_every_request_gets_an_answer_that_is_described(
    client: TestClient, method: str, path: str, query: dict[str, str], headers: dict[str, str], body: bytes
) -> None:
    answer = client.request(method, path, params=query, headers=headers, content=body, follow_redirects=False)
    described = DESCRIBED["paths"].get(path, {}).get({"HEAD": "get"}.get(method, method.lower()))
    if described is not None:
        assert str(answer.status_code) in described["responses"]
        kinds = described["responses"][str(answer.status_code)].get("content", {})
        assert not kinds or answer.headers["content-type"].partition(";")[0] in kinds
        return
    if path == "/openapi.json" and method in {"GET", "HEAD"}:
        return
    if method == "OPTIONS" and answer.status_code == 204:
        assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
        return
    assert answer.status_code in {404, 405}
    if method != "HEAD":
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"]


ENDLESS: Final = {"run", "demo"}


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Every command with its options."""
    for name, command in group.commands.items():
        if name in ENDLESS:
            continue
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            options = [each for option in command.params for each in option.opts if each.startswith("-")]
            yield (*path, name), tuple(option for option in options if option not in {"--watch", "--follow", "-f"})


COMMANDS: Final = list(commands(typer.main.get_command(app)))
ARGUMENTS: Final = [
    "1",
    "-1",
    "0",
    "9" * 30,
    "east",
    "/admin/policies/x",
    "",
    "é",
    "\udcff",
    "a\0b",
    "@",
    "1@east",
    "x" * 300,
]


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A command line: a command or none, some of its options, and arguments of any sort."""
    words, options = draw(st.sampled_from([*COMMANDS, ((), ())]))
    some = draw(st.lists(st.sampled_from([*options, "--help", "-o", "json"]), max_size=3))
    arguments = draw(st.lists(st.sampled_from(ARGUMENTS) | st.text(max_size=8), max_size=3))
    rest = draw(st.permutations([*some, *arguments]))
    return [*words, *rest]


@drawing("command line")
@given(lines())
def test_every_command_line_ends_with_a_code_of_ours_and_no_trace(folder: Path, line: list[str]) -> None:
    config = folder / "cli.toml"
    if not config.exists():
        config.write_text(
            f'region = "east"\n[store]\nkind = "sqlite"\npath = "{folder}/store.db"\n[bus]\nkind = "embedded"\n'
            f'path = "{folder}/bus.db"\n[state]\npath = "{folder}/state.db"\n',
            encoding="utf-8",
        )
    place = Path.cwd()
    os.chdir(folder)  # what a command writes, it writes here
    try:
        result = CliRunner().invoke(app, ["--config", str(config), *line], input="")
    finally:
        os.chdir(place)
    assert result.exception is None or isinstance(result.exception, SystemExit), (line, result.exc_info)
    assert result.exit_code in set(ExitCode), (line, result.exit_code)
    assert "Traceback" not in result.output
