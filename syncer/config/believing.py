"""Trust without proof that the configuration gives: warned of in the log, the status and by ``syncer config check``."""

from __future__ import annotations

from typing import Final

from syncer.config.model import Config
from syncer.errors import ConfigError

UNSIGNED: Final = "messages-unsigned"
ACCEPTED: Final = "unsigned-accepted"
OPTIONAL: Final = "region-keys-optional"
LACKING: Final = "region-key-missing"
NO_PROTECTION: Final = "expected-without-key"

_NO_KEY: Final = (
    "messages are not signed: whoever may publish on the topic can change the metadata of this region; give the group "
    "a key ([signing] key_files)"
)
_LAX: Final = (
    "messages without a signature are taken as long as signing.accept_unsigned is set: take it out as soon as every "
    "region signs"
)
_NO_GROUP_KEY: Final = (
    "messages without a signature are taken, for the group has no key: set signing.require_region_keys as soon as "
    "every region signs with its own"
)
_NOT_REQUIRED: Final = (
    "any member can still speak as another one: set signing.require_region_keys as soon as every region signs with "
    "its own key"
)
_NAMES_ONLY: Final = (
    "'peers.expected' is no protection without a key: whoever may publish on the topic can write these names too; give "
    "the group a key ([signing] key_files), or each region one of its own"
)


def trusting(config: Config) -> list[tuple[str, str]]:
    """What the daemon believes without proof: code and message, for its log and its status."""
    signing, found = config.signing, list[tuple[str, str]]()
    if signing is None or not (signing.key_files or signing.region_key_file or signing.require_region_keys):
        found.append((UNSIGNED, _NO_KEY))
    elif signing.accept_unsigned:
        found.append((ACCEPTED, _LAX))
    elif not signing.key_files and not signing.require_region_keys:
        found.append((ACCEPTED, _NO_GROUP_KEY))
    if config.peers.keys and (signing is None or not signing.require_region_keys):
        found.append((OPTIONAL, _NOT_REQUIRED))
    if lacking := _without_key(config):
        names = ", ".join(lacking)
        found.append((LACKING, f"'peers.keys' has no public half of {names}: no key proves who speaks there"))
    return found


def exposing(config: Config) -> list[tuple[str, str]]:
    """What the HTTP server gives up, or keeps back for want of protection: code and message."""
    try:
        warning = config.api.exposure().warning if config.api.enabled else None
    except ConfigError:
        return []  # the daemon does not start, and says so
    return [warning] if warning is not None else []


def advice(config: Config) -> list[tuple[str, str]]:
    """The same for ``syncer config check``, and what seems to protect and does not."""
    found = [*trusting(config), *exposing(config)]
    if config.peers.expected and {code for code, _ in found} & {UNSIGNED, ACCEPTED}:
        found.append((NO_PROTECTION, _NAMES_ONLY))
    return found


def _without_key(config: Config) -> list[str]:
    """Regions that are to speak, and have no key of their own although others have."""
    if not config.peers.keys:
        return []
    native = config.signing.native_regions if config.signing is not None else ()
    regions = dict.fromkeys((config.region, *(config.peers.expected or ())))
    return [region for region in regions if region not in config.peers.keys and region not in native]
