"""Texts that brokers read though they are no plain JSON."""

from __future__ import annotations

import pytest

from syncer.conflict.fields.tolerance import AllNamed, all_namings, first_value


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":"\xc3\xa9"}',
        b' \t\r\n{"a":"\xc3\xa9"}',
        b'\xef\xbb\xbf{"a":"\xc3\xa9"}',
        b'{"a":"\xc3\xa9"} and so on',
        b'{"a":"\xc3\xa9"}\xff',
        *('{"a":"é"}'.encode(name) for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be")),
    ],
)
def test_the_value_that_a_text_begins_with_is_read(text: bytes) -> None:
    assert first_value(text) == {"a": "é"}
    assert all_namings(text) == {"a": "é"}


@pytest.mark.parametrize(
    "text", [b"", b" ", b"x{}", b'{"a":1', b"\xff{}", b'{"a":NaN}', b'{"a":1e400}', b"{'a':1}", b"// c\n{}"]
)
def test_what_begins_with_no_value_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        first_value(text)


def test_numbers_are_exact() -> None:
    assert first_value(b'{"a":123456789012345678901234567890,"b":1.5}x') == {
        "a": 123456789012345678901234567890,
        "b": 1.5,
    }


def test_an_object_that_names_a_field_twice_has_the_last_one_and_lists_both() -> None:
    found = all_namings(b'{"a":1,"b":{"c":1},"a":2}')
    assert isinstance(found, AllNamed)
    assert found == {"a": 2, "b": {"c": 1}}
    assert list(found.items()) == [("a", 1), ("b", {"c": 1}), ("a", 2)]
    assert not isinstance(found["b"], AllNamed)
