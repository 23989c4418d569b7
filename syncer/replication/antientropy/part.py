"""Parts of anti-entropy: the digest tree (Merkle-like) of what is known, and the exchanges with each peer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from syncer.model import MetaPath, Region
from syncer.replication.antientropy.exchanges import Exchanges, Pace
from syncer.replication.antientropy.tree_state import DigestTreeState
from syncer.replication.core import Core
from syncer.replication.group.participation import Participation
from syncer.replication.local.part import OwnStore
from syncer.replication.recovery.part import Recovery
from syncer.replication.telemetry import Telemetry
from syncer.replication.unit_of_work import Change, Settle
from syncer.state.contract.transaction import Transaction


@dataclass(slots=True, kw_only=True)
class AntiEntropy:
    """Comparing with the peers what is known.

    Args:
        core: The region's own replica.
        group: The group.
        telemetry: Counts and alarms.
        recovery: Recovering a lost database; what peers have asked for.
        local: The region's own store.
        tree_state: The digest tree over what is known.
        exchanges: How this tree and those of the peers stand.
    """

    core: Core
    group: Participation
    telemetry: Telemetry
    recovery: Recovery
    local: OwnStore
    tree_state: DigestTreeState
    exchanges: Exchanges = field(default_factory=lambda: Exchanges(Pace()))

    def follow(self, tx: Transaction, changes: list[Change]) -> Settle:
        """Log in the transaction what changed registers add to the sums; memory takes it over after the commit."""
        return self.tree_state.follow(tx, changes)

    def sum_what_is_shared(self) -> None:
        """Keep a tree for each class of paths that this region shares with members of other scopes."""
        shared = self.group.shared_classes() if self.group.peers.otherwise else {}
        self.tree_state.want({label: each.contains for label, each in shared.items()})

    def count_carried(self) -> int | None:
        """How many paths in scope are known to be alive; ``None`` while not all are summed."""
        tree = self.tree_state.tree
        return tree.count if tree is not None else None

    def label_with(self, region: Region) -> str:
        """Label of the class that is compared with a region; that of all paths where its rules are not known."""
        shared = self.group.shared_with(region)
        return self.tree_state.label if shared is None else shared.label

    def contains(self, label: str) -> Callable[[MetaPath], bool]:
        """Whether a path is of a class."""
        shared = self.group.shared_classes().get(label) if label != self.tree_state.label else None
        return self.core.scope.contains if shared is None else shared.contains

    @property
    def busy(self) -> bool:
        """Whether there is something to do at once."""
        return not self.core.uncompared.rules and (self.tree_state.busy or self.exchanges.busy)

    def begin_anew(self) -> None:
        """The database has begun anew as another one: its tree is read anew, and no exchange goes on."""
        self.tree_state = DigestTreeState(self.core.scope)
        self.exchanges = Exchanges(self.exchanges.pace)
