"""``syncer diff``, ``plan`` and ``backup`` as an operator types them, on embedded regions."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from syncer.cli.main import app
from syncer.documents.backups import BackupDocument, VerifyDocument
from syncer.documents.plans import AppliedDocument, PlanDocument
from syncer.errors import AccessDenied, StoreUnavailable
from syncer.model import Digest, MetaPath
from syncer.plan.diffing import pictured
from syncer.plan.review import ALLOWABLE, Reason
from syncer.planning import plan_file, scalable
from syncer.stores.contract import Write, Written
from syncer.stores.sqlite import OutsideWriter, SqliteStore
from tests.suites import REPOSITORY
from tests.support.environment import without_settings
from tests.support.logs import logging_restored
from tests.support.planning import resources, value

TENANT = "/admin/policies/acme"
SPACE = "/admin/policies/acme/orders"
TOPIC = "/admin/partitioned-topics/acme/orders/persistent/topic-00000"
ONLY_HERE = "/admin/partitioned-topics/acme/orders/persistent/only-here"

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    without_settings(monkeypatch)
    monkeypatch.chdir(tmp_path)
    with logging_restored():
        yield


def configure(folder: Path, region: str) -> OutsideWriter:
    text = (
        f'region = "{region}"\nclusters = ["{region}"]\n[store]\nkind = "sqlite"\npath = "{folder}/{region}.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{folder}/bus.db"\n[state]\npath = "{folder}/{region}-state.db"\n'
    )
    (folder / f"{region}.toml").write_text(text, encoding="utf-8")
    return OutsideWriter(folder / f"{region}.db")


def load(writer: OutsideWriter, *, ttl: int, bundles: int, partitions: int) -> None:
    for name in ("east", "west"):
        writer.put(f"/admin/clusters/{name}", b"{}")
    for path, stored in resources("acme", topics=1, partitions=partitions, bundles=bundles).items():
        writer.put(path, stored.replace(b'"global"', b'"east", "west"').replace(b": 60", f": {ttl}".encode()))


@pytest.fixture
def east(tmp_path: Path) -> Iterator[OutsideWriter]:
    with contextlib.closing(configure(tmp_path, "east")) as writer:
        load(writer, ttl=60, bundles=4, partitions=2)
        writer.put(ONLY_HERE, value(partitions=1))
        yield writer


@pytest.fixture
def west(tmp_path: Path) -> Iterator[OutsideWriter]:
    with contextlib.closing(configure(tmp_path, "west")) as writer:
        load(writer, ttl=120, bundles=8, partitions=4)
        writer.put("/admin/policies/acme/new", value(replication_clusters=["east", "west"]))
        writer.put("/admin/partitioned-topics/acme/new/persistent/t", value(partitions=1))
        yield writer


@pytest.fixture
def run(east: OutsideWriter, west: OutsideWriter) -> Run:
    def call(*arguments: str, region: str = "east") -> Result:
        return CliRunner().invoke(app, [*arguments, "--config", f"{region}.toml"])

    return call


def planned(result: Result) -> PlanDocument:
    return PlanDocument.model_validate_json(result.stdout)


def applied(result: Result) -> AppliedDocument:
    return AppliedDocument.model_validate_json(result.stdout)


def items(east: OutsideWriter) -> dict[str, bytes]:
    return east.items()


def digests(held: dict[str, bytes]) -> dict[MetaPath, Digest]:
    return pictured({MetaPath(path): stored for path, stored in held.items() if not path.startswith("/admin/clusters")})


# -- diff


def test_diff_shows_what_differs_and_leaves_with_3(run: Run, east: OutsideWriter) -> None:
    before = items(east)
    result = run("diff", "--with", "west.toml")
    assert result.exit_code == 3, result.stderr
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["RESOURCE", "NAME", "CHANGE"],
        ["+", "namespace", "acme/new"],
        ["~", "namespace", "acme/orders", "message_ttl_in_seconds:", "60", "→", "120"],
        ["+", "partitioned-topic", "persistent://acme/new/t"],
        ["~", "partitioned-topic", "persistent://acme/orders/topic-00000", "partitions:", "2", "→", "4"],
        ["=", "partitioned-topic", "persistent://acme/orders/only-here", "only", "here;", "left"],
    ]
    assert "2 to create, 2 to update, 0 to delete" in result.stderr
    assert "count as unknown" not in result.stderr, "nobody drops fields of a store without brokers"
    assert items(east) == before


def test_diff_of_a_region_with_brokers_says_what_is_unknown_without_its_daemons_database(
    run: Run, tmp_path: Path
) -> None:
    with (tmp_path / "east.toml").open("a", encoding="utf-8") as file:
        file.write('[admin]\nurl = "http://127.0.0.1:1"\n')
    said = run("diff", "--with", "west.toml").stderr
    assert "region east: fields that not every version of Pulsar knows count as unknown where it lacks" in said
    assert "region west" not in said.replace("like region west", "")


def test_diff_as_json_and_yaml_is_one_document(run: Run) -> None:
    found = planned(run("diff", "--with", "west.toml", "-o", "json"))
    assert (found.region, found.source, found.different, found.compared, found.uncovered) == (
        "east",
        "region west",
        True,
        7,
        0,
    )
    assert [(each.action, each.path) for each in found.operations[:2]] == [
        ("create", "/admin/policies/acme/new"),
        ("update", SPACE),
    ]
    assert found.operations[1].changes[0].model_dump() == {
        "field": "message_ttl_in_seconds",
        "before": "60",
        "after": "120",
    }
    assert [each.path for each in found.left] == [ONLY_HERE]
    text = run("diff", "--with", "west.toml", "-o", "yaml")
    assert text.exit_code == 3
    again = PlanDocument.model_validate(yaml.safe_load(text.stdout))
    assert again.model_copy(update={"made_at_ms": found.made_at_ms}) == found


def test_diff_counts_and_names_namespaces_of_the_first_form(run: Run, east: OutsideWriter, west: OutsideWriter) -> None:
    del west
    before = planned(run("diff", "--with", "west.toml", "-o", "json"))
    assert before.first_form_namespaces == []
    for number in range(5):
        east.put(f"/admin/policies/prop/us-east/n{number}", b"{}")
    result = run("diff", "--with", "west.toml")
    named = "'prop/us-east/n0', 'prop/us-east/n1', 'prop/us-east/n2'"
    told = f"region east: 5 namespaces of the form PROPERTY/CLUSTER/NAMESPACE, not carried; among them {named}"
    assert told in " ".join(result.stderr.split())
    assert "PROPERTY" not in result.stdout
    found = planned(run("diff", "--with", "west.toml", "-o", "json"))
    ((side, total),) = [(each.side, each.total) for each in found.first_form_namespaces]
    assert (side, total) == ("region east", 5)
    assert [each.path for each in found.operations] == [each.path for each in before.operations]


def test_diff_counts_scalable_topics_of_each_side_and_carries_none(
    run: Run, east: OutsideWriter, west: OutsideWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert planned(run("diff", "--with", "west.toml", "-o", "json")).scalable_topics == []
    monkeypatch.setattr(scalable, "WITHOUT", frozenset())  # as if brokers lived on these stores
    for name in ("a", "b"):
        east.put(f"/topics/acme/orders/{name}", b"{}")
    result = run("diff", "--with", "west.toml")
    assert "region east: 2 scalable topics (topic://), not carried" in result.stderr
    assert "region west: scalable topics (topic://), which are not carried, were not counted" in result.stderr
    assert "the store is no cluster's own, and no [admin] is configured" in result.stderr
    west.put("/ledgers/LAYOUT", b"x")
    result = run("diff", "--with", "west.toml")
    assert result.stderr.count("scalable topic") == 1, "the other side has none"
    told = planned(run("diff", "--with", "west.toml", "-o", "json")).scalable_topics
    assert [(each.side, each.total) for each in told] == [("region east", 2), ("region west", 0)]
    assert "topics" not in run("diff", "--with", "west.toml").stdout.replace("partitioned-topic", "")


def test_equal_regions_leave_with_0(run: Run, east: OutsideWriter, west: OutsideWriter) -> None:
    for path in set(items(east)) - {"/admin/clusters/east", "/admin/clusters/west"}:
        east.delete(path)
    for path, stored in items(west).items():
        east.put(path, stored)
    result = run("diff", "--with", "west.toml")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no difference" in result.stderr
    assert not planned(run("diff", "--with", "west.toml", "-o", "json")).different


def test_the_other_configuration_is_its_file_alone(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SYNCER_STORE__PATH", str(tmp_path / "east.db"))
    assert run("diff", "--with", "west.toml").exit_code == 3


def test_a_region_is_not_compared_with_itself(run: Run) -> None:
    result = run("diff", "--with", "east.toml")
    assert result.exit_code == 5
    assert "the very store of region east" in result.stderr


@pytest.mark.parametrize("arguments", [[], ["--with", "west.toml", "--backup", "b"], ["--with", "x", "--allow", "y"]])
def test_wrong_usage_leaves_with_2(run: Run, arguments: list[str]) -> None:
    assert run("diff", *arguments).exit_code == 2


def test_an_other_side_that_is_not_there(run: Run) -> None:
    assert run("diff", "--with", "absent.toml").exit_code == 78
    result = run("diff", "--backup", "absent")
    assert result.exit_code == 1
    assert "is no backup" in result.stderr


# -- plan


def test_a_plan_is_kept_shown_tried_applied_and_taken_back(run: Run, east: OutsideWriter) -> None:
    before = items(east)
    assert run("diff", "--with", "west.toml", "--delete", "--save", "plan.json").exit_code == 3
    shown = planned(run("plan", "show", "plan.json", "-o", "json"))
    assert [each.action for each in shown.operations] == ["create", "update", "create", "update", "delete"]

    tried = run("plan", "apply", "plan.json", "--dry-run", "--delete", "-o", "json")
    assert tried.exit_code == 0, tried.stderr
    assert applied(tried).counts == {"applied": 5, "already": 0, "refused": 0, "unknown": 0, "unreached": 0}
    assert applied(tried).dry_run
    assert items(east) == before

    done = applied(run("plan", "apply", "plan.json", "--delete", "--yes", "--undo", "undo.json", "-o", "json"))
    assert done.counts["applied"] == 5
    assert done.undo == "undo.json"
    assert run("diff", "--with", "west.toml").exit_code == 0
    assert json.loads(items(east)[SPACE])["bundles"] == {"numBundles": 4}, "what belongs to the cluster stays"
    repeated = run("plan", "apply", "plan.json", "--delete", "--yes", "-o", "json")
    assert (repeated.exit_code, applied(repeated).counts["already"], applied(repeated).undo) == (0, 5, None)

    refused = run("plan", "apply", "undo.json", "--delete", "--yes")
    assert refused.exit_code == 5
    assert "fewer-partitions: --allow fewer-partitions" in refused.stderr
    allow = ("--allow", "fewer-partitions")
    back = run("plan", "apply", "undo.json", "--delete", "--yes", *allow, "-o", "json")
    assert back.exit_code == 0, back.stderr
    assert (applied(back).counts["already"], applied(back).counts["applied"]) == (4, 1)
    assert items(east) == before


def test_a_plan_without_leave_to_delete_deletes_nothing(run: Run, east: OutsideWriter) -> None:
    run("diff", "--with", "west.toml", "--delete", "--save", "plan.json")
    result = run("plan", "apply", "plan.json", "--yes", "-o", "json")
    assert result.exit_code == 5
    found = applied(result)
    assert [(each.path, each.state) for each in found.operations if each.action == "delete"] == [(ONLY_HERE, "refused")]
    assert "--delete performs them" in result.stderr
    assert ONLY_HERE in items(east)
    assert found.counts["applied"] == 4


def test_nobody_agrees_nothing_is_done(run: Run, east: OutsideWriter, tmp_path: Path) -> None:
    before = items(east)
    run("diff", "--with", "west.toml", "--save", "plan.json")
    files = sorted(tmp_path.glob("*.json"))
    result = run("plan", "apply", "plan.json")
    assert result.exit_code == 5
    assert "--yes" in result.stderr
    assert "~  namespace  acme/orders  message_ttl_in_seconds: 60 → 120" in result.stderr
    assert items(east) == before
    assert sorted(tmp_path.glob("*.json")) == files


def test_a_plan_for_a_store_that_changed_since_is_refused_whole(run: Run, east: OutsideWriter, tmp_path: Path) -> None:
    run("diff", "--with", "west.toml", "--save", "plan.json")
    east.put(TOPIC, value(partitions=3))
    before = items(east)
    result = run("plan", "apply", "plan.json", "--yes", "--undo", "undo.json")
    assert result.exit_code == 5
    assert f"{TOPIC}: changed since the plan was made" in result.stderr
    assert "hint: Make the plan again" in result.stderr
    assert items(east) == before
    assert not (tmp_path / "undo.json").exists()


def test_a_plan_of_another_region_or_version_is_refused(run: Run, tmp_path: Path) -> None:
    run("diff", "--with", "west.toml", "--save", "plan.json")
    result = run("plan", "apply", "plan.json", "--yes", region="west")
    assert result.exit_code == 5
    assert "a plan for region east, not for west" in result.stderr
    text = (tmp_path / "plan.json").read_text(encoding="utf-8")
    (tmp_path / "newer.json").write_text(text.replace('"version": 2', '"version": 9'), encoding="utf-8")
    result = run("plan", "apply", "newer.json", "--yes")
    assert result.exit_code == 1
    assert "version 9; this program reads version 1" in result.stderr


def test_the_undo_is_written_before_anything_else_or_nothing_is_done(run: Run, east: OutsideWriter) -> None:
    before = items(east)
    run("diff", "--with", "west.toml", "--save", "plan.json")
    result = run("plan", "apply", "plan.json", "--yes", "--undo", "absent/undo.json")
    assert result.exit_code == 5
    assert "cannot be written" in result.stderr
    assert items(east) == before


def test_the_undo_lies_beside_the_plan_and_names_only_what_was_done(run: Run, tmp_path: Path) -> None:
    run("diff", "--with", "west.toml", "--delete", "--save", "plan.json")
    result = run("plan", "apply", "plan.json", "--yes")
    assert result.exit_code == 5, "the delete was refused"
    (undo,) = tmp_path.glob("plan.undo-*.json")
    assert f"syncer plan apply {undo.name} --delete" in result.stdout
    paths = {each.path for each in plan_file.read(undo).operations}
    assert ONLY_HERE not in paths
    assert len(paths) == 4


def test_a_plan_is_reversed_by_hand(run: Run, tmp_path: Path) -> None:
    run("diff", "--with", "west.toml", "--save", "plan.json")
    assert CliRunner().invoke(app, ["plan", "reverse", "plan.json", "--save", "back.json"]).exit_code == 0
    forth, back = plan_file.read(tmp_path / "plan.json"), plan_file.read(tmp_path / "back.json")
    assert back.operations == forth.reversed().operations
    again = CliRunner().invoke(app, ["plan", "reverse", "plan.json", "--save", "back.json"])
    assert again.exit_code == 5
    assert "left as it is" in again.stderr


def test_no_permission_is_told_and_nothing_is_left_behind(
    run: Run, east: OutsideWriter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def denied(self: SqliteStore, writes: Sequence[Write]) -> tuple[Written, ...]:
        raise AccessDenied("the store is read-only")

    before = items(east)
    run("diff", "--with", "west.toml", "--save", "plan.json")
    monkeypatch.setattr(SqliteStore, "apply", denied)
    result = run("plan", "apply", "plan.json", "--yes", "--undo", "undo.json", "-o", "json")
    assert result.exit_code == 6
    assert "error: the store is read-only" in result.stderr
    found = applied(result)
    assert (found.counts["applied"], found.counts["unreached"], found.undo) == (0, 4, None)
    assert found.error is not None
    assert found.error.code == "store-access-denied"
    assert items(east) == before
    assert not (tmp_path / "undo.json").exists()


def test_an_answer_that_never_came_can_be_taken_back_all_the_same(
    run: Run, east: OutsideWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = SqliteStore.apply

    async def silent(self: SqliteStore, writes: Sequence[Write]) -> tuple[Written, ...]:
        await apply(self, writes)
        raise StoreUnavailable("no answer within 5 s")

    before = items(east)
    run("diff", "--with", "west.toml", "--save", "plan.json")
    with monkeypatch.context() as patched:
        patched.setattr(SqliteStore, "apply", silent)
        result = run("plan", "apply", "plan.json", "--yes", "--undo", "undo.json", "-o", "json")
    assert result.exit_code == 4
    assert (applied(result).counts["unknown"], applied(result).undo) == (4, "undo.json")
    assert "Apply the same plan again" in result.stderr
    assert applied(run("plan", "apply", "plan.json", "--yes", "-o", "json")).counts["already"] == 4
    back = run("plan", "apply", "undo.json", "--delete", "--allow", "fewer-partitions", "--yes")
    assert back.exit_code == 0, back.stderr
    assert items(east) == before


# -- backup


def test_a_backup_is_made_verified_compared_and_brought_back(run: Run, east: OutsideWriter) -> None:
    before = items(east)
    made = BackupDocument.model_validate_json(run("backup", "create", "saved", "-o", "json").stdout)
    assert made.resources == {"namespace": 2, "partitioned-topic": 2, "tenant": 1}
    checked = CliRunner().invoke(app, ["backup", "verify", "saved", "-o", "json"])
    assert VerifyDocument.model_validate_json(checked.stdout).ok
    assert run("backup", "diff", "saved").exit_code == 0

    for path in (SPACE, TOPIC, ONLY_HERE, TENANT):
        east.delete(path)
    east.put("/admin/policies/later", value(adminRoles=[]))
    result = run("backup", "diff", "saved", "-o", "json")
    assert result.exit_code == 3
    assert [each.path for each in planned(result).operations] == [TENANT, SPACE, ONLY_HERE, TOPIC]
    restored = run("backup", "restore", "saved", "--yes", "-o", "json")
    assert restored.exit_code == 0, restored.stderr
    assert applied(restored).counts["applied"] == 4
    assert [each.path for each in applied(restored).left] == ["/admin/policies/later"]
    after = items(east)
    assert after.pop("/admin/policies/later")
    assert digests(after) == digests(before)


def test_one_tenant_can_be_brought_back_alone(run: Run, east: OutsideWriter) -> None:
    east.put("/admin/policies/other", value(adminRoles=[]))
    run("backup", "create", "saved")
    for path in ("/admin/policies/other", ONLY_HERE):
        east.delete(path)
    assert applied(run("backup", "restore", "saved", "--tenant", "acme", "--yes", "-o", "json")).counts["applied"] == 1
    assert ONLY_HERE in items(east)
    assert "/admin/policies/other" not in items(east)


def test_a_damaged_backup_is_named_and_never_restored(run: Run, east: OutsideWriter, tmp_path: Path) -> None:
    run("backup", "create", "saved")
    east.delete(ONLY_HERE)
    before = items(east)
    file = tmp_path / "saved" / "tenants" / "acme" / "namespaces.json"
    file.write_bytes(file.read_bytes().replace(b"60", b"61"))
    verified = run("backup", "verify", "saved")
    assert verified.exit_code == 1
    assert "tenants/acme/namespaces.json  damaged" in verified.stdout
    for verb in ("diff", "restore"):
        result = run("backup", verb, "saved", *(["--yes"] if verb == "restore" else []))
        assert result.exit_code == 1
        assert "tenants/acme/namespaces.json: its checksum is not the manifest's" in result.stderr
        assert "syncer backup verify" in result.stderr
    assert items(east) == before


def test_an_existing_directory_is_left(run: Run, tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    result = run("backup", "create", "saved")
    assert result.exit_code == 5
    assert list((tmp_path / "saved").iterdir()) == []


def test_the_backup_of_another_region_needs_a_word(run: Run, west: OutsideWriter) -> None:
    run("backup", "create", "saved")
    refused = run("backup", "restore", "saved", "--yes", region="west")
    assert refused.exit_code == 5
    assert "--from-another-region" in refused.stderr
    copied = run("backup", "restore", "saved", "--yes", "--from-another-region", "-o", "json", region="west")
    assert [each.reason for one in applied(copied).operations for each in one.refused] == ["fewer-partitions"]
    assert ONLY_HERE in items(west)


def test_a_dry_restore_writes_nothing(run: Run, east: OutsideWriter, tmp_path: Path) -> None:
    run("backup", "create", "saved")
    east.delete(ONLY_HERE)
    before = items(east)
    result = run("backup", "restore", "saved", "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert "would apply       1\n" in result.stdout
    assert items(east) == before
    assert list(tmp_path.glob("saved.undo-*")) == []


def test_raw_bytes_come_back_where_a_person_wants_them(run: Run, east: OutsideWriter) -> None:
    east.put("/admin/policies/raw", b"\xff\x00\xfe")
    run("backup", "create", "saved")
    east.delete("/admin/policies/raw")
    assert run("backup", "restore", "saved", "--yes").exit_code == 5
    assert run("backup", "restore", "saved", "--yes", "--allow", "unreadable").exit_code == 0
    assert items(east)["/admin/policies/raw"] == b"\xff\x00\xfe"


def test_topics_below_a_namespace_keep_it(run: Run, east: OutsideWriter) -> None:
    run("backup", "create", "saved")
    east.put("/admin/policies/acme/later", value(replication_clusters=["east"]))
    east.put("/managed-ledgers/acme/later/persistent/t", b"")
    result = run("backup", "restore", "saved", "--delete", "--yes")
    assert result.exit_code == 5
    assert "has-topics: topics still exist here" in result.stdout
    assert "/admin/policies/acme/later" in items(east)


def test_a_file_made_by_a_program_is_stable(run: Run, tmp_path: Path) -> None:
    run("backup", "create", "one")
    run("backup", "create", "two")
    for file in (tmp_path / "one").rglob("*.json"):
        if file.name != "MANIFEST.json":
            assert file.read_bytes() == (tmp_path / "two" / file.relative_to(tmp_path / "one")).read_bytes()


def test_a_large_plan_is_told_in_short_before_a_person_agrees(run: Run, west: OutsideWriter) -> None:
    for number in range(60):
        west.put(f"/admin/policies/many-{number:02}", value(adminRoles=[]))
    run("diff", "--with", "west.toml", "--save", "plan.json")
    result = run("plan", "apply", "plan.json", "--yes")
    assert "… and 24 more" in result.stderr
    assert "applied    64" in result.stdout
    assert len(planned(run("plan", "show", "plan.json", "-o", "json")).operations) == 64


def test_what_this_region_does_not_carry_is_counted(run: Run, tmp_path: Path) -> None:
    run("backup", "create", "saved")
    with (tmp_path / "east.toml").open("a", encoding="utf-8") as file:
        file.write('[scope]\nrules = [{ pattern = "/admin/policies/**", direction = "both" }]\n')
    result = run("backup", "diff", "saved")
    assert result.exit_code == 0
    assert "2 paths not shared, and not compared: 2 there that this region's scope leaves out, 0 here" in result.stderr
    found = planned(run("backup", "diff", "saved", "-o", "json"))
    assert (found.uncovered, found.unshared_paths, found.different) == (2, 2, False)


def test_nothing_is_planned_that_one_of_two_regions_does_not_carry(run: Run, tmp_path: Path) -> None:
    before = planned(run("diff", "--with", "west.toml", "--delete", "-o", "json"))
    assert any(each.path.startswith("/admin/partitioned-topics/") for each in before.operations)
    with (tmp_path / "west.toml").open("a", encoding="utf-8") as file:
        file.write('[scope]\nrules = [{ pattern = "/admin/policies/**", direction = "publish" }]\n')
    found = planned(run("diff", "--with", "west.toml", "--delete", "-o", "json"))
    assert found.operations == [each for each in before.operations if each.path.startswith("/admin/policies/")]
    assert found.unshared_paths is not None
    assert (found.uncovered, found.unshared_paths > 0) == (0, True)
    with (tmp_path / "east.toml").open("a", encoding="utf-8") as file:
        file.write('[scope]\nrules = [{ pattern = "/admin/partitioned-topics/**", direction = "both" }]\n')
    result = run("diff", "--with", "west.toml", "--delete", "-o", "json")
    assert (planned(result).operations, planned(result).left) == ([], []), (
        "they share nothing, and nothing would be gone"
    )


def test_every_reason_of_a_refusal_is_explained() -> None:
    page = (REPOSITORY / "docs" / "how-to" / "compare-and-restore.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| .* \| `?([^|`]*)`? \|$", page, re.MULTILINE))
    remedies = {reason.value: f"--allow {reason.value}" if reason in ALLOWABLE else "nothing" for reason in Reason}
    assert rows == remedies | {"delete": "--delete"}
