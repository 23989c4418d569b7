"""Repair plans in files: exact, sealed, never half read as if they were whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncer.conflict.scope import fingerprint_of
from syncer.errors import InvariantBroken, PlanInvalid, PreconditionFailed
from syncer.model import Counter, EventType, MetadataChangeEvent, MetaPath, Millis, Region, ResourceKind, Stamp
from syncer.repair.repair_file import MAX_LINE_BYTES, DifferingPath, Head, RegionPart, RepairFile, Totals, write

HEAD = Head(
    scope="scope",
    tie_order="smaller",
    projections={"tenant": "1"},
    regions=(
        RegionPart(region="east", snapshot="e-1", taken_at_ms=20),
        RegionPart(region="west", snapshot="w-1", taken_at_ms=10),
    ),
    made_at_ms=30,
    made_by="a test",
)
EAST, WEST = Region("east"), Region("west")


def finding(name: str, value: bytes | None, **changes: Any) -> DifferingPath:
    path = MetaPath(f"/admin/policies/{name}")
    by = Counter("east~1")
    event = MetadataChangeEvent(
        type=EventType.DELETED if value is None else EventType.MODIFIED,
        resource=ResourceKind.TENANT,
        resource_name=name,
        path=path,
        value=value,
        stamp=Stamp(Millis(7), EAST),
        by=by,
        seen={by: Millis(7), Counter("west~2"): Millis(3)},
    )
    facts: dict[str, Any] = {"found_in": EAST, "cls": "differs", "losers": (WEST,), "event": event, **changes}
    return DifferingPath(path=path, **facts)


FINDINGS = (
    finding("text", b'{"adminRoles":["\xc3\xa9"]}'),
    finding("bytes", b"\xff\x00{"),
    finding("gone", None, cls="deleted"),
    finding("held", b"{}", held={WEST: "first-contact"}, written_ms={WEST: 12}),
    finding("mine", None, event=None, origin="unseen"),
)
WHOLE = Totals(paths=5, deletes=1, unstamped=1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "repair"
    assert write(path, HEAD, FINDINGS) == WHOLE
    return path


def read(path: Path) -> tuple[Head, list[DifferingPath]]:
    plan = RepairFile(path)
    with plan.reading() as (head, findings):
        found = head, list(findings)
    assert plan.whole
    return found


def test_what_was_written_is_read_to_the_byte(file: Path) -> None:
    assert read(file) == (HEAD, list(FINDINGS))
    assert RepairFile(file).check() == HEAD
    assert HEAD.taken_at_ms == 10, "the oldest counts"


def test_equal_plans_are_equal_files_and_none_is_overwritten(file: Path, tmp_path: Path) -> None:
    write(tmp_path / "again", HEAD, FINDINGS)
    assert (tmp_path / "again").read_bytes() == file.read_bytes()
    with pytest.raises(PreconditionFailed, match="exists"):
        write(file, HEAD, [])
    assert read(file)[1] == list(FINDINGS)
    with pytest.raises(PreconditionFailed, match="cannot be written"):
        write(tmp_path / "nowhere" / "plan", HEAD, [])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["again", "repair"], "nothing half written is left"


def test_a_failure_while_writing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvariantBroken, match="exactly where"):
        write(tmp_path / "plan", HEAD, [finding("x", b"{}", origin="unseen")])
    assert not list(tmp_path.iterdir())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(data=st.data())
def test_whatever_was_cut_off_or_changed_is_refused(file: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = file.read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        changed = content[:at]
    else:
        changed = content[:at] + bytes([content[at] ^ data.draw(st.integers(1, 255))]) + content[at + 1 :]
    other = tmp_path / "changed"
    other.write_bytes(changed)
    with pytest.raises(PlanInvalid):
        RepairFile(other).check()


def test_lines_left_out_put_in_or_behind_the_end_are_refused(file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    for wrong in ([*lines[:2], *lines[3:]], [*lines[:2], *lines[1:]], [*lines, b"{}\n"], lines[:-1]):
        file.write_bytes(b"".join(wrong))
        with pytest.raises(PlanInvalid):
            RepairFile(file).check()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "pulsar-syncer-plan"}, "no repair plan"),
        ({"version": 2}, "version 2"),
        ({"tie_order": "biggest"}, "head"),
        ({"regions": []}, "no regions"),
        ({"more": 1}, "more"),
    ],
)
def test_a_foreign_head_is_refused(file: Path, change: dict[str, object], message: str) -> None:
    first, rest = file.read_bytes().split(b"\n", 1)
    file.write_bytes(orjson.dumps({**orjson.loads(first), **change}) + b"\n" + rest)
    with pytest.raises(PlanInvalid, match=message):
        RepairFile(file).check()


def test_a_region_twice_is_refused(tmp_path: Path) -> None:
    twice = HEAD.model_copy(update={"regions": (HEAD.regions[0], HEAD.regions[0])})
    write(tmp_path / "plan", twice, FINDINGS)
    with pytest.raises(PlanInvalid, match="twice"):
        RepairFile(tmp_path / "plan").check()


@pytest.mark.parametrize(
    "line",
    [
        {"path": "relative"},
        {"path": "/no/resource"},
        {"stamp": None},
        {"stamp": [-1, "east"]},
        {"stamp": [2**63, "east"]},
        {"origin": "unseen"},
        {"value": {"text": "a", "base64": "YQ=="}},
        {"losers": "west"},
    ],
)
def test_a_line_that_says_nothing_sound_is_refused_with_its_number(file: Path, line: dict[str, object]) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    lines[1] = orjson.dumps({**orjson.loads(lines[1]), **line}) + b"\n"
    file.write_bytes(b"".join(lines))
    with pytest.raises(PlanInvalid, match="line 2"):
        RepairFile(file).check()


def test_what_is_no_file_of_ours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PreconditionFailed, match="cannot be read"):
        RepairFile(tmp_path / "none").check()
    for content in (b"", b"\n", b"[]\n", b"no json\n", b"x" * (MAX_LINE_BYTES + 2)):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(PlanInvalid):
            RepairFile(tmp_path / "file").check()


def mixed(west: str = "both /admin/policies/**") -> Head:
    """The head of a plan between regions of different scopes."""
    east = "both /admin/policies/**\nboth /admin/resourcegroups/**"
    return HEAD.model_copy(update={"scope": "", "scopes": {"east": east, "west": west}})


def test_a_plan_between_different_scopes_has_the_rules_of_each(tmp_path: Path) -> None:
    head = mixed()
    write(tmp_path / "plan", head, FINDINGS)
    assert read(tmp_path / "plan") == (head, list(FINDINGS))
    scopes, ties = head.rules
    assert orjson.loads(scopes) == {name: fingerprint_of(rules) for name, rules in (head.scopes or {}).items()}
    assert (ties, HEAD.rules) == ("smaller", ("scope", "smaller"))
    first = orjson.loads((tmp_path / "plan").read_bytes().split(b"\n", 1)[0])
    write(tmp_path / "plain", HEAD, FINDINGS)
    plain = orjson.loads((tmp_path / "plain").read_bytes().split(b"\n", 1)[0])
    assert first.keys() - plain.keys() == {"scopes"}, "any other one is written as ever"


@pytest.mark.parametrize(
    ("west", "message"),
    [
        ("ignore /admin/policies/text\nboth /admin/policies/**", "line 2: west does not carry /admin/policies/text"),
        ("sideways /admin/policies/**", "rules that nobody can read"),
        ("", "rules that nobody can read"),
    ],
)
def test_a_plan_that_changes_what_a_region_does_not_carry_is_refused(tmp_path: Path, west: str, message: str) -> None:
    write(tmp_path / "plan", mixed(west), FINDINGS)
    with pytest.raises(PlanInvalid, match=message):
        RepairFile(tmp_path / "plan").check()


@pytest.mark.parametrize("found_in", ["east", "north"])
def test_rules_are_those_of_the_regions_of_the_plan(tmp_path: Path, found_in: str) -> None:
    other = mixed().model_copy(update={"scopes": {"east": "both /admin/policies/**", "north": "both /admin/**"}})
    write(tmp_path / "plan", other if found_in == "east" else mixed(), [finding("x", b"{}", found_in=Region(found_in))])
    with pytest.raises(PlanInvalid, match="other regions than it names" if found_in == "east" else "north does not"):
        RepairFile(tmp_path / "plan").check()
