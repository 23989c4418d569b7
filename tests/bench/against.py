"""This tree beside that of another commit: one bench, measured in both by turns in one run.

The other tree is a clone with an environment of its own, below ``bench-out/against``. Each pair of runs goes in the
other order than the one before it, so what slows the machine for a while slows both.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from tests.bench.result import Bar, Result

PAIRS: Final = 5
COST_BAR: Final = 1.05
"""A cost may be so many times that of the other tree."""
LONGEST_S: Final = 2 * 3600.0
"""Of one run, or of making the other tree."""
COLUMNS: Final = ("", "there", "here", "ratio")

Document = Mapping[str, Any]
"""What a bench keeps as JSON."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree of the product that can be measured.

    Args:
        folder: Its top, with the environment ``.venv``.
        out: Where its benches leave their results.
    """

    folder: Path
    out: Path

    def measure(self, name: str, *, quick: bool) -> Document:
        """Run a bench once; a bar that it misses ends nothing.

        Raises:
            SystemExit: It left no result.
        """
        kept = self.out / f"{name}.json"
        kept.unlink(missing_ok=True)
        command = [str(self.folder / ".venv/bin/python"), "-m", "tests.bench", name, *(["--quick"] if quick else [])]
        ended = subprocess.run(command, cwd=self.folder, timeout=LONGEST_S, check=False)
        if not kept.is_file():
            raise SystemExit(f"the bench {name} in {self.folder} left no result (exit status {ended.returncode})")
        found: Document = json.loads(kept.read_text(encoding="utf-8"))
        return found


def tree_of(commit: str, *, here: Path, out: Path) -> Tree:
    """Make the tree of a commit, or take the one that was made before; its servers are fetched.

    Raises:
        SystemExit: There is no such commit, or its tree cannot be set up.
    """
    named = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    if named.returncode:
        raise SystemExit(f"there is no commit {commit!r} here: name one that 'git log' shows")
    full = named.stdout.strip()
    folder = out / "against" / full[:12]
    if not (folder / ".git").exists():
        _do(["git", "clone", "--quiet", "--shared", "--no-checkout", str(here), str(folder)], here)
        _do(["git", "checkout", "--quiet", "--detach", full], folder)
    _do(["make", "servers"], folder)
    return Tree(folder, folder / "bench-out")


def _do(command: Sequence[str], folder: Path) -> None:
    ended = subprocess.run(command, cwd=folder, timeout=LONGEST_S, check=False)
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)!r} in {folder} ended with {ended.returncode}")


def costs_of(document: Document) -> dict[str, float]:
    """Costs that one run of a bench has measured, by name: less is better, none is 0."""
    figures = document["figures"]
    match document["name"]:
        case "sync":
            ours = figures["ours"]
            found = [_daemons_us(ours[kind]) for kind in ("creates", "updates")]
            return {"CPU of both daemons per event, us": sum(found) / len(found)}
        case "anti-entropy":
            return {"CPU of both regions until they are equal, s": figures["work_cpu_s"]}
        case _:
            return {
                f"{bar['name']}, to {bar['peer']}": 1 / bar["ratio"] if bar["at_least"] else bar["ratio"]
                for bar in document["bars"]
                if bar["ratio"] > 0 and bar["bar"] > 0
            }


def speeds_of(document: Document) -> dict[str, float]:
    """Speeds that one run has measured, by name: shown, and held against nothing."""
    if document["name"] != "sync":
        return {}
    ours = document["figures"]["ours"]
    return {
        f"{kind}, events/s": median(burst["count"] / burst["duration_s"] for burst in ours[kind])
        for kind in ("creates", "updates")
    }


def _daemons_us(bursts: Sequence[Mapping[str, Any]]) -> float:
    daemons = ([float(us) for who, us in burst["cpu_us"].items() if who.endswith("daemon")] for burst in bursts)
    return median(map(sum, daemons))


def result_of(name: str, commit: str, here: Sequence[Document], there: Sequence[Document]) -> Result:
    """Compare the runs of both trees, pair by pair."""
    result = Result(name=f"{name}-against-{commit}")
    for measured, bar in ((costs_of, COST_BAR), (speeds_of, None)):
        mine, theirs = ([measured(each) for each in runs] for runs in (here, there))
        for what in (each for each in mine[0] if all(each in run for run in (*mine, *theirs))):
            own, other = ([run[what] for run in runs] for runs in (mine, theirs))
            ratio = median(one / two for one, two in zip(own, other, strict=True))
            result.rows.append((what, _each(other), _each(own), f"{ratio:.3f}"))
            if bar is not None:
                result.bars.append(Bar(name=what, peer=f"commit {commit}", ratio=ratio, bar=bar, at_least=False))
    result.figures = {"here": list(here), "there": list(there)}
    if not result.bars:
        raise SystemExit(f"the two trees measure nothing in common by the bench {name}")
    return result


def run(name: str, commit: str, out: Path, *, pairs: int, quick: bool) -> bool:
    """Measure both trees by turns, print how they compare, keep all runs as JSON; whether no cost has grown."""
    top = Path.cwd()
    other, own = tree_of(commit, here=top, out=top / out), Tree(top, top / out)
    here, there = list[Document](), list[Document]()
    for pair in range(pairs):
        turns = ((own, here), (other, there))
        for tree, runs in turns if pair % 2 else reversed(turns):
            where = "here" if tree is own else f"at {commit}"
            print(f"{time.strftime('%H:%M:%S')}  pair {pair + 1} of {pairs}, {where}", file=sys.stderr, flush=True)
            runs.append(tree.measure(name, quick=quick))
    print(f"\n=== {name}, here and at {commit}: {pairs} pairs", flush=True)
    return result_of(name, commit, here, there).show(COLUMNS, out)


def _each(figures: Sequence[float]) -> str:
    return f"{median(figures):.4g} ({' '.join(f'{figure:.4g}' for figure in figures)})"
