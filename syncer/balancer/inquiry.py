"""Inquiry: what a picture lets the planner be asked, and what Pulsar would do alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncer.balancer.cost.calibration import calibrated
from syncer.balancer.cost.price import move_kind
from syncer.balancer.cost.tariff import BundleClients, Tariff, UnloadTimes
from syncer.balancer.goals.hard import MoveBounds
from syncer.balancer.loads import UnknownLoad, constraints_of, fleet_of, unknown
from syncer.balancer.picture import LoadManager
from syncer.balancer.planner.advice import PulsarAlone
from syncer.balancer.rounds.extensible import ExtensibleLeader
from syncer.balancer.rounds.modular import ModularLeader
from syncer.balancer.rounds.naming import simple_name
from syncer.balancer.rounds.playing import play
from syncer.balancer.topic_loads import SeenTopics
from syncer.balancer.versions import BalancerRules, balancer_rules
from syncer.errors import LoadDataInvalid

if TYPE_CHECKING:
    from syncer.balancer.cost.calibration import Calibration
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.picture import Known, LoadPicture
    from syncer.balancer.placement.decision import Draw
    from syncer.balancer.planner.slicing import TopicLoads
    from syncer.balancer.settings import BalancerSettings

_FEWEST_BROKERS: Final = 2
ROUNDS: Final = 120
"""Rounds of Pulsar that are played: two hours, at one a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCluster:
    """A cluster as the planner takes it.

    ``left_out`` is what has no figures, and neither moves nor gets anything; ``topics`` are those that were read.
    ``calibration`` is what the seconds of the tariff were corrected by; None where too few moves were observed.
    """

    fleet: Fleet
    bounds: MoveBounds
    tariff: Tariff
    rules: BalancerRules
    left_out: UnknownLoad
    topics: TopicLoads
    calibration: Calibration | None = None


def asked_of(
    picture: LoadPicture,
    *,
    recently_unloaded: AbstractSet[str] = frozenset(),
    calibration: Calibration | None = None,
) -> AskedCluster:
    """Take what the planner goes by from a picture.

    Args:
        picture: The picture.
        recently_unloaded: Bundles that are known to have been unloaded within the grace period.
        calibration: What moves that were observed here tell of the tariff; None where nothing.

    Raises:
        LoadDataInvalid: Settings, constraints, the load manager or the version of the brokers are not known, or the
            load of all but one.
        VersionUnknown: The rules of the brokers' version are not known.
    """
    settings = settings_of(picture).value
    extensible = picture.manager is LoadManager.EXTENSIBLE
    rules = rules_of(picture)
    kind = move_kind(extensible=extensible, transfer=True, multi_phase=settings.transfer.multi_phase)
    bounds = MoveBounds(
        constraints=constraints_of(picture),
        settings=rules.effective(settings),
        extensible=extensible,
        recently_unloaded=recently_unloaded,
        non_persistent=frozenset(
            name
            for name, seen in picture.bundles.items()
            if seen.topics is not None and any(topic.startswith("non-persistent:") for topic in seen.topics.value)
        ),
    )
    fleet = comparable_fleet(picture)
    tariff = Tariff(
        kind=kind,
        times=calibrated(UnloadTimes(), calibration),
        clients=clients_of(picture),
        bystanders={
            (broker, bundle): count
            for broker, seen in picture.brokers.items()
            for bundle, count in seen.bystanders.items()
        },
    )
    return AskedCluster(
        fleet=fleet,
        bounds=bounds,
        tariff=tariff,
        rules=rules,
        left_out=unknown(picture),
        topics=SeenTopics(picture),
        calibration=calibration,
    )


def clients_of(picture: LoadPicture) -> dict[str, BundleClients]:
    """Count the clients of each bundle by their versions, where its broker's statistics of topics tell all of them.

    Args:
        picture: The picture.
    """
    found: dict[str, BundleClients] = {}
    for bundle, seen in picture.bundles.items():
        producers: Counter[str] = Counter()
        consumers: Counter[str] = Counter()
        for topic in () if seen.topics is None else seen.topics.value.values():
            if topic.producer_versions is None or topic.consumer_versions is None:
                break
            producers.update(topic.producer_versions)
            consumers.update(topic.consumer_versions)
        else:
            if seen.topics is not None:
                found[bundle] = BundleClients(producers=producers, consumers=consumers)
    return found


def comparable_fleet(picture: LoadPicture) -> Fleet:
    """Make a fleet of a picture, in which brokers can be compared unless the cluster has one alone.

    Args:
        picture: The picture.

    Raises:
        LoadDataInvalid: The load of all brokers but one is not known; or brokers of both managers are there, or none.
    """
    fleet = fleet_of(picture)
    missing = len(unknown(picture).brokers)
    if missing and len(fleet.brokers) < _FEWEST_BROKERS:
        raise LoadDataInvalid(
            f"of {len(picture.registered)} brokers of {picture.cluster} the load of {missing} is not known",
            hint="Ask again later, under the extensible manager by '--listen 60'; 'syncer balancer load' says why.",
        )
    return fleet


def pulsar_alone(asked: AskedCluster, draw: Draw, rounds: int = ROUNDS) -> PulsarAlone:
    """Play what the cluster's own strategy would do under the load that it has.

    Args:
        asked: The cluster.
        draw: Draws one of equally good brokers.
        rounds: How many are played at most.

    Raises:
        SettingInvalid: A strategy is not known here.
        LoadDataInvalid: An isolation policy cannot be read, or traffic cannot be true.
    """
    bounds = asked.bounds
    kind = ExtensibleLeader if bounds.extensible else ModularLeader
    leader = kind(bounds.constraints, bounds.settings, asked.rules, draw)
    played = play([asked.fleet], leader, asked.tariff.price, rounds)
    return PulsarAlone(
        strategy=simple_name(bounds.settings.shedding.strategy),
        unloads=played.unloads,
        client_seconds=played.client_seconds,
        spread=played.final_spread,
        rounds=len(played.rounds),
    )


def settings_of(picture: LoadPicture) -> Known[BalancerSettings]:
    """Take the brokers' settings.

    Args:
        picture: The picture.

    Raises:
        LoadDataInvalid: They are not known.
    """
    if picture.settings is None:
        raise LoadDataInvalid(
            f"the settings of the brokers of {picture.cluster} are not known, and Pulsar's defaults would be a guess",
            hint="Let the brokers be asked: the table [cluster.NAME.admin]; 'syncer balancer load' says what failed.",
        )
    return picture.settings


def rules_of(picture: LoadPicture) -> BalancerRules:
    """Take the rules of the brokers' version; where they are of several, those must not differ.

    Args:
        picture: The picture.

    Raises:
        LoadDataInvalid: A broker does not say its version, or rules differ between them.
        VersionUnknown: The rules of a version are not known.
    """
    told = {
        name: seen.registration.value.version
        for name in picture.registered
        if (seen := picture.brokers[name]).registration is not None
    }
    silent = [name for name, version in told.items() if version is None]
    if silent or not told:
        who = f"{silent[0]} does not say its version" if silent else f"no broker of {picture.cluster} is registered"
        raise LoadDataInvalid(
            f"{who}, and load balancing differs between versions", hint="See the brokers in 'syncer balancer load'."
        )
    rules = {balancer_rules(version) for version in told.values() if version is not None}
    if len(rules) > 1:
        versions = ", ".join(sorted({version for version in told.values() if version is not None}))
        raise LoadDataInvalid(
            f"the brokers of {picture.cluster} are of several versions ({versions}) whose load balancing differs",
            hint="Ask again when all are of one version.",
        )
    return rules.pop()
