"""Tokens and subjects: what is kept of a secret, two of one name, and nothing in what is said of a broken file."""

from __future__ import annotations

import hmac
from datetime import UTC, datetime, timedelta

import pytest

from syncer.access import tokens
from syncer.access.roles import AccessRole
from syncer.access.tokens import ID_BYTES, SECRET_BYTES, ClientEntry, MadeToken, RightsFile
from syncer.errors import NotFound, PreconditionFailed

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def make(
    rights: RightsFile, number: int, name: str = "grafana", days: int | None = None
) -> tuple[RightsFile, MadeToken]:
    return tokens.made(
        rights,
        bytes([number]) * (ID_BYTES + SECRET_BYTES),
        name=name,
        role=AccessRole.READ,
        values=False,
        expires=NOW + timedelta(days=days) if days is not None else None,
        now=NOW,
    )


def client(name: str = "backup", subject: str = "CN=backup,O=acme") -> ClientEntry:
    return ClientEntry(name=name, role=AccessRole.OPERATE, created=NOW, subject=subject)


def test_a_token_opens_and_its_secret_is_nowhere_but_in_its_text() -> None:
    rights, made = make(RightsFile(), 7)
    assert made.text.startswith("syncer_070707070707_")
    assert tokens.found_token(rights, made.text) == made.entry
    secret = made.text.split("_", 2)[2]
    for told in (tokens.dump(rights).decode(), repr(rights), repr(made), str(made)):
        assert secret not in told
    assert made.entry.hash not in repr(rights)


@pytest.mark.parametrize("change", ["", "x", " ", "\0", "syncer__", "syncer_070707070707_", "ß", "_" * 60])
def test_what_is_no_token_opens_nothing(change: str) -> None:
    rights, made = make(RightsFile(), 7)
    for text in (change, made.text + change if change else made.text[:-1], made.text.upper(), f"{change} {made.text}"):
        assert tokens.found_token(rights, text) is None


def test_an_unknown_id_is_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = list[str]()
    whole = hmac.compare_digest

    def seen(one: str, other: str) -> bool:
        compared.append(other)
        return whole(one, other)

    rights, made = make(RightsFile(), 7)
    monkeypatch.setattr("syncer.access.tokens.hmac.compare_digest", seen)
    assert tokens.found_token(rights, made.text.replace("0707", "0808")) is None
    assert tokens.found_token(rights, "nonsense") is None
    assert tokens.found_token(rights, made.text) is not None
    assert [len(each) for each in compared] == [64] * 3


def test_two_of_one_name_at_a_time_and_a_third_in_the_place_of_one_that_has_expired() -> None:
    rights, first = make(RightsFile(), 1, days=1)
    rights, second = make(rights, 2)
    assert {each.name for each in rights.tokens} == {"grafana"}
    with pytest.raises(PreconditionFailed, match="there are 2 tokens") as refused:
        make(rights, 3)
    assert "--id" in refused.value.hint
    rights, _ = tokens.made(
        rights,
        bytes([4]) * (ID_BYTES + SECRET_BYTES),
        name="grafana",
        role=AccessRole.READ,
        values=True,
        expires=None,
        now=NOW + timedelta(days=2),
    )
    assert [each.id for each in rights.tokens] == [second.entry.id, "04" * ID_BYTES]
    assert tokens.found_token(rights, first.text) is None


def test_revoking_takes_all_of_a_name_or_one_by_its_id() -> None:
    rights, first = make(RightsFile(), 1)
    rights, second = make(rights, 2)
    left, gone = tokens.revoked(rights, "grafana", first.entry.id)
    assert (left.tokens, gone) == ((second.entry,), (first.entry,))
    assert tokens.revoked(rights, "grafana")[0].tokens == ()
    for name, number in (("nobody", None), ("grafana", "ff" * ID_BYTES)):
        with pytest.raises(NotFound):
            tokens.revoked(rights, name, number)


def test_a_subject_has_one_form_and_is_there_once() -> None:
    assert tokens.canonical_subject("CN=b\\61ckup,O=acme") == "CN=backup,O=acme"
    rights = tokens.allowed(RightsFile(), client())
    assert tokens.found_client(rights, "CN=backup,O=acme") == client()
    assert tokens.found_client(rights, "O=acme,CN=backup") is None
    for other in (client(subject="CN=x"), client(name="x")):
        with pytest.raises(PreconditionFailed):
            tokens.allowed(rights, other)
    assert tokens.removed(rights, "backup") == (RightsFile(), client())
    with pytest.raises(NotFound):
        tokens.removed(rights, "grafana")
    with pytest.raises(PreconditionFailed):
        make(rights, 1, name="backup")


@pytest.mark.parametrize("subject", ["", "backup", "CN", "=x", "C=Germany"])
def test_a_subject_that_is_none_is_refused(subject: str) -> None:
    with pytest.raises(ValueError, match=r"distinguished name|nobody"):
        tokens.canonical_subject(subject)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{",
        b'{"version": 2}',
        b'{"format": "s3cret"}',
        b'{"tokens": [{"name": "s3cret s3cret"}]}',
        b'{"tokens": [{"name": "a", "id": "s3cret", "hash": "s3cret", "role": "s3cret", "created": "s3cret"}]}',
        b'{"clients": [{"name": "a", "role": "read", "created": "2026-01-01T00:00:00Z", "subject": "CN=\\\\61,O=b"}]}',
        b'{"more": "s3cret"}',
    ],
)
def test_a_broken_file_is_refused_and_nothing_that_it_holds_is_said(text: bytes) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        tokens.parse(text)
    assert "s3cret" not in str(refused.value)


def test_an_id_is_there_once() -> None:
    rights, made = make(RightsFile(), 1)
    twice = tokens.dump(rights).replace(b'"tokens": [', b'"tokens": [' + made.entry.model_dump_json().encode() + b",")
    with pytest.raises(ValueError, match="twice"):
        tokens.parse(twice.replace(b',"expires":null', b""))
