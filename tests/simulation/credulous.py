"""Breaks of what is believed: a daemon that obeys whatever it is told, and the scripted schedule that shows it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, Final

from syncer.bus.wire.tree_bodies import listing_of
from syncer.conflict import folding, observing, rebuilding
from syncer.conflict.acts import Decision
from syncer.conflict.causality import skew
from syncer.conflict.folding import journal
from syncer.errors import PayloadInvalid
from syncer.model import Millis, Region
from syncer.replication.antientropy import protocol
from syncer.replication.gc import collector
from syncer.replication.gc.part import DeleteCollection
from syncer.replication.group import hearsay, peer, peers
from syncer.replication.group.evidence import Evidence
from syncer.replication.group.hearsay import Hearsay, Held
from syncer.replication.group.newcomers import Newcomers
from syncer.replication.group.peer import Peer
from syncer.replication.group.peers import Peers
from syncer.replication.inbound import admission, receive
from syncer.replication.inbound.quarantine import set_aside
from syncer.replication.membership import forget, leave
from syncer.replication.membership.part import MembershipChanges
from syncer.replication.recovery import doubt, generations, originals, rebuild, state_transfer
from syncer.replication.recovery.part import Recovery
from syncer.replication.recovery.progress import Accusation

Patches = Sequence[tuple[Any, str, Any]]
NEVER_MS: Final = 10**15


def every_generation_is_believed() -> Patches:
    """A region takes the generation after whatever anybody has heard of it."""

    def believed(recovery: Recovery, generation: int, teller: Region) -> bool:
        del recovery, generation, teller
        return True

    return [(generations, "claim", believed)]


def who_is_said_to_be_forgotten_is_refused() -> Patches:
    """Whoever says so, and however lately it was heard."""
    return [(Evidence, "silent", lambda *_: True)]


def who_is_said_to_be_forgotten_stands_still() -> Patches:
    """The region itself, although it is there."""

    def obeying(membership: MembershipChanges, tx: Any, said: Any, now: Any) -> None:
        if said and membership.group.left_at is None:
            leave.stand_still(membership, tx, now, "somebody has forgotten this region's database")

    return [(forget, "_look_at_ours", obeying)]


def a_database_is_given_up_each_time() -> Patches:
    """As often as somebody has events of it that it never gave out."""

    def doubting(recovery: Recovery, reason: str, *, ambiguous: bool = False) -> None:
        del ambiguous
        recovery.progress.lost = recovery.progress.lost or reason

    return [(rebuild, "_doubt", doubting)]


def the_first_of_two_values_stands() -> Patches:
    """In each region that which came first."""

    def first(settings: Any, register: Any, known: Any, version: Any, *, own: bool) -> Any:
        del settings, known, own
        return register, (journal(register.path, version, Decision.ALARM),)

    return [
        (folding, "_two_values", first),
        (rebuilding, "prevails", lambda *_: False),
        (protocol, "prevails", lambda *_: False),
    ]


class _Ownerless:
    """Peers of whom nobody remembers which database is whose."""

    def __init__(self, known: Peers) -> None:
        self._known = known

    def __getattr__(self, name: str) -> Any:
        return (lambda _: None) if name == "region_of" else getattr(self._known, name)


def _void_claims_count() -> Patches:
    judge = hearsay.judge

    def judging(known: Peers, *rest: Any, **more: Any) -> Any:
        return judge(_Ownerless(known), *rest, **more)  # type: ignore[arg-type] # it looks like them

    return [(forget, "judge", judging)]


def _void_claims_keep_deletes() -> Patches:
    disputes = hearsay.disputes

    def disputing(known: Peers, *rest: Any) -> Any:
        return disputes(_Ownerless(known), *rest)  # type: ignore[arg-type] # it looks like them

    return [(collector, "disputes", disputing)]


def _listens_always() -> Patches:
    return [(Evidence, "listening_since", lambda *_: Millis(0))]


def _whatever_comes_back_was_said() -> Patches:
    came_back = Evidence.came_back

    def believing(evidence: Evidence, sent_at_ms: Millis, now: Millis) -> None:
        evidence.said.append(sent_at_ms)
        came_back(evidence, sent_at_ms, now)

    return [(Evidence, "came_back", believing)]


def _admitted_is_doubted_still() -> Patches:
    return [(Held, "puts_aside", lambda held, database: held.unmet and database in held.databases)]


def _nameless_are_waited_for() -> Patches:
    reports = collector._reports

    def waiting(gc: DeleteCollection, *rest: Any) -> Any:
        state = gc.tombstones
        state.limits = replace(state.limits, nameless_ms=Millis(NEVER_MS))
        return reports(gc, *rest)

    return [(collector, "_reports", waiting)]


def _each_accuser_holds_a_pair_anew() -> Patches:
    convinces = doubt.convinces

    def anew(recovery: Recovery, accusation: Accusation) -> bool:
        if accusation.teller not in recovery.doubts.by:
            recovery.doubts.held_since_ms, recovery.doubts.over = accusation.at_ms, False
        return convinces(recovery, accusation)

    return [(doubt, "convinces", anew)]


def _outbox_is_thrown_away() -> Patches:
    renew = rebuild.renew

    def bare(recovery: Recovery, asked: rebuild.BeginAnew) -> None:
        renew(recovery, replace(asked, carry=False))

    return [(rebuild, "renew", bare)]


def _rebuild_waits_for_all_who_speak() -> Patches:
    hearing = rebuild.hearing

    def patient(recovery: Recovery, kept: Any, now: Millis) -> Any:
        found = hearing(recovery, kept, now)
        return replace(found, answers={region: member.answer for region, member in recovery.progress.members.items()})

    return [(rebuild, "hearing", patient)]


def _rebuild_is_over_by_the_clock_alone() -> Patches:
    hearing = rebuild.hearing

    def impatient(recovery: Recovery, kept: Any, now: Millis) -> Any:
        recovery.progress.heard_ms = now
        return hearing(recovery, kept, now)

    return [(rebuild, "hearing", impatient)]


def _listing_is_taken_whole_or_not() -> Patches:
    versions_of = state_transfer._versions_of

    def strict(told: Any) -> Any:
        versions, bad = versions_of(told)
        return ([], [(each, bad[0][1]) for each in told.entries]) if bad else (versions, bad)

    return [(state_transfer, "_versions_of", strict)]


def _comparison_is_taken_whole_or_not() -> Patches:
    def strict(body: bytes) -> Any:
        found = listing_of(body)
        if found.refused:
            raise PayloadInvalid(found.fault)
        return found

    return [(protocol, "listing_of", strict)]


def _listings_speak_of_any_time() -> Patches:
    learn = state_transfer._learn

    def late(recovery: Recovery, unit: Any, told: Any, teller: Region) -> None:
        now, unit.now = unit.now, Millis(NEVER_MS)
        learn(recovery, unit, told, teller)
        unit.now = now

    return [(state_transfer, "_learn", late)]


def _refused_values_leave_gaps() -> Patches:
    def uncounted(*arguments: Any) -> bool:
        set_aside(*arguments)
        return False

    return [(receive, "set_aside", uncounted)]


def _vectors_are_inherited_whole() -> Patches:
    return [(observing, "sound", lambda seen, by, time, *_: {**seen, by: time})]


def _members(known: Peers, region: Region, expected: Collection[Region]) -> bool:
    del known, region, expected
    return True


BREAKS: Final[tuple[tuple[str, str, Callable[[], Patches]], ...]] = (
    (
        "a claim about another region's database counts",
        "a_database_is_of_no_other_region_because_a_member_says_so",
        _void_claims_count,
    ),
    (
        "a claim about another region's database keeps deletes",
        "what_is_said_of_a_database_under_another_name_keeps_no_delete",
        _void_claims_keep_deletes,
    ),
    (
        "a generation was that of another region's database",
        "a_claim_of_a_generation_is_not_proved_by_what_another_region_tells",
        lambda: [(rebuild, "_is_anothers", lambda *_: False)],
    ),
    (
        "a database speaks for whoever says so",
        "nobody_leaves_by_the_database_of_another_region",
        lambda: [(admission, "misused", lambda *_: None)],
    ),
    (
        "who is said to leave has left",
        "a_leaving_that_was_said_in_a_name_is_taken_back_by_its_next_heartbeat",
        lambda: [(Peer, "gone", property(lambda one: one.forgotten or one.left))],
    ),
    (
        "who hears nothing finds all silent",
        "who_does_not_hear_the_bus_takes_that_for_no_silence",
        _listens_always,
    ),
    (
        "whatever comes back was said here",
        "nobody_else_proves_to_a_region_that_it_is_heard",
        _whatever_comes_back_was_said,
    ),
    (
        "who was away believes one alone",
        "one_member_alone_does_not_stop_a_region_that_was_away",
        lambda: [(Evidence, "heard_last_ms", lambda *_: Millis(NEVER_MS))],
    ),
    (
        "who stands still does so for ever",
        "a_region_that_one_member_has_stopped_moves_again_once_another_one_is_heard",
        lambda: [(leave, "move_again", lambda *_: None)],
    ),
    (
        "a new database can have been forgotten",
        "a_database_that_is_new_was_forgotten_by_nobody",
        lambda: [(Evidence, "new", lambda *_: False)],
    ),
    (
        "an operator's admission is not remembered",
        "what_an_operator_has_decided_holds_whatever_is_said_later",
        lambda: [(Peers, "keeps", lambda *_: False)],
    ),
    (
        "what members refuse is heard at once where it is new",
        "a_database_that_members_refuse_before_it_spoke_waits_for_an_operator_and_not_longer",
        lambda: [(Hearsay, "disputed", lambda *_: None)],
    ),
    (
        "what an operator has admitted is doubted still",
        "a_database_that_members_refuse_before_it_spoke_waits_for_an_operator_and_not_longer",
        _admitted_is_doubted_still,
    ),
    (
        "deletes are forgotten although members disagree",
        "no_delete_is_forgotten_while_members_do_not_refuse_the_same",
        lambda: [(collector, "disputes", lambda *_: {})],
    ),
    (
        "a generation of the future is told on",
        "a_generation_of_the_future_is_not_told_on",
        lambda: [(peer, "GENERATIONS_AHEAD", NEVER_MS)],
    ),
    (
        "what a given-up database had to publish is thrown away",
        "what_was_to_be_published_survives_that_a_database_is_said_to_be_an_old_copy",
        _outbox_is_thrown_away,
    ),
    (
        "a rebuild waits for whoever speaks",
        "a_rebuild_does_not_wait_for_whoever_says_that_he_is_there",
        _rebuild_waits_for_all_who_speak,
    ),
    (
        "a rebuild takes what waits on the bus for silence",
        "a_rebuild_is_not_over_while_what_a_peer_has_said_waits_on_the_bus",
        _rebuild_is_over_by_the_clock_alone,
    ),
    (
        "a newcomer's rules are obeyed at once",
        "a_region_that_nobody_has_stops_nothing_by_its_rules",
        lambda: [(Newcomers, "judge", lambda *_: False)],
    ),
    (
        "a newcomer's changes are taken at once",
        "what_a_newcomer_says_is_kept_aside_and_not_counted_until_an_operator_takes_it_in",
        lambda: [(admission, "_held", lambda *_: None)],
    ),
    (
        "a database that was forgotten is heard",
        "a_database_that_was_forgotten_does_not_come_back_by_a_heartbeat",
        lambda: [(forget, "refused", lambda *_: None), (forget, "gone", lambda *_: None)],
    ),
    (
        "a region that was forgotten is heard by another database",
        "a_region_that_was_forgotten_does_not_come_back_by_another_database",
        lambda: [(forget, "gone", lambda *_: None)],
    ),
    (
        "the rules of the forgotten count",
        "the_rules_of_a_region_that_was_forgotten_count_no_longer",
        lambda: [(Peers, "_is_member", _members)],
    ),
    (
        "who is not expected is heard",
        "who_is_not_expected_is_neither_heard_nor_obeyed",
        lambda: [(admission, "unexpected", lambda *_: None)],
    ),
    (
        "a database without a region keeps deletes for ever",
        "a_database_that_never_tells_its_region_keeps_deletes_for_so_long_and_no_longer",
        _nameless_are_waited_for,
    ),
    (
        "a crowd of regions leaves no room",
        "a_crowd_of_regions_that_nobody_has_keeps_no_honest_one_from_being_heard",
        lambda: [(Peers, "make_room", lambda *_: None)],
    ),
    (
        "a crowd of regions displaces members",
        "a_crowd_of_regions_that_nobody_has_displaces_no_member",
        lambda: [(peers, "ESTABLISHED_MS", NEVER_MS)],
    ),
    (
        "a listing is learned whole or not at all",
        "one_bad_entry_of_a_listing_spoils_no_other_one",
        _listing_is_taken_whole_or_not,
    ),
    (
        "a comparison is judged whole or not at all",
        "one_bad_entry_of_a_comparison_spoils_no_other_one",
        _comparison_is_taken_whole_or_not,
    ),
    (
        "listings speak of any time",
        "a_listing_speaks_of_no_later_time_than_a_change_may",
        _listings_speak_of_any_time,
    ),
    (
        "a value that is refused leaves a gap",
        "a_value_that_is_refused_leaves_no_gap_in_the_numbers",
        _refused_values_leave_gaps,
    ),
    (
        "vectors are inherited whole",
        "what_a_former_version_has_believed_is_cut_at_the_next_edit",
        _vectors_are_inherited_whole,
    ),
    (
        "a path that lies ahead cannot be edited",
        "a_path_that_lies_ahead_is_edited_at_once_everywhere",
        lambda: [(skew, "SUCCESSOR_MS", 0)],
    ),
    (
        "a change that was never made is believed to have seen all",
        "a_change_that_a_region_never_made_has_seen_nothing_that_is_known_there",
        lambda: [(folding, "invented", lambda *_: False)],
    ),
)
"""By name and scripted schedule, what else a daemon could believe."""

DRAWN: Final[tuple[tuple[str, tuple[str, ...], Callable[[], Patches]], ...]] = (
    ("the word of one begins a rebuild", ("liar-accusing",), lambda: [(doubt, "ENOUGH", 0)]),
    ("a doubt is never over", ("liar-accusing",), lambda: [(doubt, "look_again", lambda *_: None)]),
    ("each accuser holds a pair anew", ("liar-accusing",), _each_accuser_holds_a_pair_anew),
    ("a database goes on as an old copy", ("wiped-both",), lambda: [(originals, "take_asked", lambda *_: None)]),
    (
        "an old copy has seen what it lacks",
        ("wiped-both",),
        lambda: [(rebuild, "_counted_anew", lambda _, event: event)],
    ),
)
"""What chance finds where a liar says that databases are old copies, or where some are: name, modes, patches."""
