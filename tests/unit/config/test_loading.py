"""The configuration: order of its sources, every mistake with its place, secrets hidden, what the core gets."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from syncer.config import Config, ConfigInvalid, load
from syncer.config.adapters import BUSES, STORES, installed
from syncer.config.durations import format_duration, parse_duration
from syncer.config.model import topic_paths
from syncer.config.places import toml_places, yaml_places
from syncer.config.sample import sample
from syncer.config.showing import HIDDEN, schema, secrets_of, shown
from syncer.config.sources import unknown_variables
from syncer.config.tables import LimitsConfig
from syncer.conflict.scope import DEFAULT_RULES
from syncer.conflict.settings import Direction, Limits
from syncer.dispositions import ExitCode, disposition
from syncer.errors import ConfigError
from syncer.model import MetaPath, TieOrder
from syncer.state.sql.opening import parse_url, safe
from tests.support.environment import without_settings

MINIMAL = """\
region = "east"
[store]
kind = "sqlite"
path = "/s.db"
[bus]
kind = "embedded"
path = "/b.db"
"""


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    without_settings(monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def loaded(file: Path, text: str, **options: Any) -> Config:
    file.write_text(text, encoding="utf-8")
    return load(file, **options)


def problems(file: Path, text: str, **options: Any) -> list[str]:
    with pytest.raises(ConfigInvalid) as caught:
        loaded(file, text, **options)
    assert disposition(caught.value).exit_code is ExitCode.BAD_CONFIG
    return [str(problem).replace(str(file), "FILE") for problem in caught.value.problems]


# -- durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("5min", 300),
        ("7d", 604_800),
        ("1h 30min", 5400),
        ("250ms", 0.25),
        ("1.5h", 5400),
        (" 2 w ", 1_209_600),
    ],
)
def test_durations_are_read_with_their_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", " ", "5", "5 parsecs", "s", "5mins", "1h x", "-5s", "5m", "9" * 40 + "w"])
def test_what_is_no_duration_is_none(text: str) -> None:
    assert parse_duration(text) is None


@given(st.integers(min_value=0, max_value=10**11))
def test_a_written_duration_reads_back(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration)) == duration


# -- sources


def test_nobody_is_silent_between_two_heartbeats(file: Path) -> None:
    assert loaded(file, MINIMAL).silence == timedelta(minutes=5)
    slow = 'heartbeat_interval = "10min"\n' + MINIMAL
    assert loaded(file, slow).silence == timedelta(minutes=30), "a configuration that never named it goes on"
    assert loaded(file, MINIMAL + '[peers]\nsilence = "30s"\n').silence == timedelta(seconds=30)


def test_the_least_that_must_be_said(file: Path) -> None:
    config = loaded(file, MINIMAL)
    assert config.region == "east"
    assert config.mode == "active"
    assert config.heartbeat_interval == timedelta(seconds=10)
    assert config.limits == LimitsConfig()
    assert config.limits.tombstone_grace == timedelta(days=7)
    assert config.limits.journal_retention == timedelta(days=30)
    assert config.api.address == ("127.0.0.1", 8950)
    assert config.database_url() == "sqlite:////var/lib/pulsar-syncer/state.db"
    assert config.bus_settings.model_dump()["region"] == "east", "the adapter gets the region's id"


def test_flags_go_before_environment_before_credentials_before_file(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        MINIMAL
        + '[log]\nlevel = "error"\nformat = "json"\n[api]\nlisten = "127.0.0.1:1"\n[state]\nurl = "sqlite:////f"\n'
    )
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "credentials_state.url").write_text("postgresql://me:pw@db/x\n", encoding="utf-8")
    (credentials / "api__listen").write_text("127.0.0.1:2", encoding="utf-8")
    (credentials / "log.format").write_text("console", encoding="utf-8")
    (credentials / "unrelated.pem").write_text("x", encoding="utf-8")
    monkeypatch.setenv("SYNCER_LOG__LEVEL", "warning")
    monkeypatch.setenv("SYNCER_LOG__FORMAT", "auto")
    monkeypatch.setenv("SYNCER_STORE__POLL_INTERVAL", "50ms")
    monkeypatch.setenv("SYNCER_CLUSTERS", '["a", "b"]')
    config = loaded(file, text, flags={"log.level": "debug"}, environ={"CREDENTIALS_DIRECTORY": str(credentials)})
    assert config.log.level == "debug"
    assert config.log.format == "auto"
    assert config.api.listen == "127.0.0.1:2"
    assert config.database_url() == "postgresql://me:pw@db/x"
    assert config.clusters == ("a", "b")
    assert config.store_settings.model_dump()["poll_interval"] == timedelta(milliseconds=50)


def test_yaml_says_the_same(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "config.yaml"
    other.write_text(
        "region: east\nstore: {kind: sqlite, path: /s.db}\nbus:\n  kind: embedded\n  path: /b.db\n", encoding="utf-8"
    )
    assert load(other) == loaded(file, MINIMAL)


def test_lists_of_an_adapter_come_from_the_environment_as_json(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNCER_STORE__ENDPOINTS", '["h:1", "h:2"]')
    config = loaded(file, MINIMAL.replace('kind = "sqlite"\npath = "/s.db"', 'kind = "etcd"'))
    assert config.store_settings.model_dump()["endpoints"] == ("h:1", "h:2")


def test_variables_that_name_no_field_are_told() -> None:
    names = {"SYNCER_LOGS__LEVEL": "x", "SYNCER_CONFIG": "x", "SYNCER_STORE__ANY": "x", "OTHER": "x"}
    assert unknown_variables(names) == ["SYNCER_LOGS__LEVEL"]


# -- mistakes


def test_every_mistake_is_told_at_once_with_its_line_and_a_suggestion(file: Path) -> None:
    text = """\
regoin = "east"
mode = "activ"

[store]
kind = "sqlite"
pth = "/s.db"

[bus]
kind = "embeded"

[limits]
max_clock_skew = "thirty"
max_deletes = 0
max_delets = 5

[scope]
rules = [
  { pattern = "/admin/policies/**", direction = "both" },
  { pattern = "/admin/policies/x", direction = "sideways" },
]
"""
    found = problems(file, text)
    assert found[0].startswith("FILE: region: is missing.")
    assert "FILE:2: mode: 'activ' is none of the choices. Did you mean 'active'?" in found
    assert "FILE:12: limits.max_clock_skew: 'thirty' is no duration. Write it like '30s', '5min', '7d'." in found
    assert any(
        each.startswith("FILE:13: limits.max_deletes: 0: input should be greater than or equal to 1.") for each in found
    )
    assert "FILE:14: limits.max_delets: is no setting. Did you mean 'max_deletes'?" in found
    assert any(
        each.startswith("FILE:17: scope.rules[1].direction: 'sideways' is none of the choices.") for each in found
    )
    assert "FILE:1: regoin: is no setting. Did you mean 'region'?" in found
    assert any(each.startswith("FILE:4: store.path: is missing.") for each in found)
    assert "FILE:6: store.pth: is no setting. Did you mean 'path'?" in found
    assert "FILE:9: bus.kind: there is no bus 'embeded'. Did you mean 'embedded'?" in found
    assert len(found) == 10


def test_a_mistake_of_the_environment_is_told_as_such(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNCER_LOG__LEVEL", "loud")
    assert [each.split(": ")[0] for each in problems(file, MINIMAL)] == ["environment"]


def test_a_secret_never_stands_in_a_message(file: Path) -> None:
    text = MINIMAL.replace('path = "/b.db"', 'path = "/b.db"\npassword = "hunter22"') + '[state]\nurl = ["hunter22"]\n'
    assert "hunter22" not in "\n".join(problems(file, text))


@pytest.mark.parametrize(
    ("extra", "part"),
    [
        ('[state]\npath = "/x"\nurl = "sqlite:////y"\n', "exclude each other"),
        ('[state]\npassword_file = "/p"\n', "belongs to 'url'"),
        ('[state]\nurl = "postgresql://db/x"\npassword_file = "/p"\n', "needs the user's name"),
        ('[peers]\nexpected = ["west", "east"]\n', "names this region itself"),
        ('[peers]\nsilence = "29s"\n', "at least 3 times 'heartbeat_interval'"),
        ('[api]\nlisten = "8950"\n', "host:port"),
        ('[api]\nlisten = "::1:8950"\n', "host:port"),
        ('[admin]\nurl = "http://me:pw@h"\n', "admin.url"),
        ('[admin]\nurl = "http://b1:8080,b2:8080"\n', "names several brokers"),
        ('[admin]\nurl = "http://fd00::1"\n', "without brackets"),
        ('[admin]\nurl = "http://h"\ncert_file = "/c"\n', "go together"),
        ('[scope]\nrules = [{ pattern = "/ledgers/**", direction = "both" }]\n', "outside what may be replicated"),
        ('[scope]\nrules = [{ pattern = "admin/", direction = "both" }]\n', "no path pattern"),
    ],
)
def test_what_does_not_go_together_is_refused(extra: str, part: str, file: Path) -> None:
    (found,) = problems(file, MINIMAL + extra)
    assert part in found
    assert found.startswith("FILE"), "with a place"


@pytest.mark.parametrize("region", ["", "a/b", "a~1", "a@b", "-a", "x" * 64, "a b"])
def test_a_region_id_can_be_part_of_paths_and_counters(region: str, file: Path) -> None:
    (found,) = problems(file, MINIMAL.replace('"east"', json.dumps(region)), check_adapters=False)
    assert found.startswith("FILE:1: region: ")


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("c.toml", "region = \n", "line 1"),
        ("c.yaml", "region: [\n", "at line 2"),
        ("c.yaml", "- a\n", "no mapping"),
        ("c.yaml", "region: \x1f\n", "001F .at character 9"),
    ],
)
def test_a_file_that_is_not_well_formed_is_told_with_its_line(name: str, text: str, part: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=part):
        load(tmp_path / name)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no configuration file") as caught:
        load(tmp_path / "absent.toml")
    assert "syncer init" in caught.value.hint
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'region = "\xe9"')
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(tmp_path / "latin.toml")


def test_adapters_are_not_loaded_when_nobody_needs_them(file: Path) -> None:
    config = loaded(file, MINIMAL.replace('path = "/s.db"', 'wrong = "/s.db"'), check_adapters=False)
    assert config.store.kind == "sqlite"


# -- places


def test_lines_of_toml_are_found_through_everything_it_allows() -> None:
    text = '''\
a = 1
b.c = "x"  # d = 4
e = """
f = 5
"""
g = [
  "h = 6",  # ]
  2,
]
[i."j k"]
l = { m = 1 }
[[n]]
o = 1
[[n]]
o = 2
'''
    assert toml_places(text) == {
        ("a",): 1,
        ("b", "c"): 2,
        ("e",): 3,
        ("g",): 6,
        ("i", "j k"): 10,
        ("i", "j k", "l"): 11,
        ("n", 0): 12,
        ("n", 0, "o"): 13,
        ("n", 1): 14,
        ("n", 1, "o"): 15,
    }


def test_lines_of_yaml_are_found() -> None:
    assert yaml_places("a:\n  - b: 1\n  - 2\n") == {("a",): 1, ("a", 0): 2, ("a", 0, "b"): 2, ("a", 1): 3}
    assert yaml_places("") == {}


# -- what the core gets


def test_the_core_gets_milliseconds_and_sets(file: Path) -> None:
    text = (
        'clusters = ["p1", "p2"]\ntie_order = "native"\n'
        + MINIMAL
        + '[limits]\nmax_clock_skew = "1min"\npark_grace = "2s"\ndelete_window = "3s"\n'
        + "max_deletes = 7\nmin_deletes = 2\n"
        + 'max_delete_fraction = 0.5\nmax_flips = 3\nflip_window = "4s"\n'
    )
    settings = loaded(file, text).settings(generation=3)
    assert settings.by == "east~3"
    assert settings.clusters == {"p1", "p2"}
    assert settings.ties is TieOrder.NATIVE
    assert settings.limits == Limits(
        max_clock_skew_ms=60_000,  # type: ignore[arg-type]  # a number of milliseconds
        park_grace_ms=2_000,  # type: ignore[arg-type]
        delete_window_ms=3_000,  # type: ignore[arg-type]
        flip_window_ms=4_000,  # type: ignore[arg-type]
        max_deletes=7,
        min_deletes=2,
        max_delete_fraction=0.5,
        max_flips=3,
    )


def test_defaults_are_those_of_the_core(file: Path) -> None:
    config = loaded(file, MINIMAL)
    assert config.settings().limits == Limits()
    assert config.compiled_scope().rules == DEFAULT_RULES


def test_the_scope_is_widened_by_switches_and_replaced_by_rules(file: Path) -> None:
    switches = loaded(
        file, MINIMAL + "[scope]\nclusters = true\nisolation_policies = true\nglobal_topic_policies = true\n"
    )
    scope = switches.compiled_scope()
    for path in (
        "/admin/clusters/c",
        "/admin/clusters/c/namespaceIsolationPolicies",
        "/admin/topic-policies/global/t/n/persistent/x",
        "/admin/policies/t",
    ):
        assert scope.direction(MetaPath(path)) is Direction.BOTH, path
    only_clusters = loaded(file, MINIMAL + "[scope]\nclusters = true\n").compiled_scope()
    assert not only_clusters.contains(MetaPath("/admin/clusters/c/namespaceIsolationPolicies"))
    rules = loaded(file, MINIMAL + '[scope]\nrules = [{ pattern = "/admin/policies/**", direction = "apply" }]\n')
    assert rules.compiled_scope().direction(MetaPath("/admin/policies/t")) is Direction.APPLY
    assert not rules.compiled_scope().contains(MetaPath("/admin/resourcegroups/g"))


def test_the_bus_guards_its_own_resources() -> None:
    assert topic_paths("persistent://pulsar/sync/metadata") == {
        "/admin/policies/pulsar",
        "/admin/policies/pulsar/sync",
        "/admin/partitioned-topics/pulsar/sync/persistent/metadata",
    }
    assert "/admin/partitioned-topics/t/n/persistent/a%2Fb+%7E*" in topic_paths("persistent://t/n/a/b ~*")
    assert topic_paths("metadata") == topic_paths("persistent://t/n") == frozenset()


def test_an_observer_keeps_a_database_of_its_own(file: Path) -> None:
    config = loaded(file, 'mode = "observe"\n' + MINIMAL + '[state]\npath = "/x.db"\n')
    assert config.database_url() == "sqlite:////x.db.observe"


def test_an_observer_is_kept_off_a_shared_database(file: Path) -> None:
    found = problems(file, 'mode = "observe"\n' + MINIMAL + '[state]\nurl = "postgresql://me@db/x"\n')
    assert ["keeps a database of its own" in each for each in found] == [True]


def test_the_password_of_a_database_comes_from_a_file(file: Path, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("hunter/22@:%\n", encoding="utf-8")
    url = "postgresql://me@[::1]:5432/x?sslmode=verify-full"
    config = loaded(file, MINIMAL + f'[state]\nurl = "{url}"\npassword_file = "{secret}"\n')
    assert parse_url(config.database_url()).password == "hunter/22@:%"
    assert parse_url(config.database_url()).host == "::1"
    assert {"hunter/22@:%", "hunter%2F22%40%3A%25"} <= secrets_of(config)
    assert "hunter" not in json.dumps(shown(config)) + repr(config)
    secret.unlink()
    with pytest.raises(ConfigError, match="password_file"):
        config.database_url()
    assert secrets_of(config)


@pytest.mark.parametrize("url", ["postgresql://me:one@db/x", "postgresql://me@db/x?password=one"])
def test_two_passwords_of_a_database_are_refused(url: str, file: Path, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("two", encoding="utf-8")
    config = loaded(file, MINIMAL + f'[state]\nurl = "{url}"\npassword_file = "{tmp_path / "password"}"\n')
    with pytest.raises(ConfigError, match="another one") as caught:
        config.database_url()
    assert "one@" not in caught.value.message


# -- showing


def test_secrets_in_the_parameters_of_a_url_are_hidden(file: Path) -> None:
    url = "postgresql://me@db/x?sslpassword=hunter%2022&password=hunter33&sslmode=require"
    config = loaded(file, MINIMAL + f'[state]\nurl = "{url}"\n')
    assert shown(config)["state"]["url"] == (
        f"postgresql://me@db/x?sslpassword={HIDDEN}&password={HIDDEN}&sslmode=require"
    )
    assert {"hunter 22", "hunter33"} <= secrets_of(config)
    assert "hunter" not in safe(parse_url(url))


def test_what_is_shown_hides_every_secret_and_reads_as_written(file: Path) -> None:
    config = loaded(file, MINIMAL + '[state]\nurl = "postgresql://me:hunter22@db/x"\n')
    document = shown(config)
    assert document["state"]["url"] == f"postgresql://me:{HIDDEN}@db/x"
    assert document["limits"]["tombstone_grace"] == "7d"
    assert document["store"]["kind"] == "sqlite"
    assert document["bus"]["region"] == "east"
    assert "hunter22" not in json.dumps(document) + repr(config) + str(config)
    assert {"hunter22", "postgresql://me:hunter22@db/x"} <= secrets_of(config)


def test_raw_tables_of_adapters_do_not_print_themselves(file: Path) -> None:
    config = loaded(file, MINIMAL.replace('path = "/b.db"', 'password = "hunter22"'), check_adapters=False)
    assert "hunter22" not in repr(config)


@pytest.mark.parametrize("bus", sorted(installed(BUSES)))
@pytest.mark.parametrize("store", sorted(installed(STORES)))
def test_a_sample_of_every_pair_is_valid_and_shows_only_defaults(store: str, bus: str, file: Path) -> None:
    config = loaded(file, sample(store=store, bus=bus, region="north"))
    assert (config.region, config.store.kind, config.bus.kind) == ("north", store, bus)
    assert config.limits == LimitsConfig()
    text = sample(store=store, bus=bus)
    for name in [*Config.model_fields, *LimitsConfig.model_fields]:
        assert name in text


def test_the_schema_knows_every_adapter() -> None:
    document = schema()
    stores = document["properties"]["store"]["oneOf"]
    assert len(stores) == len(installed(STORES))
    for reference in [*stores, *document["properties"]["bus"]["oneOf"]]:
        assert reference["$ref"].removeprefix("#/$defs/") in document["$defs"]
    assert document["properties"]["heartbeat_interval"]["type"] == "string"
    assert "StoreAdapter" not in document["$defs"]


def test_every_field_says_what_it_means() -> None:
    def described(model: type[BaseModel]) -> None:
        for name, field in model.model_fields.items():
            inner = get_args(field.annotation)[1] if get_origin(field.annotation) is dict else field.annotation
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                described(inner)
            elif name != "admin":
                assert field.description, f"{model.__name__}.{name}"

    described(Config)


def test_names_of_clusters_are_one_to_one(file: Path) -> None:
    def told(names: str) -> str:
        clusters = 'clusters = ["east-1", "other"]\n'
        (found,) = problems(file, f"{clusters}{MINIMAL}\n[cluster_names]\n{names}\n")
        return found

    assert "gives 'x' to two clusters: 'a' and 'b'" in told('a = "x"\nb = "x"')
    assert "gives 'a' the name 'other', which is a cluster of this region" in told('a = "other"')
    assert "cluster_names" in told('a = ""')
    assert "cluster_names" in told('"a/b" = "c"')
    config = loaded(file, f'clusters = ["east-1"]\n{MINIMAL}\n[cluster_names]\neast-1 = "east"\n')
    assert config.settings().clusters == {"east"}
    plain = loaded(file, MINIMAL)
    assert plain.settings().clusters == set()
    assert type(plain.make_store()) is type(plain.make_plain_store())
    assert config.store_place != plain.store_place == plain.model_copy(update={"clusters": ("z",)}).store_place
