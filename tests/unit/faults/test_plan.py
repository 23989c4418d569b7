"""Plans and reports of the real faults: the same seed is the same plan, and a page tells all that went on."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.faults import plan, report
from tests.faults.referee import OVERWRITTEN_UNREAD, Judgement
from tests.faults.runner import Outcome, Played
from tests.faults.sampling import Sample
from tests.faults.steps import FAULTS
from tests.simulation.history import Violation

REGIONS = ("us-east", "us-west", "us-north")


@pytest.mark.parametrize("seed", range(20))
def test_the_short_form_has_each_of_its_faults_once(seed: int) -> None:
    steps = list(plan.short(seed, REGIONS[:2], amount=100))
    assert steps == list(plan.short(seed, REGIONS[:2], amount=100))
    count = Counter(step.fault for step in steps)
    assert count.pop("kill-store") == 2, "one of each kind"
    assert set(count.values()) == {1}
    assert {step.place for step in steps} == {"", *REGIONS[:2]}


@pytest.mark.parametrize("seed", range(20))
def test_every_round_of_the_long_form_has_every_fault(seed: int) -> None:
    steps = list(itertools.islice(plan.long(seed, REGIONS, amount=100_000), 3 * len(FAULTS)))
    for first in range(0, len(steps), len(FAULTS)):
        assert {step.fault for step in steps[first : first + len(FAULTS)]} == FAULTS.keys()
    assert [step.amount for step in steps if step.fault == "pile-up"] == [100_000, 10_000, 10_000]


def test_seeds_differ() -> None:
    assert len({tuple(plan.short(seed, REGIONS[:2], amount=100)) for seed in range(20)}) > 15


def test_a_step_is_known_by_name() -> None:
    assert str(plan.named("kill-store@us-west", REGIONS, amount=5)) == "kill-store at us-west"
    assert str(plan.named("cut-links", REGIONS, amount=5)) == "cut-links"
    assert str(plan.named("pile-up", REGIONS, amount=5)) == "pile-up of 5 at us-east"
    for word in ("kill-stroe", "kill-store@us-south"):
        with pytest.raises(ValueError, match="what is"):
            plan.named(word, REGIONS, amount=5)


def outcome() -> Outcome:
    """A run of two faults."""
    return Outcome(
        seed=7,
        regions=REGIONS[:2],
        began_ms=1_000,
        steps=[
            Played("kill-daemon at us-east", 2_000, [(2_100, "killed <at once>")], 4_000),
            Played("cut-links", 5_000, [(5_001, "cut")], 9_000),
        ],
        rests=[(10_000, 1.5)],
        samples=[
            Sample(at_ms=at, region=name, writes=at, unknown=1, outbox=2, due=3, conflicts=4, lag_ms=at)
            for at in (2_000, 6_000)
            for name in REGIONS[:2]
        ],
        ended_ms=11_000,
        settled_s=1.5,
        writes={"acknowledged": 100, "unknown": 2, "refused": 3},
        judgement=Judgement((), {"winner": 90, "in a conflict record": 10}),
    )


def test_a_run_is_green_only_when_everything_was_seen_and_nothing_is_broken() -> None:
    fine = outcome()
    assert fine.good
    assert fine.verdict == (
        "faults: GREEN: 2 faults in 10 s, 100 acknowledged writes, 0 lost, rules broken: 0, faults unseen: 0 (seed 7)"
    )
    told = outcome()
    told.judgement = Judgement((), {OVERWRITTEN_UNREAD: 2})
    assert told.good
    assert "0 lost, 2 overwritten unread, and told, rules broken: 0" in told.verdict
    unseen, broken, blind, stopped, idle = (outcome() for _ in range(5))
    unseen.steps[0].failed = "not within 120 s: a peer misses it"
    broken.judgement = Judgement((Violation("silent loss", "/p", "x is nowhere"),), {})
    blind.judgement = None
    stopped.trouble = ["not at rest"]
    idle.steps = []
    assert not any(each.good for each in (unseen, broken, blind, stopped, idle))
    assert "1 lost, rules broken: 1" in broken.verdict
    assert "faults: RED" in blind.verdict


def test_the_report_is_one_page_and_one_document(tmp_path: Path) -> None:
    broken = outcome()
    broken.judgement = Judgement((Violation("silent loss", "/p", "<x> is nowhere"),), {"winner": 90})
    as_json, as_page = report.write(broken, tmp_path / "out")
    told = json.loads(as_json.read_text())
    assert told["broken"] == [{"rule": "silent loss", "path": "/p", "detail": "<x> is nowhere"}]
    assert [step["step"] for step in told["steps"]] == ["kill-daemon at us-east", "cut-links"]
    assert len(told["samples"]) == 4
    page = as_page.read_text()
    for text in ("killed &lt;at once&gt;", "&lt;x&gt; is nowhere", broken.verdict, "cut-links"):
        assert text in page
    for outside in ("http://", "https://", "src=", "href="):
        assert outside not in page
    drawing = page[page.index("<svg") : page.index("</svg>") + 6]
    assert drawing.count("<polyline") == 8
    assert drawing.count("<rect") == 2
