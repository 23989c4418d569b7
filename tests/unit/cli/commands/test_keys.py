"""``syncer keys``, and what ``syncer config check`` says of keys."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from syncer.bus.trust.public_halves import PublicHalf
from syncer.cli.main import app
from syncer.documents.configuration import CheckDocument, KeyDocument
from tests.support.environment import without_settings
from tests.support.group_keys import key_file, secret, text
from tests.support.region_keys import halves, pair, pair_file, seed, tables

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    without_settings(monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


@pytest.fixture
def run(file: Path) -> Run:
    def call(*arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "--config", str(file)])

    return call


def configure(file: Path, **changes: Any) -> None:
    """Write a configuration of region east."""
    folder = file.parent
    file.write_text(
        json.dumps(
            {
                "region": "east",
                "store": {"kind": "sqlite", "path": str(folder / "s.db")},
                "bus": {"kind": "embedded", "path": str(folder / "b.db")},
                **changes,
            }
        ),
        encoding="utf-8",
    )


# -- making and showing


def test_a_pair_is_made_and_its_public_half_printed_to_paste(run: Run, tmp_path: Path) -> None:
    key = tmp_path / "east.key"
    result = run("keys", "create", str(key), "--region", "east")
    assert result.exit_code == 0, result.stderr
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    (half,) = tomllib.loads(result.stdout)["east"]
    shown = run("keys", "show", str(key), "--region", "east", "-o", "json")
    found = KeyDocument.model_validate_json(shown.stdout)
    assert (found.public, found.id, found.region) == (half, PublicHalf.parse(half).id, "east")
    body = key.read_text(encoding="ascii").splitlines()[1]
    assert body not in result.output + result.stderr + shown.output + shown.stderr


@pytest.mark.parametrize(("region", "name"), [("east", "east"), ("eu.west", '"eu.west"')])
def test_the_line_is_a_line_of_toml(region: str, name: str, run: Run, tmp_path: Path) -> None:
    result = run("keys", "show", pair_file(tmp_path, "east"), "--region", region)
    assert result.stdout == f'{name} = ["{halves("east")[0]}"]\n'
    assert tomllib.loads(result.stdout) == {region: halves("east")}
    assert pair("east").public.id in result.stderr


def test_the_region_is_that_of_the_configuration_where_there_is_one(run: Run, file: Path, tmp_path: Path) -> None:
    key = pair_file(tmp_path, "east")
    assert run("keys", "show", key).stdout == f"{halves('east')[0]}\n"
    configure(file)
    assert run("keys", "show", key).stdout == f'east = ["{halves("east")[0]}"]\n'


def test_what_exists_is_never_overwritten(run: Run, tmp_path: Path) -> None:
    there, link, nowhere = tmp_path / "there", tmp_path / "link", tmp_path / "nowhere"
    there.write_text("mine", encoding="ascii")
    link.symlink_to(nowhere)
    for each in (there, link):
        result = run("keys", "create", str(each))
        assert result.exit_code == 5
        assert "is left as it is" in result.stderr
        assert not result.stdout
    assert there.read_text(encoding="ascii") == "mine"
    assert not nowhere.exists(), "a link is not followed"
    assert run("keys", "create", str(tmp_path / "absent" / "key")).exit_code == 5


def test_the_mode_is_right_whatever_the_umask(run: Run, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        run("keys", "create", str(tmp_path / "key"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_what_is_no_private_key_is_not_shown(run: Run, tmp_path: Path) -> None:
    result = run("keys", "show", key_file(tmp_path, "ours"))
    assert result.exit_code == 5
    assert "holds no private key in PEM" in result.stderr
    assert text("ours") not in result.stderr
    lax = Path(pair_file(tmp_path, "east"))
    lax.chmod(0o644)
    assert "may be read or written by others" in run("keys", "show", str(lax)).stderr
    assert run("keys", "show", str(tmp_path / "absent")).exit_code == 5


# -- what the check says


def checked(run: Run, *more: str) -> CheckDocument:
    """What the check finds."""
    return CheckDocument.model_validate_json(run("config", "check", "-o", "json", *more).stdout)


def codes(found: CheckDocument) -> set[str]:
    """Codes of its advice."""
    return {warning.rpartition("(")[2].rstrip(")") for warning in found.warnings}


KNOWN = {"east": ["east"], "west": ["west"]}


def test_expected_peers_are_no_protection_without_a_key(run: Run, file: Path, tmp_path: Path) -> None:
    configure(file, peers={"expected": ["west"]})
    found = checked(run)
    assert found.ok, "it is advice"
    assert codes(found) == {"messages-unsigned", "expected-without-key"}
    assert "no protection without a key" in run("config", "check").stderr
    configure(
        file, peers={"expected": ["west"]}, signing={"key_files": [key_file(tmp_path, "k")], "accept_unsigned": True}
    )
    assert codes(checked(run)) == {"unsigned-accepted", "expected-without-key"}
    configure(file, peers={"expected": ["west"]}, signing={"key_files": [key_file(tmp_path, "k")]})
    assert codes(checked(run)) == set()
    configure(file)
    assert codes(checked(run)) == {"messages-unsigned"}


def test_regions_without_a_key_are_named_while_others_have_one(run: Run, file: Path, tmp_path: Path) -> None:
    made = tables(tmp_path, "east", KNOWN, required=True)
    made["peers"]["expected"] = ["west", "north", "old"]
    made["signing"]["native_regions"] = ["old"]
    configure(file, **made)
    found = checked(run)
    assert found.ok
    assert codes(found) == {"region-key-missing"}
    assert "no public half of north:" in found.warnings[0]


def test_keys_that_are_not_required_yet_are_said_so(run: Run, file: Path, tmp_path: Path) -> None:
    configure(file, **tables(tmp_path, "east", KNOWN, group=["ours"]))
    assert codes(checked(run)) == {"region-keys-optional"}
    configure(file, **tables(tmp_path, "east", KNOWN))
    assert codes(checked(run)) == {"region-keys-optional", "unsigned-accepted"}
    configure(file, **tables(tmp_path, "east", KNOWN, required=True))
    assert codes(checked(run)) == set()


def test_mistakes_with_keys_are_mistakes(run: Run, file: Path, tmp_path: Path) -> None:
    configure(file, peers={"keys": {"east": halves("x"), "west": halves("x")}})
    assert "the same public half to 'east' and to 'west'" in checked(run).problems[0].what
    configure(file, **tables(tmp_path, "west", KNOWN))
    (problem,) = checked(run).problems
    assert problem.field == "signing.region_key_file"
    assert "is of region 'west', not of 'east'" in problem.what
    assert "syncer keys show" in problem.suggestion
    assert run("config", "check").exit_code == 78
    made = tables(tmp_path, "east", KNOWN, group=["ours"])
    configure(file, **made)
    assert checked(run).ok
    for field, name in (
        ("region_key_file", made["signing"]["region_key_file"]),
        ("key_files", made["signing"]["key_files"][0]),
    ):
        Path(name).chmod(0o644)
        (problem,) = checked(run).problems
        assert (problem.field, "mode 0644" in problem.what) == (f"signing.{field}", True)
        Path(name).chmod(0o600)


def test_files_that_are_not_on_this_machine_are_looked_for_only_when_dialling(run: Run, file: Path) -> None:
    configure(file, signing={"region_key_file": "/nowhere/east.pem", "key_files": ["/nowhere/group.key"]})
    assert checked(run).ok
    rows = {each.name: each.ok for each in checked(run, "--connect").dependencies}
    assert (rows["group keys"], rows["region key"]) == (False, False)


def test_the_check_shows_nothing_of_a_key(run: Run, file: Path, tmp_path: Path) -> None:
    configure(file, **tables(tmp_path, "east", KNOWN, group=["ours"], required=True))
    body = Path(pair_file(tmp_path, "east")).read_text(encoding="ascii").splitlines()[1]
    for command in (("config", "check", "--connect"), ("config", "show"), ("config", "show", "-o", "json")):
        result = run(*command)
        for form in (body, seed("east").hex(), secret("ours").hex(), text("ours")):
            assert form not in result.output + result.stderr
