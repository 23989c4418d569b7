"""Scalable topics (``topic://``) as brokers tell them, for clusters whose own store is not the one at hand.

Source: ``ScalableTopics`` of Pulsar 5.0.0-M1: ``GET /admin/v2/scalable/TENANT/NAMESPACE``.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.admin.scalable_topics import ScalableCount, first_of
from syncer.conflict.fields.table import BrokerVersion

FIRST: Final = BrokerVersion((5, 0, 0, 0), stage=0)
"""Older brokers know of no scalable topics."""
MOST_ASKED: Final = 1_000
"""So many namespaces are asked for; of a cluster with more that is a part."""
PAUSE_S: Final = 0.02
"""After each question."""
_NOT_THERE: Final = frozenset({404, 412})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalableTold:
    """What brokers said of scalable topics.

    Args:
        count: How many there are; ``None``: that was not told.
        trouble: Why they were not counted; empty: they were.
    """

    count: ScalableCount | None = None
    trouble: str = ""


async def ask_scalable(calls: AdminCalls, most: int = MOST_ASKED, *, pause_s: float = PAUSE_S) -> ScalableCount:
    """Ask for those of every namespace, one after the other.

    Args:
        calls: Of the cluster, to a broker that knows them.
        most: Questions to ask, for the namespaces of a tenant or the topics of a namespace.
        pause_s: After each.

    Raises:
        AdminError: Something is refused, or nobody answers.
    """
    tally, left, whole = Tally[str](), most, True
    for tenant in await calls.tenants():
        namespaces = await _unless_gone(calls.namespaces(tenant)) if left else []
        whole, left = whole and left > 0, max(left - 1, 0)
        for namespace in namespaces:
            if not left:
                whole = False
                break
            tally[namespace] += len(await _unless_gone(calls.scalable_topics(namespace)))
            left -= 1
            await anyio.sleep(pause_s)
    some = +tally  # without those that have none
    return ScalableCount(total=some.total(), namespaces=first_of(some), whole=whole)


async def _unless_gone(question: Awaitable[list[str]]) -> list[str]:
    """The answer; empty for what was deleted meanwhile, or what the cluster does not serve."""
    try:
        return await question
    except AdminRefused as exc:
        if exc.status in _NOT_THERE:
            return []
        raise


def summed(counts: Sequence[ScalableCount]) -> ScalableCount:
    """The counts of some clusters as one."""
    tally = Tally[str]()
    for count in counts:
        tally.update(count.namespaces)
    return ScalableCount(
        total=sum(count.total for count in counts),
        namespaces=first_of(tally),
        whole=all(count.whole for count in counts),
    )
