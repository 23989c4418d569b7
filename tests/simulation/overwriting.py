"""Breaks of what stands in for compare-and-set in topics of policies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from syncer.errors import StoreUnavailable
from syncer.model import MetaPath
from syncer.replacing import replace
from syncer.replication.driver import Driver
from syncer.replication.fence import Fence
from syncer.stores.contract import Entry, PartlyRead
from syncer.system_topics import open_writes, writing
from syncer.system_topics.log import FenceBound, LogMessage, PolicyLog
from syncer.system_topics.namespace import MovedPolicies, PolicyTopic
from syncer.system_topics.open_writes import OpenWrite
from syncer.system_topics.source import SystemTopics
from syncer.system_topics.writing import TopicWriter
from tests.simulation.incomplete import Patches


def lost_races_are_not_seen() -> Patches:
    """Whatever a message of ours was decided on, it counts."""
    take = PolicyLog.take

    def blind(log: PolicyLog, message: LogMessage, bound: FenceBound | None = None) -> Any:
        if message.claim is not None:
            message = replace(message, claim=replace(message.claim, expected=log.top(message.key)))
        return take(log, message, bound)

    return [(PolicyLog, "take", blind)]


def nothing_is_put_back() -> Patches:
    """What a void message has overwritten stays as it is."""

    async def mend(*_: Any) -> MovedPolicies:
        return MovedPolicies()

    return [(TopicWriter, "mend", mend)]


def what_is_overtaken_is_forgotten() -> Patches:
    """What could not be put back is kept nowhere."""
    return [(Driver, "keep_overtaken", lambda *_: None)]


def what_is_withheld_is_deleted() -> Patches:
    """A topic that cannot be read holds nothing."""
    read = SystemTopics.read

    async def told(source: SystemTopics, paths: Sequence[MetaPath], *, waits: bool = False) -> PartlyRead:
        answers, withheld, undecided = await read(source, paths, waits=waits)
        return PartlyRead({**answers, **dict.fromkeys(withheld)}, {}, undecided)

    return [(SystemTopics, "read", told)]


def what_goes_with_its_topic_is_removed() -> Patches:
    """Policies that a broker deletes with their topic were removed by an operator."""
    read = SystemTopics.read

    async def told(source: SystemTopics, paths: Sequence[MetaPath], *, waits: bool = False) -> PartlyRead:
        return (await read(source, paths, waits=waits))._replace(undecided={})

    return [(SystemTopics, "read", told)]


def records_are_not_looked_at() -> Patches:
    """Nobody asks after a crash whether a message has landed."""

    async def never(*_: Any) -> bool:
        return False

    return [(TopicWriter, "_has_landed", never)]


def what_is_untold_did_not_land() -> Patches:
    """Of a write whose outcome is unknown is said that it did not land, before its topic was read."""
    return [(writing, "told", lambda fence, *_, **__: fence)]


def topics_are_read_before_writes_are_settled() -> Patches:
    """A path is readable as soon as its topic is; what became of the write is found out some time later."""
    settle = TopicWriter.settle

    async def later(writer: TopicWriter, topic: PolicyTopic) -> None:
        seen = writer.__dict__.setdefault("passed", Counter())
        seen[topic.namespace] += 1
        if seen[topic.namespace] % 8 == 0:
            await settle(writer, topic)

    def told(fence: Fence, opened: Sequence[OpenWrite], *, ours: bool) -> Fence:
        known = open_writes.told(fence, opened, ours=ours)
        return replace(known, untold=()) if ours else known

    return [(TopicWriter, "settle", later), (writing, "told", told), (SystemTopics, "_unsettled", lambda *_: False)]


def all_waits_for_one_topic() -> Patches:
    """While it cannot be told what became of one write, nothing of the region is read or written."""
    hidden = TopicWriter.with_open_writes

    async def waits(writer: TopicWriter, fence: Entry | None) -> Entry | None:
        found = await hidden(writer, fence)
        if any(each.landed is None for each in writer._open):
            raise StoreUnavailable("whether a write has landed cannot be told")
        return found

    return [(TopicWriter, "with_open_writes", waits)]


def any_fence_is_believed() -> Patches:
    """A message may claim a fence that nobody has ever had."""
    return [(FenceBound, "excludes", lambda *_: False)]


BREAKS: Final[tuple[tuple[str, tuple[str, ...], Callable[[], Patches]], ...]] = (
    ("a race lost in a topic is not seen", ("topics",), lost_races_are_not_seen),
    ("nothing is put back into a topic", ("topics",), nothing_is_put_back),
    ("overtaken policies are forgotten", ("topics",), what_is_overtaken_is_forgotten),
    ("withheld policies count as deleted", ("topics",), what_is_withheld_is_deleted),
    ("a topic's tombstone counts as a removal", ("topics",), what_goes_with_its_topic_is_removed),
    ("records of topic writes are not looked at", ("topics",), records_are_not_looked_at),
    ("an untold outcome is taken for none", ("topics",), what_is_untold_did_not_land),
    ("a topic is read before its open writes are settled", ("topics",), topics_are_read_before_writes_are_settled),
    ("all waits for one topic", ("topics",), all_waits_for_one_topic),
    ("any fence in a topic is believed", ("topics",), any_fence_is_believed),
)
"""Each break, the modes that find it, and what it patches."""
