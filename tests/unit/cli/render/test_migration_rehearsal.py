"""A rehearsal and a preparation as operators read them: what is amiss first, long lists cut, what is not known said."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.cli.render.migration_rehearsal import (
    MAX_ROWS,
    preparation_document,
    rehearsal_document,
    show_preparation,
    show_rehearsal,
)
from syncer.cli.render.output import Format
from syncer.documents.migration import PreparationDocument, RehearsalDocument
from syncer.migration.checks import examine
from syncer.migration.checks.finding import CheckStage
from syncer.migration.course import StopCode
from syncer.migration.cure import Cure, CureRefusal, TopicCure
from syncer.migration.draining import Drain, HeldUp, Sending
from syncer.migration.preparing.step import Preparation, PreparationKind, PreparationStep, Unprepared
from syncer.migration.roll_call import Who
from syncer.migration.running.control.rehearsing import Rehearsal, RehearsedWave
from syncer.migration.running.report import Foreseen
from syncer.migration.scope import Overrides
from syncer.replacing import replace
from tests.unit.migration.pictures import NAMESPACE, PRODUCER, TOPIC, picture, with_topic
from tests.unit.migration.test_migration_plan import plan

STEP = PreparationStep(
    kind=PreparationKind.TOPIC, subject=TOPIC, method="PUT", path="/admin/v2/t", body=None, why="blue has it"
)
LACKING = Unprepared(subject="north", why="blue does not know its addresses", remedy="declare it at green")


def wave(**changes: Any) -> RehearsedWave:
    cures = (TopicCure(topic=TOPIC, cure=Cure.GATE),)
    fields = {
        "wave": 0,
        "namespaces": (NAMESPACE,),
        "foreseen": Foreseen(cures=cures, longest_gap_s=7.5, shared={}),
        "drains": (),
        "sending": (),
        "stops": {},
    }
    return RehearsedWave(**{**fields, **changes})


def rehearsal(*waves: RehearsedWave, old: bool = False, unprepared: tuple[Unprepared, ...] = ()) -> Rehearsal:
    pair = with_topic(picture(), producers=(replace(PRODUCER, version="Pulsar-Java-v2.11.0"),)) if old else picture()
    return Rehearsal(
        results=examine(pair, Overrides(), CheckStage.BEFORE),
        preparation=Preparation(steps=(STEP,), unprepared=unprepared),
        waves=waves or (wave(),),
    )


def shown(made: Rehearsal, capsys: pytest.CaptureFixture[str]) -> tuple[list[list[str]], str]:
    """The parts that were printed, each of lines, and what was said."""
    show_rehearsal(plan(), made, Format.TABLE)
    printed = capsys.readouterr()
    return [part.splitlines() for part in printed.out.strip().split("\n\n")], printed.err.strip()


def test_where_nothing_is_amiss_each_wave_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    parts, said = shown(rehearsal(wave(), wave(wave=1, namespaces=("a/1", "a/2", "a/3", "a/4", "a/5"))), capsys)
    assert parts[0] == ["Green would be prepared in 1 step."]
    assert [line.split("  ")[0] for line in parts[1]] == ["WAVE", "canary", "1"]
    assert "a/1, a/2, a/3 and 2 more" in parts[1][2]
    assert parts[1][1].split()[-5:] == ["1", "0", "7.5s", "0", "0ms"]
    assert [part[0] for part in parts[2:]] == [
        "Canary, how topics are kept still:",
        "Wave 1, how topics are kept still:",
    ]
    assert said == "the migration may begin; nothing was set"


def test_what_is_amiss_is_said_with_those_whom_it_meets(capsys: pytest.CaptureFixture[str]) -> None:
    cures = tuple(TopicCure(topic=f"t{number:02}", cure=Cure.GATE_AND_BRAKE) for number in range(MAX_ROWS))
    refused = TopicCure(topic="chunked", cure=Cure.REFUSED, why=CureRefusal.CHUNKS)
    shared = {"10.0.0.1:4711": (Who("t00", "", "writer"), Who("t01", "audit", "reader"))}
    canary = wave(
        foreseen=Foreseen(cures=(*cures, refused), longest_gap_s=12.0, shared=shared),
        drains=(Drain(topic="t00", subscription="audit", left=30, held_up=HeldUp.NOBODY),),
        sending=(Sending(topic="t01", remote="north", left=12, eta_s=4.0),),
        stops={StopCode.GAP: "producers would be without an answer for 12.0 s"},
    )
    made = rehearsal(canary, old=True, unprepared=(LACKING,))
    parts, said = shown(made, capsys)
    found = {part[0].rstrip(":"): part[1:] for part in parts}
    assert found["Blocks the migration"][1].startswith("client-gate ")
    assert found["Green would be prepared in 1 step."][1].startswith("north ")
    kept_still = found["Canary, how topics are kept still"]
    assert kept_still[1].split() == ["chunked", "refused", "chunks"]
    assert kept_still[-1].startswith("and 1 more: '-o json' has all")
    assert len(kept_still) == MAX_ROWS + 2
    stopped = found["Canary, connections that are stopped, and who shares them"]
    assert [line.split("  ")[1] for line in stopped[1:]] == ["producer writer, t00", "consumer of audit reader, t01"]
    left = found["Canary, what is left"]
    assert left[1].split() == ["t00", "subscription", "audit", "30", "-", "nobody-reads"]
    assert left[2].split() == ["t01", "to", "cluster", "north", "12", "4.0s", "-"]
    assert found["Canary, what would stop it"][1].startswith("gap-too-long ")
    (line,) = [each for part in parts for each in part if each.startswith("canary ")]
    assert line.split()[-7:] == ["1", "12.0s", "42", *["something", "does", "not", "fall"]]
    assert said == (
        "the migration would not go through: blocked by 1 check: client-gate; 1 topic refused; "
        "it would pause before canary (gap-too-long); nothing was set"
    )


def test_a_rehearsals_document_says_all(capsys: pytest.CaptureFixture[str]) -> None:
    made = rehearsal(unprepared=(LACKING,))
    show_rehearsal(plan(), made, Format.JSON)
    document = RehearsalDocument.model_validate_json(capsys.readouterr().out)
    assert document == rehearsal_document(plan(), made)
    assert (document.plan, document.may_begin, document.steps) == (plan().fingerprint, True, 1)
    assert [each.subject for each in document.unprepared] == ["north"]


def test_a_preparation_lists_its_calls_and_what_nothing_gives(capsys: pytest.CaptureFixture[str]) -> None:
    document = preparation_document(plan(), Preparation(steps=(STEP,), unprepared=(LACKING,)))
    show_preparation(document, Format.TABLE)
    steps, lacking = capsys.readouterr().out.strip().split("\n\n")
    assert steps.splitlines()[1].split() == ["topic", TOPIC, "PUT", "/admin/v2/t", "blue", "has", "it"]
    assert lacking.splitlines()[1].split()[0] == "north"
    show_preparation(document, Format.JSON)
    assert PreparationDocument.model_validate_json(capsys.readouterr().out) == document
    show_preparation(preparation_document(plan(), Preparation(steps=(), unprepared=())), Format.TABLE)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "green has all that blue's clients will look for" in printed.err
