"""A publish is over once every message is answered, and the first that failed is known by its index."""

from __future__ import annotations

import _pulsar

from syncer.bus.pulsar.acks import PublishAcks


def test_it_is_over_when_all_are_answered() -> None:
    acks = PublishAcks(2)
    acks.note(1, _pulsar.Result.Ok, None)
    assert not acks.wait(0)
    acks.note(0, _pulsar.Result.Ok, None)
    assert acks.wait(0)
    assert (acks.good, acks.failed) == (2, None)


def test_the_first_message_that_failed_counts_whatever_came_first() -> None:
    acks = PublishAcks(3)
    acks.note(2, _pulsar.Result.Timeout, None)
    acks.note(0, _pulsar.Result.Ok, None)
    acks.note(1, _pulsar.Result.MessageTooBig, None)
    assert acks.wait(0)
    assert (acks.good, acks.failed) == (1, (1, _pulsar.Result.MessageTooBig))
