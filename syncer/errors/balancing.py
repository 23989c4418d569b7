"""Errors of the balancer advisor: what it was given of a cluster cannot be reckoned with."""

from __future__ import annotations

from syncer.errors.base import SyncerError


class BalancerError(SyncerError):
    """Load data, bundles or settings of a cluster cannot be used. Nothing was moved."""

    code = "balancer-error"
    default_hint = "Correct what the message names, and ask again."


class SettingInvalid(BalancerError):
    """A load balancer's property has a value that Pulsar itself could not take."""

    code = "load-balancer-setting-invalid"
    default_hint = "Correct the property in broker.conf or in the dynamic configuration, and ask again."


class LoadDataInvalid(BalancerError):
    """Load data or constraints of a cluster hold a figure or a pattern that cannot be true."""

    code = "load-data-invalid"
    default_hint = "Read the load again; if it stays, look at the broker that reported it."


class BoundariesInvalid(BalancerError):
    """The boundaries of a namespace's bundles do not cut the ring of hashes into ranges."""

    code = "bundle-boundaries-invalid"
    default_hint = "Look at the namespace's local policies: 'pulsar-admin namespaces bundles NAMESPACE'."


class TopicUnservable(BalancerError):
    """A topic's hash lies in no bundle, so no broker can ever own it.

    Source: NamespaceBundles.getBundle, Pulsar 4.0.8, which throws IndexOutOfBoundsException for hash 0xffffffff.
    """

    code = "topic-unservable"
    default_hint = "Choose another name for the topic: its name alone decides its hash."


class SplitRefused(BalancerError):
    """Pulsar refuses these boundaries for a split."""

    code = "bundle-split-refused"
    default_hint = "Choose positions strictly inside the bundle, each of them once."


class VersionUnknown(BalancerError):
    """Nobody has read the load balancer of this version of Pulsar, so its rules are not known here."""

    code = "pulsar-version-unknown"
    default_hint = "Use a version that the message names, if the cluster's brokers decide as that one does."


class InquiriesFull(BalancerError):
    """The daemon looks at as many clusters as it may, for as many as may wait. Nothing was asked of the cluster."""

    code = "cluster-inquiries-full"
    retryable = True
    default_hint = "Ask again in a while; looks that are asked for at the same time are shared."


class HistoryError(SyncerError):
    """The history of a cluster's load cannot be used. Nothing else depends on it."""

    code = "load-history-error"
    default_hint = "Do what the message names; load balancing is advised without a history, too."


class HistoryMissing(HistoryError):
    """Nothing was recorded of the cluster's load, or nothing in the time that was asked for."""

    code = "load-history-missing"
    default_hint = "Give the cluster a table [cluster.NAME.history]; the active daemon records from then on."


class HistoryUnavailable(HistoryError):
    """The file cannot be read or written now: no right to it, locked, or a full disk."""

    code = "load-history-unavailable"
    retryable = True
    default_hint = "Mend what the message names; recording goes on by itself."


class HistoryForeign(HistoryError):
    """The file is no history, is damaged, belongs to another cluster, or was written by a newer version."""

    code = "load-history-foreign"
    default_hint = "Move the file aside, or name another by 'path' in [cluster.NAME.history]; recording begins anew."
