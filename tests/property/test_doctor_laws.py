"""Laws of the doctor: a shedder of which it says that it cannot act never does; one that acts is never called so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hypothesis import example, given, settings
from hypothesis import strategies as st

from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.codes import CANNOT_FIRE, DiagnosisCode
from syncer.balancer.doctor.diagnosis import Diagnosis
from syncer.balancer.doctor.silence import silent_shedders
from syncer.balancer.doctor.thresholds import unreachable
from syncer.balancer.loads import extensible_load, modular_load
from syncer.balancer.picture import LoadManager
from syncer.balancer.settings import BalancerSettings, balancer_settings
from syncer.balancer.strategies.avg import AvgShedder
from syncer.balancer.strategies.overload import OverloadShedder
from syncer.balancer.strategies.threshold import ThresholdShedder
from syncer.balancer.strategies.transfer import TransferShedder
from syncer.balancer.strategies.uniform import UniformLoadShedder
from tests.support.doctor_cases import MIB, SOUND, DrawnBroker, broker, picture

ROUNDS: Final = 40
"""More than any count of hits that is drawn, twice."""
MODULAR: Final = (ThresholdShedder, OverloadShedder, UniformLoadShedder, AvgShedder)

BUNDLES: Final = st.tuples(
    st.sampled_from([0.0, 0.4, 1.0, 900.0, 1000.0, 5001.0, 30_000.0]) | st.floats(0, 50_000),
    st.sampled_from([0.0, 1.0, MIB, 10.0 * MIB, 50.0 * MIB, 200.0 * MIB]) | st.floats(0, 300.0 * MIB),
)
BROKERS: Final = st.builds(
    DrawnBroker,
    percent=st.sampled_from([0.0, 5.0, 20.0, 30.0, 40.0, 60.0, 80.0, 85.0, 90.0, 100.0]) | st.floats(0, 100),
    bundles=st.lists(BUNDLES, max_size=4),
)
CLUSTERS: Final = st.lists(BROKERS, min_size=2, max_size=6)
SETTINGS: Final = st.fixed_dictionaries(
    {
        "loadBalancerBrokerThresholdShedderPercentage": st.sampled_from([0, 5, 10, 30]),
        "loadBalancerBundleUnloadMinThroughputThreshold": st.sampled_from([0.0, 0.5, 10.0]),
        "lowerBoundarySheddingEnabled": st.booleans(),
        "loadBalancerMsgRateDifferenceShedderThreshold": st.sampled_from([0.0, 50.0]),
        "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": st.sampled_from([0.0, 4.0]),
        "maxUnloadPercentage": st.sampled_from([0.05, 0.2, 1.0]),
        "minUnloadMessage": st.sampled_from([0, 1000]),
        "minUnloadMessageThroughput": st.sampled_from([0, MIB]),
        "maxUnloadBundleNumPerShedding": st.sampled_from([-1, 0, 2]),
        "loadBalancerAvgShedderHitCountLowThreshold": st.sampled_from([0, 8]),
        "loadBalancerBrokerLoadTargetStd": st.sampled_from([0.05, 0.25, 0.5]),
    }
)


def told(drawn: dict[str, object], strategy: str) -> BalancerSettings:
    return balancer_settings({**SOUND, **drawn, "loadBalancerLoadSheddingStrategy": f"org.apache.{strategy}"})


def found(case: Case) -> set[DiagnosisCode]:
    return {each.code for each in silent_shedders(case) if isinstance(each, Diagnosis)}


def modular_rounds(brokers: list[DrawnBroker], given_settings: BalancerSettings, kind: type) -> Iterator[object]:
    shedder, load = kind(given_settings), modular_load(picture(brokers, given_settings))
    return (shedder.round(load) for _ in range(ROUNDS))


@settings(max_examples=300)
@given(CLUSTERS, SETTINGS, st.sampled_from(MODULAR))
@example([broker(80, 5, 5), broker(20, 1, 1)], {}, ThresholdShedder)
@example([broker(80, 500, 500), broker(20, 1, 1)], {}, ThresholdShedder)
@example([*[broker(80, 50, 50)] * 9, broker(0)], {}, ThresholdShedder)
@example([broker(90, 50), broker(10, 50)], {}, OverloadShedder)
@example([broker(50, 1, 1), broker(50)], {}, UniformLoadShedder)
@example([broker(90, 1, 1), broker(10)], {}, AvgShedder)
@example([broker(90, 100, 100), broker(10)], {}, AvgShedder)
def test_a_silent_shedder_of_the_modular_manager_never_acts(
    brokers: list[DrawnBroker], drawn: dict[str, object], kind: type
) -> None:
    known = told(drawn, kind.__name__)
    acts = any(modular_rounds(brokers, known, kind))
    assert not (acts and found(Case(picture=picture(brokers, known))) & CANNOT_FIRE)


@settings(max_examples=200)
@given(CLUSTERS, SETTINGS, st.sampled_from([1.5, 3.0, 20.0]))
def test_a_silent_picture_that_is_made_to_act_is_silent_no_more(
    brokers: list[DrawnBroker], drawn: dict[str, object], factor: float
) -> None:
    """More of its traffic, and a fuller first broker: each shedder is asked again."""
    first = brokers[0]
    louder = [
        DrawnBroker(
            percent=100.0, bundles=[(rate * factor, size * factor) for rate, size in [*first.bundles, *first.bundles]]
        ),
        *brokers[1:],
    ]
    for kind in MODULAR:
        known = told(drawn, kind.__name__)
        if any(modular_rounds(louder, known, kind)):
            assert not found(Case(picture=picture(louder, known))) & CANNOT_FIRE


@settings(max_examples=200)
@given(CLUSTERS, SETTINGS, st.lists(st.lists(st.floats(0, 100), min_size=6, max_size=6), min_size=1, max_size=15))
@example([broker(0, 9, 9), broker(0)], {}, [[0.0] * 6, [100.0] + [0.0] * 5, *[[100.0] + [0.0] * 5] * 13])
def test_a_minimum_that_cannot_be_reached_holds_at_any_usages_and_averages(
    brokers: list[DrawnBroker], drawn: dict[str, object], usages: list[list[float]]
) -> None:
    known = told(drawn, "ThresholdShedder")
    if not unreachable(modular_load(picture(brokers, known)), known):
        return
    shedder = ThresholdShedder(known)
    for percents in usages:
        now = [
            DrawnBroker(percent=percent, bundles=each.bundles) for percent, each in zip(percents, brokers, strict=False)
        ]
        assert shedder.round(modular_load(picture(now, known))) == {}


@settings(max_examples=300)
@given(CLUSTERS, SETTINGS)
@example([broker(70, 10, 10), broker(40, 10, 10), broker(40, 10, 10)], {})
@example([broker(95, 50, 10), broker(10, 1, 1)], {})
def test_a_silent_shedder_of_the_extensible_manager_never_acts(
    brokers: list[DrawnBroker], drawn: dict[str, object]
) -> None:
    known = told(drawn, "TransferShedder")
    taken = picture(brokers, known, manager=LoadManager.EXTENSIBLE)
    shedder, load = TransferShedder(known), extensible_load(taken)
    acts = any(shedder.round(load) for _ in range(ROUNDS))
    assert not (acts and found(Case(picture=taken)) & CANNOT_FIRE)


def test_the_laws_are_of_clusters_that_act_and_of_silent_ones() -> None:
    """Each code is met, and beside each a cluster that acts."""
    silent = {
        DiagnosisCode.THRESHOLD_MINIMUM: ([broker(80, 5, 5), broker(20, 1, 1)], ThresholdShedder),
        DiagnosisCode.THRESHOLD_UNREACHABLE: ([broker(50, 5, 5), broker(50, 1, 1)], ThresholdShedder),
        DiagnosisCode.THRESHOLD_HOT_MAJORITY: ([*[broker(80, 50, 50)] * 9, broker(0)], ThresholdShedder),
        DiagnosisCode.SOLE_BUNDLE: ([broker(90, 50), broker(10, 50)], OverloadShedder),
        DiagnosisCode.UNIFORM_MINIMUM: ([broker(50, 1, 1), broker(50)], UniformLoadShedder),
        DiagnosisCode.AVG_MINIMUM: ([broker(90, 1, 1), broker(10)], AvgShedder),
        DiagnosisCode.BUNDLES_TOO_BIG: ([broker(90, 100, 100), broker(10)], AvgShedder),
    }
    for code, (brokers, kind) in silent.items():
        known = told({}, kind.__name__)
        assert code in found(Case(picture=picture(brokers, known)))
        assert not any(modular_rounds(brokers, known, kind))
    acting = (
        ([broker(80, 50, 50), broker(20, 1, 1)], ThresholdShedder),
        ([broker(90, 50, 50), broker(10, 50)], OverloadShedder),
        ([broker(50, 50, 50, 50, 50, rate=2000), broker(50)], UniformLoadShedder),
        ([broker(90, 100, 20, 20), broker(10)], AvgShedder),
    )
    for brokers, kind in acting:
        known = told({}, kind.__name__)
        assert any(modular_rounds(brokers, known, kind))
        assert not found(Case(picture=picture(brokers, known))) & CANNOT_FIRE
