"""Signatures: what they cover, who is believed, and that a key is never shown; and the files of the keys."""

from __future__ import annotations

import base64
import copy
import hashlib
import hmac
import os
import pickle
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from syncer.bus.contract import Outgoing
from syncer.bus.trust.signing import SIGNATURE, UNSIGNED, GroupKey, Keyring, sealed
from syncer.bus.wire.codec import encode
from syncer.bus.wire.messages import Ignored, TreeMessage
from syncer.bus.wire.native import NativeType
from syncer.config.group_keys import keyring as keyring_of
from syncer.config.group_keys import read_keys
from syncer.config.tables import SigningConfig
from syncer.errors import ConfigError, PayloadInvalid, SignatureInvalid
from syncer.model import MetadataChangeEvent
from tests.support.group_keys import key, key_file, keyring, secret, text, unsealed
from tests.unit.bus.wire.test_codec import (
    CHANGE,
    CONTROL,
    DELETE,
    EAST,
    HEARTBEAT,
    LISTING_ASKED,
    LISTING_TOLD,
    NOW,
    native,
)

TREE = TreeMessage(
    region=EAST, sender="9f8e7d", sent_at_ms=NOW, target="us-west", label="l", step="groups", round=3, body=b"\0" * 16
)
OURS = keyring("ours")
KINDS = {
    "change": CHANGE,
    "delete": DELETE,
    "heartbeat": HEARTBEAT,
    "control": CONTROL,
    "tree": TREE,
    "listing asked": LISTING_ASKED,
    "listing told": LISTING_TOLD,
}
SEALED = sealed(CHANGE, OURS)


def refused(payload: bytes, properties: dict[str, str], ring: Keyring = OURS) -> str:
    """Why a message is refused for its signature."""
    with pytest.raises(SignatureInvalid) as caught:
        unsealed(payload, properties, ring)
    return caught.value.message


@pytest.mark.parametrize("message", KINDS.values(), ids=KINDS)
def test_every_kind_of_message_is_signed_and_taken_by_who_has_the_key(message: Any) -> None:
    sent = sealed(message, OURS)
    plain = encode(message)
    assert (sent.payload, sent.properties.keys() - plain.properties.keys()) == (plain.payload, {SIGNATURE})
    assert unsealed(sent.payload, sent.properties, OURS) == message
    assert unsealed(sent.payload, sent.properties, UNSIGNED) == message, "who has no key reads it all the same"
    assert refused(sent.payload, dict(plain.properties)) == "the message is not signed"


def test_what_is_signed_is_what_the_documentation_says() -> None:
    """Computed here once more, from the description: members of different versions must agree for ever."""
    names = sorted(name for name in SEALED.properties if name != SIGNATURE)
    signed = b"pulsar-syncer message 1\0" + struct.pack(">Q", len(names))
    for name in names:
        for part in (name.encode(), SEALED.properties[name].encode()):
            signed += struct.pack(">Q", len(part)) + part
    signed += struct.pack(">Q", len(SEALED.payload)) + SEALED.payload
    mac = hmac.new(secret("ours"), signed, hashlib.sha256).hexdigest()
    identity = hmac.new(secret("ours"), b"pulsar-syncer key id 1\0", hashlib.sha256).hexdigest()[:12]
    assert SEALED.properties[SIGNATURE] == f"1:{identity}:{mac}"


@pytest.mark.parametrize("name", sorted(encode(CHANGE).properties))
def test_no_property_can_be_changed_or_taken_away(name: str) -> None:
    assert "does not fit" in refused(SEALED.payload, {**SEALED.properties, name: f"{SEALED.properties[name]}1"})
    less = {each: said for each, said in SEALED.properties.items() if each != name}
    assert "does not fit" in refused(SEALED.payload, less)


def test_no_property_can_be_added_and_none_of_brokers_disturbs() -> None:
    assert "does not fit" in refused(SEALED.payload, {**SEALED.properties, "syncer.later": "1"})
    passed = {**SEALED.properties, "__MSG_PROP_REPL_SOURCE_POSITION": "4:7"}
    assert unsealed(SEALED.payload, passed, OURS) == CHANGE


def test_no_byte_of_the_payload_can_be_changed() -> None:
    for at in range(len(SEALED.payload)):
        changed = bytearray(SEALED.payload)
        changed[at] ^= 1
        assert "does not fit" in refused(bytes(changed), dict(SEALED.properties))
    assert "does not fit" in refused(SEALED.payload + b"\0", dict(SEALED.properties))
    assert "does not fit" in refused(b"", dict(SEALED.properties))


def test_a_text_cannot_move_from_one_property_to_another() -> None:
    one = OURS.sign(Outgoing(b"x", {"syncer.v": "1", "syncer.a": "bc", "syncer.ab": "c"}))
    other = {"syncer.v": "1", "syncer.a": "b", "syncer.ab": "cc", SIGNATURE: one.properties[SIGNATURE]}
    assert "does not fit" in refused(b"x", other)
    assert "does not fit" in refused(b"", {**one.properties, "syncer.v": "1x"})


def test_the_signature_of_another_message_does_not_fit() -> None:
    other = sealed(replace(CHANGE, sequence=42), OURS)
    assert "does not fit" in refused(SEALED.payload, {**SEALED.properties, SIGNATURE: other.properties[SIGNATURE]})


@pytest.mark.parametrize(
    "said",
    [
        "",
        "1",
        "1:::",
        "1:" + "0" * 12,
        SEALED.properties[SIGNATURE].upper(),
        SEALED.properties[SIGNATURE] + "\n",
        " " + SEALED.properties[SIGNATURE],
        SEALED.properties[SIGNATURE][:-1],
        SEALED.properties[SIGNATURE] + "0",
        SEALED.properties[SIGNATURE].replace("1:", "2:", 1),
        "\u0661" + SEALED.properties[SIGNATURE][1:],
        "1:" * 100_000,
        "\ud800",
    ],
)
def test_a_signature_of_another_form_is_none(said: str) -> None:
    assert "has not the form" in refused(SEALED.payload, {**SEALED.properties, SIGNATURE: said})


def test_properties_that_are_no_unicode_are_refused_on_both_ways() -> None:
    assert "Unicode" in refused(SEALED.payload, {**SEALED.properties, "syncer.name": "\ud800"})
    with pytest.raises(PayloadInvalid, match="UTF-8"):
        OURS.sign(Outgoing(b"", {"syncer.v": "\udfff"}))


def test_another_key_is_named_by_its_id_and_no_key_is_shown() -> None:
    other = sealed(CHANGE, keyring("theirs"))
    said = refused(other.payload, dict(other.properties))
    assert key("theirs").id in said
    assert key("ours").id in said
    shown = [said, repr(key("ours")), str(key("ours")), repr(OURS), SEALED.properties[SIGNATURE], repr(SEALED)]
    for form in (secret("ours").hex(), text("ours"), repr(secret("ours"))):
        assert not [each for each in shown if form in each]
    for write in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not written"):
            write(key("ours"))


def test_while_keys_are_rotated_the_first_signs_and_either_is_accepted() -> None:
    old, both, swapped, new = keyring("old"), keyring("old", "new"), keyring("new", "old"), keyring("new")
    for signer, accepting, refusing in (
        (old, (old, both, swapped), (new,)),
        (both, (old, both, swapped), (new,)),
        (swapped, (both, swapped, new), (old,)),
        (new, (both, swapped, new), (old,)),
    ):
        sent = sealed(CHANGE, signer)
        for ring in accepting:
            assert unsealed(sent.payload, sent.properties, ring) == CHANGE
        for ring in refusing:
            refused(sent.payload, dict(sent.properties), ring)


@pytest.mark.parametrize("names", [("a", "b", "c"), ("a", "a")])
def test_at_most_two_keys_and_each_once(names: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="at most 2 keys of the group, each of them once"):
        keyring(*names)


def test_unsigned_messages_are_taken_only_while_that_is_asked_for() -> None:
    lax = Keyring([key("ours")], accept_unsigned=True)
    plain, other = encode(CHANGE), sealed(CHANGE, keyring("theirs"))
    assert unsealed(plain.payload, plain.properties, lax) == CHANGE
    assert isinstance(unsealed(native(), {}, lax), MetadataChangeEvent)
    refused(other.payload, dict(other.properties), lax)
    refused(SEALED.payload, {**SEALED.properties, "syncer.seq": "42"}, lax)


# -- messages of Pulsar's own synchronizer


def test_a_native_region_is_believed_only_where_it_is_named() -> None:
    named = Keyring([key("ours")], native=[EAST])
    assert isinstance(unsealed(native(source_cluster="us-east"), {}, named), MetadataChangeEvent)
    assert "does not name region 'us-west'" in refused(native(source_cluster="us-west"), {}, named)
    assert "does not name region 'us-east'" in refused(native(source_cluster="us-east"), {})


def test_a_named_native_region_makes_no_message_of_ours_believed() -> None:
    named = Keyring([key("ours")], native=[EAST])
    plain = encode(CHANGE)
    assert refused(plain.payload, dict(plain.properties), named) == "the message is not signed"
    for kept in ("syncer.v", "syncer.kind"):
        assert refused(plain.payload, {kept: plain.properties[kept]}, named) == "the message is not signed"
    assert "does not fit" in refused(native(), {SIGNATURE: SEALED.properties[SIGNATURE]}, named)


def test_what_cannot_be_understood_is_a_strangers_where_no_native_region_is_named() -> None:
    assert "cannot be understood: undecodable AVRO" in refused(b"\xff", {})
    with pytest.raises(PayloadInvalid) as caught:
        unsealed(b"\xff", {}, Keyring([key("ours")], native=[EAST]))
    assert not isinstance(caught.value, SignatureInvalid)


def test_native_messages_that_are_none_of_our_business_stay_so() -> None:
    ignored = unsealed(native(path="/loadbalance/x"), {}, OURS)
    assert ignored == Ignored("no-resource", "/loadbalance/x")
    assert isinstance(unsealed(native(type=NativeType.CHILDREN_CHANGED), {}, OURS), Ignored)


# -- files


def signing(*files: object, **changes: Any) -> SigningConfig:
    return SigningConfig.model_validate({"key_files": [str(file) for file in files], **changes})


def test_keys_are_read_from_their_files(tmp_path: Path) -> None:
    files = [key_file(tmp_path, name) for name in ("new", "old")]
    ring = keyring_of(signing(*files, native_regions=["us-east"]))
    assert (ring.signs_with, ring.accepts) == (key("new").id, (key("new").id, key("old").id))
    assert not ring.accepts_unsigned
    ring.check_native(EAST)
    assert keyring_of(None).signs_with is None
    assert keyring_of(None).accepts_unsigned


@pytest.mark.parametrize("mode", [0o400, 0o440, 0o600, 0o640])
def test_the_owner_and_its_group_may_read_a_key(tmp_path: Path, mode: int) -> None:
    file = Path(key_file(tmp_path, "ours"))
    file.chmod(mode)
    assert [each.id for each in read_keys([file])] == [key("ours").id]


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o666, 0o602, 0o620, 0o601])
def test_a_key_that_others_may_read_or_its_group_write_is_refused(tmp_path: Path, mode: int) -> None:
    file = Path(key_file(tmp_path, "ours"))
    file.chmod(mode)
    with pytest.raises(ConfigError, match=f"by others than its owner \\(mode {mode:04o}\\)") as caught:
        read_keys([file])
    assert "chmod 600" in caught.value.hint


def test_the_mode_is_that_of_the_file_behind_a_link(tmp_path: Path) -> None:
    file, link = Path(key_file(tmp_path, "ours")), tmp_path / "link"
    link.symlink_to(file)
    assert len(read_keys([link])) == 1
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="mode 0644"):
        read_keys([link])


BAD_FILES = {
    "empty": (b"", "too short"),
    "short": (base64.b64encode(b"k" * 31), "a group key of 31 bytes is too short: 32 at least"),
    "no base64": (b"correct horse battery staple, correct horse battery staple!", "holds no base64 text"),
    "raw bytes": (bytes(range(256)), "holds no base64 text"),
    "two lines": (f"{text('a')}\n{text('b')}\n".encode(), "holds no base64 text"),
    "bad padding": (text("a").rstrip("=").encode(), "holds no base64 text"),
    "large": (b"A" * 5000, "it is no key"),
}


@pytest.mark.parametrize(("content", "said"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_is_no_key_is_refused_without_showing_what_it_holds(
    tmp_path: Path, content: bytes, said: str
) -> None:
    file = tmp_path / "group.key"
    file.touch(mode=0o600)
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=said) as caught:
        read_keys([file])
    told = caught.value.message + caught.value.hint
    assert str(file) in told
    assert not content.strip() or content.strip().decode("latin-1")[:20] not in told
    assert caught.value.__cause__ is None


def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name, said in (("pipe", "is no file"), ("missing", "cannot be read"), (".", "is no file"), ("a\0b", "cannot")):
        with pytest.raises(ConfigError, match=said):
            read_keys([tmp_path / name])


def test_the_same_key_in_two_files_is_a_mistake(tmp_path: Path) -> None:
    one, other = key_file(tmp_path, "ours"), tmp_path / "copy.key"
    other.touch(mode=0o600)
    other.write_text(text("ours"), encoding="ascii")
    with pytest.raises(ConfigError, match="holds the same key"):
        read_keys([Path(one), other])


def test_a_key_is_no_shorter_than_the_hash() -> None:
    with pytest.raises(ConfigError, match="too short"):
        GroupKey(b"k" * 31)
    assert GroupKey(b"k" * 32).id != GroupKey(b"k" * 33).id
