"""Tables of the notices to operators: addresses, secrets, templates."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from syncer.config import Config
from syncer.config.showing import secrets_of, shown
from syncer.config.webhooks import NotifyConfig, WebhookConfig
from syncer.errors import ConfigError

URL = "https://hooks.example/services/hunter2hunter2"


def webhook(**fields: Any) -> WebhookConfig:
    return WebhookConfig.model_validate({"url": URL, **fields})


def config(**webhooks: Any) -> Config:
    tables = {"store": {"kind": "sqlite", "path": "/s"}, "bus": {"kind": "embedded", "path": "/b"}}
    return Config.model_validate({"region": "east", **tables, "webhook": webhooks})


@pytest.mark.parametrize(
    "url", [URL, "http://127.0.0.1:9/x", "http://[::1]/x", "http://localhost:8080", "https://hooks.example:8443"]
)
def test_addresses_that_are_taken(url: str) -> None:
    assert webhook(url=url).endpoint().url == url


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://hooks.example/x", "without TLS"),
        ("http://10.0.0.1/x", "without TLS"),
        ("http://127.0.0.1.example/x", "without TLS"),
        ("https://me:hunter2@hooks.example/x", "neither a user"),
        ("https://hooks.example/#x", "nor a fragment"),
        ("ftp://hooks.example/x", "no address"),
        ("https:///x", "no address"),
        ("https://hooks.example/a b", "no address"),
        ("https://hooks.example:0/", "no address"),
        ("https://[::1/", "no address"),
    ],
)
def test_addresses_that_are_refused_without_being_shown(url: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said) as caught:
        webhook(url=url)
    assert "hunter2" not in str(caught.value)


def test_an_address_without_tls_is_taken_where_it_is_allowed_by_name() -> None:
    assert webhook(url="http://hooks.example/x", plain_http=True).endpoint().place == "http://hooks.example"


def test_an_address_is_shown_by_its_host_only() -> None:
    found = config(ops={"url": URL})
    assert shown(found)["webhook"]["ops"]["url"] == "https://hooks.example/********"
    assert URL in secrets_of(found)
    assert "hunter2" not in repr(found)


def test_what_excludes_each_other_or_is_nothing_is_refused() -> None:
    several: tuple[dict[str, Any], ...] = (
        {"template": '{"a": "$text"}', "template_file": "/t"},
        {"template": '{"a": "$password"}'},
        {"kinds": []},
        {"kinds": ["everything"]},
        {"timeout": "10min"},
    )
    for fields in several:
        with pytest.raises(ValidationError):
            webhook(**fields)
    with pytest.raises(ValidationError, match="own log"):
        config(log={"url": URL})
    with pytest.raises(ValidationError):
        config(**{f"w{number}": {"url": URL} for number in range(17)})
    with pytest.raises(ValidationError, match="shorter"):
        NotifyConfig.model_validate({"interval": "2h", "reminder": "1h"})


def test_files_are_read_anew_and_only_where_nobody_else_may(tmp_path: Path) -> None:
    secret, template = tmp_path / "secret", tmp_path / "template"
    found = webhook(secret_file=secret, template_file=template)
    with pytest.raises(ConfigError, match="cannot be read"):
        found.endpoint()
    with pytest.raises(ConfigError, match="cannot be read"):
        found.body_template()
    secret.write_text("whsec_" + base64.b64encode(b"x" * 32).decode() + "\n")
    template.write_text('{"text": "$nothing"}')
    secret.chmod(0o604)
    with pytest.raises(ConfigError, match="others than its owner"):
        found.endpoint()
    secret.chmod(0o600)
    assert found.endpoint().secrets == (b"x" * 32,)
    with pytest.raises(ConfigError, match="names 'nothing'"):
        found.body_template()
    template.write_text('{"text": "$text"}')
    assert found.body_template() == '{"text": "$text"}'
