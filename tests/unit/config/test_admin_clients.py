"""Clients of clusters by their tables: settings and addresses, and names that no table has."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from syncer.admin.auth import TokenAuth
from syncer.config.admin_clients import cluster_access
from syncer.config.model import Config
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
