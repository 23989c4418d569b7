"""Reading one topic: its statistics where a broker has it loaded, and what the store holds of it."""

from __future__ import annotations

from typing import Final

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.migration.evidence import Flow, LedgerSeen, StatsAnswer, TopicSeen
from syncer.migration.reading import forms

_MIGRATED: Final = "already migrated"
"""What a broker says that refuses to load a topic, in the reason of its 500."""
_OPEN: Final = "LedgerOpened"
"""The state of a ledger that is written to: it was neither closed nor migrated."""


async def read_topic(calls: AdminCalls, name: str, *, load: bool, whole: bool = True) -> TopicSeen:
    """Read a topic, or one partition of one; its own rate is not asked.

    The store is read last: of a topic that is no longer loaded it knows every cursor then.

    Args:
        calls: Of its cluster.
        name: In full, with its partition's number.
        load: Statistics are asked, which loads the topic; else only the store is read.
        whole: The store is read even where a broker has the topic loaded and its ledger open; else that saves a call,
            and what only the store knows (ledgers, and cursors of subscriptions that are not durable) is left out.

    Raises:
        AdminError: The cluster did not answer, refuses the call, or answers with something odd.
    """
    if not load:
        return TopicSeen(name=name, ledger=await _ledger(calls, name), answer=StatsAnswer.UNASKED)
    told, answer = await _statistics(calls, name)
    flow = await read_flow(calls, name) if answer is StatsAnswer.LOADED else None
    if not whole and flow is not None and flow.ledger_state == _OPEN:
        return forms.loaded_topic(f"stats of {name}", name, told, LedgerSeen(terminated=None, migrated=False), flow)
    ledger = await _ledger(calls, name)
    if ledger is None:
        return TopicSeen(name=name, ledger=None, answer=StatsAnswer.ABSENT)
    if answer is not StatsAnswer.LOADED:
        return TopicSeen(name=name, ledger=ledger, answer=answer)
    return forms.loaded_topic(f"stats of {name}", name, told, ledger, flow)


async def read_clients(calls: AdminCalls, name: str) -> TopicSeen:
    """Read who is connected to a topic, by its statistics alone: they load it, and tell nothing of its ledger.

    Raises:
        AdminError: The cluster did not answer, refuses the call, or answers with something odd.
    """
    told, answer = await _statistics(calls, name)
    if answer is not StatsAnswer.LOADED:
        return TopicSeen(name=name, ledger=None, answer=answer)
    return forms.loaded_topic(f"stats of {name}", name, told, LedgerSeen(terminated=None, migrated=False), None)


async def read_flow(calls: AdminCalls, name: str) -> Flow | None:
    """Counters of a topic's ledger; ``None``: it is not loaded any more, or the broker could not tell.

    Raises:
        AdminError: The cluster did not answer, refuses the call, or answers with something odd.
    """
    try:
        told = await calls.internal_stats(name)
    except AdminRefused as refused:
        if refused.status < 500:
            raise
        return None
    return None if told is None else forms.flow(f"internalStats of {name}", told)


async def _statistics(calls: AdminCalls, name: str) -> tuple[object, StatsAnswer]:
    try:
        told = await calls.stats(name, precise=True)
    except AdminRefused as refused:
        if refused.status < 500:
            raise
        return None, StatsAnswer.MIGRATED if _MIGRATED in refused.reason else StatsAnswer.FAILED
    return told, StatsAnswer.ABSENT if told is None else StatsAnswer.LOADED


async def _ledger(calls: AdminCalls, name: str) -> LedgerSeen | None:
    """What the store holds; ``None``: nothing."""
    told = await calls.internal_info(name)
    return None if told is None else forms.ledger(f"internal-info of {name}", told)
