"""Two trees by turns: what is compared, in which order they run, and what ends the comparison."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.bench import against
from tests.bench.against import COST_BAR, Tree, costs_of, result_of, run, speeds_of, tree_of


def bursts(*us: float) -> list[dict[str, Any]]:
    return [
        {"count": 100, "duration_s": 2.0, "cpu_us": {"servers": 999.0, "near daemon": each, "far daemon": 2 * each}}
        for each in us
    ]


def sync(us: float) -> dict[str, Any]:
    return {
        "name": "sync",
        "figures": {"ours": {"creates": bursts(us, us, 9 * us), "updates": bursts(3 * us)}},
        "bars": [],
    }


def bar(name: str, ratio: float, *, at_least: bool, bar: float = 1.0) -> dict[str, Any]:
    return {"name": name, "peer": "kazoo", "ratio": ratio, "at_least": at_least, "bar": bar}


def test_of_sync_the_cpu_of_both_daemons_is_a_cost_and_the_pace_is_shown() -> None:
    assert costs_of(sync(100)) == {"CPU of both daemons per event, us": 600.0}
    assert speeds_of(sync(100)) == {"creates, events/s": 50.0, "updates, events/s": 50.0}


def test_of_anti_entropy_the_cpu_of_both_regions_is_a_cost() -> None:
    document = {"name": "anti-entropy", "figures": {"work_cpu_s": 3.5}, "bars": []}
    assert list(costs_of(document).values()) == [3.5]
    assert speeds_of(document) == {}


def test_of_other_benches_each_ratio_to_the_peer_is_a_cost_and_counts_are_none() -> None:
    bars = [bar("speed", 4.0, at_least=True), bar("CPU", 0.5, at_least=False), bar("lost", 0.0, at_least=False, bar=0)]
    document = {"name": "read", "figures": {}, "bars": bars}
    assert costs_of(document) == {"speed, to kazoo": 0.25, "CPU, to kazoo": 0.5}


@pytest.mark.parametrize(("grown", "holds"), [(1.04, True), (1.06, False)])
def test_pairs_are_compared_with_each_other_and_their_median_decides(grown: float, holds: bool) -> None:
    slow = [1.0, 5.0, 2.0]
    result = result_of("sync", "abc", [sync(100 * each * grown) for each in slow], [sync(100 * each) for each in slow])
    (only,) = result.bars
    assert only.ratio == pytest.approx(grown)
    assert only.bar == COST_BAR
    assert only.holds is holds
    assert [row[0] for row in result.rows] == [
        "CPU of both daemons per event, us",
        "creates, events/s",
        "updates, events/s",
    ]


def test_trees_that_measure_nothing_in_common_are_not_called_equal() -> None:
    mine, theirs = ({"name": "read", "figures": {}, "bars": [bar(name, 1.0, at_least=True)]} for name in ("a", "b"))
    with pytest.raises(SystemExit, match="nothing in common"):
        result_of("read", "abc", [mine], [theirs])


def test_the_trees_take_turns_and_each_pair_goes_the_other_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other, order = Tree(tmp_path / "other", tmp_path / "other/out"), list[str]()

    def measure(tree: Tree, name: str, *, quick: bool) -> dict[str, Any]:
        order.append("there" if tree is other else "here")
        assert (name, quick) == ("sync", True)
        return sync(100)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Tree, "measure", measure)
    monkeypatch.setattr(against, "tree_of", lambda commit, here, out: other)
    assert run("sync", "abc", Path("bench-out"), pairs=3, quick=True)
    assert order == ["there", "here", "here", "there", "there", "here"]
    assert "pair 3 of 3, at abc" in capsys.readouterr().err
    assert len(json.loads((tmp_path / "bench-out/sync-against-abc.json").read_text())["figures"]["there"]) == 3


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=n", "-c", "user.email=e@example")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_the_tree_of_a_commit_is_made_once_and_set_up_by_its_own_makefile(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "Makefile").write_text("servers:\n\t@echo old >> made\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "old")
    old = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "Makefile").write_text("servers:\n\t@false\n")
    git(tmp_path, "commit", "--quiet", "-am", "new")
    tree = tree_of(old[:8], here=tmp_path, out=tmp_path / "bench-out")
    assert tree_of("HEAD~1", here=tmp_path, out=tmp_path / "bench-out") == tree
    assert git(tree.folder, "rev-parse", "HEAD") == old
    assert (tree.folder / "made").read_text() == "old\nold\n"
    with pytest.raises(SystemExit, match="no commit 'nowhere'"):
        tree_of("nowhere", here=tmp_path, out=tmp_path / "bench-out")
    with pytest.raises(SystemExit, match="make servers"):
        tree_of("HEAD", here=tmp_path, out=tmp_path / "bench-out")


def test_a_bench_that_leaves_no_result_ends_the_comparison(tmp_path: Path) -> None:
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/sync.json").write_text('{"of": "an earlier run"}')
    with pytest.raises(SystemExit, match="exit status 3"):
        Tree(tmp_path, tmp_path / "out").measure("sync", quick=False)
    python.write_text('#!/bin/sh\necho \'{"of": "this run"}\' > out/sync.json\nexit 1\n')
    assert Tree(tmp_path, tmp_path / "out").measure("sync", quick=True) == {"of": "this run"}
