"""Whether a message of the topic was made by a member of the group: the one place that signs, and the one that checks.

Every message of ours, of whatever kind, carries in the property ``syncer.signature`` an HMAC-SHA256 under a key that
all members of the group have. What is signed is unambiguous: each part stands behind its length.

    domain     "pulsar-syncer message 1", then a zero byte
    number     how many properties follow                                        8 bytes, big endian
    property   length of its name, name, length of its text, text (UTF-8)        each length 8 bytes
    payload    length, bytes

The properties are all whose name begins with ``syncer.``, sorted by name, without the signature itself: region, kind,
sender and number among them, and the properties of versions to come. Properties that brokers add are not signed, and
nothing is read from them.

A key proves that a message comes from the group, not from which of its members. It does not hide anything.

Messages without the properties of ours are those of Pulsar's own synchronizer, which cannot sign: with a key, they are
taken only of the regions that the configuration names.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from syncer.bus.codec import PREFIX, decode, encode, is_ours
from syncer.bus.contract import Outgoing
from syncer.bus.limits import MAX_MESSAGE_BYTES
from syncer.bus.messages import Message, Said
from syncer.errors import ConfigError, PayloadInvalid, SignatureInvalid
from syncer.model import MetadataChangeEvent, Region

SIGNATURE: Final = f"{PREFIX}signature"
MIN_KEY_BYTES: Final = 32
"""As many as the hash gives: a shorter key would be the weakest part."""
MAX_KEYS: Final = 2
"""The one to sign with, and while keys are rotated another one to accept."""

_VERSION: Final = "1"
_DOMAIN: Final = b"pulsar-syncer message 1\x00"
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

    Raises:
        ConfigError: The same key twice, or too many.
    """

    def __init__(
        self, keys: Sequence[GroupKey] = (), *, native: Collection[Region] = (), accept_unsigned: bool = False
    ) -> None:
        self._keys = {key.id: key for key in keys}
        if len(self._keys) != len(keys) or len(keys) > MAX_KEYS:
            raise ConfigError(f"at most {MAX_KEYS} keys of the group, each of them once; given: {len(keys)}")
        self._signer = keys[0] if keys else None
        self._native = frozenset(native)
        self.accepts_unsigned: Final = accept_unsigned or not keys

    @property
    def signs_with(self) -> str | None:
        """Id of the key that signs; ``None``: nothing is signed."""
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
        """The message with its signature.

        Raises:
            PayloadInvalid: A property is not Unicode.
        """
        if self._signer is None:
            return message
        try:
            signed = _signed(message.payload, message.properties)
        except UnicodeEncodeError as exc:
            raise PayloadInvalid(f"a property of the message is not valid Unicode: {exc}") from exc
        text = f"{_VERSION}:{self._signer.id}:{self._signer.mac(signed)}"
        return Outgoing(message.payload, {**message.properties, SIGNATURE: text})

    def check(self, payload: bytes, properties: Mapping[str, str]) -> None:
        """Refuse a message of ours that no member of the group has made.

        Raises:
            SignatureInvalid: It is not signed, or not by a key that is accepted, or was changed since.
        """
        if not self._keys:
            return
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
        try:
            signed = _signed(payload, properties)
        except UnicodeEncodeError:
            raise SignatureInvalid("a property of the message is not valid Unicode") from None
        if not hmac.compare_digest(key.mac(signed), form[2]):
            raise SignatureInvalid(
                f"the signature with key {form[1]} does not fit the message: it was forged, or changed on its way"
            )

    def check_native(self, region: Region) -> None:
        """Refuse a message of Pulsar's own synchronizer, which cannot sign, of a region that is not named for that.

        Raises:
            SignatureInvalid: The configuration does not name the region.
        """
        if not self.accepts_unsigned and region not in self._native:
            raise SignatureInvalid(
                f"the message is not signed, and 'signing.native_regions' does not name region {region!r}",
                hint="Name the region there if it runs Pulsar's own synchronizer, then 'syncer quarantine retry'.",
            )


UNSIGNED: Final = Keyring()
"""No key: everything is believed."""


def sealed(message: Said, keyring: Keyring) -> Outgoing:
    """Put a message into the form of the topic, signed. The only way of a message to the bus.

    Raises:
        PayloadInvalid: As :func:`syncer.bus.codec.encode`.
    """
    return keyring.sign(encode(message))


def unsealed(
    payload: bytes, properties: Mapping[str, str], keyring: Keyring, *, max_bytes: int = MAX_MESSAGE_BYTES
) -> Message:
    """Understand a message of the topic if it comes from the group. The only way of a message from the bus.

    Raises:
        SignatureInvalid: It does not come from the group, as far as can be told.
        PayloadInvalid: It cannot be understood.
    """
    if is_ours(properties) or SIGNATURE in properties:
        keyring.check(payload, properties)
        return decode(payload, properties, max_bytes=max_bytes)
    try:
        message = decode(payload, properties, max_bytes=max_bytes)
    except PayloadInvalid as exc:
        if keyring.believes_natives:
            raise
        raise SignatureInvalid(f"the message is not signed, and cannot be understood: {exc.message}") from exc
    if isinstance(message, MetadataChangeEvent):
        keyring.check_native(message.stamp.region)
    return message


def _signed(payload: bytes, properties: Mapping[str, str]) -> bytes:
    """What is signed of a message."""
    covered = sorted(
        (name.encode(), text.encode())
        for name, text in properties.items()
        if name.startswith(PREFIX) and name != SIGNATURE
    )
    parts = [_DOMAIN, _length(len(covered))]
    for name, text in covered:
        parts += (_length(len(name)), name, _length(len(text)), text)
    return b"".join((*parts, _length(len(payload)), payload))


def _length(number: int) -> bytes:
    return number.to_bytes(_LENGTH_BYTES)
