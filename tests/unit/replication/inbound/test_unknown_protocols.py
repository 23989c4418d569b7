"""A peer of a newer version is paused with a reason: its messages do not fill the quarantine, and nothing is lost."""

from __future__ import annotations

from typing import Final

from syncer.bus.trust.signing import Keyring
from syncer.bus.wire.codec import encode
from syncer.bus.wire.messages import Heartbeat
from syncer.errors import ProtocolUnknown
from syncer.model import Millis, Region, TieOrder
from syncer.replication.inbound.arrived import Arrived, arrived_of
from syncer.replication.inbound.unknown_protocols import CODE, KEPT, UnknownProtocols
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import T0, Said, Site
from tests.unit.replication.inbound.test_receive import said

NOW: Final = Millis(T0 + 1_000_000)
BEAT: Final = Heartbeat(
    region=Region("west"),
    sender="w" * 32,
    generation=1,
    sent_at_ms=NOW,
    last_sequence=3,
    watermark=NOW,
    scope="s",
    tie_order=TieOrder.SMALLER_REGION,
    mode="active",
    version="9",
)


def of_version(message: Said, version: str) -> Arrived:
    """The message as a program of another version would send it."""
    sent = encode(message)
    return arrived_of(sent.payload, {**sent.properties, "syncer.v": version}, "p1", Keyring())


def test_its_changes_are_neither_kept_nor_counted_as_consumed() -> None:
    site = Site("east")
    site.driver.consume([of_version(said(1, "west", NOW, number), "2") for number in (1, 2, 3)], NOW)
    parts = parts_of(site.driver)
    assert site.state.database.quarantine == {}
    assert site.state.database.consumed == {}
    assert parts.inbound.protocols.met == {"west": ("2", 3)}
    ((code, words),) = parts.inbound.protocols.conditions()
    assert code == CODE
    assert "'west' speaks version '2'" in words
    assert "3 messages" in words


def test_it_is_paused_until_it_says_something_that_is_understood() -> None:
    site = Site("east")
    site.driver.consume([of_version(BEAT, "2")], NOW)
    assert parts_of(site.driver).inbound.protocols.conditions()
    site.driver.consume([of_version(BEAT, "1")], NOW)
    assert not parts_of(site.driver).inbound.protocols.conditions()


def test_names_that_anybody_makes_up_are_bounded() -> None:
    protocols = UnknownProtocols()
    for number in range(KEPT * 2):
        protocols.meet(f"{number}" + "x" * 1_000, ProtocolUnknown("of another version", version="7"))
    assert len(protocols.met) == KEPT
    assert max(map(len, protocols.met)) <= 100
