"""Play ``bundle-split.json``: where bundles are cut, and which ones load managers split by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from syncer.balancer.boundaries import SplitAlgorithm, SplitRequest, split, split_boundaries
from syncer.balancer.ranges import boundary_text, bundle_number, parsed_boundaries, range_text, topic_hash
from syncer.balancer.settings import SplitSettings, balancer_settings
from syncer.balancer.splits import ExtensibleSplitter, modular_splits
from syncer.errors import SplitRefused, TopicUnservable
from tests.vectors.comparing import same
from tests.vectors.reading import stats, traffic


def differences(case: Mapping[str, Any], meta: Mapping[str, Any]) -> Iterator[str]:
    """Yield what differs in a case."""
    return KINDS[case["kind"]](case)


def _cut(case: Mapping[str, Any]) -> Iterator[str]:
    wanted = case["expected"]
    request = SplitRequest(
        bundle=case["bundle"],
        topics=_topics(case),
        positions=case.get("positions") or (),
    )
    settings = balancer_settings(case.get("params") or {}).split
    try:
        cuts = split_boundaries(SplitAlgorithm(case["algorithm"]), request, settings)
    except SplitRefused as error:
        yield from same("error", wanted.get("error"), f"IllegalArgumentException: {error}")
        return
    yield from same("error", wanted.get("error"), None)
    yield from same("split boundaries", wanted.get("splitBoundaries") or None, cuts or None)
    if not cuts:
        return
    before = parsed_boundaries(case["boundariesBefore"])
    try:
        after = split(before, case["bundle"], cuts)
    except SplitRefused as error:
        yield from same("error of the split", wanted.get("splitError"), f"IllegalArgumentException: {error}")
        return
    yield from same("error of the split", wanted.get("splitError"), None)
    yield from same("boundaries after", wanted["boundariesAfter"], [boundary_text(each) for each in after])
    edges = [case["lower"], *sorted(cuts), case["upper"]]
    yield from same("new bundles", wanted["newBundles"], [range_text(low, high) for low, high in pairwise(edges)])
    if "topicsPerNewBundle" in wanted:
        yield from same("topics per new bundle", wanted["topicsPerNewBundle"], _counts(case, after, len(edges) - 1))


def _topics(case: Mapping[str, Any]) -> list[tuple[str, Any]] | None:
    if case.get("topics") is None:
        return None
    return [(row["topic"], traffic(row["stats"]) if row.get("stats") else None) for row in case["topics"]]


def _counts(case: Mapping[str, Any], after: list[int], bundles: int) -> list[int]:
    first = after.index(case["lower"])
    counts = [0] * bundles
    for row in case["topics"]:
        try:
            number = bundle_number(after, topic_hash(row["topic"])) - first
        except TopicUnservable:
            continue
        if 0 <= number < bundles:
            counts[number] += 1
    return counts


def _modular(case: Mapping[str, Any]) -> Iterator[str]:
    reports = {
        row["broker"]: {each["bundle"]: stats(each["stats"]) for each in row["lastStats"]} for row in case["brokers"]
    }
    found = modular_splits(
        reports,
        {bundle: traffic(row) for bundle, row in case["bundleLongTermData"].items()},
        case["namespaceBundleCount"],
        balancer_settings(case["conf"]).split,
    )
    yield from same("bundles to split", case["expected"]["bundlesToSplit"], found)


def _extensible(case: Mapping[str, Any]) -> Iterator[str]:
    settings = balancer_settings(case["conf"]).split
    splitter = ExtensibleSplitter(settings)
    splitting = case["inSplittingState"]
    for number, row in enumerate(case["rounds"]):
        found = splitter.round(
            {each["bundle"]: stats(each["stats"]) for each in row["bundleStats"]},
            case["namespaceBundleCount"],
            _boundaries_of(settings),
            not_owned=frozenset(case["notOwned"]),
            splitting=frozenset([splitting] if splitting else []),
        )
        wanted = row["expected"]
        rows = [{"bundle": each.bundle, "reason": each.reason, "children": sorted(each.children)} for each in found]
        yield from same(
            f"splits of round {number}", wanted["splits"], sorted(rows, key=lambda each: str(each["bundle"]))
        )
        yield from same(f"hit counts after round {number}", wanted["hitCounts"], splitter.hits)


def _boundaries_of(settings: SplitSettings) -> Callable[[str], list[int] | None]:
    algorithm = SplitAlgorithm(settings.algorithm)
    return lambda bundle: split_boundaries(algorithm, SplitRequest(bundle=bundle), settings)


KINDS = {"split": _cut, "decision_modular": _modular, "decision_extensible": _extensible}
