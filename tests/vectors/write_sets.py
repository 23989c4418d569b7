"""Play ``write-set.json``: write sets, entries of a bookie, answers that suffice, acknowledgements.

Java's ``hasEntry`` and ``getWriteSetBookieIndex`` cast to 32 bits; where that matters, only write sets are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from syncer.ledgers.metadata import Quorums
from syncer.ledgers.placement.acknowledging import EntryAcknowledgements, covers
from syncer.ledgers.placement.write_sets import entries_on, holds, striped, write_set
from tests.vectors.comparing import same

Row = Mapping[str, Any]
ANSWERS = {0, -13, -7}
"""OK, no such entry, no such ledger: all others are unknown."""
CAST = 2**31


def differences(case: Row, meta: Row) -> Iterator[str]:
    """Yield what differs in a case."""
    yield from _KINDS[case["kind"]](case)


def _write_set(case: Row) -> Iterator[str]:
    ensemble, write, entry = case["ensembleSize"], case["writeQuorumSize"], case["entryId"]
    found = list(write_set(entry, ensemble, write))
    wanted = case["expect"]
    cast = entry + write >= CAST
    kept = {name: value for name, value in wanted.items() if not cast or name in {"writeSet", "ensembleSet"}}
    own: dict[str, Any] = {"writeSet": found, "ensembleSet": list(write_set(entry, ensemble, ensemble))}
    if not cast:
        own["hasEntry"] = [holds(index, entry, ensemble, write) for index in range(ensemble)]
        own["writeSetBookieIndex"] = found
    yield from same("write set", kept, own)


def _striped(case: Row) -> Iterator[str]:
    first, last, index = case["startEntryId"], case["lastEntryId"], case["bookieIndex"]
    ensemble, write = case["ensembleSize"], case["writeQuorumSize"]
    if "error" in case:
        refused = first < 0 or last < first or not 0 <= index < ensemble
        yield from same("refused", True, refused)
        return
    entries = list(striped(index, first, last, ensemble, write))
    found = {"entries": entries, "count": entries_on(index, first, last, ensemble, write)}
    yield from same("entries", case["expect"], found)


def _coverage(case: Row) -> Iterator[str]:
    unknown = {index for index, code in enumerate(case["rcByIndex"]) if code not in ANSWERS}
    yield from same("coverage", case["expect"], {"covered": covers(_quorums(case), unknown)})


def _acknowledgements(case: Row) -> Iterator[str]:
    answers = EntryAcknowledgements(_quorums(case))
    for step in case["steps"]:
        does: Callable[[int], bool] = getattr(answers, step["op"])
        yield from same(step["op"], step["returns"], does(step["bookie"]))
    yield from same("failed", case["expect"], {"failedBookieIndexes": sorted(answers.failed)})


def _quorums(case: Row) -> Quorums:
    return Quorums(case["ensembleSize"], case["writeQuorumSize"], case["ackQuorumSize"])


_KINDS: Mapping[str, Callable[[Row], Iterator[str]]] = {
    "writeSet": _write_set,
    "striped": _striped,
    "coverage": _coverage,
    "ackSet": _acknowledgements,
}
