"""Every condition that a daemon can report of its region: whether somebody has to come, and the next step.

An **alarm** needs an operator: ``syncer status --check`` ends with 1 as long as it stands. **Advice** can wait: with
nothing else a region is well. A code that is not in the table is another version's, and is taken for an alarm.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """Whether somebody has to come."""

    ALARM = "alarm"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class NextStep:
    """What an operator does next: in words, and the command to begin with; empty: there is none."""

    words: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Weight:
    """What a condition weighs, and what comes next."""

    severity: Severity
    step: NextStep


def _alarm(words: str, command: str = "") -> Weight:
    return Weight(Severity.ALARM, NextStep(words, command))


def _advice(words: str, command: str = "") -> Weight:
    return Weight(Severity.ADVICE, NextStep(words, command))


_HOLDS: Final = "syncer holds list"
_QUARANTINE: Final = "syncer quarantine list"
_REGIONS: Final = "syncer regions list"

WEIGHTS: Final = {
    # who speaks, and for whom
    "region-id-in-use": _alarm("give one of the two daemons a region id of its own"),
    "unknown-region": _alarm("add the region to 'peers.expected', or find out who sends", _QUARANTINE),
    "database-of-another-region": _alarm("find out which daemon speaks under that name"),
    "generation-claimed": _alarm("find out what the member that says so is", _REGIONS),
    "too-many-senders": _alarm("find out who publishes on the topic"),
    "too-many-regions": _alarm("name the regions that count in 'peers.expected'", _REGIONS),
    "region-held": _alarm("admit the region, or forget it", _REGIONS),
    "speaks-for-another": _alarm("find out whose key it is before anything else", _QUARANTINE),
    "subscription-shared": _alarm("give one region a 'bus.subscription' of its own", "syncer config check --connect"),
    "signature-invalid": _alarm("give the region its key, or find out who publishes", _QUARANTINE),
    # who was forgotten
    "forgotten-database": _alarm("stop that daemon: it can come back as a new member only"),
    "forgotten-region": _alarm("give that daemon a region id that was never used"),
    "forgotten-here": _alarm("join as a new member; if it was not meant, have it admitted there"),
    "forget-held": _alarm("forget the region too, or admit it", _REGIONS),
    "said-to-be-forgotten": _alarm("ask there why; 'syncer regions admit' there takes it back"),
    "hearsay-void": _alarm("take it back where it was said, as the message tells"),
    # what is not equal, or cannot be
    "scope-differs": _alarm("upgrade it, or give it fewer rules in [scope]", "syncer config show"),
    "scope-not-told": _alarm("give this region fewer rules in [scope]", "syncer config show"),
    "scopes-contradict": _alarm("let one of the two publish in its [scope], the other one apply", "syncer config show"),
    "names-not-told": _advice("map fewer clusters in [cluster_names]", "syncer config show"),
    "cluster-names-contradict": _alarm(
        "mend [cluster_names] of the region whose table is wrong", "syncer config check --connect"
    ),
    "cluster-names-unclear": _advice("declare the cluster, or map its name", "syncer config check --connect"),
    "regions-disagree": _alarm("run the same version with the same 'tie_order' everywhere", _REGIONS),
    "not-compared": _alarm("run the same version with the same [scope] everywhere", _REGIONS),
    "comparison-malformed": _alarm("look at the version and the log of that region's daemon", _REGIONS),
    "comparison-silent": _alarm("look at the log of that region's daemon", _REGIONS),
    "regions-differ": _alarm("decide what waits, there and here; then see the quarantine of both", _HOLDS),
    "clock-skew": _alarm("set the clock of that region right"),
    "changes-missing": _alarm("see whether both regions reach the bus, differ, or are paused", _REGIONS),
    "tombstones-kept": _alarm("do what the message says", _REGIONS),
    "paths-set-aside": _advice("rename or remove what cannot be carried", _QUARANTINE),
    "first-form-namespaces": _advice("move their topics before brokers are upgraded to 4.2"),
    # no room
    "quarantine-full": _alarm("find out who sends what is there", _QUARANTINE),
    "conflicts-full": _alarm("restore or discard some", "syncer conflicts list"),
    "values-full": _alarm("decide what waits", _HOLDS),
    "heartbeat-cut": _alarm("forget who has such names, or name who counts in 'peers.expected'", _REGIONS),
    "heartbeats-full": _alarm("forget who tells so much, or name who counts in 'peers.expected'", _REGIONS),
    "http-connections-refused": _advice("bound who reaches 'api.listen'"),
    # this region's daemons, database and snapshots
    "rebuilding": _advice("see how far it is", "syncer status --watch 5"),
    "database-doubted": _alarm("find out whether this database is an old copy, and rebuild it if it is"),
    "daemon-outdated": _alarm("update that daemon"),
    "snapshot-failed": _alarm("mend what the message says; the next one comes by itself"),
    "webhook-failing": _advice("mend what the message says, then try it", "syncer notify test"),
    # the store, and what brokers do to it
    "peer-protocol-unknown": _alarm("upgrade this region", "syncer status"),
    "broker-versions-unknown": _advice("let the daemon ask the brokers, by [admin]", "syncer config check --connect"),
    "projections-change": _advice("wait until it has read its store"),
    "projections-older": _advice("upgrade who cannot, or forget who is gone for good", _REGIONS),
    "broker-version-newer": _advice("upgrade this program"),
    "broker-version-older": _advice("upgrade that broker", "syncer status"),
    "broker-fields-unknown": _advice("upgrade these brokers, or do without the fields", "syncer status"),
    "offload-not-carried": _advice("set 'scope.carry_offload' in every region, or in none", _REGIONS),
    "offloaded-elsewhere": _advice("set policies of offloading here, where they are wanted"),
    "excluded-fields-differ": _advice("make the fields the same here and elsewhere", "syncer diff"),
    "store-in-migration": _advice("wait for the end of it, then give the region the new store"),
    "store-migrated": _alarm("give the region the store that brokers use now, by [store]"),
    "store-migration-unclear": _alarm("see what stands there, and let the daemon read it"),
    "topic-policies-withheld": _alarm("mend what the message says; they are carried again by themselves"),
    "topic-policies-replicated": _advice("take these namespaces out of 'topic_policies.system_topics'"),
    "topics-collected": _advice("decide which topics may go, or take the setting back at the brokers", _HOLDS),
    "topics-collected-unknown": _advice("let the daemon ask the brokers, by [admin]", "syncer config check --connect"),
    "entry-filters-missing": _advice("give the brokers the filters, or take them out of the policies"),
    "etcd-ends": _advice("leave etcd before brokers are upgraded to 5.0", "syncer config check --connect"),
    # the migration of a cluster's clients
    "migration-waits": _advice("see what waits, then let it go", "syncer migration status"),
    "migration-paused": _alarm("see why and what to do, then resume it", "syncer migration status"),
    "migration-broker-deadlocked": _alarm(
        "restart the broker that the message names; the migration goes on by itself", "syncer migration status"
    ),
    "migration-troubled": _alarm(
        "mend what the message says; it is taken up again by itself", "syncer migration status"
    ),
    # load balancing
    "load-history-troubled": _advice("mend what the message says; recording goes on by itself"),
    "load-history-set-aside": _advice("look at the disk; remove the file that the message names"),
    # audits of ledgers
    "ledger-audit-troubled": _advice("mend what the message says; the next audit comes by itself"),
    "ledgers-in-danger": _alarm("see what was found, and what to do", "syncer ledgers history show"),
    # what the configuration leaves open
    "messages-unsigned": _advice("give the group a key: [signing] key_files"),
    "unsigned-accepted": _advice("require signatures as soon as every region signs"),
    "region-keys-optional": _advice("set 'signing.require_region_keys' as soon as every region signs"),
    "region-key-missing": _advice("give the region a key of its own", "syncer keys create"),
    "api-probes-only": _advice("give the HTTP server TLS and tokens, or an address for probes"),
    "api-rights-unreadable": _alarm("mend the file that the message names", "syncer api token list"),
    "api-certificate-unusable": _alarm("give a certificate and its own key"),
    "api-unprotected": _advice("give 'api.listen' TLS and tokens"),
    "tls-not-verified": _advice("name the certificates to trust"),
}

_UNKNOWN: Final = _alarm("see the documentation of the daemon's own version")


def weight(code: str) -> Weight:
    """What a condition weighs, and what comes next."""
    return WEIGHTS.get(code, _UNKNOWN)
