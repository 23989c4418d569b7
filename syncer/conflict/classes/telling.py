"""Rules of a scope as a region tells them to others, or notes them in a manifest: bounded, checked before use.

One line a rule, in order: the direction, a space, the pattern. A scope's fingerprint is the hash of just this text, so
rules that were told are known to be those that the fingerprint of the same heartbeat names.

A pattern that was told is matched against paths here, in a step for each letter of a path, whatever wildcards it has.
Prefixes that this version does not know are no fault: no path of this region lies there.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from syncer.conflict.scope import Rule, Scope, fingerprint_of
from syncer.conflict.settings import Direction
from syncer.errors import PayloadInvalid

RULES_BYTES: Final = 16 * 1024
"""Of the text; longer ones are told by their fingerprint alone, and such a region is not compared with others."""
RULES_TOLD: Final = 256
PATTERN_CHARACTERS: Final = 512
RULES_NOTED: Final = 4_096
"""In a manifest, of the scope and of excluded fields together; a region may have more rules than it tells to others."""
NOTED_CHARACTERS: Final = 256 * 1024
"""Of all their patterns together: a path costs as many steps as it has letters, and a step goes over all of them."""


def told_rules(scope: Scope) -> str:
    """The rules as they are told; empty when they are too many, or too long."""
    text = scope.text
    return text if _fault(text, scope.rules) is None else ""


def scope_told(text: str, fingerprint: str) -> Scope:
    """The scope that a region has told.

    Args:
        text: Its rules.
        fingerprint: Of its scope, as the same message says.

    Raises:
        PayloadInvalid: They are no rules, are over a bound, or are not those that the fingerprint names.
    """
    if len(text.encode(errors="replace")) > RULES_BYTES:
        raise PayloadInvalid(f"rules of more than {RULES_BYTES} bytes")
    if fingerprint_of(text) != fingerprint:
        raise PayloadInvalid(f"rules that are not those of scope {fingerprint[:40]}")
    rules = tuple(_rule(line) for line in text.split("\n"))
    if (fault := _fault(text, rules)) is not None:
        raise PayloadInvalid(fault)
    return Scope(rules, told=True)


def scope_kept(text: str) -> Scope:
    """The scope of a region's own rules, as its database keeps them: of any length, since no stranger wrote them.

    Raises:
        PayloadInvalid: They are no rules, as far as this version knows.
    """
    return Scope(tuple(_rule(line) for line in text.split("\n")), told=True)


def noted_fault(patterns: Collection[str]) -> str | None:
    """Return what of a manifest's patterns is over a bound; ``None``: nothing.

    The bounds are on cost, not on form: they hold for what is written as well as for what is read.

    Args:
        patterns: Of the rules of the scope, and of the excluded fields.
    """
    if len(patterns) > RULES_NOTED:
        return f"{len(patterns)} rules, where at most {RULES_NOTED} are read"
    if (characters := sum(map(len, patterns))) > NOTED_CHARACTERS:
        return f"rules with {characters} characters, where at most {NOTED_CHARACTERS} are read"
    return None


def patterns_in(*tables: object) -> list[str]:
    """Return the patterns that a manifest's JSON has in lists of rules; what is no such list is left to its reader.

    Args:
        tables: Lists of objects with a field ``pattern``, as they stand in the JSON.
    """
    rules = [each for table in tables if isinstance(table, list) for each in table]
    found = (each.get("pattern") if isinstance(each, dict) else None for each in rules)
    return [each if isinstance(each, str) else "" for each in found]


def _rule(line: str) -> Rule:
    direction, space, pattern = line.partition(" ")
    if not space or direction not in set(Direction):
        raise PayloadInvalid(f"{line[:80]!r} is no rule of a scope")
    if not pattern.startswith("/") or pattern.endswith("/") or "//" in pattern or not pattern.isprintable():
        raise PayloadInvalid(f"{pattern[:80]!r} is no path pattern")
    return Rule(pattern, Direction(direction))


def _fault(text: str, rules: tuple[Rule, ...]) -> str | None:
    """What of rules nobody would take; ``None``: nothing."""
    if len(text.encode(errors="replace")) > RULES_BYTES:
        return f"rules of more than {RULES_BYTES} bytes"
    if not rules or len(rules) > RULES_TOLD:
        return f"{len(rules)} rules, where 1 to {RULES_TOLD} can be told"
    for rule in rules:
        if len(rule.pattern) > PATTERN_CHARACTERS:
            return f"a pattern of more than {PATTERN_CHARACTERS} characters: {rule.pattern[:80]!r}"
    return None
