"""Pictured: a cluster's load as it was read or recorded, for a comparison: fleets, constraints, settings, rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from syncer.balancer.comparing.comparison import ComparedLoad
from syncer.balancer.history.sample import picture_then
from syncer.balancer.inquiry import comparable_fleet, rules_of, settings_of
from syncer.balancer.loads import constraints_of, fleet_of
from syncer.balancer.picture import Known
from syncer.balancer.settings import changed_settings
from syncer.errors import HistoryMissing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncer.balancer.history.sample import LoadSample
    from syncer.balancer.picture import LoadPicture
    from syncer.balancer.settings import BalancerSettings, Properties


def pictured_load(picture: LoadPicture, properties: Properties) -> ComparedLoad:
    """See a picture as load that strategies are played over; what is not known is left out.

    Args:
        picture: The picture.
        properties: What all brokers would be told besides.

    Raises:
        LoadDataInvalid: The brokers' settings, isolation policies, failure domains or versions are not known, or the
            load of all brokers but one, or brokers of both managers are there.
        SettingInvalid: A property's value is not of its type.
        VersionUnknown: The rules of the brokers' version are not known.
    """
    seen, settings = _told(picture, properties)
    return ComparedLoad(
        frames=[comparable_fleet(seen)], constraints=constraints_of(seen), settings=settings, rules=rules_of(seen)
    )


def recorded_load(picture: LoadPicture, samples: Iterable[LoadSample], properties: Properties) -> ComparedLoad:
    """See recorded load as load that strategies are played over: each sample is the load of one round.

    Brokers that are not there any more are left out, and their bundles; so are samples of which nothing is left.

    Args:
        picture: The cluster as it is: its settings, constraints and brokers.
        samples: Of its load, the oldest first.
        properties: What all brokers would be told besides.

    Raises:
        HistoryMissing: No sample has a broker whose load is known.
        LoadDataInvalid: The brokers' settings, isolation policies, failure domains or versions are not known, or
            brokers of both managers are there.
        SettingInvalid: A property's value is not of its type.
        VersionUnknown: The rules of the brokers' version are not known.
    """
    seen, settings = _told(picture, properties)
    frames = [
        fleet
        for sample in samples
        if sample.manager is not None and (fleet := fleet_of(picture_then(sample, seen))).brokers
    ]
    if not frames:
        raise HistoryMissing(
            f"no sample of {picture.cluster} has the load of a broker that is there now",
            hint="Give a longer time by '--since', or record for some minutes more.",
        )
    return ComparedLoad(frames=frames, constraints=constraints_of(seen), settings=settings, rules=rules_of(seen))


def _told(picture: LoadPicture, properties: Properties) -> tuple[LoadPicture, BalancerSettings]:
    told = settings_of(picture)
    settings = changed_settings(told.value, properties)
    return replace(picture, settings=Known(settings, told.origin)), settings
