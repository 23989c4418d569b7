"""Rules of a scope, told and read."""

from __future__ import annotations

import pytest

from syncer.conflict.classes.telling import (
    NOTED_CHARACTERS,
    PATTERN_CHARACTERS,
    RULES_BYTES,
    RULES_NOTED,
    RULES_TOLD,
    noted_fault,
    patterns_in,
    scope_kept,
    scope_told,
    told_rules,
)
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope, fingerprint_of
from syncer.conflict.settings import Direction
from syncer.errors import PayloadInvalid
from syncer.model import MetaPath

PATTERN = "/admin/policies/{}"


def test_what_is_told_is_read_as_it_was() -> None:
    text = told_rules(Scope())
    assert scope_told(text, Scope().fingerprint).rules == DEFAULT_RULES


def test_a_prefix_of_a_newer_version_is_read_and_carries_nothing_here() -> None:
    text = "both /admin/new-kind/**\nboth /admin/policies/acme"
    scope = scope_told(text, fingerprint_of(text))
    assert scope.contains(MetaPath("/admin/policies/acme"))
    assert not scope.contains(MetaPath("/admin/policies/other"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("both /admin/policies/**\n", "is no rule"),
        ("sometimes /admin/policies/**", "is no rule"),
        ("both", "is no rule"),
        ("both admin", "no path pattern"),
        ("both /admin/", "no path pattern"),
        ("both /admin//policies", "no path pattern"),
        ("both /admin/\x1b[31m", "no path pattern"),
        ("both /" + "x" * RULES_BYTES, "more than"),
        ("\n".join(["both /admin/policies/a"] * (RULES_TOLD + 1)), "where 1 to"),
        ("both /admin/policies/" + "/**" * 4, "no path pattern"),
        ("both /" + "a" * PATTERN_CHARACTERS, f"more than {PATTERN_CHARACTERS}"),
    ],
)
def test_rules_that_nobody_would_tell_are_refused(text: str, why: str) -> None:
    with pytest.raises(PayloadInvalid, match=why):
        scope_told(text, fingerprint_of(text))


def test_wildcards_that_a_stranger_has_told_cost_a_step_for_each_letter() -> None:
    """An expression of it would take hours: it tries to part the letters between the wildcards in every way."""
    text = "\n".join(["ignore /admin/policies/**a**a**a*a*a*b", "both /admin/policies" + "/**" * 4])
    scope = scope_told(text, fingerprint_of(text))
    assert scope.deciding(MetaPath(PATTERN.format("a" * 4000))) is None
    assert scope.deciding(MetaPath(PATTERN.format("a" * 4000 + "b"))) == 0
    assert scope.deciding(MetaPath(PATTERN.format("a/b/c/d"))) == 1


def test_what_a_region_has_kept_of_its_own_rules_has_no_bounds() -> None:
    many = [Rule(PATTERN.format(f"{number}{'x' * 600}"), Direction.IGNORE) for number in range(RULES_TOLD + 1)]
    scope = Scope([*many, Rule(PATTERN.format("a*" * 9), Direction.IGNORE), *DEFAULT_RULES])
    assert scope_kept(scope.text).rules == scope.rules
    with pytest.raises(PayloadInvalid, match="is no rule"):
        scope_kept("sometimes /admin/policies/**")


def test_rules_of_another_scope_are_refused() -> None:
    with pytest.raises(PayloadInvalid, match="not those of scope"):
        scope_told("both /admin/policies/**", Scope().fingerprint)


@pytest.mark.parametrize(
    "rules",
    [
        (),
        tuple(Rule(PATTERN.format(number), Direction.BOTH) for number in range(RULES_TOLD + 1)),
        tuple(Rule(PATTERN.format(f"{number}{'x' * 400}"), Direction.BOTH) for number in range(RULES_TOLD // 4)),
        (Rule(PATTERN.format("a" * PATTERN_CHARACTERS), Direction.BOTH),),
    ],
)
def test_rules_that_nobody_would_take_are_not_told(rules: tuple[Rule, ...]) -> None:
    assert told_rules(Scope(rules)) == ""


@pytest.mark.parametrize(
    ("patterns", "fault"),
    [
        ([], None),
        (["/admin/policies/**"] * RULES_NOTED, None),
        (["/"] * (RULES_NOTED + 1), f"{RULES_NOTED + 1} rules, where at most {RULES_NOTED} are read"),
        (["a" * NOTED_CHARACTERS], None),
        (["a" * NOTED_CHARACTERS, "b"], f"rules with {NOTED_CHARACTERS + 1} characters"),
    ],
    ids=["none", "as many as are read", "one more", "as long as are read", "one letter more"],
)
def test_rules_of_a_manifest_have_bounds(patterns: list[str], fault: str | None) -> None:
    found = noted_fault(patterns)
    assert found == fault if fault is None else str(found).startswith(fault)


def test_what_is_no_rule_of_a_manifest_counts_as_one_and_is_left_to_its_reader() -> None:
    assert patterns_in([{"pattern": "/a", "direction": "both"}, {"pattern": 7}, 7], None, "text", [{}]) == [
        "/a",
        "",
        "",
        "",
    ]
