"""Impact of the loss of a given set of bookies: ledgers by what is left of them, and the topics behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from syncer.ledgers.judging.ledger import LedgerJudgement, ReplicaClass, judge
from syncer.ledgers.metadata import LedgerMetadata

_NONE: Mapping[int, str] = {}


@dataclass(slots=True)
class LossImpact:
    """What a loss harms; ledgers are counted, those harmed are kept by id, topics by name.

    ``lost_bytes`` is of closed ledgers, by the share of their entries; of ``unknown_bytes`` ledgers that lost entries
    no length is known. A topic with a ledger that cannot be recovered cannot be loaded if that is its last one.
    """

    classes: Counter[ReplicaClass] = field(default_factory=Counter)
    lost_ledgers: list[int] = field(default_factory=list)
    blocked_ledgers: list[int] = field(default_factory=list)
    lost_entries: int = 0
    lost_bytes: int = 0
    unknown_bytes: int = 0
    topics_lost: set[str] = field(default_factory=set)
    topics_not_loadable: set[str] = field(default_factory=set)

    def take(self, judgement: LedgerJudgement, topic: str | None) -> None:
        """Count a judgement.

        Args:
            judgement: Of a ledger, given the loss.
            topic: Whose ledger it is, where somebody refers to it.
        """
        self.classes[judgement.replica_class] += 1
        lost = judgement.lost_entries
        if lost:
            self.lost_ledgers.append(judgement.ledger_id)
            self.lost_entries += lost
            size = judgement.bytes_of(lost)
            if size is None:
                self.unknown_bytes += 1
            else:
                self.lost_bytes += size
            if topic is not None:
                self.topics_lost.add(topic)
        if judgement.recoverable is False:
            self.blocked_ledgers.append(judgement.ledger_id)
            if topic is not None:
                self.topics_not_loadable.add(topic)


def loss_impact(
    ledgers: Iterable[LedgerMetadata], lost: AbstractSet[str], topics: Mapping[int, str] = _NONE
) -> LossImpact:
    """Judge all ledgers, given a loss.

    Args:
        ledgers: Of the cluster.
        lost: Bookies that are lost.
        topics: Ledger → the topic that refers to it.
    """
    impact = LossImpact()
    for ledger in ledgers:
        impact.take(judge(ledger, lost), topics.get(ledger.ledger_id))
    return impact
