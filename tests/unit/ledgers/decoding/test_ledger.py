"""Values of ledgers that BookKeeper refuses, or takes against expectation, and the reason that is given."""

from __future__ import annotations

import pytest

from syncer.ledgers.decoding.ledger import ledger_metadata
from syncer.ledgers.decoding.messages import MESSAGES
from syncer.ledgers.decoding.undecodable import Undecodable, ValueKind
from syncer.ledgers.metadata import DigestType, LedgerMetadata, LedgerState

HEADER = b"BookieMetadataFormatVersion\t"
TEXT = HEADER + b"2\nquorumSize: 2\nensembleSize: 2\nlength: 0\nstate: OPEN\n"
SEGMENT = b'segment { ensembleMember: "a" ensembleMember: "b" firstEntryId: 0 }\n'


def binary(*, firsts: tuple[int | None, ...] = (0,), bookies: tuple[str, ...] = ("a", "b"), **fields: object) -> bytes:
    """A small ledger of version 3, with fields that are set otherwise, or left out where they are None."""
    known = {"quorumSize": 2, "ensembleSize": 2, "length": 0, "state": 1, **fields}
    message = MESSAGES["LedgerMetadataFormat"](**{name: value for name, value in known.items() if value is not None})
    for first in firsts:
        message.segment.add(firstEntryId=first, ensembleMember=map(str.encode, bookies))
    data: bytes = message.SerializeToString()
    return HEADER + b"3\n" + bytes([len(data)]) + data


def decoded(value: bytes) -> LedgerMetadata | Undecodable:
    return ledger_metadata("/ledgers/00/0000/L0042", 42, value, None)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"", "does not begin"),
        (b"BookieMetadataFormatVersion 3\n", "does not begin"),
        (HEADER + b"3", "does not end"),
        (HEADER + b"00000000003\n", "does not end"),
        (HEADER + b"x\n", "no number of 32 bits"),
        (HEADER + b"4\n", "version 4; 1 to 3 are known"),
        (HEADER + b"3\n", "end too early"),
        (HEADER + b"3\n" + b"\xff" * 12, "length does not end"),
        (HEADER + b"3\n\xff\xff\xff\xff\x0f", "length is below zero"),
        (binary()[:-1], "end too early"),
        (binary(state=None), "is not there"),
        (binary(length=None), "is not there"),
        (binary(quorumSize=None), "is not there"),
        (binary(quorumSize=3), "do not fit"),
        (binary(ackQuorumSize=3), "do not fit"),
        (binary(firsts=()), "no segment"),
        (binary(firsts=(None,)), "does not say where it begins"),
        (binary(firsts=(5, 5)), "not behind the one before it"),
        (binary(bookies=("a",)), "names 1 bookies, its ensemble has 2"),
        (binary(bookies=("a", "b c")), "no id of one"),
        (binary(bookies=("a", "ReadOnly")), "no id of one"),
        (binary(bookies=("a", "ü")), "no id of one"),
        (TEXT, "no segment"),
        (HEADER + b"2\nquorumSize: 2", "is not there"),
        (TEXT + SEGMENT + b"unheardOf: 1", "its text is none"),
        (TEXT + SEGMENT + rb'password: "\q"', "backslash"),
        (TEXT + SEGMENT + b'customMetadata { key: "k" } customMetadata { key: "k" }', "a key twice"),
        (HEADER + b"1\n2\n2\n", "not all there"),
        (HEADER + b"1\n2\n2\n0\n", "no segment"),
        (HEADER + b"1\n2\n2\n0\n7", "names no bookie"),
        (HEADER + b"1\n2\n2\n0\n0\ta\tb\n0\ta\tb", "not behind the one before it"),
        (HEADER + b"1\n2\n2\n99999999999999999999\n0\ta\tb", "the length is no number of 64 bits"),
        (HEADER + b"1\n3\n2\n0\n0\ta\tb", "do not fit"),
    ],
)
def test_what_java_refuses_is_an_answer_that_says_where_and_why(value: bytes, words: str) -> None:
    found = decoded(value)
    assert isinstance(found, Undecodable)
    assert (found.kind, found.path) == (ValueKind.LEDGER, "/ledgers/00/0000/L0042")
    assert words in found.why


def test_custom_metadata_with_a_key_twice_are_refused_in_binary_too() -> None:
    message = MESSAGES["LedgerMetadataFormat"](quorumSize=1, ensembleSize=1, length=0, state=1)
    message.segment.add(firstEntryId=0, ensembleMember=[b"a"])
    message.customMetadata.add(key=b"k", value=b"1")
    message.customMetadata.add(key=b"k", value=b"2")
    data = message.SerializeToString()
    found = decoded(HEADER + b"3\n" + bytes([len(data)]) + data)
    assert isinstance(found, Undecodable)
    assert "a key twice" in found.why


def test_a_password_without_a_digest_has_javas_first_one() -> None:
    found = decoded(binary(password=b"secret"))
    assert isinstance(found, LedgerMetadata)
    assert found.origin.digest is DigestType.CRC32
    assert found.origin.has_password
    assert "secret" not in repr(found)


def test_a_closed_ledger_without_a_last_entry_ends_at_the_first() -> None:
    found = decoded(binary(state=3))
    assert isinstance(found, LedgerMetadata)
    assert (found.state, found.last_entry, found.length_bytes) == (LedgerState.CLOSED, 0, 0)


def test_an_open_ledger_has_neither_end_nor_length() -> None:
    found = decoded(binary(lastEntryId=7, length=9))
    assert isinstance(found, LedgerMetadata)
    assert (found.last_entry, found.length_bytes) == (None, None)


def test_lines_behind_the_end_are_passed_over_and_the_end_of_recovery_is_known() -> None:
    found = decoded(HEADER + b"1\n2\n2\n9\n0\ta\tb\n-102\tCLOSED\nx")
    assert isinstance(found, LedgerMetadata)
    assert found.state is LedgerState.IN_RECOVERY


@pytest.mark.parametrize(("written", "password"), [(rb"\?", b"?"), (rb"\777", b"\xff"), (rb"\\q", rb"\q")])
def test_escapes_in_text_are_javas(written: bytes, password: bytes) -> None:
    custom = b'customMetadata { key: "k" value: "' + written + b'" }'
    found = decoded(TEXT + SEGMENT + custom)
    assert isinstance(found, LedgerMetadata)
    assert found.origin.custom == {"k": password}


@pytest.mark.parametrize("size", [127, 128, 300, 16_383, 16_384, 2**21])
def test_the_length_of_a_message_may_have_any_number_of_bytes(size: int) -> None:
    message = MESSAGES["LedgerMetadataFormat"](quorumSize=1, ensembleSize=1, length=0, state=1)
    message.segment.add(firstEntryId=0, ensembleMember=[b"a"])
    message.password = b""
    message.password = b"x" * (size - message.ByteSize())
    message.password = b"x" * (size - message.ByteSize() + len(message.password))
    data: bytes = message.SerializeToString()
    assert len(data) == size
    length, rest = b"", size
    while rest > 0x7F:
        length, rest = length + bytes([rest & 0x7F | 0x80]), rest >> 7
    assert isinstance(decoded(HEADER + b"3\n" + length + bytes([rest]) + data), LedgerMetadata)


def test_more_bookies_than_are_remembered_are_all_checked() -> None:
    for number in range(10_050):
        assert isinstance(decoded(binary(bookies=("a", f"bk-{number}"))), LedgerMetadata)
    assert isinstance(decoded(binary(bookies=("a", "b c"))), Undecodable)


@pytest.mark.parametrize("size", [0, 1, 60, 120, 127])
def test_the_name_of_a_topic_comes_back_whatever_its_length_and_form(size: int) -> None:
    """BookKeeper writes the key first; another order, or a field twice, is protobuf's to read."""
    key, name = b"\x0a\x15pulsar/managed-ledger", b"n" * size
    value = b"\x12" + bytes([size]) + name
    for entry in (key + value, value + key, key + b"\x12\x01x" + value, key + b"\x12\x01x" + value + b"\x18\x01"):
        found = decoded(with_custom(entry))
        assert isinstance(found, LedgerMetadata), found
        assert found.origin.custom == {"pulsar/managed-ledger": name}
    for cut in (key + b"\x12", key + b"\x12\x05abcd"):
        assert isinstance(decoded(with_custom(cut)), Undecodable)


def with_custom(entry: bytes) -> bytes:
    """A ledger with one entry of custom metadata, as bytes."""
    data = binary().removeprefix(HEADER + b"3\n")[1:] + b"\x5a" + varint(len(entry)) + entry
    return HEADER + b"3\n" + varint(len(data)) + data


def varint(number: int) -> bytes:
    """A number below 16,384."""
    return bytes([number]) if number < 128 else bytes([number & 0x7F | 0x80, number >> 7])
