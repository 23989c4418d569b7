"""Ownership that is stuck, that returns, or that moves beside its double."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.codes import DiagnosisCode
from syncer.balancer.doctor.diagnosis import Answer, Diagnosis, DiagnosisEvidence, Unjudged
from syncer.balancer.exempt import never_shed
from syncer.balancer.history.changes import LastHeld, OwnerChange, follow
from syncer.balancer.history.returning import ROUNDS, came_back, returning, together
from syncer.balancer.picture import Known, LoadManager, LoadPicture, Ownership, Tenure
from syncer.balancer.rounds.reporting import MINUTE_MS

_TIMEOUT: Final = "namespaceBundleUnloadingTimeoutMs"
_UNDER_WAY: Final = frozenset({Tenure.MOVING, Tenure.SPLITTING})
_FEWEST_PICTURES: Final = 3
_SHOWN: Final = 5


def odd_holdings(case: Case) -> Iterator[Answer]:
    """Judge who holds the bundles now, and who held them in the pictures before.

    Args:
        case: What is known.
    """
    yield from _stuck(case)
    yield from _returning(case)
    yield from _doubles(case)


def _stuck(case: Case) -> Iterator[Answer]:
    limit_ms = case.number(_TIMEOUT)
    unknown = [name for name, seen in case.picture.bundles.items() if seen.owner is None and not never_shed(name)]
    if unknown:
        yield Unjudged(
            codes=(DiagnosisCode.OWNERSHIP_STUCK,),
            where=", ".join(unknown[:_SHOWN]),
            because=f"the owners of {len(unknown)} bundles are not known",
        )
    for name, seen in case.picture.bundles.items():
        if seen.owner is None or seen.owner.value.tenure not in _UNDER_WAY:
            continue
        since_ms = _since_ms(case, name, seen.owner)
        if limit_ms is None or since_ms is None:
            missing = f"{_TIMEOUT} is not known" if limit_ms is None else "nothing tells since when it is under way"
            yield Unjudged(codes=(DiagnosisCode.OWNERSHIP_STUCK,), where=name, because=missing)
        elif case.picture.taken_ms - since_ms > limit_ms:
            yield _stuck_bundle(case, name, seen.owner, since_ms)


def _since_ms(case: Case, bundle: str, held: Known[Ownership]) -> int | None:
    """Earliest time at which the bundle was known to be as it is now: by the entry itself, or by earlier pictures."""
    times = [] if held.origin.written_ms is None else [held.origin.written_ms]
    for picture in reversed(case.history):
        if _held(picture, bundle) != held.value:
            break
        times.append(picture.taken_ms)
    return min(times, default=None)


def _stuck_bundle(case: Case, bundle: str, held: Known[Ownership], since_ms: int) -> Diagnosis:
    namespace, _, cut = bundle.rpartition("/")
    own = held.value
    return Diagnosis(
        code=DiagnosisCode.OWNERSHIP_STUCK,
        where=bundle,
        what=f"it is {own.tenure.value} for longer than an unload may take: its clients wait for an owner",
        evidence=(
            DiagnosisEvidence("state", f"{own.tenure.value} from {own.broker} to {own.target}", held.origin),
            DiagnosisEvidence("since", f"{(case.picture.taken_ms - since_ms) // 1000} s ago"),
            case.shown(_TIMEOUT),
        ),
        remedy=f"Run 'pulsar-admin namespaces unload {namespace} --bundle {cut}'; if it stays, restart {own.broker}.",
    )


def _returning(case: Case) -> Iterator[Answer]:
    pictures = (*case.history, case.picture)
    if case.changes is None and len(pictures) < _FEWEST_PICTURES:
        yield Unjudged(
            codes=(DiagnosisCode.PING_PONG,),
            where=case.picture.cluster,
            because=f"it takes {_FEWEST_PICTURES} pictures of other times, and there are {len(pictures)}",
        )
        return
    interval_min = 1 if case.settings is None else max(1, case.settings.shedding.interval_min)
    within_ms = ROUNDS * interval_min * MINUTE_MS
    for bundle, own in returning(_changes(case), within_ms).items():
        if bundle not in case.picture.bundles:
            continue
        back = sum(came_back(own, number, within_ms) for number in range(1, len(own)))
        seen = [(own[0].source, own[0].after_ms), *((each.target, each.by_ms) for each in own)]
        yield Diagnosis(
            code=DiagnosisCode.PING_PONG,
            where=bundle,
            what=f"it moved {len(own)} times and came back to a former owner {back} times",
            evidence=tuple(DiagnosisEvidence("owner", f"{broker}, {_ago(case, at_ms)}") for broker, at_ms in seen),
            remedy="Set loadBalancerSheddingGracePeriodMinutes longer than it stays away; see whether bundles are"
            " placed by what they are shed by, and loadBalancerDistributeBundlesEvenlyEnabled=false.",
        )


def _changes(case: Case) -> list[OwnerChange]:
    """Changes of owner: those that were recorded, and those that the pictures show beyond."""
    known: dict[str, LastHeld] = {}
    shown: list[OwnerChange] = []
    for picture in (*case.history, case.picture):
        holdings = {name: _held(picture, name) for name in picture.bundles}
        known, changes = follow(known, holdings, picture.taken_ms)
        shown.extend(changes)
    recorded = case.changes or ()
    last_ms = max((each.by_ms for each in recorded), default=0)
    return [*recorded, *(each for each in shown if each.by_ms > last_ms)]


def _ago(case: Case, at_ms: int) -> str:
    return f"seen {(case.picture.taken_ms - at_ms) // 1000} s ago"


def _doubles(case: Case) -> Iterator[Answer]:
    if case.picture.manager is LoadManager.EXTENSIBLE:
        return
    yield from _moved_at_once(case)
    if not case.history:
        because = "without a picture before this one, what is under way cannot be told from what nobody asks for"
        yield Unjudged(codes=(DiagnosisCode.EQUAL_RANGES,), where=case.picture.cluster, because=because)
        return
    before = case.history[-1]
    ranges: dict[str, list[str]] = {}
    for name in case.picture.bundles:
        now, then = _held(case.picture, name), _held(before, name)
        freed = then is not None and then.tenure is Tenure.OWNED and now is not None and now.tenure is Tenure.FREE
        if freed or (now is not None and now.tenure is Tenure.MOVING):
            ranges.setdefault(name.rpartition("/")[2], []).append(name)
    for cut, names in ranges.items():
        if len(names) > 1:
            owners = [(name, case.picture.bundles[name].owner) for name in names]
            yield Diagnosis(
                code=DiagnosisCode.EQUAL_RANGES,
                where=cut,
                what="bundles of several namespaces with this range are under way: before 4.2.4 the target is noted by"
                " the range alone, and one can go where the other was meant to",
                evidence=tuple(
                    DiagnosisEvidence(name, "free", None if owner is None else owner.origin) for name, owner in owners
                ),
                remedy="Wait for each to have an owner before you move the next; then see that it is the right one.",
            )


def _moved_at_once(case: Case) -> Iterator[Answer]:
    for cut, moved in together(case.changes or ()).items():
        yield Diagnosis(
            code=DiagnosisCode.EQUAL_RANGES,
            where=cut,
            what="bundles of several namespaces with this range moved at once: before 4.2.4 the target is noted by the"
            " range alone, and one may have gone where the other was meant to",
            evidence=tuple(
                DiagnosisEvidence(each.bundle, f"from {each.source} to {each.target}, {_ago(case, each.by_ms)}")
                for each in moved
            ),
            remedy="See that each is where it was meant to be; unload them one after another.",
        )


def _held(picture: LoadPicture, bundle: str) -> Ownership | None:
    seen = picture.bundles.get(bundle)
    return None if seen is None or seen.owner is None else seen.owner.value
