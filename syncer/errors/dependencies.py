"""Errors of what the daemon stands on: configuration, store, bus, sidecar database, values, admin API."""

from __future__ import annotations

from syncer.errors.base import SyncerError


class ConfigError(SyncerError):
    """The configuration cannot be used."""

    code = "bad-configuration"
    default_hint = "Run 'syncer config check' and correct the named field."


class ConfigDenied(ConfigError):
    """This user may not read the configuration, or a file that it names.

    Args:
        message: What is closed, and where.
        owner: The user whose it is.
        hint: What the operator does next.
    """

    code = "configuration-access-denied"
    default_hint = "Run the command as the user whose file it is."

    def __init__(self, message: str, *, owner: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint or (f"Run it as that user: sudo -u {owner} syncer …." if owner else None))
        self.owner = owner


class StoreError(SyncerError):
    """The region's metadata store did not do what was asked."""

    code = "store-error"


class StoreUnavailable(StoreError):
    """No connection to the store, or no answer before the deadline."""

    code = "store-unavailable"
    retryable = True
    default_hint = "Check that the store is up and that its address is right; the daemon keeps trying."


class RevisionMismatch(StoreError):
    """The path is not at the revision that the caller expected. Nothing was written."""

    code = "revision-mismatch"
    retryable = True
    default_hint = "Read the path again and decide again."


class ParentMissing(StoreError):
    """The parent of the path does not exist in the store. Nothing was written."""

    code = "parent-missing"
    retryable = True
    default_hint = "The parent must be created first; the daemon parks the change until then."


class NotEmpty(StoreError):
    """The path has children and cannot be deleted. Nothing was deleted."""

    code = "not-empty"
    retryable = True
    default_hint = "The children must be deleted first; the daemon parks the change until then."


class Fenced(StoreError):
    """Another writer holds the fence of this region. Nothing was written."""

    code = "fenced"
    default_hint = "Another daemon of this region has become active; this one steps back to standby."


class AccessDenied(StoreError):
    """The store refused the credentials, or they do not allow the call."""

    code = "store-access-denied"
    default_hint = "Check user, password, certificate and ACL of the store, and that it is not read-only."


class ValueRefused(StoreError):
    """The store cannot hold this path or this value (too large, illegal path)."""

    code = "value-refused"
    default_hint = "See 'syncer quarantine list'; raise the store's limit or make the value smaller, then retry."


class TopicPoliciesWithheld(StoreUnavailable):
    """Topic policies that brokers keep in a system topic cannot be told now: neither which they are, nor that none are.

    Args:
        message: Of which, and why.
        lasting: It does not pass by itself.
        hint: What the operator does next.
    """

    code = "topic-policies-withheld"
    default_hint = "See 'syncer status': it names the namespaces that are not answered, and why. The others go on."

    def __init__(self, message: str, *, lasting: bool = False, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.lasting = lasting


class StoreFilesDamaged(StoreError):
    """Files that a store has written are read without it, and are damaged, cut, or not all there. Nothing was taken."""

    code = "store-files-damaged"
    default_hint = (
        "Copy the files again when the server is at rest (of etcd by 'etcdctl snapshot save'), or read the live server."
    )


class TransportError(SyncerError):
    """The bus did not do what was asked."""

    code = "bus-error"


class BusUnavailable(TransportError):
    """No connection to the bus, or no answer before the deadline."""

    code = "bus-unavailable"
    retryable = True
    default_hint = "Check that the broker is up and the topic exists ('syncer topic init'); the daemon keeps trying."


class SubscriptionShared(TransportError):
    """Another region reads by the same subscription: each message would reach one of the two."""

    code = "subscription-shared"
    retryable = True
    default_hint = "Give this region a 'bus.subscription' of its own, made by 'syncer topic init', and restart it."


class PayloadInvalid(TransportError):
    """A message of the bus that cannot be understood; it goes to the quarantine."""

    code = "payload-invalid"
    default_hint = "See 'syncer quarantine list' for the message and its origin."


class ProtocolUnknown(PayloadInvalid):
    """A message of a newer version of the program. Nothing of it was taken.

    ``version`` is the one that it says to have.
    """

    code = "protocol-unknown"
    default_hint = "Upgrade this region: its peer is paused until then, and what it said is found by comparing."

    def __init__(self, message: str, *, version: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.version = version


class SignatureInvalid(PayloadInvalid):
    """A message that is not signed with a key of the group. Nothing of it was taken."""

    code = "signature-invalid"
    default_hint = (
        "Give its region the key of the group ('signing.key_files'), then 'syncer quarantine retry'; a message that no "
        "region of yours has sent is thrown away by 'syncer quarantine discard'."
    )


class SpeakerInvalid(SignatureInvalid):
    """A member of the group has signed a message in the name of another member. Nothing of it was taken."""

    code = "speaks-for-another"
    default_hint = (
        "The key that signed it is in the wrong place, or in wrong hands: find that out before anything else. Its "
        "region's public half is taken out of 'peers.keys' to stop it; the message is thrown away by 'syncer "
        "quarantine discard'."
    )


class MessageUnreadable(PayloadInvalid):
    """A message that the bus itself cannot read whole. Nothing of it was taken, and nothing ever can be."""

    code = "message-unreadable"
    default_hint = "No daemon sends such a message: find out who may publish on the topic; 'syncer quarantine discard'."


class StateError(SyncerError):
    """The sidecar database did not do what was asked."""

    code = "state-error"


class StateUnavailable(StateError):
    """The sidecar database cannot be read or written now."""

    code = "state-unavailable"
    retryable = True
    default_hint = "Check free space and permissions of the sidecar database; nothing is acknowledged until it works."


class StateMissing(StateUnavailable):
    """There is no sidecar database: no daemon has made it yet, or it is looked for in the wrong place."""

    code = "state-missing"
    default_hint = "The daemon makes the database when it starts: start it, or wait with 'syncer status --wait 60'."


class StateDenied(StateUnavailable):
    """This user has no right to the sidecar database: its directory, its file, or what stands beside it is closed.

    Args:
        message: What is closed, and where.
        owner: The user whose it is.
        hint: What the operator does next.
    """

    code = "state-access-denied"
    default_hint = "Run the command as the user of the daemon, whose database it is."

    def __init__(self, message: str, *, owner: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint or (f"Run it as that user: sudo -u {owner} syncer …." if owner else None))
        self.owner = owner


class StateForeign(StateError):
    """The sidecar database belongs to another region, or to a newer version of this program."""

    code = "state-foreign"
    default_hint = "Point 'state.url' at this region's own database, or start the version that wrote it."


class LedgerAuditTooLarge(StateError):
    """An audit of ledgers has more bytes than the sidecar database keeps. Nothing was kept of it."""

    code = "ledger-audit-too-large"
    default_hint = "Keep the output of 'syncer ledgers audit -o json' as a file instead."


class ValueInvalid(SyncerError):
    """A stored value is not what its path calls for (no JSON, wrong shape)."""

    code = "value-invalid"
    default_hint = "Correct the value in the store; until then the path is quarantined and left as it is."


class AdminError(SyncerError):
    """Pulsar's admin REST API answered with an error."""

    code = "admin-error"
    default_hint = "Check the admin URL and the rights of the token; the answer of the broker is in the message."


class AdminUnreachable(AdminError):
    """Pulsar's admin REST API did not answer; the outcome is unknown."""

    code = "admin-unreachable"
    retryable = True
    default_hint = "Check that a broker is up at the admin URL."


class AdminDenied(AdminError):
    """Pulsar's admin REST API does not take the credentials, or their role may not make the call."""

    code = "admin-access-denied"
    default_hint = "Check the token or certificate, its expiry, and that its role is a superuser of the cluster."


class AdminRedirectRefused(AdminError):
    """Pulsar's admin REST API sent a call on to an address that is not known to be a broker of the cluster."""

    code = "admin-redirect-refused"
    default_hint = (
        "If it is a broker of the cluster, name it in 'admin.brokers' (in the bus's table: 'admin_brokers'), or give "
        "the role the right to list brokers."
    )
