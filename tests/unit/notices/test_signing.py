"""Secrets of webhooks, and what they sign."""

from __future__ import annotations

import base64

import pytest

from syncer.errors import ConfigError
from syncer.notices.signing import headers_of, secrets_of

GOOD = "whsec_" + base64.b64encode(b"s" * 24).decode()


def test_the_example_of_the_specifications_libraries_is_signed_alike() -> None:
    """Source: the vector that the reference libraries of the specification test themselves with."""
    secrets = secrets_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = headers_of("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', secrets)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_two_secrets_sign_while_one_is_rotated_and_without_any_nothing_is_signed() -> None:
    assert len(headers_of("m", 1, b"", secrets_of(f"{GOOD}\n{GOOD}\n"))["webhook-signature"].split(" ")) == 2
    assert "webhook-signature" not in headers_of("m", 1, b"", ())


@pytest.mark.parametrize(
    "text",
    ["", "hunter2hunter2", "whsec_hunter2!!", "whsec_aHVudGVy", "whsec_" + "A" * 100, f"{GOOD} {GOOD} {GOOD}"],
)
def test_what_is_no_secret_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        secrets_of(text)
    assert "hunter" not in caught.value.message
    assert "whsec_" in caught.value.hint
