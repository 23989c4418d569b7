"""Exempt: namespaces that brokers make for themselves, whose bundles are never shed.

Up to 4.0 the cluster stands in the names of two of them, in 4.2 and later in none. No version has one that only another
knows, so all are known here.

Source: NamespaceService.isSLAOrHeartbeatNamespace, NamespaceBundle.getBundleNamespace, Pulsar 4.0.8, 4.2.4, 5.0.0-M1.
"""

from __future__ import annotations

import re
from typing import Final

from syncer.balancer.ranges import namespace_of_bundle

_WORD: Final = r"[-=:.\w]+"
_BROKER: Final = r"[-=.\w]+:\d+"
_OWN: Final = re.compile(rf"(?:pulsar|sla-monitor)/(?:{_WORD}/)?{_BROKER}", re.ASCII)


def never_shed(bundle: str) -> bool:
    """Say whether a bundle is of a heartbeat or of an SLA monitor."""
    return bundle.startswith(("pulsar/", "sla-monitor/")) and _OWN.fullmatch(namespace_of_bundle(bundle)) is not None
