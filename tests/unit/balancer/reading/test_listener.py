"""The listener: where nobody answers, what was heard is nothing, and why is said; it ends in bounded time."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from syncer.admin.client import AdminSettings
from syncer.balancer.decoding.parts import PictureParts
from syncer.balancer.decoding.records import CHANNEL
from syncer.balancer.picture import LoadFindingKind
from syncer.balancer.reading.listener import TOPICS, listener_to
from syncer.waiting import WAIT_S

pytestmark = pytest.mark.anyio


async def test_a_cluster_that_does_not_answer_is_a_finding_for_each_topic() -> None:
    parts = PictureParts()
    settings = AdminSettings(url="http://127.0.0.1:1")
    async with listener_to("pulsar://127.0.0.1:1", settings, operation_s=1) as listener:
        with anyio.fail_after(WAIT_S):
            while len((records := await listener.heard()).troubles) < len(TOPICS):
                await anyio.lowlevel.checkpoint()  # a question is answered between two rounds
    records.take(parts)
    assert (records.channel_read, records.units, records.brokers) == (False, {}, {})
    assert {each.where for each in parts.notes.findings} == set(TOPICS)
    assert {each.kind for each in parts.notes.findings} == {LoadFindingKind.UNREADABLE}
    assert CHANNEL in records.troubles
