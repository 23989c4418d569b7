"""What is said of others is obeyed where this region's own evidence agrees; nothing that lasts comes of a lie."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.bus.wire.messages import LEFT, Control, ControlAction, Heartbeat
from syncer.conflict.tombstones import Cause, Wait
from syncer.errors import PreconditionFailed
from syncer.model import Millis, Region
from syncer.replication.gc import collector
from syncer.replication.group.evidence import SILENCE_MS, Evidence
from syncer.replication.membership.forget import admit
from syncer.replication.membership.leave import leave
from syncer.state.contract.membership import JOINING
from syncer.state.contract.operations import Operation, OperationState
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import BEAT_MS, T0, Site, path_of
from tests.unit.replication.gc.test_gap_fill import FORGETTING, GONE, changed
from tests.unit.replication.membership.test_membership import beat_of, forgets, listens, refused_by

EAST, WEST, LIAR = Region("east"), Region("west"), Region("liar")


class Told:
    """East, that has listened for long; west, which is well; and somebody who lies to it."""

    def __init__(self) -> None:
        self.east = Site("east")
        self.now = listens(self.east, T0)
        self.west = beat_of(self.east, "west", "db-west")
        self.liar = beat_of(self.east, "liar", "db-liar")
        self.hear(self.west, self.liar)

    def hear(self, *beats: Heartbeat) -> None:
        self.now = Millis(self.now + BEAT_MS)
        self.east.driver.tick(self.now)
        self.east.hear([self.east.driver.heartbeat(self.now, "1"), *beats], self.now)

    def lies(self, *refused: tuple[str, str], beats: int = 1) -> None:
        """The liar says so, while west speaks on."""
        for _ in range(beats):
            self.hear(self.west, replace(self.liar, refused=refused))

    def does(self, kind: str, region: str, **arguments: str) -> Operation:
        """What an operator of east does."""
        number = self.east.state.ask(kind, {"region": region, **arguments}, "an operator", "")
        self.east.driver.operate(self.now)
        operation, _ = self.east.state.database.operations[number]
        return operation

    @property
    def members(self) -> list[Region]:
        return list(parts_of(self.east.driver).group.peers.members(()))

    @property
    def senders(self) -> list[str]:
        """By which databases the others speak."""
        with self.east.state.transaction() as tx:
            return [peer.sender for peer in tx.peers()]

    @property
    def codes(self) -> dict[str, str]:
        return (
            dict(parts_of(self.east.driver).group.hearsay.conditions(EAST))
            | parts_of(self.east.driver).telemetry.conditions
        )

    @property
    def kept_by(self) -> dict[Region, Cause]:
        """Who keeps deletes from being forgotten, and how."""
        return {region: wait.cause for region, wait in self.waits.items()}

    @property
    def waits(self) -> dict[Region, Wait]:
        """Who keeps deletes from being forgotten, and what is said of it."""
        parts = parts_of(self.east.driver)
        with self.east.state.transaction() as tx:
            _, silent, _ = collector._reports(parts.gc, tx, collector.own_report(tx), self.now)
        return silent


def test_a_living_region_is_not_refused_because_somebody_says_so() -> None:
    told = Told()
    told.lies(("west", "db-west"), beats=SILENCE_MS // BEAT_MS * 3)
    assert refused_by(told.east) == ()
    assert told.members == ["liar", "west"]
    assert "liar says that west was forgotten" in told.codes["forget-held"]
    assert told.kept_by == {EAST: Cause.DISPUTED, WEST: Cause.DISPUTED}, "no delete is forgotten meanwhile"
    told.lies()
    assert "forget-held" not in told.codes, "nobody says it any more"
    assert told.kept_by == {}


def test_what_is_held_is_obeyed_once_the_silence_is_there() -> None:
    told = Told()
    told.lies(("west", "db-west"))
    for _ in range(SILENCE_MS // BEAT_MS - 1):
        told.hear(replace(told.liar, refused=(("west", "db-west"),)))
        assert told.members == ["liar", "west"]
    told.hear()
    assert told.members == ["liar"]
    assert refused_by(told.east) == (("west", "db-west"),)


def test_a_region_that_does_not_hear_the_bus_does_not_take_that_for_silence() -> None:
    told = Told()
    late = Millis(told.now + 2 * SILENCE_MS)
    told.east.driver.tick(late)
    told.east.hear([replace(told.liar, refused=(("west", "db-west"),))], late)
    assert told.members == ["liar", "west"]
    now = listens(told.east, late)
    assert told.members == ["liar"]
    assert now


def test_a_request_to_forget_counts_no_more_than_a_heartbeat() -> None:
    told = Told()
    control = Control(
        region=LIAR, sender="db-liar", action=ControlAction.FORGET, paths=("west", "db-west"), sent_at_ms=told.now
    )
    told.east.hear([control], told.now)
    assert told.members == ["liar", "west"]
    assert "forget-held" in told.codes
    told.hear(told.west, told.liar)
    assert "forget-held" not in told.codes
    told.east.hear([replace(control, region=Region("mars"), sender="db-mars")], told.now)
    assert "forget-held" not in told.codes, "who is no member is not asked about others"


def test_an_operator_obeys_or_refuses_what_is_held() -> None:
    told = Told()
    told.lies(("west", "db-west"))
    assert told.does("regions-forget", "west", force="true").state is OperationState.DONE
    assert told.members == ["liar"]
    assert told.does("regions-admit", "west").state is OperationState.DONE
    told.lies(("west", "db-west"))
    assert told.members == ["liar", "west"]
    assert told.codes.keys() & {"forget-held", "forgotten-database"} == {"forgotten-database"} & told.codes.keys()
    for _ in range(2 * SILENCE_MS // BEAT_MS):
        told.hear(replace(told.liar, refused=(("west", "db-west"),)))
    assert told.members == ["liar", "west"], "also when it is silent for long"
    assert told.kept_by[EAST] is Cause.DISPUTED
    answer = told.does("regions-admit", "liar")
    assert "takes part already" in answer.answer
    assert told.does("regions-admit", "mars").state is OperationState.FAILED


@pytest.mark.parametrize("more", [(), (("west", "db-west-3"),)], ids=["alone", "beside one that is never heard"])
def test_a_database_that_an_operator_admits_before_it_ever_spoke_is_heard(more: tuple[tuple[str, str], ...]) -> None:
    told = Told()
    rebuilt = replace(told.west, sender="db-west-2", generation=2)
    told.hear(replace(told.liar, refused=(("west", "db-west-2"),)))
    told.hear(rebuilt)
    assert "db-west-2" not in told.senders, "members may have forgotten it before it was ever heard here"
    assert told.does("regions-admit", "west").state is OperationState.DONE
    told.hear(rebuilt, replace(told.liar, refused=(("west", "db-west-2"), *more)))
    told.hear(rebuilt)
    assert "db-west-2" in told.senders


def test_what_was_counted_while_it_was_refused_is_asked_for_again() -> None:
    told = Told()
    forgets(told.east, "west", told.now)
    other = Site("west")
    event = changed(other, GONE, None, 50)
    told.east.hear([replace(event, sender="db-west", sequence=1)], told.now)
    with told.east.state.transaction() as tx:
        assert tx.consumed(["db-west"])["db-west"].through == 1
    told.does("regions-admit", "west")
    with told.east.state.transaction() as tx:
        assert tx.consumed(["db-west"])["db-west"].through == 0


def test_a_database_is_not_refused_under_the_name_of_another_region() -> None:
    told = Told()
    told.lies(("invented", "db-west"), ("west", "db-east"), ("invented", "db-east"), beats=40)
    assert refused_by(told.east) == ()
    assert "which is not its own" in told.codes["hearsay-void"]
    assert told.members == ["liar", "west"]
    assert parts_of(told.east.driver).group.left_at is None
    assert told.kept_by == {}, "it counts for nobody"


def test_another_region_does_not_speak_by_a_database_that_is_taken() -> None:
    told = Told()
    for database in ("db-west", "db-east"):
        told.hear(beat_of(told.east, "invented", database))
        assert told.members == ["liar", "west"]
        assert "database-of-another-region" in told.codes
    before = parts_of(told.east.driver).group.evidence.until_ms
    forged = replace(beat_of(told.east, "invented", "db-east"), sent_at_ms=told.now)
    told.east.hear([forged], Millis(told.now + 1))
    assert parts_of(told.east.driver).group.evidence.until_ms == before, (
        "and it is nobody's own heartbeat that comes back"
    )


def test_a_database_that_never_spoke_does_not_push_out_one_that_is_refused() -> None:
    told = Told()
    told.hear(beat_of(told.east, "old", "db-old"))
    forgets(told.east, "old", told.now)
    for number in range(200):
        told.lies(("old", f"invented{number}"))
    for _ in range(SILENCE_MS // BEAT_MS * 2):
        told.lies(*(("old", f"invented{number}") for number in range(200)))
    assert ("old", "db-old") in refused_by(told.east)
    assert told.kept_by, "what found no room keeps the deletes"


def test_an_invented_forget_of_a_region_that_is_yet_to_come_does_not_take_its_id() -> None:
    told = Told()
    told.lies(("north", "invented"), beats=SILENCE_MS // BEAT_MS + 2)
    assert refused_by(told.east) == (("north", "invented"),)
    told.hear(beat_of(told.east, "north", "db-north"))
    assert told.members == ["liar", "north", "west"]


def test_leaving_is_taken_back_by_the_next_ordinary_heartbeat() -> None:
    told = Told()
    told.hear(replace(told.west, mode=LEFT), told.liar)
    assert told.members == ["liar", "west"]
    told.hear(told.west)
    for _ in range(2 * SILENCE_MS // BEAT_MS):
        told.hear(told.west, replace(told.west, mode=LEFT))
    assert told.members == ["liar", "west"]
    assert refused_by(told.east) == ()


def test_leaving_is_final_once_nothing_else_was_said_for_long() -> None:
    told = Told()
    told.hear(replace(told.west, mode=LEFT))
    told.east.begin()
    assert told.members == ["liar", "west"], "a restart does not hasten it"
    for _ in range(SILENCE_MS // BEAT_MS + 1):
        told.hear(replace(told.west, mode=LEFT))
    assert told.members == ["liar"]
    assert refused_by(told.east) == (("west", "db-west"),)
    told.hear(told.west)
    assert told.members == ["liar"]
    told.does("regions-admit", "west")
    told.hear(told.west)
    assert told.members == ["liar", "west"]


def test_a_region_that_is_heard_goes_on_whoever_says_that_it_was_forgotten() -> None:
    told = Told()
    told.lies(("east", "db-east"), beats=5)
    parts = parts_of(told.east.driver)
    assert parts.group.left_at is None
    assert "liar says that this region was forgotten" in told.codes["said-to-be-forgotten"]
    assert told.kept_by == {EAST: Cause.DISPUTED, WEST: Cause.DISPUTED}


def test_a_region_that_was_away_believes_all_but_not_one_alone() -> None:
    for tellers in (1, 2):
        told = Told()
        told.now = back = Millis(told.now + SILENCE_MS + 1)
        west = told.west if tellers == 1 else replace(told.west, refused=(("east", "db-east"),))
        told.east.hear([west, replace(told.liar, refused=(("east", "db-east"),))], back)
        parts = parts_of(told.east.driver)
        assert (parts.group.left_at is None) is (tellers == 1)
        assert ("forgotten-here" in parts.telemetry.conditions) is (tellers == 2)
    assert parts.group.mode == LEFT
    assert told.does("regions-admit", "east").state is OperationState.DONE
    assert (parts.group.mode, parts.group.paused) == ("active", None)
    told.hear(replace(told.liar, refused=(("east", "db-east"),)))
    assert parts.group.left_at is None
    assert told.does("regions-admit", "east").state is OperationState.FAILED


def test_a_database_that_is_new_was_forgotten_by_nobody() -> None:
    east = Site("east")
    east.hear([replace(beat_of(east, "liar", "db-liar"), refused=(("east", "db-east"),))], T0)
    assert parts_of(east.driver).group.left_at is None


def test_who_has_left_by_his_own_word_is_not_admitted() -> None:
    told = Told()
    parts = parts_of(told.east.driver)
    parts.local.watch.scanned = True
    with told.east.state.transaction() as tx:
        leave(parts.membership, tx, told.now, force=True)
        operation = Operation(id=1, kind="regions-admit", arguments={"region": "east"}, asked_by="", reason="")
        with pytest.raises(PreconditionFailed, match="own operator"):
            admit(parts.membership, parts.units.begin(tx, told.now), tx, operation)


def test_who_joins_obeys_at_once_and_its_plan_shows_it() -> None:
    east = Site("east")
    parts_of(east.driver).group.paused = JOINING
    east.hear([replace(beat_of(east, "west", "db-west"), refused=(("old", "db-old"),))], T0)
    assert refused_by(east) == (("old", "db-old"),)


def test_no_delete_is_forgotten_while_members_do_not_agree() -> None:
    told = Told()
    parts_of(told.east.driver).gc.tombstones.limits = replace(FORGETTING, grace_ms=Millis(1))
    told.east.has(path_of("dead"), None, 50)
    told.hear(beat_of(told.east, "old", "db-old"))
    forgets(told.east, "old", told.now)
    told.hear(told.west, told.liar)
    assert told.kept_by == {WEST: Cause.DISPUTED, LIAR: Cause.DISPUTED}
    refusing = (("old", "db-old"),)
    told.hear(replace(told.west, refused=refusing), replace(told.liar, refused=refusing))
    assert told.kept_by == {}


def test_who_disputes_whom_is_said_with_what_ends_it() -> None:
    told = Told()
    told.lies(("west", "db-west"))
    wait = told.waits[EAST]
    assert wait.text == "does not refuse database db-west of west, which liar refuses"
    assert wait.cure == (
        "If west is gone: 'syncer regions forget west --force' in every region that does not refuse it, or, where its "
        "hearsay-void names another owner of that database, that owner. If it is there: 'syncer regions admit west' in "
        "every region that does; and if liar says so untruly, and goes on: 'syncer regions forget liar --force' in all "
        "others"
    )
    assert told.waits[WEST] == wait
    assert told.does("regions-forget", "west", force="true").state is OperationState.DONE
    told.hear(told.liar)
    wait = told.waits[LIAR]
    assert wait.text == "does not refuse database db-west of west, which this region refuses"
    assert wait.cure.endswith("'syncer regions admit west' in every region that does")


def test_of_many_who_dispute_much_some_are_named() -> None:
    told = Told()
    crowd = [beat_of(told.east, f"r{number}", f"db-r{number}") for number in range(5)]
    refused = tuple((f"old-{number}", f"db-old-{number}") for number in range(4))
    told.hear(told.west, *(replace(beat, refused=refused) for beat in crowd))
    assert told.waits[WEST].text == (
        "does not refuse database db-old-0 of old-0, which this region, r0, r1 and 3 more refuse, nor 3 more databases"
    )


def test_a_region_that_is_forgotten_on_hearsay_is_so_with_all_that_spoke_for_it() -> None:
    """Whoever forgets it by command refuses all of them, under whatever name: else no delete were forgotten."""
    told = Told()
    told.hear(replace(told.west, sender="db-west-2", generation=2))
    refusing = replace(told.liar, refused=(("west", "db-west-2"), ("mars", "db-west")))
    for _ in range(SILENCE_MS // BEAT_MS + 1):
        told.hear(refusing)
    assert refused_by(told.east) == (("west", "db-west"), ("west", "db-west-2"))
    assert told.kept_by == {}


def test_what_is_void_is_shown_with_what_ends_it() -> None:
    told = Told()
    told.lies(("mars", "db-west"))
    assert told.codes["hearsay-void"] == (
        "liar says that mars was forgotten and names database db-west, which is not its own, but that of west: nothing "
        "comes of it here. 'syncer regions admit mars' there takes it back; if west is gone, 'syncer regions forget "
        "west' here"
    )
    told.lies(("mars", "db-east"))
    assert told.codes["hearsay-void"].endswith("'syncer regions admit mars' there takes it back")


@pytest.mark.parametrize("who", ["the liar is forgotten", "the region is forgotten", "the liar takes it back"])
def test_each_cure_of_a_dispute_lets_deletes_be_forgotten_again(who: str) -> None:
    told = Told()
    told.lies(("west", "db-west"), beats=3)
    assert told.kept_by == {EAST: Cause.DISPUTED, WEST: Cause.DISPUTED}
    if who == "the liar is forgotten":
        told.does("regions-forget", "liar", force="true")
        told.hear(replace(told.west, refused=(("liar", "db-liar"),)))
        told.lies(("west", "db-west"))
        told.hear(replace(told.west, refused=(("liar", "db-liar"),)))
        assert told.members == ["west"]
    elif who == "the region is forgotten":
        told.does("regions-forget", "west", force="true")
        told.lies(("west", "db-west"))
    else:
        told.lies()
    assert told.kept_by == {}


def test_evidence_is_what_comes_back_of_what_was_said() -> None:
    evidence = Evidence(silence_ms=100)
    evidence.came_back(Millis(5), Millis(5))
    assert evidence.new(Millis(5))
    evidence.said.extend((Millis(5), Millis(50), Millis(500)))
    evidence.came_back(Millis(5), Millis(6))
    assert (evidence.listening_since(Millis(7)), evidence.gone_ms, evidence.back_ms) == (6, 0, 6)
    assert evidence.new(Millis(7))
    assert not evidence.silent(Millis(0), Millis(99))
    assert evidence.silent(Millis(0), Millis(105)) is False
    evidence.came_back(Millis(50), Millis(60))
    assert evidence.silent(Millis(0), Millis(106))
    assert not evidence.silent(Millis(10), Millis(106))
    assert (evidence.away(Millis(160)), evidence.new(Millis(160))) == (True, False)
    evidence.came_back(Millis(500), Millis(505))
    assert (evidence.since_ms, evidence.back_ms, evidence.heard_last_ms(Millis(510))) == (505, 505, 60)
    assert evidence.away(Millis(510))
    evidence.vouched(Millis(511))
    assert not evidence.away(Millis(512))


def test_a_region_that_stands_still_moves_again_once_a_member_is_heard_that_waits_for_it() -> None:
    told = Told()
    told.now = back = Millis(told.now + SILENCE_MS + 1)
    told.east.hear([replace(told.liar, refused=(("east", "db-east"),))], back)
    parts = parts_of(told.east.driver)
    assert parts.group.mode == LEFT
    told.hear(told.west)
    assert (parts.group.mode, parts.group.paused) == ("active", None)
    assert "forgotten-here" not in parts.telemetry.conditions
