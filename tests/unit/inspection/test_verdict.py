"""Each rule of the verdict, and that every condition which the product can report was weighed."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

import syncer
from syncer import serving, surface
from syncer.balancer.recording import service as load_histories
from syncer.bus.wire.messages import LEFT
from syncer.dispositions import ExitCode
from syncer.documents.status import Condition, DaemonDocument, Outbox, RegionDocument, StatusDocument, Waiting
from syncer.errors import RightsUnreadable, SignatureInvalid, SpeakerInvalid, SubscriptionShared
from syncer.inspection.conditions import WEIGHTS, NextStep, Severity, weight
from syncer.inspection.verdict import (
    BEGINNING_LIMIT_S,
    EXIT,
    OUTBOX_LIMIT_S,
    WATCH_LIMIT_S,
    LookOutcome,
    RegionVerdict,
    judge,
)
from syncer.ledgers.recurring import service as ledger_audits
from syncer.notifier import notifier
from syncer.replication import quotas

NOW: Final = 1_795_000_000_000
PAGE: Final = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "read-status.md"
NOTHING_WAITS: Final = {
    "due": 0,
    "holds": 0,
    "future_events": 0,
    "parked": 0,
    "conflicts": 0,
    "quarantine": 0,
    "operations": 0,
}


def daemon(**changes: Any) -> DaemonDocument:
    facts: dict[str, Any] = {
        "id": "d1",
        "host": "east-1",
        "pid": 812,
        "version": "1",
        "role": "active",
        "since_ms": NOW - 60_000,
        "seen_at_ms": NOW,
        "seen_age_s": 1.0,
        "silent": False,
    }
    return DaemonDocument(**{**facts, **changes})


def peer(region: str = "west", **changes: Any) -> RegionDocument:
    facts: dict[str, Any] = dict.fromkeys(RegionDocument.model_fields)
    facts |= {"region": region, "here": False, "heard_age_s": 1.0, "member": True, "away": False, "compared": "equal"}
    return RegionDocument(**{**facts, "said_forgotten_by": [], "brokers": [], **changes})


def condition(code: str, message: str = "the message") -> Condition:
    found = weight(code)
    return Condition(
        code=code,
        message=message,
        severity=found.severity.value,
        next=found.step.words,
        command=found.step.command,
    )


def status(*, waiting: dict[str, int] | None = None, **changes: Any) -> StatusDocument:
    """A region that is well, but for what is changed."""
    facts: dict[str, Any] = {
        "region": "east",
        "daemon": "running",
        "mode": "active",
        "reported_at_ms": NOW,
        "reported_age_s": 1.0,
        "paused": None,
        "baseline_done": True,
        "watch_whole": True,
        "epoch": 1,
        "fence": 1,
        "paths": 3,
        "outbox": Outbox(depth=0, oldest_age_s=None),
        "waiting": Waiting(**{**NOTHING_WAITS, **(waiting or {})}),
        "daemons": [daemon()],
        "peers": [peer()],
        "conditions": [],
        "not_carried": [],
    }
    return StatusDocument(**{**facts, **changes})


def well(**changes: Any) -> RegionVerdict:
    found = judge(status(**changes))
    assert found.outcome is LookOutcome.WELL, found
    assert all(each.severity is Severity.ADVICE for each in found.reasons)
    return found


def alarm(code: str, **changes: Any) -> RegionVerdict:
    """The verdict, which rests on this alarm alone."""
    found = judge(status(**changes))
    assert found.outcome is LookOutcome.OPERATOR, found
    assert [each.code for each in found.reasons if each.severity is Severity.ALARM] == [code]
    assert found.step == found.reasons[0].step
    return found


# -- well


def test_a_region_at_work_is_well_and_there_is_nothing_to_do() -> None:
    found = well()
    assert found.line == "well: east works: equal with west"
    assert (found.step, found.reasons) == (NextStep("nothing to do"), ())


def test_what_is_not_equal_yet_is_not_said_to_be() -> None:
    peers = [peer(), peer("north", compared="differs"), peer("gone", member=False, heard_age_s=1e6)]
    assert well(peers=peers).line == "well: east works: equal with west; hears north"
    assert well(peers=[]).line == "well: east works; no other region was heard yet"


def test_a_first_scan_is_well_and_said() -> None:
    found = well(baseline_done=False, watch_whole=False)
    assert "reads its store for the first time" in found.line
    assert found.step.command == "syncer status --wait 600"


def test_a_rebuild_is_well_and_says_whom_it_waits_for() -> None:
    told = condition("rebuilding", "rebuilding: heard 1 of 2 peers; waits for south (…)")
    found = well(rebuilding="rebuilding: heard 1 of 2 peers", baseline_done=False, conditions=[told])
    assert "east is rebuilding: heard 1 of 2 peers; waits for south" in found.line
    assert [each.code for each in found.reasons] == ["rebuilding"]
    assert "heard 1 of 2 peers" in well(rebuilding="rebuilding: heard 1 of 2 peers").line


@pytest.mark.parametrize("begun", [{"baseline_done": False}, {"rebuilding": "rebuilding: heard 0 of 1 peers"}])
def test_a_beginning_without_an_end_needs_an_operator(begun: dict[str, Any]) -> None:
    since = NOW - int(BEGINNING_LIMIT_S * 1000)
    well(**begun, daemons=[daemon(since_ms=since)])
    found = alarm(
        "rebuilding" if "rebuilding" in begun else "first-scan", **begun, daemons=[daemon(since_ms=since - 1)]
    )
    assert "for 60 min by now" in found.line


def test_a_pause_by_an_operator_is_well_and_said() -> None:
    found = well(paused="asked by ops@east-1", outbox=Outbox(depth=7, oldest_age_s=9_999.0))
    assert "is paused, so nothing is written or published: asked by ops@east-1" in found.line
    assert found.step.command == "syncer resume"


def test_a_region_that_waits_to_join_needs_an_operator() -> None:
    assert alarm("joining", paused="…", joining=True).step.command == "syncer regions join"


def test_observing_and_having_left_are_said() -> None:
    assert "only observes" in well(mode="observe", daemons=[daemon(role="observer")]).line
    assert "has left the group" in well(mode=LEFT, paused="left").line


def test_old_conflicts_are_well_and_said() -> None:
    assert well(waiting={"conflicts": 1}).line.endswith("; 1 change that lost a conflict is kept")
    assert well(waiting={"conflicts": 2}).line.endswith("; 2 changes that lost a conflict are kept")


def test_parked_and_due_writes_are_well() -> None:
    assert well(waiting={"due": 3, "parked": 2}).reasons == ()


def test_advice_is_said_by_its_code_and_alarms_nobody() -> None:
    found = well(conditions=[condition("messages-unsigned"), condition("tls-not-verified")])
    assert found.line == "well: east works: equal with west; advice: messages-unsigned, tls-not-verified"


def test_an_expected_region_that_was_never_heard_is_said() -> None:
    assert well(unheard=["north"]).line.endswith("; north is expected and was never heard")


# -- an operator is needed


def test_holds_need_an_operator_and_one_from_the_future_is_a_hold() -> None:
    found = alarm("holds", waiting={"holds": 1})
    assert found.line == "operator needed: east: 1 change is held until an operator decides"
    assert found.step.command == "syncer holds list"
    assert "3 changes are held" in alarm("holds", waiting={"holds": 1, "future_events": 2}).line


def test_what_is_in_quarantine_needs_an_operator() -> None:
    assert alarm("quarantine", waiting={"quarantine": 2}).step.command == "syncer quarantine list"


def test_a_peer_away_needs_an_operator() -> None:
    found = alarm("peer-away", peers=[peer(away=True, heard_age_s=10_800.0)])
    assert found.line == "operator needed: east: west was last heard 3 h ago (limit 5 min)"


def test_a_watch_that_stays_broken_needs_an_operator() -> None:
    limit = int(WATCH_LIMIT_S * 1000)
    well(watch_whole=False, watch_whole_until_ms=NOW - limit)
    found = alarm("watch-broken", watch_whole=False, watch_whole_until_ms=NOW - limit - 1)
    assert found.step.command == "syncer config check --connect"
    well(watch_whole=True, watch_whole_until_ms=NOW - limit - 1)
    well(watch_whole=False, watch_whole_until_ms=None)


def test_an_outbox_that_does_not_empty_needs_an_operator() -> None:
    well(outbox=Outbox(depth=5, oldest_age_s=OUTBOX_LIMIT_S))
    found = alarm("outbox-stuck", outbox=Outbox(depth=5, oldest_age_s=OUTBOX_LIMIT_S + 300))
    assert "5 local changes are not published, the oldest since 10 min" in found.line


@pytest.mark.parametrize("code", WEIGHTS)
def test_each_condition_is_judged_by_its_weight(code: str) -> None:
    found = judge(status(conditions=[condition(code)] if code != "rebuilding" else [], rebuilding=None))
    expected = WEIGHTS[code].severity is Severity.ALARM
    assert (found.outcome is LookOutcome.OPERATOR) == expected
    if expected:
        assert found.line == f"operator needed: east: {code}: the message"
        assert found.step == WEIGHTS[code].step


def test_a_condition_of_another_version_is_an_alarm() -> None:
    alarm("never-heard-of", conditions=[condition("never-heard-of")])


def test_several_alarms_are_one_line_and_all_of_them_reasons() -> None:
    found = judge(
        status(
            waiting={"holds": 1, "conflicts": 1},
            peers=[peer(away=True, heard_age_s=600.0)],
            conditions=[condition("messages-unsigned"), condition("clock-skew")],
        )
    )
    assert found.line.endswith("1 change is held until an operator decides (and 2 more: peer-away, clock-skew)")
    assert [each.code for each in found.reasons] == [
        "holds",
        "peer-away",
        "clock-skew",
        "messages-unsigned",
        "conflicts-kept",
    ]


# -- silent


def test_a_dead_daemon_is_named_with_its_place() -> None:
    found = judge(status(daemon="silent", reported_age_s=72.0, daemons=[daemon(silent=True)], waiting={"holds": 1}))
    assert found.outcome is LookOutcome.SILENT
    assert found.line.startswith("silent: the daemon of east on east-1 (process 812) reported last 72 s ago")
    assert [each.code for each in found.reasons] == ["daemon-silent", "holds"]
    assert "of east reported last 2 days ago" in judge(status(daemon="silent", reported_age_s=2e5, daemons=[])).line


def test_a_database_that_no_daemon_ever_used_is_silent() -> None:
    found = judge(status(daemon="never-started", reported_age_s=None, reported_at_ms=None, daemons=[]))
    assert found.line == "silent: no daemon of east has ever reported"


def test_a_standby_that_lives_is_not_called_dead() -> None:
    found = judge(status(daemon="silent", reported_age_s=72.0, daemons=[daemon(role="standby")]))
    assert "stands by" in found.line
    assert found.step.command == "syncer config check --connect"


def test_peers_are_not_said_to_be_away_by_a_daemon_that_hears_nobody() -> None:
    found = judge(status(daemon="silent", reported_age_s=1e6, peers=[peer(away=True)]))
    assert [each.code for each in found.reasons] == ["daemon-silent"]


def test_every_outcome_has_its_exit_status() -> None:
    assert set(EXIT) == set(LookOutcome)
    assert EXIT[LookOutcome.WELL] is ExitCode.DONE
    assert EXIT[LookOutcome.OPERATOR] is ExitCode.FAILED
    assert EXIT[LookOutcome.SILENT] is EXIT[LookOutcome.NO_DATABASE] is ExitCode.UNREACHABLE
    assert EXIT[LookOutcome.NOT_ALLOWED] is ExitCode.NOT_ALLOWED


# -- the table of conditions is total

NO_CONDITIONS: Final = {
    "expected-without-key",  # said by 'syncer config check' alone
}
COMPUTED: Final = {
    "syncer.replication.quotas": {quotas.CONFLICTS_FULL, quotas.VALUES_FULL},
    "syncer.replication.inbound.quarantine": {SignatureInvalid.code, SpeakerInvalid.code},
    "syncer.replication.status": {
        surface.REFUSED,
        SubscriptionShared.code,
        RightsUnreadable.code,
        serving.CERTIFICATE,
        notifier.FAILING,
        load_histories.TROUBLED,
        load_histories.SET_ASIDE,
        ledger_audits.TROUBLED,
        ledger_audits.IN_DANGER,
    },
    "syncer.replication.inbound.receive": set[str](),  # what functions give as pairs
}
"""Codes that a variable holds where they are set, by module."""
KEBAB: Final = re.compile(r"[a-z]+(-[a-z]+)+|rebuilding")


def test_every_condition_that_can_be_reported_is_weighed() -> None:
    computed = {
        module for module, parts in _sources(set_only=True) if any(_text(each, module) is None for each in parts)
    }
    assert computed == set(COMPUTED), "a code that a variable holds where it is set is named above"
    texts = {_text(part, module) or "" for module, parts in _sources() for part in parts}
    reported = {text for text in texts if KEBAB.fullmatch(text)}.union(*COMPUTED.values())
    assert reported - NO_CONDITIONS == set(WEIGHTS)


def test_a_next_step_is_short_and_begins_with_a_command_of_this_program() -> None:
    for code, found in WEIGHTS.items():
        assert 0 < len(found.step.words) <= 80, code
        assert not found.step.words.endswith("."), code
        assert found.step.command == "" or found.step.command.startswith("syncer "), code


def test_the_page_says_of_every_condition_whether_somebody_has_to_come() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (alarm|advice) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert dict(rows) == {code: found.severity.value for code, found in WEIGHTS.items()}
    assert len(rows) == len(WEIGHTS)


def _sources(*, set_only: bool = False) -> Iterator[tuple[str, list[ast.expr]]]:
    """By module: every place of the product's source where the code of a condition can stand."""
    for module, nodes in _trees():
        yield module, [part for node in nodes for part in (_set(node) if set_only else [*_set(node), *_paired(node)])]


@cache
def _trees() -> list[tuple[str, list[ast.AST]]]:
    """Every module of the product that has to do with conditions."""
    root, found = Path(syncer.__file__).parent, list[tuple[str, list[ast.AST]]]()
    for file in sorted(root.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "condition" in text or "tuple[str, str]" in text:
            module = ".".join(("syncer", *file.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
            found.append((module, list(ast.walk(ast.parse(text)))))
    return found


def _set(node: ast.AST) -> list[ast.expr]:
    """``conditions[code] = …`` and ``_condition(code, …)``."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "conditions":
        return [node.slice] if isinstance(node.ctx, ast.Store) else []
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_condition"
    return [node.args[0]] if named and isinstance(node, ast.Call) and isinstance(node.args[0], ast.Constant) else []


def _paired(node: ast.AST) -> list[ast.expr]:
    """The first of each pair that a function gives back, or appends to what it gives back."""
    if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
        inside: list[ast.AST] = [node.value]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"append", "insert"}:
        inside = list(node.args)
    else:
        return []
    pairs = (each for part in inside for each in ast.walk(part) if isinstance(each, ast.Tuple))
    return [pair.elts[0] for pair in pairs if len(pair.elts) == 2]


def _text(part: ast.expr, module: str) -> str | None:
    """The code, where it is a text or the name of one."""
    found: object = None
    if isinstance(part, ast.Constant):
        found = part.value
    elif isinstance(part, ast.Name):
        found = getattr(importlib.import_module(module), part.id, None)
    elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
        found = getattr(getattr(importlib.import_module(module), part.value.id, None), part.attr, None)
    return found if isinstance(found, str) else None
