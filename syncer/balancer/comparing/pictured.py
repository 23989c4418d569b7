"""Pictured: a cluster's load as it was read, for a comparison: fleet, constraints, settings, rules of its version."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from syncer.balancer.comparing.comparison import ComparedLoad
from syncer.balancer.inquiry import comparable_fleet, rules_of, settings_of
from syncer.balancer.loads import constraints_of
from syncer.balancer.picture import Known
from syncer.balancer.settings import changed_settings

if TYPE_CHECKING:
    from syncer.balancer.picture import LoadPicture
    from syncer.balancer.settings import Properties


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
    told = settings_of(picture)
    settings = changed_settings(told.value, properties)
    seen = replace(picture, settings=Known(settings, told.origin))
    return ComparedLoad(
        frames=[comparable_fleet(seen)], constraints=constraints_of(seen), settings=settings, rules=rules_of(seen)
    )
