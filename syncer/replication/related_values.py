"""Related values: a guard may need those of a topic policy's namespace, or of a namespace's topic policies.

They are read with the value that the guard judges, and only then: for nearly every change the guards need none. Of a
namespace and its topic policies each change may be harmless alone. So none is decided while the other is being written.

All of it is in memory and may be lost. Units: milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from syncer.conflict.guards import Related, weighs_related
from syncer.conflict.projection import Document, parse
from syncer.conflict.reads import ReadLedger, Ticket
from syncer.conflict.register import Register
from syncer.errors import ValueInvalid
from syncer.model import MetaPath, Millis, ResourceKind
from syncer.paths import GLOBAL_TOPIC_POLICIES, child_prefixes, classify, is_under
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.transaction import Transaction
from syncer.stores.contract import Entry

MOST: Final = 2_000
"""So many topic policies of a namespace are read for one change of it; with more of them an operator decides."""
AGAIN_MS: Final = 10_000
KEPT: Final = 10_000
_PAGE: Final = 500

Asked = Mapping[MetaPath, tuple[MetaPath, ...]]
"""Paths that a guard judges, each with the related ones that are read with it."""


@dataclass(slots=True)
class RelatedReads:
    """What is read with which paths.

    Args:
        wanted: Related paths that the next read of a path takes along.
        looked: When paths that are held by related ones were last looked at again.
    """

    wanted: dict[MetaPath, tuple[MetaPath, ...]] = field(default_factory=dict)
    looked: dict[MetaPath, Millis] = field(default_factory=dict)

    def want(self, path: MetaPath, related: tuple[MetaPath, ...]) -> None:
        """Read these with a path; the caller makes it dirty."""
        if len(self.wanted) >= KEPT:
            self.wanted.clear()  # a guard asks for them again
        self.wanted[path] = related

    def take(self, paths: Iterable[MetaPath]) -> dict[MetaPath, tuple[MetaPath, ...]]:
        """Return what is to be read with these paths; it is read now."""
        return {path: self.wanted.pop(path) for path in paths if path in self.wanted} if self.wanted else {}

    def choose(self, due: Iterable[Register], now: Millis) -> list[MetaPath]:
        """Return the paths of held registers whose related paths are to be looked at again now."""
        found = []
        for register in due:
            if register.hold is None or not weighs_related(register):
                continue
            at = self.looked.get(register.path, register.hold.since_ms)
            if not 0 <= now - at < AGAIN_MS:  # a clock that was set back must not keep anything waiting
                found.append(register.path)
        if len(self.looked) + len(found) > KEPT:
            self.looked.clear()
        self.looked.update(dict.fromkeys(found, now))
        return found

    def clear(self) -> None:
        """Begin anew."""
        self.wanted.clear()
        self.looked.clear()


def related_paths(unit: UnitOfWork, tx: Transaction, path: MetaPath) -> tuple[MetaPath, ...]:
    """Return the paths that count with one, and load their registers.

    Of a namespace these are the topic policies that the store was last known to hold, or that are being written.
    """
    resource = classify(path)
    if resource is None:
        return ()
    if resource.kind is ResourceKind.TOPIC_POLICY and resource.parent is not None:
        unit.load((resource.parent,))
        return (resource.parent,)
    if resource.kind is not ResourceKind.NAMESPACE:
        return ()
    prefixes = tuple(each for each in child_prefixes(path) if is_under(each, GLOBAL_TOPIC_POLICIES))
    found = dict.fromkeys(each for each in unit.changed if each.startswith(prefixes))
    for prefix in prefixes:
        found.update(dict.fromkeys(_living_under(tx, prefix)))
    unit.load(tuple(found))
    return tuple(each for each in found if unit[each].stored_alive or unit[each].intent is not None)


def _living_under(tx: Transaction, prefix: str) -> Iterable[MetaPath]:
    after, found = MetaPath(prefix), 0
    while found <= MOST:
        page = tx.page(_PAGE, after)
        for register in page:
            if not register.path.startswith(prefix):
                return
            if register.stored_alive or register.intent is not None:
                found += 1
                yield register.path
        if len(page) < _PAGE:
            return
        after = page[-1].path


def related_now(
    unit: UnitOfWork,
    paths: Collection[MetaPath],
    read: Related | None,
    *,
    wait: Callable[[MetaPath], None],
    ask: Callable[[tuple[MetaPath, ...]], None],
) -> Related | None:
    """Return what stands at related paths; ``None``: it has to be read, or to be waited for, and the caller is told.

    Args:
        unit: The unit of work that has loaded them.
        paths: The paths.
        read: What was read with the path in question.
        wait: Takes a path that is being written.
        ask: Takes what has to be read.
    """
    writing = [each for each in paths if unit[each].intent is not None]
    if writing:
        for each in writing:
            wait(each)
        return None
    if len(paths) > MOST:
        return Related(untold={min(paths): f"more than {MOST} are too many to read"})
    if paths and (read is None or any(each not in read.documents and each not in read.untold for each in paths)):
        ask(tuple(paths))
        return None
    return Related() if read is None else read


def related_read(
    asked: Asked, answers: Mapping[MetaPath, Entry | None], ledger: ReadLedger, ticket: Ticket
) -> dict[MetaPath, Related]:
    """Return what a read has told of related paths. Of one that was written meanwhile it says nothing.

    Args:
        asked: What was read with which paths.
        answers: What the store told.
        ledger: Knows which answers may decide.
        ticket: The ticket of the read.
    """
    found = {}
    for path, others in asked.items():
        documents: dict[MetaPath, Document | None] = {}
        untold: dict[MetaPath, str] = {}
        for other in others:
            if other not in answers:
                untold[other] = "the store does not tell of it now"
            elif ledger.valid(ticket, other):
                entry = answers[other]
                try:
                    documents[other] = parse(entry.value) if entry is not None and entry.value else None
                except ValueInvalid:
                    untold[other] = "its value is no JSON object"
        found[path] = Related(documents=documents, untold=untold)
    return found
