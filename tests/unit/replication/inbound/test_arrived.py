"""Messages as they arrive: what is refused is let go of, but for the reason."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator

import pytest

from syncer.bus.contract import Outgoing
from syncer.bus.trust.signing import UNSIGNED
from syncer.bus.wire.codec import encode
from syncer.bus.wire.messages import Said
from syncer.errors import PayloadInvalid
from syncer.replication.inbound.arrived import arrived_of
from tests.shell.on_bus import heartbeat

TIMES = 10
MIB = 1 << 20


@pytest.fixture
def no_collection() -> Iterator[None]:
    """The daemon lets the garbage collector look at its circles seldom; here it never does."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def fat(message: Said) -> Outgoing:
    sound = encode(message)
    assert len(sound.payload) > MIB
    return sound


def cut_off(message: Outgoing) -> Outgoing:
    """The same, but that its JSON ends too early."""
    return Outgoing(message.payload.replace(b'"}}', b'"} '), message.properties)


BEAT = fat(heartbeat(consumed={f"{index:04}" + "c" * 500: 1 for index in range(4_000)}))


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("message", [BEAT, cut_off(BEAT)], ids=["too much", "no JSON"])
def test_what_was_decoded_of_a_message_that_is_refused_is_not_kept(message: Outgoing) -> None:
    refusals = []
    tracemalloc.start()
    try:
        for _ in range(TIMES):
            arrived = arrived_of(message.payload, message.properties, "east:1", UNSIGNED)
            assert isinstance(arrived.message, PayloadInvalid)
            refusals.append(arrived.message)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < MIB, f"{kept >> 20} MiB are kept of {TIMES} messages that were refused"
    assert {type(each) for each in refusals} == {PayloadInvalid}
