"""A region whose database was lost: what it learns of peers, whom it waits for, what it makes of its store."""

from __future__ import annotations

import pytest

from syncer.conflict.acts import Decision, Journal, Need, Outcome, Publish, RecordConflict
from syncer.conflict.guards import Facts
from syncer.conflict.rebuilding import Answer, Hearing, filled, learn, unsupplied, untold
from syncer.conflict.register import HoldReason, Parked, ParkReason, Stored, Wish
from syncer.conflict.settings import Settings
from syncer.model import Millis, Region, Stamp, Version, baseline_time, counter_of
from syncer.replacing import replace
from syncer.stores.contract import Put
from tests.property.strategies import NOW, tenant_event
from tests.unit.registers import (
    HERE,
    THERE,
    THIRD,
    X,
    Y,
    at,
    decisions,
    entry,
    moment,
    only,
    register,
    replica,
    stored,
    version,
)

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
        learned, entry(Y, modified=5), replace(moment(first_scan_done=False), rebuilding=True)
    )
    record, note = outcome.acts
    assert isinstance(record, RecordConflict)
    assert (record.reason, record.value) == ("unknown-provenance", Y)
    assert (record.loser, record.winner) == (at(5), at(1, THERE))
    assert isinstance(note, Journal)
    assert note.decision is Decision.UNKNOWN_PROVENANCE
    assert outcome.register.due
    assert outcome.register.stored is not None
    assert outcome.register.stored.seen == {}


def test_an_equal_value_is_seated() -> None:
    learned = register(known=bare(X, at(1, THERE)))
    met = replica(generation=2).observe(learned, entry(X), replace(moment(first_scan_done=False), rebuilding=True))
    assert not met.register.due


def test_a_path_that_nobody_knows_is_a_baseline_of_the_new_generation() -> None:
    found = replica(generation=2).observe(register(), entry(X), replace(moment(first_scan_done=False), rebuilding=True))
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
    sits = register(known=known, stored=stored(X, at(1, THERE)))
    assert filled(sits, known, whole) is sits
    given_up = replace(lacking, wish=Wish.REVIVE)
    assert filled(given_up, known, whole) == register(known=whole), "it is there after all"
    decided = replace(lacking, wish=Wish.REASSERT, shown=lacking.shows)
    assert filled(decided, known, whole) == replace(decided, known=whole, parked=None), "an operator's word stands"


UNTOLD = untold(register(), THERE, Millis(NOW), "its digest is none").register


def test_what_a_peer_tells_wrongly_is_left_as_it_is() -> None:
    assert UNTOLD.hold is not None
    assert (UNTOLD.hold.reason, UNTOLD.held) == (HoldReason.UNTOLD, True)
    for first_scan_done in (False, True):
        assert replica(generation=2).observe(UNTOLD, entry(X), moment(first_scan_done=first_scan_done)) == Outcome(
            UNTOLD
        )
    for changes in ({"known": bare(X, at(1, THERE))}, {"hold": replace(UNTOLD.hold, reason=HoldReason.FLAPPING)}):
        assert untold(register(**changes), THERE, Millis(NOW), "why") == Outcome(register(**changes))


def test_of_two_listed_values_of_one_stamp_the_same_one_is_known_whichever_comes_first() -> None:
    first, second = bare(X, at(1, THERE)), bare(Y, at(1, THERE))
    known = [
        learn(SETTINGS, learn(SETTINGS, register(), one).register, other).register.known
        for one, other in ((first, second), (second, first))
    ]
    assert known[0] == known[1]


def test_another_listing_of_it_ends_that() -> None:
    assert UNTOLD.hold is not None
    assert learn(SETTINGS, UNTOLD, bare(X, at(1, THIRD))).register == register(known=bare(X, at(1, THIRD)))
    held = replace(UNTOLD, hold=replace(UNTOLD.hold, reason=HoldReason.FLAPPING))
    assert learn(SETTINGS, held, bare(X, at(1, THIRD))).register.hold == held.hold


def test_a_change_of_it_ends_that_and_what_the_store_holds_is_of_unknown_provenance_still() -> None:
    core = replica(generation=2)
    told = core.fold(UNTOLD, tenant_event(X, at(1, THERE), {counter_of(THERE, 1): Millis(NOW + 1)}), NOW)
    assert told.need is Need.READ
    assert told.register.hold == UNTOLD.hold
    assert not told.register.held
    differs = core.observe(told.register, entry(Y, modified=9), moment())
    assert only(differs, RecordConflict).value == Y
    assert not any(isinstance(act, Publish) for act in differs.acts)
    assert differs.register.hold is None
    same = core.observe(told.register, entry(X, modified=9), moment())
    assert not same.register.due
    absent = core.observe(told.register, None, moment())
    assert absent.register.hold is None
    written = core.apply_due(absent.register, None, Facts(now=Millis(NOW)), "b").write
    assert isinstance(written, Put)


MISSING = Parked(reason=ParkReason.VALUE_MISSING, since_ms=NOW)
OF_UNKNOWN_PROVENANCE = replace(stored(Y, at(0)), stamp=Stamp(Millis(0), HERE), seen={})


def test_what_nobody_can_supply_gives_way_to_what_the_store_holds_and_nobody_claims_to_have_seen_it() -> None:
    core = replica(generation=2)
    lacking = register(known=bare(X, at(1, THERE)), stored=OF_UNKNOWN_PROVENANCE, parked=MISSING)
    outcome = unsupplied(lacking, publishes=True)
    assert outcome.need is Need.READ
    assert decisions(outcome) == [Decision.UNSUPPLIED]
    asserted = core.apply_due(outcome.register, entry(Y, revision="7"), Facts(now=Millis(NOW)), "b")
    event = only(asserted, Publish).event
    assert (event.value, event.stamp, event.base) == (Y, at(2), None)
    assert event.seen == {"here~2": NOW + 2}
    assert not asserted.register.due
    late = core.fold(asserted.register, tenant_event(X, at(1, THERE), {counter_of(THERE, 1): Millis(NOW + 1)}), NOW)
    assert only(late, RecordConflict).value == X


@pytest.mark.parametrize(
    ("stands", "publishes"), [(None, True), (stored(None, at(0)), True), (OF_UNKNOWN_PROVENANCE, False)]
)
def test_what_nobody_can_supply_is_unknown_again_where_nothing_can_be_asserted(
    stands: Stored | None, publishes: bool
) -> None:
    outcome = unsupplied(register(known=bare(X, at(1, THERE)), stored=stands, parked=MISSING), publishes=publishes)
    assert outcome.register == register(stored=stands)
    assert decisions(outcome) == [Decision.UNSUPPLIED]


@pytest.mark.parametrize("instead", [version(Y, at(0, THIRD)), version(None, at(0, THIRD))], ids=["value", "delete"])
@pytest.mark.parametrize("stands", [None, OF_UNKNOWN_PROVENANCE])
@pytest.mark.parametrize("publishes", [True, False])
def test_what_members_know_in_place_of_what_nobody_can_supply_is_known_and_nothing_is_asserted(
    instead: Version, stands: Stored | None, publishes: bool
) -> None:
    lacking = register(known=bare(X, at(1, THERE)), stored=stands, parked=MISSING)
    outcome = unsupplied(lacking, publishes=publishes, instead=instead)
    assert outcome.register == register(known=instead, stored=stands)
    assert outcome.need is Need.READ
    note = only(outcome, Journal)
    assert (note.decision, note.stamp, note.against) == (Decision.UNSUPPLIED, at(1, THERE), at(0, THIRD))


def test_only_what_lacks_is_given_up() -> None:
    whole, lacks = version(X, at(1, THERE)), bare(X, at(1, THERE))
    for changes in (
        {"known": whole, "parked": MISSING},
        {"known": lacks},
        {"known": lacks, "parked": replace(MISSING, reason=ParkReason.PARENT_MISSING)},
        {"known": bare(None, at(1, THERE)), "parked": MISSING},
        {"known": lacks, "stored": stored(X, at(1, THERE)), "parked": MISSING},
        {"parked": MISSING},
    ):
        unchanged = register(**changes)
        assert unsupplied(unchanged, publishes=True) == Outcome(unchanged)


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
