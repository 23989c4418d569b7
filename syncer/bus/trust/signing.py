"""Message signatures (HMAC) by a key of the group: the one place that signs, and the one that checks.

Every message of ours, of whatever kind, carries in the property ``syncer.signature`` an HMAC-SHA256 under a key that
all members of the group have. What is signed is unambiguous: each part stands behind its length.

    domain     "pulsar-syncer message 1", then a zero byte
    number     how many properties follow                                        8 bytes, big endian
    property   length of its name, name, length of its text, text (UTF-8)        each length 8 bytes
    payload    length, bytes

The properties are all whose name begins with ``syncer.``, sorted by name, without the signature itself: region, kind,
sender and number among them, and the properties of versions to come. Properties that brokers add are not signed, and
nothing is read from them.

A key of the group proves that a message comes from the group, not from which of its members. A key of a region
(:mod:`syncer.bus.trust.region_keys`) proves that too: whose key has signed is the region that speaks, and the message
must name that region and a database of it. A change may name another author: a member tells what others made. Neither
hides anything.

Messages without the properties of ours are those of Pulsar's own synchronizer, which cannot sign: with a key, they are
taken only of the regions that the configuration names.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from syncer.bus.contract import Outgoing
from syncer.bus.limits import MAX_MESSAGE_BYTES
from syncer.bus.trust.region_keys import NO_KEYS, RegionKeys, Speaker
from syncer.bus.wire.codec import PREFIX, decode, encode, is_ours
from syncer.bus.wire.messages import Ignored, Message, Said
from syncer.errors import ConfigError, PayloadInvalid, SignatureInvalid, SpeakerInvalid
from syncer.making import made_quickly
from syncer.model import MetadataChangeEvent, Region, home_of

SIGNATURE: Final = f"{PREFIX}signature"
PROOF: Final = f"{PREFIX}proof"
MIN_KEY_BYTES: Final = 32
"""As many as the hash gives: a shorter key would be the weakest part."""
MAX_KEYS: Final = 2
"""The one to sign with, and while keys are rotated another one to accept."""

_VERSION: Final = "1"
_DOMAIN: Final = b"pulsar-syncer message 1\x00"
_REGION_DOMAIN: Final = b"pulsar-syncer region message 1\x00"
_ID_DOMAIN: Final = b"pulsar-syncer key id 1\x00"
_ID_DIGITS: Final = 12
_FORM: Final = re.compile(rf"{_VERSION}:([0-9a-f]{{{_ID_DIGITS}}}):([0-9a-f]{{64}})")
_LENGTH_BYTES: Final = 8


class GroupKey:
    """A key of the group. It never leaves this object: only its id is ever shown.

    Args:
        secret: At least 32 bytes, of chance.

    Raises:
        ConfigError: It is too short.
    """

    __slots__ = ("_secret", "id")

    def __init__(self, secret: bytes) -> None:
        if len(secret) < MIN_KEY_BYTES:
            raise ConfigError(
                f"a group key of {len(secret)} bytes is too short: {MIN_KEY_BYTES} at least",
                hint="Make one by 'openssl rand -base64 32'.",
            )
        self._secret = secret
        self.id: Final = hmac.digest(secret, _ID_DOMAIN, hashlib.sha256).hex()[:_ID_DIGITS]

    def __repr__(self) -> str:
        return f"GroupKey({self.id})"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")

    def mac(self, signed: bytes) -> str:
        """The authentication code of these bytes, as hexadecimal digits."""
        return hmac.digest(self._secret, signed, hashlib.sha256).hex()


class Keyring:
    """What this region signs with, and whom it believes. Without a key it signs nothing and believes everybody.

    Args:
        keys: The first signs, every one is accepted.
        native: Regions that run Pulsar's own synchronizer, which cannot sign.
        accept_unsigned: Take messages without a signature too, while the group is being given its first key. One that
            is signed wrongly is refused all the same.
        regions: Keys of single regions. Where they are required, the group's key is neither needed nor enough.

    Raises:
        ConfigError: The same key twice, or too many.
    """

    def __init__(
        self,
        keys: Sequence[GroupKey] = (),
        *,
        native: Collection[Region] = (),
        accept_unsigned: bool = False,
        regions: RegionKeys = NO_KEYS,
    ) -> None:
        self._keys = {key.id: key for key in keys}
        if len(self._keys) != len(keys) or len(keys) > MAX_KEYS:
            raise ConfigError(f"at most {MAX_KEYS} keys of the group, each of them once; given: {len(keys)}")
        self._signer = keys[0] if keys else None
        self._native = frozenset(native)
        self.regions: Final = regions
        self.accepts_unsigned: Final = (accept_unsigned or not keys) and not regions.required

    @property
    def signs_with(self) -> str | None:
        """Id of the group's key that signs; ``None``: none does."""
        return self._signer.id if self._signer is not None else None

    @property
    def accepts(self) -> tuple[str, ...]:
        """Ids of the keys that are accepted."""
        return tuple(self._keys)

    @property
    def believes_natives(self) -> bool:
        """Whether there are regions whose messages are believed although they are not signed."""
        return self.accepts_unsigned or bool(self._native)

    def sign(self, message: Outgoing) -> Outgoing:
        """The message with its signatures: of the region, of the group, or both.

        Raises:
            PayloadInvalid: A property is not Unicode.
        """
        properties, own = dict(message.properties), self.regions.own
        try:
            if own is not None:
                properties[PROOF] = own.signature(_signed_by_region(message.payload, properties))
            return self.countersign(Outgoing(message.payload, properties))
        except UnicodeEncodeError as exc:
            raise PayloadInvalid("a property of the message is not UTF-8") from exc

    def countersign(self, message: Outgoing) -> Outgoing:
        """The message with the group's signature of now: as another region has sent it, it may be of a former key.

        The signature of the region that has made it stays as it is.
        """
        if self._signer is None:
            return message
        mac = self._signer.mac(_signed(_DOMAIN, message.payload, message.properties))
        return Outgoing(message.payload, {**message.properties, SIGNATURE: f"{_VERSION}:{self._signer.id}:{mac}"})

    def check(self, payload: bytes, properties: Mapping[str, str]) -> Speaker | None:
        """Refuse a message of ours that no member of the group has made.

        Returns:
            The region that has made it, where its own key proves that.

        Raises:
            SignatureInvalid: It is not signed, or not by a key that is accepted, or was changed since.
        """
        try:
            if (speaker := self._speaker(payload, properties)) is None and self._keys:
                self._check_group(payload, properties)
        except UnicodeEncodeError:
            raise SignatureInvalid("a property of the message is not valid Unicode") from None
        return speaker

    def _speaker(self, payload: bytes, properties: Mapping[str, str]) -> Speaker | None:
        if not self.regions.halves and not self.regions.required:
            return None
        text = properties.get(PROOF)
        return self.regions.speaker(text, b"" if text is None else _signed_by_region(payload, properties))

    def _check_group(self, payload: bytes, properties: Mapping[str, str]) -> None:
        text = properties.get(SIGNATURE)
        if text is None:
            if self.accepts_unsigned:
                return
            raise SignatureInvalid("the message is not signed")
        form = _FORM.fullmatch(text)
        if form is None:
            raise SignatureInvalid(f"the signature has not the form of version {_VERSION}")
        key = self._keys.get(form[1])
        if key is None:
            raise SignatureInvalid(
                f"the message is signed with key {form[1]}, which is none of those accepted here: "
                f"{', '.join(self._keys)}"
            )
        if not hmac.compare_digest(key.mac(_signed(_DOMAIN, payload, properties)), form[2]):
            raise SignatureInvalid(
                f"the signature with key {form[1]} does not fit the message: it was forged, or changed on its way"
            )

    def check_native(self, region: Region) -> None:
        """Refuse a record of Pulsar's own synchronizer, which cannot sign, of a region that is not named for that.

        Raises:
            SignatureInvalid: The configuration does not name the region.
        """
        if not self.accepts_unsigned and region not in self._native:
            raise SignatureInvalid(
                "the message is a broker's own record, which is not signed, and 'signing.native_regions' "
                f"does not name region {region!r}",
                hint="Name the region there if it runs Pulsar's own synchronizer, then 'syncer quarantine retry'.",
            )


UNSIGNED: Final = Keyring()
"""No key: everything is believed."""


def sealed(message: Said, keyring: Keyring) -> Outgoing:
    """Put a message into the form of the topic, signed. The only way of a message to the bus.

    Raises:
        PayloadInvalid: As :func:`syncer.bus.wire.codec.encode`.
    """
    return keyring.sign(encode(message))


@made_quickly
@dataclass(frozen=True, slots=True)
class Unsealed:
    """A message that comes from the group.

    Args:
        message: What it means.
        speaker: Who has made it, where a region's own key proves that.
    """

    message: Message
    speaker: Speaker | None = None


def unseal(
    payload: bytes, properties: Mapping[str, str], keyring: Keyring, *, max_bytes: int = MAX_MESSAGE_BYTES
) -> Unsealed:
    """Understand a message of the topic if it comes from the group. The only way of a message from the bus.

    Raises:
        SignatureInvalid: It does not come from the group, as far as can be told.
        SpeakerInvalid: A member has made it, in the name of another one.
        PayloadInvalid: It cannot be understood.
    """
    if is_ours(properties) or SIGNATURE in properties or PROOF in properties:
        speaker = keyring.check(payload, properties)
        message = decode(payload, properties, max_bytes=max_bytes)
        if not is_ours(properties):
            _check_record(message, keyring, speaker)
        if speaker is not None:
            _check_name(message, speaker)
        return Unsealed(message, speaker)
    try:
        message = decode(payload, properties, max_bytes=max_bytes)
    except PayloadInvalid as exc:
        if keyring.believes_natives:
            raise
        raise SignatureInvalid(f"the message is not signed, and cannot be understood: {exc.message}") from exc
    _check_record(message, keyring, None)
    return Unsealed(message)


def _check_record(message: Message, keyring: Keyring, speaker: Speaker | None) -> None:
    """Refuse a broker's own record of a region that is not named for that, or that another region has signed.

    A signature proves nothing of it: no broker signs, and no daemon publishes such a record.
    """
    if not isinstance(message, MetadataChangeEvent):
        return
    region = message.stamp.region
    keyring.check_native(region)
    if speaker is not None and speaker.region != region:
        raise SpeakerInvalid(
            f"the message is a record of a broker of region {region!r}, and is signed with key {speaker.key_id} of "
            f"region {speaker.region!r}"
        )


def _check_name(message: Message, speaker: Speaker) -> None:
    """Refuse what a member says in the name of another one."""
    if isinstance(message, Ignored):
        return
    if not isinstance(message, MetadataChangeEvent) and message.region != speaker.region:
        raise SpeakerInvalid(
            f"the message names region {message.region!r}, and is signed with key {speaker.key_id} of region "
            f"{speaker.region!r}"
        )
    home = home_of(message.sender)
    if home is not None and home != speaker.region:
        raise SpeakerInvalid(
            f"the message names database {message.sender} of region {home!r}, and is signed with key {speaker.key_id} "
            f"of region {speaker.region!r}"
        )


def _signed_by_region(payload: bytes, properties: Mapping[str, str]) -> bytes:
    """What a region's key signs of a message: as the group's, but not the signature that comes after it."""
    return _signed(_REGION_DOMAIN, payload, {name: properties[name] for name in properties if name != PROOF})


def _signed(domain: bytes, payload: bytes, properties: Mapping[str, str]) -> bytes:
    """What is signed of a message."""
    covered = sorted(
        (name.encode(), text.encode())
        for name, text in properties.items()
        if name.startswith(PREFIX) and name != SIGNATURE
    )
    parts = [domain, _length(len(covered))]
    for name, text in covered:
        parts += (_length(len(name)), name, _length(len(text)), text)
    return b"".join((*parts, _length(len(payload)), payload))


def _length(number: int) -> bytes:
    return number.to_bytes(_LENGTH_BYTES)
