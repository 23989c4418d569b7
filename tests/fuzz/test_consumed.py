"""Whatever arrives at a whole driver: its database stays sound, and no store is written but by the rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from syncer.bus.contract import Outgoing
from syncer.bus.trust.signing import UNSIGNED, Keyring
from syncer.bus.wire.codec import encode
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.errors import SyncerError
from syncer.model import Millis, Region
from syncer.replication.driver import Driver
from syncer.replication.inbound.arrived import arrived_of
from syncer.state.memory import MemoryDatabase, MemoryState
from tests.fuzz.shares import drawing
from tests.fuzz.test_messages import messages, spoilt
from tests.support.group_keys import keyring
from tests.support.parts import parts_of
from tests.unit.bus.trust.test_signing import TREE
from tests.unit.bus.wire.test_codec import CONTROL, HEARTBEAT, LISTING_ASKED, LISTING_TOLD
from tests.unit.replication.antientropy.test_protocol import CAPABILITIES

NOW: Final = Millis(1_700_000_000_000)
EAST: Final = Region("here")

TALK: Final[tuple[Any, ...]] = (HEARTBEAT, CONTROL, LISTING_ASKED, LISTING_TOLD, TREE)
recovery: st.SearchStrategy[Any] = st.sampled_from(TALK).map(
    lambda said: replace(said, target="here") if hasattr(said, "target") else said
)
deliveries = st.lists(st.one_of(spoilt(), messages.map(encode), recovery.map(encode)), min_size=1, max_size=5)


@drawing("consumed")
@given(st.lists(deliveries, min_size=1, max_size=3), st.booleans())
def test_whatever_arrives(batches: list[list[Outgoing]], keyed: bool) -> None:
    database = MemoryDatabase(EAST, "db-here")
    ring: Keyring = keyring("ours") if keyed else UNSIGNED
    driver = Driver(
        Replica(Settings(region=EAST, generation=1)),
        Scope(),
        MemoryState(database),
        CAPABILITIES,
    )
    parts_of(driver).group.keyring = ring
    place, scope = 0, parts_of(driver).core.scope
    for batch in batches:
        arrived = []
        for message in batch:
            place += 1
            arrived.append(arrived_of(message.payload, message.properties, str(place), ring))
        try:
            driver.consume(arrived, NOW)
            driver.tick(NOW)
            driver.compare(NOW)
            driver.correspond(NOW)
            driver.report(NOW)
        except SyncerError as exc:
            assert exc.code == "fenced", exc  # somebody said what only this database can know: it begins anew
            return
        assert driver.next_transaction() is None, "nothing is written that was not read"
    for path, register in database.registers.items():
        assert register.path == path
        assert scope.contains(path)
        assert register.stored is None
    if keyed:
        assert not database.registers
        assert not database.consumed
        assert not database.peers
