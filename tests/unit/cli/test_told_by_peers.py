"""What ``config check --connect`` says of names and excluded fields, by what other regions tell."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from syncer.bus.wire.messages import Heartbeat
from syncer.cli.main import app
from syncer.conflict.changeover import NEWEST
from syncer.documents.configuration import CheckDocument
from syncer.model import Millis, Region, TieOrder
from syncer.paths import CLUSTERS
from syncer.replication.group.peer import own_rules
from syncer.replication.group.peers import Peers
from syncer.state.sql.database import SqlState
from syncer.stores.sqlite import OutsideWriter
from tests.support.environment import without_settings

EAST = Region("east")
NOW = Millis(1_790_000_000_000)
ALL = "/admin/policies/acme/*"
RIGHT = {"pulsar-e": "east", "pulsar-w": "west"}
SWAPPED = {"pulsar-e": "west", "pulsar-w": "east"}


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    without_settings(monkeypatch)


def heard(folder: Path, **told: dict[str, Any]) -> None:
    """A daemon of the east has heard these regions."""
    peers = Peers(own_rules(NEWEST, "scope", TieOrder.SMALLER_REGION))
    with closing(SqlState.open(f"sqlite:///{folder}/state.db", EAST)) as state:
        state.activate()
        with state.transaction() as work:
            for region, more in told.items():
                beat = Heartbeat(
                    region=Region(region),
                    sender=f"db-{region}",
                    generation=1,
                    sent_at_ms=NOW,
                    last_sequence=0,
                    watermark=NOW,
                    scope="scope",
                    tie_order=TieOrder.SMALLER_REGION,
                    mode="active",
                    version="1",
                    **more,
                )
                work.save_peer(peers.on_heartbeat(beat, NOW))


def declared(folder: Path, *names: str) -> None:
    """Clusters that the store of the east knows."""
    with closing(OutsideWriter(folder / "store.db", clock=lambda: NOW)) as writer:
        for name in names:
            writer.put(f"{CLUSTERS}/{name}", b'{"serviceUrl":"http://there:8080"}')


def check(
    folder: Path, *, clusters: str = "east", connect: bool = True, expected: int = 78, **tables: str
) -> CheckDocument:
    file = folder / "config.toml"
    text = (
        f'region = "east"\nclusters = ["{clusters}"]\n[store]\nkind = "sqlite"\npath = "{folder}/store.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{folder}/bus.db"\n[state]\npath = "{folder}/state.db"\n'
        + "".join(f"[{name}]\n{lines}\n" for name, lines in tables.items())
    )
    file.write_text(text, encoding="utf-8")
    options = ["--connect"] if connect else []
    result = CliRunner().invoke(app, ["config", "check", *options, "-o", "json", "--config", str(file)])
    found = CheckDocument.model_validate_json(result.stdout)
    assert result.exit_code == (0 if found.ok else expected), (result.stdout, result.stderr)
    return found.model_copy(update={"warnings": [each for each in found.warnings if "unsigned" not in each]})


def test_names_that_agree_with_what_others_tell_are_good(tmp_path: Path) -> None:
    declared(tmp_path, "east", "west")
    heard(tmp_path, west={"clusters": ("west",), "names": RIGHT})
    found = check(tmp_path)
    assert (found.ok, found.problems, found.warnings) == (True, [], [])


@pytest.mark.parametrize(
    ("clusters", "table", "told"),
    [
        ("east", "", {"clusters": ("east",), "names": SWAPPED}),
        ("here", 'here = "west"', {"clusters": ("west",)}),
    ],
    ids=["the other one maps", "this one maps"],
)
def test_a_name_that_another_region_has_for_its_own_cluster_is_refused(
    clusters: str, table: str, told: dict[str, Any], tmp_path: Path
) -> None:
    declared(tmp_path, clusters, "pulsar-w")
    heard(tmp_path, west=told)
    found = check(tmp_path, clusters=clusters, cluster_names=table)
    (problem,) = found.problems
    assert problem.field == "cluster_names"
    assert "east and west each have" in problem.what
    assert check(tmp_path, clusters=clusters, cluster_names=table, connect=False).ok, "nobody was asked"


def test_a_table_that_names_a_cluster_of_the_store_twice_is_refused(tmp_path: Path) -> None:
    declared(tmp_path, "here", "west", "pulsar-w")
    found = check(tmp_path, clusters="here", cluster_names='here = "east"\npulsar-w = "west"')
    (problem,) = found.problems
    assert "a cluster 'west' without a name in the group, where 'west' is 'pulsar-w'" in problem.what
    assert check(tmp_path, clusters="here", cluster_names='here = "east"\npulsar-w = "west"\nwest = "old"').ok, (
        "it has one"
    )


def test_a_table_that_is_no_bijection_is_refused_without_asking_anybody(tmp_path: Path) -> None:
    found = check(tmp_path, cluster_names='a = "x"\nb = "x"', connect=False)
    (problem,) = found.problems
    assert "gives 'x' to two clusters" in problem.what


def test_what_is_likely_to_be_a_mistake_is_a_warning(tmp_path: Path) -> None:
    declared(tmp_path, "east", "west")
    heard(
        tmp_path,
        west={"clusters": ("west-2",), "names": {"pulsar-w": "west-2"}},
        north={"clusters": ("north",), "names": {"n": "north"}},
        south={"clusters": ("north",)},
    )
    found = check(tmp_path)
    assert found.ok
    assert [each.rpartition(" ")[2] for each in found.warnings] == [
        "(cluster-names-contradict)",
        *["(cluster-names-unclear)"] * 2,
    ]
    assert "north and south each have 'north'" in found.warnings[0]
    assert "west has a cluster 'west-2'" in found.warnings[2]
    (_, warning) = check(tmp_path, peers='expected = ["west"]').warnings  # the first is about keys
    assert "west has a cluster 'west-2'" in warning, "regions that are not expected say nothing"


def test_fields_that_everybody_excludes_are_a_warning(tmp_path: Path) -> None:
    heard(tmp_path, west={"excluded": {ALL: ("message_ttl_in_seconds",)}})
    mine = f'exclude = [{{ pattern = "{ALL}", fields = ["backlog_quota_map", "message_ttl_in_seconds"] }}]'
    (warning,) = check(tmp_path, scope=mine).warnings
    assert warning.startswith(f"message_ttl_in_seconds of {ALL} is excluded by every region")
    heard(tmp_path, north={})
    assert check(tmp_path, scope=mine).warnings == []


def test_where_store_or_database_do_not_answer_nothing_is_compared(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"no database at all" * 100)
    (tmp_path / "store.db").write_bytes(b"no store at all" * 100)
    found = check(tmp_path, expected=4, cluster_names='a = "east-2"')
    assert not found.ok
    assert (found.problems, found.warnings) == ([], [])
