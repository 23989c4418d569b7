"""One message at fault: it alone is set aside, whatever it breaks, and what it had half changed is taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import pytest

from syncer.bus.trust.signing import UNSIGNED
from syncer.bus.wire.messages import Control, ControlAction, TreeMessage
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.replica import Replica
from syncer.errors import Fenced, InvariantBroken, MessageUnreadable, PayloadInvalid, StateUnavailable, ValueRefused
from syncer.model import Millis, Region
from syncer.replication.antientropy import protocol
from syncer.replication.bisection import may_lie_in_one
from syncer.replication.control import operations
from syncer.replication.inbound import receive
from syncer.replication.inbound.arrived import Arrived, arrived_of
from syncer.replication.inbound.isolation import FUTURE, UNTAKEN
from syncer.state.contract.operations import Operation, OperationState
from syncer.state.contract.quarantine import DeadLetter
from tests.shell.on_bus import change, heartbeat
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import T0, Said, Site, path_of, value_of

NOW = Millis(T0 + 1_000_000)
GUILTY = path_of("guilty")
SENDER = "d" * 32
ERRORS = [ValueError("odd"), InvariantBroken("refused a statement"), RecursionError("deep"), KeyError("x")]


def event(number: int, edition: int | None = 1) -> Said:
    """A change of west, numbered; the path tells the number, 13 is the guilty one."""
    path = GUILTY if number == 13 else path_of(number)
    value = None if edition is None else value_of(edition)
    return change(path, value, time_ms=NOW, sender=SENDER, sequence=number)


def breaking(error: Exception, real: Callable[..., Any], guilty: Callable[..., bool]) -> Callable[..., Any]:
    """The real function, but for what is guilty."""

    def broken(*args: Any, **named: Any) -> Any:
        if guilty(*args):
            raise error
        return real(*args, **named)

    return broken


def hear(site: Site, *messages: Said, first: int = 0) -> None:
    arrived = [Arrived(message=said, position=f"p{first + at}") for at, said in enumerate(messages)]
    left: Sequence[Arrived] = arrived
    while left:
        left = site.driver.consume(left, NOW)


def aside(site: Site) -> list[tuple[str, str, str]]:
    """Origin, position and code of what stands in the quarantine."""
    rows = site.state.database.quarantine.values()
    return [(row.poison.origin, row.poison.position, row.poison.code) for row in rows]


def had(site: Site) -> Consumed:
    with site.state.transaction() as tx:
        return tx.consumed([SENDER]).get(SENDER, Consumed())


@pytest.mark.parametrize("error", ERRORS, ids=lambda each: type(each).__name__)
def test_the_guilty_change_alone_is_set_aside(error: Exception) -> None:
    site = Site("east")
    fold = breaking(error, Replica.fold, lambda _, register, *__: register.path == GUILTY)
    with mock.patch.object(Replica, "fold", fold):
        hear(site, *(event(number) for number in range(1, 41)))
    assert aside(site) == [("bus", "p12", UNTAKEN)]
    assert site.known(GUILTY) is None
    assert all(site.known(path_of(number)) is not None for number in range(1, 41) if number != 13)
    assert had(site) == Consumed(40), "what lives and was refused for good leaves no gap"


def test_the_number_of_a_delete_that_cannot_be_taken_is_missing_so_that_it_is_told_again() -> None:
    site = Site("east")
    fold = breaking(ValueError("odd"), Replica.fold, lambda _, register, *__: register.path == GUILTY)
    with mock.patch.object(Replica, "fold", fold):
        hear(site, *(event(number, None) for number in range(1, 21)))
    assert aside(site) == [("bus", "p12", UNTAKEN)]
    assert had(site) == Consumed(12, ((14, 20),))


def test_many_guilty_ones_are_each_set_aside() -> None:
    site = Site("east")
    fold = breaking(ValueError("odd"), Replica.fold, lambda _, __, said, *___: said.sequence % 2 == 0)
    with mock.patch.object(Replica, "fold", fold):
        hear(site, *(event(number) for number in range(1, 31)))
    assert [position for _, position, _ in aside(site)] == [f"p{number - 1}" for number in range(2, 31, 2)]
    assert had(site).through == 30


def test_a_heartbeat_that_breaks_what_hears_it_leaves_nothing_half_heard() -> None:
    site = Site("east")
    beat = heartbeat("west", sender=SENDER)
    hear(site, heartbeat("north", sender="n" * 32))
    with mock.patch.object(protocol, "on_heartbeat", side_effect=InvariantBroken("no such sum")):
        hear(site, event(1), beat, event(2), first=10)
    assert aside(site) == [("bus", "p11", UNTAKEN)]
    assert parts_of(site.driver).group.peers.regions == ["north"]
    assert "west" not in parts_of(site.driver).antientropy.exchanges.peers
    assert had(site).through == 2
    hear(site, beat, first=20)
    assert parts_of(site.driver).group.peers.regions == ["north", "west"]


def test_a_request_that_cannot_be_stored_is_not_obeyed_in_memory_either() -> None:
    site = Site("east")
    asked = Control(
        region=Region("west"), sender=SENDER, action=ControlAction.PAUSE, reason="odd", sent_at_ms=NOW, number=1
    )
    hear(site, heartbeat("west", sender=SENDER))
    with mock.patch.object(receive, "_note_asked", side_effect=InvariantBroken("refused a statement")):
        hear(site, event(1), asked, event(2), first=10)
    assert aside(site) == [("bus", "p11", UNTAKEN)]
    assert parts_of(site.driver).group.paused is None
    assert site.state.database.facts[""].paused is None
    hear(site, asked, first=20)
    assert parts_of(site.driver).group.paused == "asked by west: odd", "it was not noted as obeyed"


def test_a_step_of_a_comparison_that_breaks_it_is_set_aside() -> None:
    site = Site("east")
    step = TreeMessage(
        region=Region("west"), sender=SENDER, sent_at_ms=NOW, target="east", label="x", step="groups", round=1, body=b""
    )
    with mock.patch.object(protocol, "take", side_effect=IndexError("out of range")):
        hear(site, event(1), step, event(2))
    assert aside(site) == [("bus", "p1", UNTAKEN)]
    assert had(site).through == 2


@pytest.mark.parametrize("error", [StateUnavailable("away"), Fenced("outdone"), MemoryError()], ids=repr)
def test_what_no_message_can_cause_is_raised_and_nothing_is_set_aside(error: Exception) -> None:
    site = Site("east")
    with mock.patch.object(Replica, "fold", side_effect=error), pytest.raises(type(error)):
        hear(site, event(1), event(2))
    assert aside(site) == []
    assert not may_lie_in_one(error)
    assert may_lie_in_one(ValueRefused("too long"))


def test_looking_ahead_of_a_message_that_breaks_it_is_left_out() -> None:
    site = Site("east")
    arrived = [Arrived(message=event(1), position="p")]
    with mock.patch("syncer.replication.inbound.isolation.prefetch", side_effect=ValueError("odd")):
        assert site.driver.prefetch(arrived) is None
    with (
        mock.patch("syncer.replication.inbound.isolation.prefetch", side_effect=Fenced("outdone")),
        pytest.raises(Fenced),
    ):
        site.driver.prefetch(arrived)


def test_an_event_whose_time_has_come_and_that_cannot_be_taken_is_set_aside_alone() -> None:
    site = Site("east")
    ahead = Millis(NOW + 3_600_000)
    for number in (12, 13, 14):
        path = GUILTY if number == 13 else path_of(number)
        hear(site, change(path, value_of(1), time_ms=ahead, sender=SENDER, sequence=number), first=number)
    assert len(site.state.database.future) == 3
    fold = breaking(ValueError("odd"), Replica.fold, lambda _, register, *__: register.path == GUILTY)
    with mock.patch.object(Replica, "fold", fold):
        site.driver.tick(ahead)
    assert aside(site) == [(FUTURE, f"{GUILTY} {ahead}@west", UNTAKEN)]
    assert not site.state.database.future
    assert site.known(path_of(12)) is not None
    assert site.known(path_of(14)) is not None


def test_an_operation_that_breaks_is_answered_and_ends_nothing() -> None:
    site = Site("east")
    with site.state.transaction() as tx:
        tx.quarantine(DeadLetter(origin="bus", code="x", detail="", position="1", payload=b"\xff"), NOW)
        tx.quarantine(
            DeadLetter(origin="bus", code=MessageUnreadable.code, detail="", position="2", payload=b"sound"), NOW
        )
    asked = [site.state.ask("quarantine-retry", {"id": number}, "somebody", "") for number in ("1", "2")]
    with mock.patch.object(operations, "arrived_of", side_effect=UnicodeDecodeError("utf-8", b"x", 0, 1, "odd")):
        assert site.driver.operate(NOW) == []
    answers = [answered(site, number) for number in asked]
    assert [(each.state, each.code) for each in answers] == [
        (OperationState.FAILED, "invariant-broken"),
        (OperationState.FAILED, "precondition-failed"),
    ]
    assert "could not read this message whole" in answers[1].answer
    assert len(site.state.database.quarantine) == 2, "a failure changes nothing"


def answered(site: Site, number: int) -> Operation:
    return site.state.database.operations[number][0]


@pytest.mark.parametrize("error", [RecursionError("deep"), UnicodeDecodeError("utf-8", b"x", 0, 1, "odd")], ids=repr)
def test_whatever_goes_wrong_with_decoding_the_message_carries_it(error: Exception) -> None:
    with mock.patch("syncer.replication.inbound.arrived.unseal", side_effect=error):
        arrived = arrived_of(b"", {}, "p", UNSIGNED)
    assert isinstance(arrived.message, PayloadInvalid)
    assert type(error).__name__ in arrived.message.message


def test_what_the_bus_could_not_read_is_not_taken_for_a_message_without_properties() -> None:
    """Else the payload alone would be believed as one of a broker, which signs nothing."""
    site = Site("east")
    arrived = arrived_of(b"whatever", {}, "p", UNSIGNED, "a property is no UTF-8")
    assert isinstance(arrived.message, MessageUnreadable)
    site.driver.consume([arrived, Arrived(message=event(1), position="q")], NOW)
    assert aside(site) == [("bus", "p", "message-unreadable")]
    assert had(site).through == 1
