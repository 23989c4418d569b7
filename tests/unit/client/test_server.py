"""A server as it is configured: addresses, tokens and files that can be used, and what is said of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncer.client.server import Server, address_of, token_from
from syncer.errors import ConfigError
from tests.support.certificates import Authority

TOKEN = "syncer_0123_secret"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://syncer.example.com:8950/", "https://syncer.example.com:8950"),
        ("http://127.0.0.1:1/behind/a/proxy", "http://127.0.0.1:1/behind/a/proxy"),
        ("http://[::1]:8950", "http://[::1]:8950"),
    ],
)
def test_an_address(text: str, address: str) -> None:
    assert address_of(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host:8950",
        "ftp://host",
        "https://",
        "https://host:99999",
        "https://host/?a=b",
        "https://host/#a",
        "https://ho st",
        "https://[::1",
        "https://host\n",
        "https://" + "a" * 1_000,
        "https://user:the-secret@host",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        address_of(text)
    assert "the-secret" not in f"{caught.value} {caught.value.hint}"


def test_a_token_comes_from_a_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert token_from(file) == TOKEN
    for text in ("", "two words", "a\nb", "ü", "x" * 5_000):
        file.write_text(text)
        with pytest.raises(ConfigError, match="holds no token"):
            token_from(file)
    with pytest.raises(ConfigError, match=r"the token file .*missing cannot be read: No such file"):
        token_from(tmp_path / "missing")


def test_a_token_does_not_travel_in_clear_unless_told_so_by_name() -> None:
    assert Server.of("http://localhost:8950", token=TOKEN).token == TOKEN
    assert Server.of("http://syncer.example.com").token == ""
    with pytest.raises(ConfigError, match=r"travel in clear to http://syncer\.example\.com") as caught:
        Server.of("http://syncer.example.com", token=TOKEN)
    assert "--without-tls" in caught.value.hint
    kept = Server.of("http://syncer.example.com", token=TOKEN, without_tls=True)
    assert TOKEN not in repr(kept)


def test_files_of_tls_that_cannot_be_used(tmp_path: Path) -> None:
    one, other = Authority(tmp_path, "one").issue("one-client"), Authority(tmp_path, "other").issue("other-client")
    with pytest.raises(ConfigError, match=r"the authorities in .*missing cannot be used: No such file"):
        Server.of("https://host", ca=tmp_path / "missing")
    with pytest.raises(ConfigError, match=r"the certificate .* cannot be used: KEY_VALUES_MISMATCH"):
        Server.of("https://host", certificate=one.cert, key=other.key)
    assert Server.of("https://host", ca=tmp_path / "one.pem", certificate=one.cert, key=one.key).trust is not None
