"""Documents of constraints: boundaries, anti-affinity groups, isolation policies, failure domains, settings.

A constraint that cannot be read is unknown with all of its kind: what is left of it would allow what it forbids.

Source: LocalPolicies, Policies, NamespaceIsolationDataImpl, FailureDomainImpl, Pulsar 4.0.8.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from syncer.balancer.decoding.fields import DocumentFields
from syncer.balancer.picture import FigureOrigin, Known, LoadFindingKind
from syncer.balancer.placement.isolation import IsolationPolicy
from syncer.balancer.ranges import parsed_boundaries
from syncer.balancer.settings import balancer_settings
from syncer.errors import BoundariesInvalid, SettingInvalid

if TYPE_CHECKING:
    from syncer.balancer.decoding.parts import PictureParts

_MIN_AVAILABLE: Final = "min_available"
_CARD: Final = "loadBalancerOverrideBrokerNicSpeedGbps"
_NUMBER: Final = re.compile(r"\d+(\.\d+)?")
_KBIT_OF_A_GBIT: Final = 1e6
_SET: Final = re.compile(r"\[(.*)\]", re.DOTALL)


def take_local_policies(namespace: str, fields: DocumentFields, origin: FigureOrigin, parts: PictureParts) -> None:
    """Take a namespace's local policies: its boundaries and its anti-affinity group.

    Args:
        namespace: Its full name.
        fields: The document.
        origin: Where it was read.
        parts: What it becomes part of.
    """
    found = _boundaries(namespace, fields)
    if found is not None:
        parts.constraints.boundaries[namespace] = Known(found, origin)
    parts.constraints.groups[namespace] = Known(fields.text("namespaceAntiAffinityGroup") or "", origin)


def take_policies(namespace: str, fields: DocumentFields, origin: FigureOrigin, parts: PictureParts) -> None:
    """Take a namespace's first boundaries, which count until it has local policies.

    Args:
        namespace: Its full name.
        fields: The document.
        origin: Where it was read.
        parts: What it becomes part of.
    """
    if fields.values.get("bundles") is None:
        return
    found = _boundaries(namespace, fields)
    if found is not None:
        parts.constraints.first_boundaries[namespace] = Known(found, origin)


def _boundaries(namespace: str, fields: DocumentFields) -> tuple[int, ...] | None:
    bundles = fields.below("bundles")
    texts = None if bundles is None else bundles.texts("boundaries")
    if texts is None:
        return None
    try:
        return tuple(parsed_boundaries(texts, namespace))
    except BoundariesInvalid as exc:
        fields.notes.note(LoadFindingKind.TORN, fields.where, exc.message[:200], exc.hint)
        return None


def take_isolation(fields: DocumentFields, origin: FigureOrigin, parts: PictureParts) -> None:
    """Take a cluster's isolation policies, in their order.

    Args:
        fields: The document.
        origin: Where it was read.
        parts: What they become part of.
    """
    found = [_policy(fields.below(name)) for name in fields.values]
    whole = tuple(policy for policy in found if policy is not None)
    if len(whole) == len(found):
        parts.constraints.policies = Known(whole, origin)


def _policy(fields: DocumentFields | None) -> IsolationPolicy | None:
    if fields is None:
        return None
    namespaces, primary = fields.texts("namespaces"), fields.texts("primary")
    secondary = () if fields.values.get("secondary") is None else fields.texts("secondary")
    least = _least_primaries(fields)
    if namespaces is None or primary is None or secondary is None or least is None:
        return None
    for pattern in (*namespaces, *primary, *secondary):
        try:
            re.compile(pattern, re.ASCII)
        except (re.error, OverflowError, RecursionError) as exc:
            fields.notes.note(
                LoadFindingKind.TORN,
                fields.where,
                f"{pattern!r:.60} is no regular expression ({exc}); the isolation policies stay unknown",
                "Correct the policy: 'pulsar-admin ns-isolation-policy list CLUSTER'.",
            )
            return None
    return IsolationPolicy(namespaces=namespaces, primary=primary, secondary=secondary, min_primaries=least)


def _least_primaries(fields: DocumentFields) -> int | None:
    failover = fields.below("auto_failover_policy")
    if failover is None:
        return None
    if failover.values.get("policy_type") != _MIN_AVAILABLE:
        kind = failover.values.get("policy_type")
        fields.notes.note(LoadFindingKind.TORN, failover.where, f"policy_type is {kind!r:.40}, not '{_MIN_AVAILABLE}'")
        return None
    parameters = failover.below("parameters")
    return None if parameters is None else parameters.count("min_limit")


def take_domains(found: Mapping[str, DocumentFields | None], origin: FigureOrigin, parts: PictureParts) -> None:
    """Take all failure domains of a cluster; a broker that is in two is in the later one, as Pulsar has it.

    Args:
        found: Each domain's document, None where it could not be parsed.
        origin: Where they were read.
        parts: What they become part of.
    """
    domains: dict[str, str] = {}
    for domain, fields in found.items():
        brokers = None if fields is None else fields.texts("brokers")
        if brokers is None:
            return
        domains |= dict.fromkeys(brokers, domain)
    parts.constraints.domains = Known(domains, origin)


def take_runtime_configuration(answer: Mapping[str, object], origin: FigureOrigin, parts: PictureParts) -> None:
    """Take the settings of the load balancer from a broker's runtime configuration.

    Args:
        answer: Property → value, as the broker gave it; a set is written in brackets there.
        origin: Where it was read.
        parts: What they become part of.
    """
    properties = {name: _unbracketed(value) for name, value in answer.items() if value is not None}
    parts.constraints.card_kbit = _card_kbit(properties.get(_CARD))
    try:
        parts.constraints.settings = Known(balancer_settings(properties), origin)
    except SettingInvalid as exc:
        parts.notes.note(LoadFindingKind.TORN, origin.where, f"{exc.message}; the settings stay unknown", exc.hint)


def _card_kbit(gbit: object) -> float | None:
    found = _NUMBER.search(str(gbit))
    speed = float(found[0]) * _KBIT_OF_A_GBIT if found is not None else 0.0
    return speed if speed > 0 else None


def _unbracketed(value: object) -> object:
    found = _SET.fullmatch(value) if isinstance(value, str) else None
    return value if found is None else found[1]


def take_boundaries(namespace: str, answer: Mapping[str, object], origin: FigureOrigin, parts: PictureParts) -> None:
    """Take a namespace's boundaries as the admin API answers them.

    Args:
        namespace: Its full name.
        answer: As the broker gave it.
        origin: Where it was read.
        parts: What they become part of.
    """
    found = _boundaries(namespace, DocumentFields(origin.where, {"bundles": dict(answer)}, parts.notes))
    if found is not None:
        parts.constraints.boundaries[namespace] = Known(found, origin)
