"""Public key signatures by key pairs of regions: a message shows which region has made it, not only that a member has.

The signature is Ed25519 (RFC 8032), in the property ``syncer.proof``: version, id of the key, 128
hexadecimal digits. It covers what the group's covers (:mod:`syncer.bus.trust.signing`), under a domain of its own. The
group's covers it in turn, so that who knows only the group's key reads the message as before.

Each key belongs to one region: whose key has signed is the region that speaks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from syncer.bus.trust.public_halves import MAX_HALVES, PublicHalf
from syncer.errors import ConfigError, SignatureInvalid
from syncer.model import Region

_VERSION: Final = "1"
_FORM: Final = re.compile(rf"{_VERSION}:([0-9a-f]{{16}}):([0-9a-f]{{128}})")


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who has made a message, as its signature proves.

    Args:
        region: Whose key has signed.
        key_id: Which one of its keys.
    """

    region: Region
    key_id: str


class RegionKey:
    """The private half of this region's key pair. It never leaves this object but into a file of its own.

    Args:
        private: As the library has it.
    """

    __slots__ = ("_private", "public")

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public: Final = PublicHalf(private.public_key().public_bytes_raw())

    @classmethod
    def make(cls) -> RegionKey:
        """A new one, of chance."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def of_pem(cls, text: bytes) -> RegionKey:
        """Read what a file holds.

        Raises:
            ConfigError: It is no private key of this kind, or one that wants a password.
        """
        try:
            private = load_pem_private_key(text, password=None)
        except Exception:  # noqa: BLE001 - whatever is wrong with it, its words may hold parts of the key
            raise ConfigError("holds no private key in PEM without a password", hint=_MAKE) from None
        if not isinstance(private, Ed25519PrivateKey):
            raise ConfigError("holds a private key of another kind than Ed25519", hint=_MAKE)
        return cls(private)

    def pem(self) -> bytes:
        """What its file holds."""
        return self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def __repr__(self) -> str:
        return f"RegionKey({self.public.id})"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")

    def signature(self, signed: bytes) -> str:
        """The property that proves who has made these bytes."""
        return f"{_VERSION}:{self.public.id}:{self._private.sign(signed).hex()}"


class RegionKeys:
    """Which region signs with which keys.

    Args:
        halves: Public halves by region; each of them belongs to one region.
        own: What this region signs with; ``None``: nothing.
        required: Believe nothing of ours that no region's key has signed.

    Raises:
        ConfigError: Two keys cannot be told apart, or a region has too many.
    """

    def __init__(
        self,
        halves: Mapping[Region, Sequence[PublicHalf]] | None = None,
        *,
        own: RegionKey | None = None,
        required: bool = False,
    ) -> None:
        self.own: Final = own
        self.required: Final = required
        self.halves: Final = {region: tuple(each) for region, each in (halves or {}).items()}
        self._owners: dict[str, tuple[Region, Ed25519PublicKey]] = {}
        for region, several in self.halves.items():
            if not 0 < len(several) <= MAX_HALVES:
                raise ConfigError(f"1 to {MAX_HALVES} public halves of region {region!r}; given: {len(several)}")
            for half in several:
                if (other := self._owners.get(half.id)) is not None:
                    raise ConfigError(f"key {half.id} of region {region!r} is there already, of region {other[0]!r}")
                self._owners[half.id] = region, Ed25519PublicKey.from_public_bytes(half.raw)

    @property
    def accepts(self) -> dict[str, list[str]]:
        """Ids of the keys that are accepted, by region."""
        return {region: [half.id for half in several] for region, several in sorted(self.halves.items())}

    def speaker(self, text: str | None, signed: bytes) -> Speaker | None:
        """Who has made a message; ``None``: no key of a region tells, and none has to.

        Args:
            text: The property of the message that proves it, if it has one.
            signed: What it covers.

        Raises:
            SignatureInvalid: It does not fit, or is required and missing, or of no known key.
        """
        if text is None:
            if self.required:
                raise SignatureInvalid("the message is not signed with the key of a region", hint=_GIVE)
            return None
        form = _FORM.fullmatch(text)
        if form is None:
            raise SignatureInvalid(f"the signature of the region has not the form of version {_VERSION}")
        owner = self._owners.get(form[1])
        if owner is None:
            if self.required:
                raise SignatureInvalid(
                    f"the message is signed with key {form[1]}, which 'peers.keys' gives to no region", hint=_GIVE
                )
            return None
        region, key = owner
        try:
            key.verify(bytes.fromhex(form[2]), signed)
        except InvalidSignature:
            raise SignatureInvalid(
                f"the signature with key {form[1]} of region {region!r} does not fit the message: it was forged, or "
                "changed on its way"
            ) from None
        return Speaker(region, form[1])


NO_KEYS: Final = RegionKeys()
"""No region has a key of its own."""

_MAKE: Final = "Make one by 'syncer keys create FILE'."
_GIVE: Final = (
    "Give its region a key pair ('signing.region_key_file'), and its public half to all ('peers.keys'), then 'syncer "
    "quarantine retry'; a message that no region of yours has sent is thrown away by 'syncer quarantine discard'."
)
