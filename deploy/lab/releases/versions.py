"""The versions of Pulsar that a cluster of the lab can run, and in what they differ for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from deploy.lab.software import PULSAR_VERSION


class VersionRefused(ValueError):
    """A version that the lab does not have, or that cannot serve what is asked of it; the message says what can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsarRelease:
    """One version.

    Args:
        bom: Maven artifact that settles the versions of its dependencies; none where a whole distribution is released.
        no_etcd: Why it cannot keep its metadata in etcd, in words that follow "Pulsar VERSION"; empty: it can.
        bookie_port: A standalone process takes the port of its bookie; otherwise its bookie has a free port and an id.
    """

    bom: str | None = None
    no_etcd: str = ""
    bookie_port: bool = True

    @property
    def etcd(self) -> bool:
        """Whether it can keep its metadata in etcd."""
        return not self.no_etcd


RELEASES: Final[Mapping[str, PulsarRelease]] = {
    "3.0.7": PulsarRelease(
        bom="pulsar", no_etcd="cannot reach etcd by the jars that were released: one names classes that none has"
    ),
    PULSAR_VERSION: PulsarRelease(),
    "4.2.4": PulsarRelease(bom="pulsar"),
    "5.0.0-M1": PulsarRelease(
        bom="pulsar-dependencies",
        no_etcd="has no metadata store in etcd any more (PIP-462)",
        bookie_port=False,
    ),
}


def release(version: str, *, etcd: bool = False) -> PulsarRelease:
    """Look a version up.

    Args:
        version: As Pulsar counts them.
        etcd: It is to keep its metadata in etcd.

    Raises:
        VersionRefused: The lab does not have it, or it has no such store.
    """
    found = RELEASES.get(version)
    if found is None:
        raise VersionRefused(f"the lab has no Pulsar {version!r}; it has {', '.join(RELEASES)}")
    if etcd and found.no_etcd:
        raise VersionRefused(f"Pulsar {version} {found.no_etcd}: take ZooKeeper")
    return found
