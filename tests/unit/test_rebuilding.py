"""A region whose database was lost: what it learns of peers, whom it waits for, what it makes of its store."""

from __future__ import annotations

import pytest

from syncer.conflict.acts import Decision, Journal, RecordConflict
from syncer.conflict.rebuilding import Answer, Hearing, filled, learn
from syncer.conflict.register import Parked, ParkReason
from syncer.conflict.settings import Settings
from syncer.model import Millis, Region, Version, baseline_time
from syncer.replacing import replace
from tests.property.strategies import NOW
from tests.unit.registers import HERE, THERE, THIRD, X, Y, at, entry, moment, register, replica, seated, version

SETTINGS = Settings(region=HERE, generation=2)
SILENT, TELLING, TOLD, REBUILDING = Answer
B, C = Region("b"), Region("c")


def bare(value: bytes | None, *stamps: object) -> Version:
    return version(value, *stamps, kept=False)  # type: ignore[arg-type]  # stamps, as given


def test_the_first_listing_of_a_path_is_known() -> None:
    learned = learn(SETTINGS, register(), bare(X, at(1, THERE))).register
    assert learned.known == bare(X, at(1, THERE))
    assert learned.own == 0
    assert learned.due


def test_a_later_listing_wins_and_an_earlier_one_does_not() -> None:
    early, late = bare(X, at(1, THERE)), bare(Y, at(2, THIRD))
    for first, second in ((early, late), (late, early)):
        both = learn(SETTINGS, learn(SETTINGS, register(), first).register, second)
        assert both.register.known == late
        assert both.acts == ()


def test_equal_values_join_what_their_authors_had_seen_and_keep_the_value() -> None:
    known = version(X, at(1, THERE))
    joined = learn(SETTINGS, register(known=known), bare(X, at(2, THIRD))).register.known
    assert joined is not None
    assert joined.seen == {"there~1": NOW + 1, "third~1": NOW + 2}
    assert joined.value == X


def test_times_that_a_former_database_has_given_are_not_given_again() -> None:
    assert learn(SETTINGS, register(), bare(X, at(7, HERE))).register.own == NOW + 7


def test_a_differing_value_is_kept_and_not_stamped() -> None:
    learned = register(known=bare(X, at(1, THERE)))
    outcome = replica(generation=2).observe(
        learned, entry(Y, modified=5), replace(moment(genesis=False), rebuilding=True)
    )
    record, note = outcome.acts
    assert isinstance(record, RecordConflict)
    assert (record.reason, record.value) == ("unknown-provenance", Y)
    assert (record.loser, record.winner) == (at(5), at(1, THERE))
    assert isinstance(note, Journal)
    assert note.decision is Decision.UNKNOWN_PROVENANCE
    assert outcome.register.due
    assert outcome.register.seated is not None
    assert outcome.register.seated.seen == {}


def test_an_equal_value_is_seated() -> None:
    learned = register(known=bare(X, at(1, THERE)))
    met = replica(generation=2).observe(learned, entry(X), replace(moment(genesis=False), rebuilding=True))
    assert not met.register.due


def test_a_path_that_nobody_knows_is_a_baseline_of_the_new_generation() -> None:
    found = replica(generation=2).observe(register(), entry(X), replace(moment(genesis=False), rebuilding=True))
    assert found.register.known is not None
    assert found.register.known.stamp.updated_at_ms == baseline_time(2)


def test_a_value_that_comes_again_is_taken_only_where_it_is_due_and_lacking() -> None:
    lacking = register(known=bare(X, at(1, THERE)), parked=Parked(reason=ParkReason.VALUE_MISSING, since_ms=Millis(1)))
    known, whole = bare(X, at(1, THERE)), version(X, at(1, THERE))
    assert filled(lacking, known, whole) == register(known=whole)
    assert filled(lacking, known, known) is lacking
    assert filled(lacking, whole, whole) is lacking
    waits = replace(lacking, parked=Parked(reason=ParkReason.PARENT_MISSING, since_ms=Millis(1)))
    assert filled(waits, known, whole).parked == waits.parked
    sits = register(known=known, seated=seated(X, at(1, THERE)))
    assert filled(sits, known, whole) is sits


@pytest.mark.parametrize(
    ("answers", "without", "alone", "complete", "waits_for", "over"),
    [
        ({B: SILENT, C: TOLD}, (), False, True, [B], False),
        ({B: TELLING, C: TOLD}, (), False, True, [B], False),
        ({B: TOLD, C: TOLD}, (), False, True, [], True),
        ({B: TOLD, C: TOLD}, (), False, False, [], False),
        ({B: SILENT, C: TOLD}, (B,), False, True, [], True),
        ({B: REBUILDING, C: TOLD}, (), False, True, [], True),
        ({B: REBUILDING, C: REBUILDING}, (), False, True, [B, C], False),
        ({B: REBUILDING}, (), True, True, [B], True),
        ({B: SILENT}, (B,), False, True, [], True),
        ({}, (), False, True, [], False),
        ({}, (), True, False, [], True),
    ],
)
def test_whom_a_rebuild_waits_for(
    answers: dict[Region, Answer],
    without: tuple[Region, ...],
    alone: bool,
    complete: bool,
    waits_for: list[Region],
    over: bool,
) -> None:
    hearing = Hearing(answers=answers, without=without, alone=alone, complete=complete)
    assert hearing.waits_for == waits_for
    assert hearing.over is over
