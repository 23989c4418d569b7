"""Keys of regions: what they prove, who may say what in whose name, and that a private half is never shown."""

from __future__ import annotations

import base64
import copy
import hashlib
import pickle
import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.asymmetric import ed448, ed25519
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from syncer.bus.contract import Outgoing
from syncer.bus.trust.public_halves import PublicHalf
from syncer.bus.trust.region_keys import RegionKey, RegionKeys
from syncer.bus.trust.signing import PROOF, SIGNATURE, UNSIGNED, Keyring, sealed, unseal
from syncer.bus.wire.codec import encode
from syncer.bus.wire.messages import Control, Heartbeat, StatePage, StateRequest, TreeMessage
from syncer.config.group_keys import keyring as keyring_of
from syncer.config.group_keys import region_key
from syncer.config.model import Config
from syncer.errors import ConfigError, SignatureInvalid, SpeakerInvalid
from syncer.model import MetadataChangeEvent, Region, database_id, home_of
from tests.support.group_keys import keyring, unsealed
from tests.support.region_keys import halves, pair, pair_file, ring, seed, tables
from tests.unit.bus.trust.test_signing import KINDS
from tests.unit.bus.wire.test_codec import CHANGE, EAST, native

WEST: Final = Region("us-west")
BOTH: Final = (EAST, WEST)
OURS: Final = ring(EAST, BOTH, required=True)
THEIRS: Final = ring(WEST, BOTH, required=True)
SEALED: Final = sealed(CHANGE, OURS)
TALK: Final = {name: message for name, message in KINDS.items() if not isinstance(message, MetadataChangeEvent)}


def refused(sent: Outgoing, to: Keyring = THEIRS, changed: Mapping[str, str] | None = None) -> SignatureInvalid:
    """Why a message is refused."""
    with pytest.raises(SignatureInvalid) as caught:
        unseal(sent.payload, {**sent.properties, **(changed or {})}, to)
    return caught.value


@pytest.mark.parametrize("message", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("group", [(), ("ours",)], ids=["alone", "with the group's"])
def test_every_kind_of_message_shows_the_region_that_made_it(message: Any, group: tuple[str, ...]) -> None:
    sent, plain = sealed(message, ring(EAST, BOTH, group=group)), encode(message)
    assert sent.properties.keys() - plain.properties.keys() == {PROOF} | ({SIGNATURE} if group else set())
    heard = unseal(sent.payload, sent.properties, THEIRS)
    assert heard.message == message
    assert heard.speaker is not None
    assert (heard.speaker.region, heard.speaker.key_id) == (EAST, pair(EAST).public.id)
    assert unsealed(sent.payload, sent.properties, UNSIGNED) == message, "who has no key reads it all the same"
    if group:
        assert unsealed(sent.payload, sent.properties, keyring("ours")) == message, "so does who has the group's only"


def test_what_is_signed_is_what_the_documentation_says() -> None:
    """Computed here once more, from the description: members of different versions must agree for ever."""
    both = sealed(CHANGE, ring(EAST, BOTH, group=["ours"]))
    names = sorted(name for name in both.properties if name not in {PROOF, SIGNATURE})
    signed = b"pulsar-syncer region message 1\0" + struct.pack(">Q", len(names))
    for name in names:
        for part in (name.encode(), both.properties[name].encode()):
            signed += struct.pack(">Q", len(part)) + part
    signed += struct.pack(">Q", len(both.payload)) + both.payload
    private = ed25519.Ed25519PrivateKey.from_private_bytes(seed(EAST))
    raw = private.public_key().public_bytes_raw()
    identity = hashlib.sha256(b"pulsar-syncer region key id 1\0" + raw).hexdigest()[:16]
    assert both.properties[PROOF] == f"1:{identity}:{private.sign(signed).hex()}"
    assert halves(EAST) == [f"ed25519:{base64.b64encode(raw).decode()}"]


# -- in whose name


@pytest.mark.parametrize("message", TALK.values(), ids=TALK)
def test_a_member_that_speaks_as_another_one_is_refused(
    message: Heartbeat | Control | TreeMessage | StateRequest | StatePage,
) -> None:
    assert message.region == EAST
    lie = sealed(message, ring(WEST, BOTH, group=["ours"]))
    assert unsealed(lie.payload, lie.properties, keyring("ours")) == message, "the group's key alone believes it"
    said = refused(lie)
    assert isinstance(said, SpeakerInvalid)
    assert said.code == "speaks-for-another"
    assert f"names region 'us-east', and is signed with key {pair(WEST).public.id} of region 'us-west'" in said.message
    assert isinstance(refused(lie, ring(EAST, BOTH)), SpeakerInvalid), "also where keys of regions are not required"


@pytest.mark.parametrize("message", KINDS.values(), ids=KINDS)
def test_a_member_speaks_by_a_database_of_its_own_only(message: Any) -> None:
    named = replace(message, sender=database_id("e" * 32, EAST))
    sent = sealed(named, OURS)
    assert unsealed(sent.payload, sent.properties, THEIRS) == named
    others = replace(message, sender=database_id("e" * 32, WEST))
    said = refused(sealed(others, OURS))
    assert isinstance(said, SpeakerInvalid)
    assert "of region 'us-west', and is signed with key" in said.message


def test_a_member_may_tell_what_another_one_made_and_it_is_known_who_told_it() -> None:
    told = replace(CHANGE, sender=database_id("w" * 32, WEST))
    sent = sealed(told, THEIRS)
    heard = unseal(sent.payload, sent.properties, OURS)
    assert heard.message == told
    assert told.stamp.region == EAST
    assert heard.speaker is not None
    assert heard.speaker.region == WEST


@pytest.mark.parametrize("region", ["east", "a.b-c_d", "x@y", "ü"])
def test_a_database_shows_its_region_by_its_name(region: str) -> None:
    assert home_of(database_id("0123456789abcdef" * 2, Region(region))) == region


@pytest.mark.parametrize("name", ["", "d" * 32, "@", "@east", "d@", "a b@east"])
def test_a_name_of_another_form_shows_none(name: str) -> None:
    assert home_of(name) is None


# -- what cannot be changed


def test_no_bit_of_a_signed_message_can_be_changed() -> None:
    for at in range(len(SEALED.payload) * 8):
        changed = bytearray(SEALED.payload)
        changed[at // 8] ^= 1 << at % 8
        assert "does not fit" in refused(Outgoing(bytes(changed), SEALED.properties)).message


@pytest.mark.parametrize("name", sorted(SEALED.properties))
def test_no_bit_of_a_property_can_be_changed(name: str) -> None:
    text = SEALED.properties[name]
    for at in range(len(text) * 7):
        changed = text[: at // 7] + chr(ord(text[at // 7]) ^ (1 << at % 7)) + text[at // 7 + 1 :]
        refused(SEALED, changed={name: changed})
    refused(SEALED, changed={name: f"{text}1"})
    less = {each: said for each, said in SEALED.properties.items() if each != name}
    refused(Outgoing(SEALED.payload, less))


def test_no_property_can_be_added_and_none_of_brokers_disturbs() -> None:
    assert "does not fit" in refused(SEALED, changed={"syncer.later": "1"}).message
    passed = {**SEALED.properties, "__MSG_PROP_REPL_SOURCE_POSITION": "4:7", SIGNATURE: "nonsense"}
    assert unsealed(SEALED.payload, passed, THEIRS) == CHANGE


def test_the_signature_of_the_group_covers_that_of_the_region() -> None:
    both = sealed(CHANGE, ring(EAST, BOTH, group=["ours"]))
    assert "does not fit" in refused(both, keyring("ours"), {PROOF: SEALED.properties[PROOF][:-1] + "?"}).message
    less = {name: text for name, text in both.properties.items() if name != PROOF}
    assert "does not fit" in refused(Outgoing(both.payload, less), keyring("ours")).message


def test_the_signature_of_another_message_or_of_the_group_does_not_fit() -> None:
    other = sealed(replace(CHANGE, sequence=42), OURS)
    assert "does not fit" in refused(SEALED, changed={PROOF: other.properties[PROOF]}).message
    group = sealed(CHANGE, keyring("ours"))
    assert "has not the form" in refused(group, changed={PROOF: group.properties[SIGNATURE]}).message


@pytest.mark.parametrize(
    "text", ["", "1", "1::", "2" + SEALED.properties[PROOF][1:], "1:" * 100_000, "\ud800", "\u0661:"]
)
def test_a_signature_of_another_form_is_none(text: str) -> None:
    assert "has not the form" in refused(SEALED, changed={PROOF: text}).message


# -- what is required


def test_while_keys_of_regions_are_not_required_the_groups_is_enough_and_either_is() -> None:
    lax = ring(EAST, BOTH, group=["ours"])
    by_group, by_region, by_both = (
        sealed(CHANGE, each) for each in (keyring("ours"), ring(EAST, BOTH), ring(EAST, BOTH, group=["ours"]))
    )
    for sent in (by_group, by_region, by_both):
        assert unsealed(sent.payload, sent.properties, lax) == CHANGE
    assert refused(encode(CHANGE), lax).message == "the message is not signed"
    new = sealed(CHANGE, ring("new", BOTH, group=["ours"]))
    assert unsealed(new.payload, new.properties, lax) == CHANGE, "a key that is not known yet: the group's is enough"
    assert "which is none of those" in refused(sealed(CHANGE, ring("new", group=["theirs"])), lax).message


def test_where_they_are_required_nothing_else_is_enough() -> None:
    strict = ring(EAST, BOTH, required=True, group=["ours"])
    assert "is not signed with the key of a region" in refused(sealed(CHANGE, keyring("ours")), strict).message
    assert "is not signed with the key of a region" in refused(encode(CHANGE), strict).message
    unknown = refused(sealed(CHANGE, ring("new", BOTH, group=["ours"])), strict)
    assert f"{pair('new').public.id}, which 'peers.keys' gives to no region" in unknown.message
    assert "peers.keys" in unknown.hint
    assert unsealed(SEALED.payload, SEALED.properties, strict) == CHANGE, "the group's is not needed"
    assert not strict.accepts_unsigned
    assert not ring(required=True, known=BOTH).accepts_unsigned, "nor without a key of the group"
    assert ring(EAST, BOTH).accepts_unsigned


def test_while_a_pair_is_rotated_either_half_is_accepted() -> None:
    both, swapped = ({"us-east": names, "us-west": ["us-west"]} for names in (("old", "new"), ("new", "old")))
    for signer in ("old", "new"):
        sent = sealed(CHANGE, ring(signer))
        for known in (both, swapped):
            assert unsealed(sent.payload, sent.properties, ring(WEST, known, required=True)) == CHANGE
    gone = ring(WEST, {EAST: ["new"], WEST: [WEST]}, required=True)
    assert "gives to no region" in refused(sealed(CHANGE, ring("old")), gone).message


def test_native_regions_are_believed_where_they_are_named() -> None:
    named = ring(EAST, BOTH, required=True, native=["pulsar-north"])
    message = native(source_cluster="pulsar-north")
    assert isinstance(unsealed(message, {}, named), MetadataChangeEvent)
    assert unseal(message, {}, named).speaker is None
    assert "does not name region 'us-west'" in refused(Outgoing(native(source_cluster="us-west"), {}), named).message
    assert "not signed with the key of a region" in refused(encode(CHANGE), named).message
    assert "does not fit" in refused(Outgoing(message, {PROOF: SEALED.properties[PROOF]}), named).message


def test_a_signature_lets_no_record_of_a_broker_pass_that_would_not_pass_without() -> None:
    record = Outgoing(native(source_cluster="us-west"), {})
    by_east, by_west = ring(EAST, BOTH).sign(record), ring(WEST, BOTH).sign(record)
    unnamed, named = ring(EAST, BOTH, required=True), ring(EAST, BOTH, required=True, native=[WEST])
    for signed in (by_east, by_west, ring(EAST, BOTH, group=["ours"]).sign(record)):
        assert "does not name region 'us-west'" in refused(signed, unnamed).message
    assert isinstance(refused(by_east, named), SpeakerInvalid)
    assert unseal(by_west.payload, by_west.properties, named).message == unsealed(record.payload, {}, named)
    group = keyring("ours")
    assert "does not name region 'us-west'" in refused(group.sign(record), group).message


# -- public halves


BAD_HALVES: Final = {
    "": "begins with",
    "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=": "begins with",
    "ed25519:": "has 32 bytes; given: 0",
    "ed25519:AAAA": "has 32 bytes; given: 3",
    "ed25519:no base64": "no base64 text",
    "ed25519:" + base64.b64encode(bytes(33)).decode(): "given: 33",
    "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURp=": "in one way only",
}


@pytest.mark.parametrize(("text", "said"), BAD_HALVES.items())
def test_what_is_no_public_half_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        PublicHalf.parse(text)
    assert "syncer keys show" in caught.value.hint


def test_a_public_half_under_which_anybody_can_sign_is_refused() -> None:
    """Every point of small order, found by arithmetic of its own: with such a key, 64 zero bytes can be a signature."""
    found = small_points()
    assert len(found) == 8
    field = 2**255 - 19
    texts = {(y | sign << 255).to_bytes(32, "little") for _, y in found for sign in (0, 1)}
    texts |= {
        (y + field | sign << 255).to_bytes(32, "little") for _, y in found if y + field < 2**255 for sign in (0, 1)
    }
    for raw in texts:
        with pytest.raises(ConfigError, match="anybody can sign"):
            PublicHalf(raw)
    identity = ed25519.Ed25519PublicKey.from_public_bytes((1).to_bytes(32, "little"))
    identity.verify((1).to_bytes(32, "little") + bytes(32), b"whatever is said")


def small_points() -> set[tuple[int, int]]:
    """The eight points of the curve whose order divides eight, as x and y."""
    p = 2**255 - 19
    d = -121665 * pow(121666, -1, p) % p

    def add(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
        (x1, y1), (x2, y2) = one, other
        both = d * x1 * x2 * y1 * y2 % p
        return (
            (x1 * y2 + x2 * y1) * pow(1 + both, -1, p) % p,
            (y1 * y2 + x1 * x2) * pow(1 - both, -1, p) % p,
        )

    def times(number: int, point: tuple[int, int]) -> tuple[int, int]:
        sum_ = (0, 1)
        while number:
            if number & 1:
                sum_ = add(sum_, point)
            point, number = add(point, point), number >> 1
        return sum_

    order = 2**252 + 27742317777372353535851937790883648493
    found: set[tuple[int, int]] = set()
    for y in range(2, 200):
        square = (y * y - 1) * pow(d * y * y + 1, -1, p) % p
        x = pow(square, (p + 3) // 8, p)
        if (x * x - square) % p:
            x = x * pow(2, (p - 1) // 4, p) % p
        if not (x * x - square) % p:
            point = times(order, (x, y))
            found |= {times(number, point) for number in range(8)}
    return found


def test_a_key_belongs_to_one_region() -> None:
    with pytest.raises(ConfigError, match="is there already, of region 'a'"):
        RegionKeys({Region("a"): [pair("x").public], Region("b"): [pair("x").public]})
    for names in ((), ("1", "2", "3")):
        with pytest.raises(ConfigError, match="1 to 2 public halves"):
            RegionKeys({Region("a"): [pair(name).public for name in names]})


# -- files and configuration


def test_a_private_key_is_shown_nowhere(tmp_path: Path) -> None:
    key = pair(EAST)
    file = Path(pair_file(tmp_path, EAST))
    assert region_key(file, {}, EAST).public == key.public
    shown = [repr(key), str(key), repr(OURS), repr(OURS.regions), SEALED.properties[PROOF], repr(SEALED)]
    body = file.read_text(encoding="ascii").splitlines()[1]
    for form in (seed(EAST).hex(), base64.b64encode(seed(EAST)).decode(), body, repr(seed(EAST))):
        assert not [each for each in shown if form in each]
    for write in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not written"):
            write(key)


def pem(key: ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey, password: bytes = b"") -> bytes:
    """A private key as PEM."""
    return key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password) if password else NoEncryption()
    )


SOME: Final = ed25519.Ed25519PrivateKey.from_private_bytes(seed("some"))
BAD_FILES: Final = {
    "empty": (b"", "no private key in PEM"),
    "a key of the group": (base64.b64encode(seed("some")), "no private key in PEM"),
    "raw": (seed("some"), "no private key in PEM"),
    "another kind": (pem(ed448.Ed448PrivateKey.generate()), "of another kind than Ed25519"),
    "a password": (pem(SOME, b"hunter22"), "without a password"),
    "cut": (pem(SOME)[:60], "no private key in PEM"),
    "large": (pem(SOME) + b"\n" * 5000, "it is no key"),
}


@pytest.mark.parametrize(("content", "said"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_is_no_private_key_is_refused_without_showing_what_it_holds(
    tmp_path: Path, content: bytes, said: str
) -> None:
    file = tmp_path / "region.pem"
    file.touch(mode=0o600)
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=said) as caught:
        region_key(file, {}, EAST)
    told = caught.value.message + caught.value.hint
    assert str(file) in told
    assert not content.strip() or content.strip().decode("latin-1")[:20] not in told
    assert caught.value.__cause__ is None


def test_a_private_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = Path(pair_file(tmp_path, EAST))
    file.chmod(0o640)
    assert region_key(file, {}, EAST).public == pair(EAST).public
    file.chmod(0o644)
    with pytest.raises(ConfigError, match=r"region_key_file: .* by others than its owner \(mode 0644\)"):
        region_key(file, {}, EAST)


def config(folder: Path, **changes: Any) -> Config:
    """A configuration of region east, with these tables."""
    return Config.model_validate(
        {
            "region": "east",
            "store": {"kind": "sqlite", "path": str(folder / "s.db")},
            "bus": {"kind": "embedded", "path": str(folder / "b.db")},
            **changes,
        }
    )


KNOWN: Final = {"east": ["east"], "west": ["west"]}


def test_keys_are_read_as_the_configuration_says(tmp_path: Path) -> None:
    made = config(tmp_path, **tables(tmp_path, "east", KNOWN, group=["ours"], required=True))
    found = keyring_of(made.signing, made.peers, made.region)
    assert found.signs_with is not None
    assert found.regions.own is not None
    assert found.regions.own.public == pair("east").public
    assert found.regions.required
    assert found.regions.accepts == {name: [pair(name).public.id] for name in ("east", "west")}
    assert keyring_of(None, made.peers, made.region).regions.accepts == found.regions.accepts
    first = config(tmp_path, **tables(tmp_path, "east", {}, group=["ours"]))
    assert keyring_of(first.signing, first.peers, first.region).regions.own is not None, "before others know the key"


@pytest.mark.parametrize(
    ("own", "known", "said"),
    [
        ("west", KNOWN, "is of region 'west', not of 'east'"),
        ("old", KNOWN, "is of no region there, not of 'east'"),
        ("east", {"west": ["west"]}, "is of no region there, not of 'east'"),
    ],
)
def test_a_private_key_that_is_not_this_regions_is_refused(
    own: str, known: Mapping[str, list[str]], said: str, tmp_path: Path
) -> None:
    made = config(tmp_path, **tables(tmp_path, own, known))
    with pytest.raises(ConfigError, match=said) as caught:
        keyring_of(made.signing, made.peers, made.region)
    assert "syncer keys show" in caught.value.hint


EAST_FILE: Final = {"region_key_file": "/nowhere/east.pem"}
BAD_TABLES: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "no key at all": ({"signing": {}}, "names no key"),
    "one half for two": (
        {"peers": {"keys": {"east": halves("x"), "west": halves("x")}}},
        "the same public half to 'east' and to 'west'",
    ),
    "one half twice": ({"peers": {"keys": {"east": halves("x", "x")}}}, "the same public half twice"),
    "three halves": ({"peers": {"keys": {"east": halves("x", "y", "z")}}}, "at most 2"),
    "no half": ({"peers": {"keys": {"east": []}}}, "at least 1"),
    "no half in form": ({"peers": {"keys": {"east": ["x"]}}}, "begins with 'ed25519:'"),
    "required, own half missing": (
        {"signing": {**EAST_FILE, "require_region_keys": True}, "peers": {"keys": {"west": halves("west")}}},
        "needs the public half of 'east'",
    ),
    "required, nothing to sign with": (
        {"signing": {"require_region_keys": True}, "peers": {"keys": {"east": halves("east")}}},
        "needs 'signing.region_key_file'",
    ),
    "required, and unsigned taken": (
        {"signing": {**EAST_FILE, "require_region_keys": True, "accept_unsigned": True}},
        "exclude each other",
    ),
    "a native region with a key": (
        {"signing": {**EAST_FILE, "native_regions": ["west"]}, "peers": {"keys": {"west": halves("west")}}},
        "anybody could speak for it without one",
    ),
}


@pytest.mark.parametrize(("changes", "said"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_tables_that_contradict_themselves_are_refused(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        config(tmp_path, **changes)


def test_an_observer_needs_no_key_of_its_own(tmp_path: Path) -> None:
    made = config(
        tmp_path,
        mode="observe",
        signing={"require_region_keys": True},
        peers={"keys": {name: halves(name) for name in ("east", "west")}},
    )
    found = keyring_of(made.signing, made.peers, made.region)
    assert found.regions.required
    assert found.regions.own is None


def test_a_new_pair_is_of_chance() -> None:
    one, other = RegionKey.make(), RegionKey.make()
    assert one.public != other.public
    assert RegionKey.of_pem(one.pem()).public == one.public
