"""Public halves of regions' key pairs: as text, and what of them can be told without any cryptography.

A half is written ``ed25519:`` and the 32 bytes of the key (RFC 8032) as base64. It is no secret.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Final

from syncer.errors import ConfigError

KEY_BYTES: Final = 32
MAX_HALVES: Final = 2
"""Of one region: the one that it signs with, and while they are rotated the next or the former one."""

_FORM: Final = "ed25519:"
_ID_DOMAIN: Final = b"pulsar-syncer region key id 1\x00"
_ID_DIGITS: Final = 16
_SIGN_BIT: Final = 0x80
_FIELD: Final = 2**255 - 19
_SMALL: Final = frozenset(
    number.to_bytes(KEY_BYTES, "little")
    for number in (
        0,
        1,
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
        _FIELD - 1,
        _FIELD,
        _FIELD + 1,
    )
)
"""Points of small order, without the bit of the sign: under such a key anybody can make a signature that fits."""


@dataclass(frozen=True, slots=True)
class PublicHalf:
    """The public half of a region's key pair.

    Args:
        raw: The 32 bytes of the key.

    Raises:
        ConfigError: It is none that proves anything.
    """

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != KEY_BYTES:
            raise ConfigError(f"a public half has {KEY_BYTES} bytes; given: {len(self.raw)}", hint=_MAKE)
        if self.raw[:-1] + bytes([self.raw[-1] & ~_SIGN_BIT]) in _SMALL:
            raise ConfigError("a public half under which anybody can sign", hint=_MAKE)

    @classmethod
    def parse(cls, text: str) -> PublicHalf:
        """Read the text form.

        Raises:
            ConfigError: It is no public half.
        """
        if not text.startswith(_FORM):
            raise ConfigError(f"a public half begins with {_FORM!r}", hint=_MAKE)
        try:
            raw = base64.b64decode(text.removeprefix(_FORM), validate=True)
        except (binascii.Error, ValueError):
            raise ConfigError(f"no base64 text follows {_FORM!r}", hint=_MAKE) from None
        half = cls(raw)
        if half.text != text:
            raise ConfigError("a public half is written in one way only; this is another one", hint=_MAKE)
        return half

    @property
    def text(self) -> str:
        """As it stands in a configuration."""
        return _FORM + base64.b64encode(self.raw).decode()

    @property
    def id(self) -> str:
        """By what messages, logs and the status name the pair."""
        return hashlib.sha256(_ID_DOMAIN + self.raw).hexdigest()[:_ID_DIGITS]


_MAKE: Final = "'syncer keys show FILE' prints the public half of a private key."
