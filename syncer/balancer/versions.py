"""Versions: which rule of load balancing differs in which version of Pulsar.

The brokers' version picks the rules; for a version of a line that is not in the table there is no guess.

AvgShedder is the default from PR 26609 on, which no version in the table has: brokers that have it say so in their
runtime configuration.

Source: PR 26246 (a plan by the bundle's name), PIP-380 (namespaces that are not shed), PR 21906 (no surplus of
UniformLoadShedder); the classes of 4.0.8, 4.2.4 and 5.0.0-M1, compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from syncer.balancer.strategies.uniform import SURPLUS
from syncer.errors import VersionUnknown

if TYPE_CHECKING:
    from syncer.balancer.settings import BalancerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancerRules:
    """What differs between versions; the defaults are those of 4.0.8.

    ``plan_by_name``: AvgShedder keeps its targets by the bundle's name. ``excluded_namespaces``: namespaces may be
    excluded from shedding. ``uniform_surplus``: by how much a bundle may exceed what UniformLoadShedder still has to
    unload, in messages/s or bytes/s.
    """

    plan_by_name: bool = False
    excluded_namespaces: bool = False
    uniform_surplus: int = SURPLUS

    def effective(self, settings: BalancerSettings) -> BalancerSettings:
        """Leave out of the settings what brokers of this version do not know."""
        if self.excluded_namespaces:
            return settings
        return replace(settings, shedding=replace(settings.shedding, excluded_namespaces=frozenset()))


RULES: Final[dict[tuple[int, int, int], BalancerRules]] = {
    (4, 0, 8): BalancerRules(),
    (4, 2, 4): BalancerRules(excluded_namespaces=True, uniform_surplus=0),
    (5, 0, 0): BalancerRules(excluded_namespaces=True, uniform_surplus=0),
    (5, 0, 1): BalancerRules(excluded_namespaces=True, plan_by_name=True, uniform_surplus=0),
}
"""Versions that are known. A version of the same line, 4.0 or 4.2 or 5.0, has the rules of the last one here
that is not newer; one that is older than all of its line is not known."""


def balancer_rules(version: str) -> BalancerRules:
    """Look up the rules of the brokers' version.

    Args:
        version: As brokers report it: 4.0.8, 5.0.0-M1, 4.2.4-SNAPSHOT.

    Raises:
        VersionUnknown: It is no version, or the rules of its line are not known.
    """
    return RULES[_known(version)[1]]


def taken_from(version: str) -> str | None:
    """Name the older version of the line whose rules are taken for those of a version; None where it has its own.

    Args:
        version: As brokers report it.

    Raises:
        VersionUnknown: It is no version, or the rules of its line are not known.
    """
    wanted, known = _known(version)
    return None if wanted == known else ".".join(map(str, known))


def _known(version: str) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """A version, and the one of the table whose rules it has."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)(?!\d)", version, re.ASCII)
    if found is None:
        raise VersionUnknown(f"'{version}' is no version of Pulsar such as {_listed()}")
    wanted = (int(found[1]), int(found[2]), int(found[3]))
    known = [each for each in RULES if each[:2] == wanted[:2] and each <= wanted]
    if not known:
        raise VersionUnknown(f"the load balancing of Pulsar {version} is not known here; known are {_listed()}")
    return wanted, max(known)


def _listed() -> str:
    return ", ".join(".".join(map(str, version)) for version in sorted(RULES))
