"""Excluded fields: the group's value counts, the store's own stays, and a change of the rules changes nothing."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from syncer.conflict.acts import Decision, FillConflict, Need, Publish
from syncer.conflict.completing import completed_value
from syncer.conflict.exclusion.excluding import concerns, here, outdated, whole_of
from syncer.conflict.exclusion.rules import Exclusion, Exclusions
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.fields.own import excluding, limited
from syncer.conflict.guards import Related, Topics
from syncer.conflict.register import HoldReason, Register, Wish
from syncer.conflict.replica import Replica
from syncer.model import Millis, Revision
from syncer.replacing import replace
from syncer.stores.contract import Put, Written
from tests.property.strategies import NOW, encoded
from tests.unit.conflict.test_completing import (
    BASE,
    PATH,
    POLICY,
    PROOF,
    SCALING,
    by_scan,
    core,
    digest,
    entry,
    event,
    facts,
    published,
    settled_on,
    version,
    vouched,
)
from tests.unit.conflict.test_completing import (
    OF_5 as NEWER,
)
from tests.unit.registers import THERE, THIRD, at, decisions, moment, none_of, only

TTL: Final = "message_ttl_in_seconds"
LIMIT: Final = "max_topics_per_namespace"
NAMES: Final = (TTL,)
RULES: Final = Exclusions([Exclusion("/admin/policies/*/*", NAMES)])


def value(ttl: int | None, limit: int = 1, **more: Any) -> bytes:
    own = {} if ttl is None else {TTL: ttl}
    return encoded({LIMIT: limit, "replication_clusters": ["here"], **own, **more})


def region(*, brokers: str | None = None, versions: bool = False, rules: Exclusions = RULES) -> Replica:
    made = core(brokers, excluded=rules.at, clusters=frozenset({"here"}))
    return made if versions else Replica(replace(made.settings, brokers=None))


def kept(group: int | None = 60, **more: Any) -> KeptFields:
    return KeptFields(excluded=NAMES, group={} if group is None else {TTL: group}, **more)


def shared(group: int | None = 60, limit: int = 1) -> Register:
    """A path of another region, where the store has a value of its own."""
    return settled_on(value(group, limit), at(0, THERE), kept=kept(group))


NO_RULES: Final = Exclusions()
OF_5: Final[dict[str, Any]] = NEWER


# -- edits here


@pytest.mark.parametrize("own", [5, None])
def test_a_change_of_an_excluded_field_is_none(own: int | None) -> None:
    outcome = region().observe(shared(), entry(value(own), modified=5), moment(5))
    assert (outcome.acts, outcome.register.kept) == ((), kept())
    assert outcome.register.stored_digest == digest(value(60))


@pytest.mark.parametrize("group", [60, None])
def test_a_change_of_another_field_is_published_with_the_groups_value(group: int | None) -> None:
    outcome = region().observe(shared(group), entry(value(5, 2), modified=5), moment(5))
    assert published(outcome) == json.loads(value(group, 2))
    assert outcome.register.kept == kept(group)


def test_what_is_created_here_is_published_without_the_field() -> None:
    outcome = region().observe(Register(path=PATH), entry(value(5)), moment())
    assert published(outcome) == json.loads(value(None))
    assert outcome.register.kept == kept(None, untold=NAMES)


def test_a_delete_is_published_and_keeps_nothing() -> None:
    outcome = region().observe(shared(), None, moment(5))
    assert only(outcome, Publish).event.value is None
    assert outcome.register.kept is None


def test_what_cannot_be_read_is_held_as_ever() -> None:
    for broken in (b"{", b"\xff"):
        outcome = region().observe(shared(), entry(broken), moment(5))
        assert outcome.register.hold is not None
        assert outcome.register.hold.reason is HoldReason.UNREADABLE


def test_a_field_that_no_rule_names_is_looked_at_as_ever() -> None:
    replica = region(rules=NO_RULES)
    assert not concerns(replica.settings, settled_on(value(60), at(0)))
    outcome = replica.observe(settled_on(value(60), at(0)), entry(value(5)), moment(5))
    assert published(outcome)[TTL] == 5


# -- changes from elsewhere


def due(ttl: int | None, limit: int, before: Register | None = None) -> Register:
    before = before or shared()
    return region().fold(before, event(value(ttl, limit), at(9, THERE), at(0, THERE)), Millis(NOW + 9)).register


def test_a_write_leaves_the_stores_own_value_in_place() -> None:
    register = due(90, 2)
    outcome = region().apply_due(register, entry(value(5), revision="7"), facts(), "1.1")
    assert isinstance(outcome.write, Put)
    assert json.loads(outcome.write.value) == json.loads(value(5, 2))
    assert json.loads(only(outcome, FillConflict).value or b"") == json.loads(value(60))
    landed = region().written(outcome.register, Written(path=PATH, revision=Revision("8")), Millis(NOW))
    assert (landed.need, landed.register.kept, landed.register.due) == (Need.NOTHING, kept(90), False)
    assert landed.register.stored_digest == digest(value(90, 2))


def test_a_change_of_the_field_alone_writes_nothing() -> None:
    outcome = region().apply_due(due(90, 1), entry(value(5), revision="7"), facts(), "1.1")
    assert (outcome.write, outcome.need) == (None, Need.NOTHING)
    assert (outcome.register.kept, outcome.register.due) == (kept(90), False)
    assert outcome.register.stored_digest == digest(value(90))


def test_a_removal_of_the_field_is_kept_as_one() -> None:
    outcome = region().apply_due(due(None, 1), entry(value(5), revision="7"), facts(), "1.1")
    assert (outcome.write, outcome.register.kept) == (None, kept(None))


def test_what_is_created_by_a_write_lacks_the_field() -> None:
    register = due(90, 2, Register(path=PATH))
    outcome = region().apply_due(
        register, None, facts(topics=Topics.NONE, clusters=frozenset({"here"}), related=Related()), "1.1"
    )
    assert isinstance(outcome.write, Put)
    assert TTL not in json.loads(outcome.write.value)
    assert outcome.register.intent is not None
    assert outcome.register.intent.kept == kept(90)


def test_a_delete_from_elsewhere_deletes_it_with_all_it_has() -> None:
    register = region().fold(shared(), event(None, at(9, THERE), at(0, THERE)), Millis(NOW + 9)).register
    outcome = region().apply_due(register, entry(value(5), revision="7"), facts(topics=Topics.NONE), "1.1")
    assert outcome.write is not None
    assert outcome.register.intent is not None
    assert outcome.register.intent.kept is None


def test_a_write_back_of_newer_fields_leaves_the_stores_own_value() -> None:
    newer = kept(60, gone=dict(OF_5))
    register = settled_on(value(60, **OF_5), at(0, THERE), kept=newer)
    replica = region(brokers="5.0.0-M1", versions=True)
    outcome = replica.apply_due(register, entry(value(5), revision="7"), facts(), "1.1")
    assert isinstance(outcome.write, Put)
    assert json.loads(outcome.write.value) == json.loads(value(5, **OF_5))
    assert outcome.register.intent is not None
    assert outcome.register.intent.kept == kept(60, store=OF_5)


# -- first contact


def test_a_value_that_differs_by_the_field_alone_has_met_the_groups() -> None:
    register = due(90, 1, Register(path=PATH))
    outcome = region().observe(register, entry(value(5)), replace(moment(), first_scan_done=False))
    assert decisions(outcome) == [Decision.MET]
    assert (outcome.register.kept, outcome.register.due) == (kept(90), False)


@pytest.mark.parametrize("versions", [True, False])
def test_who_has_found_it_before_the_group_told_completes_it(versions: bool) -> None:
    replica = region(versions=versions, brokers="4.2.4")
    found = replica.observe(
        Register(path=PATH), entry(value(5), revision="7"), replace(moment(), first_scan_done=False)
    )
    assert published(found) == json.loads(value(None))
    theirs = replica.fold(found.register, event(value(60, **OF_5), replace(BASE, region=THIRD)), Millis(NOW))
    assert theirs.register.kept is not None
    owed = {TTL: 60, **OF_5} if versions else {TTL: 60}
    assert theirs.register.kept.owed == owed
    outcome = replica.observe(theirs.register, entry(value(5), revision="7"), moment(5))
    assert published(outcome) == {**json.loads(value(None)), **owed}
    assert outcome.register.kept is not None
    assert (outcome.register.kept.group, outcome.register.kept.owed) == ({TTL: 60}, {})
    again = replica.fold(outcome.register, event(value(60, **OF_5), replace(BASE, region=THIRD)), Millis(NOW))
    assert again.register.kept == outcome.register.kept


def test_a_lost_database_waits_for_the_groups_value() -> None:
    known = version(value(60), at(0, THERE), kept=False)
    rebuilding = replace(moment(), rebuilding=True, first_scan_done=False)
    outcome = region().observe(Register(path=PATH, known=known), entry(value(5)), rebuilding)
    assert (outcome.acts, outcome.register.stored, outcome.register.value_missing) == ((), None, True)
    told = replace(outcome.register, known=version(value(60), at(0, THERE)))
    assert decisions(region().observe(told, entry(value(5)), rebuilding)) == [Decision.MET]


# -- a rule that comes


def test_the_stored_value_becomes_the_groups_where_the_store_stands() -> None:
    before = settled_on(value(60), at(0, THERE))
    assert outdated(region().settings, before)
    assert region().excludes_others(before)
    outcome = region().observe(before, entry(value(60), revision="7"), by_scan())
    assert (outcome.acts, outcome.register.kept) == ((), kept(60))
    assert not outdated(region().settings, outcome.register)


def test_newer_fields_that_a_former_version_has_not_kept_are_kept_with_it() -> None:
    whole = value(60, **OF_5)
    outcome = region(brokers="4.2.4", versions=True).observe(
        settled_on(whole, at(0)), entry(whole, revision="7"), by_scan()
    )
    assert outcome.register.kept == kept(60, store=OF_5)


def test_where_the_store_has_changed_meanwhile_the_groups_value_is_asked_for() -> None:
    before = settled_on(value(60), at(0, THERE))
    outcome = region().observe(before, entry(value(5, 2), modified=5), moment(5))
    assert (outcome.acts, outcome.register.value_missing, outcome.register.kept) == ((), True, None)
    again = region().observe(outcome.register, entry(value(5, 2), modified=5), moment(6))
    assert again.register == outcome.register, "it waits on"
    told = region().fold(outcome.register, event(value(60), at(0, THERE)), Millis(NOW + 7))
    assert told.need is Need.READ
    found = region().observe(told.register, entry(value(5, 2), modified=5), moment(8))
    assert published(found) == json.loads(value(60, 2))
    alone = region().observe(told.register, entry(value(5), modified=5), moment(8))
    assert (decisions(alone), alone.register.kept) == ([Decision.MET], kept(60))


def test_where_nobody_has_the_groups_value_nothing_is_told_of_the_field() -> None:
    before = settled_on(value(60), at(0, THERE))
    waits = region().observe(before, entry(value(5, 2), modified=5), moment(5)).register
    assert json.loads(whole_of(region().settings, waits, entry(value(5, 2))) or b"") == json.loads(value(None, 2))
    assert whole_of(region().settings, shared(), entry(value(5, 2))) is not None
    assert whole_of(region().settings, waits, None) is None
    assert whole_of(region().settings, waits, entry(b"")) is None
    asserted = settled_on(value(None, 2), at(9))
    found = region().observe(asserted, entry(value(5, 2)), moment(9))
    assert (found.acts, found.register.kept) == ((), kept(None))


def test_what_is_asserted_before_the_rule_was_read_by_is_read_again() -> None:
    before = settled_on(value(60), at(0, THERE))
    waits = region().observe(before, entry(value(5, 2), modified=5), moment(5)).register
    outcome = region().apply_due(replace(waits, wish=Wish.REVIVE), entry(value(5, 2)), facts(), "1.1")
    assert published(outcome) == json.loads(value(None, 2))
    assert outcome.need is Need.READ
    read = region().observe(outcome.register, entry(value(5, 2)), moment(9))
    assert (read.acts, read.register.kept) == ((), kept(None))
    again = region().apply_due(replace(read.register, wish=Wish.REVIVE), entry(value(5, 2)), facts(), "1.1")
    assert again.need is Need.NOTHING


def test_a_write_before_the_rule_was_read_by_leaves_the_stores_own_value() -> None:
    register = due(90, 2, settled_on(value(60), at(0, THERE)))
    outcome = region().apply_due(register, entry(value(60), revision="7"), facts(), "1.1")
    assert isinstance(outcome.write, Put)
    assert json.loads(outcome.write.value) == json.loads(value(60, 2))
    landed = region().written(outcome.register, Written(path=PATH, revision=Revision("8")), Millis(NOW))
    assert (landed.need, landed.register.kept) == (Need.NOTHING, kept(90))


def test_what_the_group_knows_by_now_tells_the_value() -> None:
    before = replace(settled_on(value(60), at(0, THERE)), known=version(value(90), at(3, THIRD)))
    outcome = region().observe(before, entry(value(5, 2), modified=5), moment(5))
    assert published(outcome) == json.loads(value(90, 2))


@pytest.mark.parametrize("known", [None, version(None, at(3, THIRD))])
def test_where_the_group_has_nothing_it_has_no_value(known: Any) -> None:
    before = replace(settled_on(value(60), at(0, THERE)), known=known)
    outcome = region().observe(before, entry(value(5, 2), modified=5), moment(5))
    assert published(outcome) == json.loads(value(None, 2))


def test_what_was_lost_before_the_rule_came_is_not_taken_for_the_groups_value() -> None:
    before = settled_on(value(None), at(9))
    came = region().observe(before, entry(value(None), revision="7"), by_scan()).register
    assert came.kept == kept(None)
    again = region().fold(came, event(value(60), at(3, THERE)), Millis(NOW + 20))
    assert again.register.kept == came.kept
    assert again.need is Need.NOTHING


# -- a rule that goes


def test_a_differing_value_stays_the_stores_own_until_both_are_the_same() -> None:
    replica = region(rules=NO_RULES)
    assert outdated(replica.settings, shared())
    outcome = replica.observe(shared(), entry(value(5), revision="7"), by_scan())
    assert (outcome.acts, outcome.register) == ((), shared())
    edited = replica.observe(shared(), entry(value(6, 2), modified=5), moment(5))
    assert published(edited) == json.loads(value(60, 2))
    same = replica.observe(shared(), entry(value(60)), moment(5))
    assert (same.acts, same.register.kept) == ((), None)


def test_a_value_from_elsewhere_that_is_the_stores_own_ends_it() -> None:
    replica = region(rules=NO_RULES)
    outcome = replica.apply_due(due(5, 1), entry(value(5), revision="7"), facts(), "1.1")
    assert (outcome.write, outcome.need) == (None, Need.READ)
    after = replica.observe(outcome.register, entry(value(5), revision="7"), moment(10))
    assert (after.acts, after.register.kept) == ((), None)
    written = replica.apply_due(due(5, 2), entry(value(5), revision="7"), facts(), "1.1")
    landed = replica.written(written.register, Written(path=PATH, revision=Revision("8")), Millis(NOW))
    assert landed.need is Need.READ


def test_one_of_two_fields_that_is_the_same_ends_alone() -> None:
    both = KeptFields(excluded=(LIMIT, TTL), group={TTL: 60, LIMIT: 1})
    before = settled_on(value(60, 1), at(0, THERE), kept=both)
    outcome = region(rules=NO_RULES).observe(before, entry(value(5, 1)), moment(5))
    assert (outcome.acts, outcome.register.kept) == ((), kept(60))
    none_of(outcome, Publish)


# -- parts


def test_names_in_a_write_are_those_of_the_last_read_or_of_the_rules() -> None:
    settings = region().settings
    assert here(settings, shared()) == NAMES
    assert here(settings, Register(path=PATH)) == NAMES
    assert here(settings, settled_on(value(60), at(0))) == NAMES, "though it was not read by them yet"
    assert here(region(rules=NO_RULES).settings, settled_on(value(60), at(0))) == ()
    assert here(region(rules=NO_RULES).settings, shared()) == NAMES
    assert not outdated(settings, Register(path=PATH))


def test_nothing_is_kept_of_nothing() -> None:
    assert excluding(None, (), {}) is None
    assert excluding(KeptFields(), (), {}) is None
    assert excluding(KeptFields({SCALING: 1}), (), {}) == KeptFields({SCALING: 1})
    assert limited(KeptFields(), ()) == KeptFields()
    assert limited(kept(), ()) == KeptFields()
    assert limited(kept(), NAMES) == kept()


def test_the_wish_of_an_operator_asserts_the_groups_value() -> None:
    register = replace(due(90, 2), wish=Wish.REVIVE)
    outcome = region().apply_due(register, entry(value(5), revision="7"), facts(), "1.1")
    assert published(outcome) == json.loads(value(60))


def test_an_unreadable_value_is_completed_by_nothing() -> None:
    assert completed_value(PATH, b"{", kept()) == b"{"
    assert json.loads(completed_value(PATH, value(5), kept())) == json.loads(value(60))


# -- who wrote a document is told by it as it stands in the store


PROOFS: Final = Exclusions([Exclusion("/admin/policies/*/*", (PROOF,))])


def of_5_0(group: dict[str, Any], **more: Any) -> tuple[Replica, Register]:
    """A region of 5.0 that has for itself what 5.0 always writes, and a path with another field of 5.0."""
    kept = KeptFields({SCALING: POLICY}, excluded=(PROOF,), group=group, **more)
    whole = value(60, **{SCALING: POLICY, **group})
    return region(brokers="5.0.0-M1", versions=True, rules=PROOFS), settled_on(whole, at(0), kept=kept)


@pytest.mark.parametrize("group", [{}, {PROOF: False}])
def test_a_removal_by_who_always_writes_an_excluded_field_is_believed(group: dict[str, Any]) -> None:
    replica, before = of_5_0(group)
    left = entry(value(60, **{PROOF: True}), modified=5)
    assert replica.observe(before, left, moment(5)).need is Need.BROKERS
    outcome = replica.observe(before, left, vouched(5))
    assert published(outcome) == json.loads(value(60, **group))
    assert not replica.owes(outcome.register)


@pytest.mark.parametrize("group", [{}, {PROOF: False}])
def test_the_groups_value_of_an_excluded_field_proves_nothing(group: dict[str, Any]) -> None:
    replica, before = of_5_0(group)
    outcome = replica.observe(before, entry(value(90), modified=5), vouched(5))
    assert published(outcome) == json.loads(value(90, **{SCALING: POLICY, **group}))


def test_what_is_owed_of_an_excluded_field_proves_nothing_either() -> None:
    replica, before = of_5_0({}, owed={PROOF: True})
    less = replica.observe(before, entry(value(60, **{PROOF: True}), modified=5), vouched(5))
    assert published(less) == json.loads(value(60, **{PROOF: True}))
    assert SCALING in published(replica.observe(before, entry(value(90), modified=5), vouched(5)))
