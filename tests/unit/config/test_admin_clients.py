"""Clients of clusters by their tables: settings and addresses, and names that no table has."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from syncer.admin.auth import OAuth2Auth, TokenAuth
from syncer.config.admin_clients import cluster_access
from syncer.config.model import Config
from syncer.config.tables import AdminConfig
from syncer.errors import NotFound


def config(**clusters: Any) -> Config:
    adapters = {"store": {"kind": "sqlite", "path": "/s.db"}, "bus": {"kind": "embedded", "path": "/b.db"}}
    return Config.model_validate({"region": "east", **adapters, "cluster": clusters})


def test_a_table_gives_how_the_cluster_is_reached_and_what_its_clients_use() -> None:
    admin = {"url": "https://green.internal:8443/", "token_file": "/token", "timeout": "3s"}
    table = {"service_url": "http://green:8080", "broker_service_url": "pulsar://green:6650", "admin": admin}
    settings, urls = cluster_access(config(green=table), "green")
    assert settings.url == "https://green.internal:8443"
    assert settings.auth == TokenAuth(file=Path("/token"))
    assert settings.timeout == timedelta(seconds=3)
    assert (urls.http, urls.pulsar) == ("http://green:8080", "pulsar://green:6650")


def test_a_cluster_that_takes_tokens_of_an_issuer_is_reached_by_oauth2() -> None:
    oauth2 = {
        "issuer_url": "https://login/realms/x",
        "credentials_file": "/c.json",
        "audience": "urn:p",
        "scope": "a b",
    }
    table = {
        "service_url": "http://green:8080",
        "broker_service_url": "pulsar://green:6650",
        "admin": {"url": "http://green", "oauth2": oauth2},
    }
    settings, _ = cluster_access(config(green=table), "green")
    assert settings.auth == OAuth2Auth(
        issuer_url="https://login/realms/x", credentials_file=Path("/c.json"), audience="urn:p", scope="a b"
    )


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"token_file": "/t"}, "'token_file' and 'oauth2' exclude"),
        ({"cert_file": "/c", "key_file": "/k"}, "'oauth2' and 'cert_file' exclude"),
    ],
)
def test_a_cluster_is_logged_in_to_in_one_way(fields: dict[str, str], named: str) -> None:
    oauth2 = {"issuer_url": "https://login", "credentials_file": "/c.json"}
    with pytest.raises(ValidationError, match=named):
        AdminConfig.model_validate({"url": "http://green", "oauth2": oauth2, **fields})


def test_an_issuer_is_named_without_credentials() -> None:
    oauth2 = {"issuer_url": "https://me:hunter22@login", "credentials_file": "/c.json"}
    with pytest.raises(ValidationError, match="issuer_url") as refused:
        AdminConfig.model_validate({"url": "http://green", "oauth2": oauth2})
    assert "hunter22" not in str(refused.value)


def test_a_name_without_a_table_is_not_found() -> None:
    table = {
        "service_url": "http://green:8080",
        "broker_service_url": "pulsar://green:6650",
        "admin": {"url": "http://green"},
    }
    with pytest.raises(NotFound, match=r"\[cluster\.blue\]") as caught:
        cluster_access(config(green=table), "blue")
    assert "The configuration has: green" in caught.value.hint
    with pytest.raises(NotFound) as caught:
        cluster_access(config(), "blue")
    assert "syncer init --stdout" in caught.value.hint
