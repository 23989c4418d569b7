"""Rendering of a scope that is tried: tables of rules, of paths and of changes, and what is said beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from syncer.cli.render import output
from syncer.cli.render.output import out, say
from syncer.documents.scopes import ScopeDocument, ScopedPathDocument, ScopeMatchesDocument, ScopeShiftsDocument
from syncer.documents.words import counted

NOBODY: Final = "no rule matches"


def show_rules(found: ScopeDocument) -> None:
    """Show each rule with what it decides about, and what is left over."""
    rows: list[output.Row] = [
        (each.number, each.pattern, each.direction, each.given_by, _kinds(each.kinds), each.decided_before)
        for each in found.rules
    ]
    if found.unmatched:
        rows.append((None, NOBODY, "ignore", None, _kinds(found.unmatched), None))
    output.table(("rule", "pattern", "direction", "given by", "decides about", "decided before"), rows)
    for direction, kinds in found.directions.items():
        if kinds:
            say(f"{direction}: {_kinds(kinds)}")
    if not any(found.directions.values()):
        say(f"no resource stands in the store of region {found.region}")
    if found.unfit:
        say(f"{counted(found.unfit, 'path')} set aside, which cannot be carried: see 'syncer quarantine list'")
    for prefix in found.closed:
        say(f"nothing below {prefix} is counted: the store does not let it be read, and the scope leaves it out")


def show_matches(found: ScopeMatchesDocument) -> None:
    """Show what a pattern matches, each with its rule."""
    own = any(each.excluded for each in found.items)
    rows: list[output.Row] = [
        (each.kind, each.name, each.direction, each.rule, each.pattern, *((_excluded(each),) if own else ()))
        for each in found.items
    ]
    output.table(("kind", "name", "direction", "rule", "pattern", *(("excluded",) if own else ())), rows)
    if found.no_resource is not None:
        say(f"{found.pattern} can match no resource: {found.no_resource}")
    elif not found.total:
        say(f"nothing in the store of region {found.region} matches {found.pattern}")
    if found.more:
        say(f"and {found.more} more; --limit shows more of them")


def show_path(found: ScopeMatchesDocument) -> None:
    """Show what the scope makes of one path."""
    if found.no_resource is not None:
        out(f"{found.pattern} is no resource: {found.no_resource}.")
        return
    (each,) = found.items
    output.facts(
        [
            ("path", each.path),
            ("resource", f"{each.kind} {each.name}"),
            ("stands", each.stands),
            ("direction", each.direction),
            ("rule", _rule(each)),
            *([("excluded", _excluded(each))] if each.excluded else []),
        ]
    )
    if not each.stands:
        out("")
        out(f"Nothing stands there; it would be: {each.direction}, {_by(each)}.")


def show_shifts(found: ScopeShiftsDocument) -> None:
    """Show what flows another way by the rules that are tried."""
    output.table(
        ("kind", "name", "now", "then", "rule now", "rule then"),
        [(each.kind, each.name, each.now, each.then, each.rule_now, each.rule_then) for each in found.items],
    )
    if found.more:
        say(f"and {found.more} more; --limit shows more of them")
    for each in found.shifts:
        say(f"{each.now} -> {each.then}: {_kinds(each.kinds)}")
    say(f"{counted(found.unchanged, 'resource')} {'stays' if found.unchanged == 1 else 'stay'} as now")
    if found.same_rules:
        say(f"the rules of {found.file} are those in effect")
    elif found.shifts:
        say("nothing was changed; what leaves a scope is not deleted, and what comes in is carried from then on")


def _kinds(kinds: Mapping[str, int]) -> str | None:
    return ", ".join(f"{kind} {count}" for kind, count in kinds.items()) or None


def _excluded(each: ScopedPathDocument) -> str | None:
    return ", ".join(each.excluded) or None


def _rule(each: ScopedPathDocument) -> str:
    return NOBODY if each.rule is None else f"{each.rule}: {each.pattern}"


def _by(each: ScopedPathDocument) -> str:
    return f"for {NOBODY}" if each.rule is None else f"by rule {each.rule}, {each.pattern}"
