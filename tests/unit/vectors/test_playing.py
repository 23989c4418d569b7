"""Every vector that is kept here passes, and what plays them can fail: on a wrong answer, a file, a directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.vectors.__main__ import main
from tests.vectors.playing import VectorsUnusable, play
from tests.vectors.registry import PLAYERS

KEPT = Path(__file__).parents[2] / "vectors"


def test_every_vector_passes() -> None:
    outcomes = play(KEPT)
    assert [outcome.file for outcome in outcomes] == list(PLAYERS)
    assert [failure for outcome in outcomes for failure in outcome.failed] == []
    assert all(outcome.passed for outcome in outcomes)


@pytest.mark.parametrize("name", PLAYERS)
def test_every_player_fails_where_pulsars_answer_is_another_one(name: str, tmp_path: Path) -> None:
    document = json.loads((KEPT / name).read_text(encoding="utf-8"))
    cases = [spoilt for case in document["cases"] if (spoilt := _spoilt(case)) is not None]
    (tmp_path / name).write_text(json.dumps({**document, "cases": cases}), encoding="utf-8")
    [outcome] = play(tmp_path)
    assert outcome.passed == 0
    assert len(outcome.failed) == len(cases) > 0


def _spoilt(value: object) -> object:
    """Add to each answer a thing that Pulsar did not say; give one to what it refused."""
    if isinstance(value, dict):
        if ("hex" in value and "error" in value) or ("kind" in value and "error" in value):
            value = {**{key: each for key, each in value.items() if key != "error"}, "expect": {"nobody": 1}}
        return {key: _other(key, each) for key, each in value.items()}
    return [_spoilt(each) for each in value] if isinstance(value, list) else value


def _other(key: str, value: object) -> object:
    if key in {"hash", "auditor"}:
        return -1
    if key not in {"expected", "expect"}:
        return _spoilt(value)
    if not isinstance(value, dict):
        return f"{value} and more"
    return {name: _wrong(each) for name, each in value.items()} or {"nobody": 1}


def _wrong(value: object) -> object:
    match value:
        case dict():
            return {**value, "nobody": 1}
        case list():
            return [*value, "nobody"]
        case None | str():
            return ["nobody"]
        case bool():
            return not value
        case int() | float():
            return value + 1
    raise AssertionError(value)


def test_the_verdict_is_the_last_line_and_the_exit_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bundle-hash.json").write_text(json.dumps({"cases": [{"id": "torn"}]}), encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "bundle-hash.json: 0 passed, 1 failed"
    assert said[1].startswith("    torn: KeyError")
    assert said[-1] == "0 passed, 1 failed"


@pytest.mark.parametrize(
    ("content", "words"),
    [("{", "is no JSON"), ("[]", "no list of 'cases'"), ('{"cases": []}', "no list of 'cases'")],
)
def test_a_file_that_cannot_be_played_is_named(content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "bundle-hash.json").write_text(content, encoding="utf-8")
    with pytest.raises(VectorsUnusable, match=words):
        play(tmp_path)


def test_a_directory_without_vectors_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    assert "no file of a known name: bundle-hash.json" in capsys.readouterr().err
    assert main([str(tmp_path / "absent")]) == 1
    assert "cannot be read" in capsys.readouterr().err
