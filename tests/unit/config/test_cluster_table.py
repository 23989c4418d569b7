"""Tables of clusters: addresses that clients could be sent to, each cluster once, nothing blank, no secret shown."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from syncer.balancer.history.thinning import HistoryBounds
from syncer.config import Config, ConfigInvalid, load
from syncer.config.cluster_table import ClusterConfig
from syncer.config.clusters import history_file, recorded_clusters
from syncer.config.model import Config as Model
from syncer.config.sample import sample
from syncer.config.showing import schema, shown
from syncer.config.tables import DEFAULT_STATE_PATH
from syncer.errors import NotFound
from syncer.migration.evidence import ClusterUrls

MINIMAL = 'region = "east"\n[store]\nkind = "sqlite"\npath = "/s.db"\n[bus]\nkind = "embedded"\npath = "/b.db"\n'


def table(name: str = "green", **fields: Any) -> dict[str, Any]:
    return {
        "service_url": f"http://{name}:8080",
        "broker_service_url": f"pulsar://{name}:6650",
        "admin": {"url": f"http://{name}.internal:8080"},
        **fields,
    }


def config(**clusters: dict[str, Any]) -> Config:
    return Model.model_validate({**tomllib.loads(MINIMAL), "cluster": clusters})


def refused(tmp_path: Path, text: str) -> str:
    file = tmp_path / "config.toml"
    file.write_text(MINIMAL + text, encoding="utf-8")
    with pytest.raises(ConfigInvalid) as caught:
        load(file)
    return str(caught.value).replace(str(file), "FILE")


def test_all_four_addresses_are_read() -> None:
    whole = table(
        service_url_tls="https://green:8443/", broker_service_url_tls="pulsar+ssl://Green-1:6651,green-2:6651"
    )
    found = ClusterConfig.model_validate(whole)
    assert found.urls == ClusterUrls(
        http="http://green:8080",
        https="https://green:8443",
        pulsar="pulsar://green:6650",
        pulsar_ssl="pulsar+ssl://green-1:6651,green-2:6651",
    )
    assert ClusterConfig.model_validate(table()).urls.missing == ("serviceUrlTls", "brokerServiceUrlTls")


@pytest.mark.parametrize("url", ["pulsar://[::1]:6650", "pulsar://broker", "pulsar://a:1,b:2,c", "PULSAR://broker/"])
def test_addresses_that_clients_take_are_taken(url: str) -> None:
    assert ClusterConfig.model_validate(table(broker_service_url=url)).broker_service_url == url.lower().rstrip("/")


@pytest.mark.parametrize(
    "url",
    [
        "green:6650",
        "http://green:8080",
        "pulsar+ssl://green:6651",
        "pulsar://",
        "pulsar://:6650",
        "pulsar://green:port",
        "pulsar://green:66500",
        "pulsar://green:0",
        "pulsar://a:1,,b:2",
        "pulsar://user:secret@green:6650",
        "pulsar://green:6650/path",
        "pulsar://green:6650?x=1",
        "pulsar://gr een:6650",
        "pulsar://gr\neen:6650",
        "pulsar://[::1:6650",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="no address"):
        ClusterConfig.model_validate(table(broker_service_url=url))


def test_mistakes_are_told_with_field_and_line(tmp_path: Path) -> None:
    green = '[cluster.green]\nservice_url = ""\nbroker_service_ur = "pulsar://green:6650"\n[cluster.green.admin]\n'
    lines = refused(tmp_path, green).splitlines()
    assert lines == [
        "FILE:9: cluster.green.service_url: it is blank: write it as 'http://HOST:PORT', or leave it out.",
        "FILE:11: cluster.green.admin.url: is missing. Base URL of a broker. For example: 'http://127.0.0.1:8080'.",
        "FILE:10: cluster.green.broker_service_ur: is no setting. Did you mean 'broker_service_url'?",
    ]


def test_a_table_without_admin_api_or_addresses_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"cluster\.green\.admin"):
        config(green={key: value for key, value in table().items() if key != "admin"})
    for field in ("service_url", "broker_service_url"):
        with pytest.raises(ValidationError, match=f"'{field}' or '{field}_tls'"):
            config(green={key: value for key, value in table().items() if key != field})


def test_a_name_is_a_name() -> None:
    with pytest.raises(ValidationError, match="pattern"):
        config(**{"gr een": table()})


@pytest.mark.parametrize(
    "same",
    [
        {"service_url": "http://blue:8080"},
        {"broker_service_url": "pulsar://BLUE:6650"},
        {"admin": {"url": "http://blue.internal:8080/"}},
        {"admin": {"url": "http://blue:8080"}},
    ],
)
def test_two_tables_of_one_cluster_are_refused(same: dict[str, Any]) -> None:
    assert set(config(blue=table("blue"), green=table("green")).cluster) == {"blue", "green"}
    with pytest.raises(ValidationError, match=r"'cluster\.blue' and 'cluster\.green' are one cluster.*blue"):
        config(blue=table("blue"), green=table("green", **same))


def test_an_address_with_a_password_is_not_repeated(tmp_path: Path) -> None:
    text = '[cluster.green]\nservice_url = "http://me:hunter22@green"\nadmin = { url = "http://me:hunter22@green" }\n'
    assert "hunter22" not in refused(tmp_path, text)


def test_it_is_shown_sampled_and_in_the_schema() -> None:
    assert shown(config(green=table()))["cluster"]["green"]["service_url"] == "http://green:8080"
    text = sample(store="sqlite", bus="embedded")
    begin = text.index("#[cluster.green]")
    wanted = [line.removeprefix("#") for line in text[begin:].split("\n\n[")[0].splitlines() if line[:2] != "# "]
    read = tomllib.loads("\n".join(wanted).partition("[peers]")[0])["cluster"]["green"]
    assert "admin" in read
    read["admin"] = {"url": read["admin"]["url"]}
    assert ClusterConfig.model_validate(read).urls.missing == ()
    assert "ClusterConfig" in schema()["$defs"]


def test_a_history_lies_beside_the_database_unless_it_says_where() -> None:
    found = config(
        blue=table("blue", history={}),
        green=table(history={"path": "/else.db"}),
        red=table("red", history={"enabled": False}),
    )
    assert recorded_clusters(found) == ["blue", "green"]
    assert history_file(found, "blue") == found.state.path.parent / "load-history-blue.sqlite"
    assert history_file(found, "green") == Path("/else.db")
    url = {"state": {"url": "postgresql://db/syncer"}}
    shared = Model.model_validate({**tomllib.loads(MINIMAL), **url, "cluster": {"blue": table("blue")}})
    assert history_file(shared, "blue") == DEFAULT_STATE_PATH.parent / "load-history-blue.sqlite"
    with pytest.raises(NotFound, match=r"no table \[cluster.other\]"):
        history_file(found, "other")


def test_the_bounds_of_a_history_are_those_of_its_table() -> None:
    history = {"keep": "2d", "keep_all": "1h", "thinned_to": "5min", "max_bytes": 2 << 20}
    found = ClusterConfig.model_validate(table(history=history)).history
    assert found is not None
    assert found.bounds == HistoryBounds(keep_ms=172_800_000, full_ms=3_600_000, thin_ms=300_000, most_bytes=2 << 20)


@pytest.mark.parametrize(
    ("history", "said"),
    [
        ({"every": "500ms"}, "greater than or equal to 1 second"),
        ({"keep": "1s"}, "greater than or equal to 1 minute"),
        ({"max_bytes": 1000}, "greater than or equal to 1048576"),
        ({"often": True}, "Extra inputs are not permitted"),
    ],
)
def test_a_history_without_sense_is_refused(history: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ClusterConfig.model_validate(table(history=history))


def test_audits_of_ledgers_are_taken_as_their_table_says() -> None:
    bounds = {"keep": 5, "max_reads_per_s": 100}
    audits = {"every": "1h", "time_limit": "10min", "ledgers_root": "/pulsar/ledgers", **bounds}
    found = ClusterConfig.model_validate(table(audits=audits)).audits
    assert found is not None
    assert (found.every.total_seconds(), found.keep, found.time_limit.total_seconds()) == (3600, 5, 600)
    assert (found.max_reads_per_s, found.ledgers_root) == (100, "/pulsar/ledgers")
    assert ClusterConfig.model_validate(table()).audits is None, "they are taken where they are asked for"


@pytest.mark.parametrize(
    ("audits", "said"),
    [
        ({"every": "1s"}, "greater than or equal to 10 seconds"),
        ({"keep": 1}, "greater than or equal to 2"),
        ({"ledgers_root": "ledgers"}, "it is no path"),
        ({"ledgers_root": "/"}, "it is no path"),
        ({"ledgers_root": "/a//b"}, "it is no path"),
        ({"often": True}, "Extra inputs are not permitted"),
    ],
)
def test_audits_without_sense_are_refused(audits: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ClusterConfig.model_validate(table(audits=audits))
