"""Breaks of decisions by operators, of changed scopes, and of what may not be written before a doubt is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from syncer.conflict import apply as decided_writes
from syncer.conflict import folding, guards, replica, shown
from syncer.conflict.acts import Outcome
from syncer.conflict.exclusion import excluding
from syncer.conflict.guards import GuardRefusal, Proposal
from syncer.conflict.register import Register, Shown
from syncer.conflict.settings import Settings
from syncer.conflict.shown import Look
from syncer.errors import PreconditionFailed
from syncer.model import Version
from syncer.operations.registry import Registry
from syncer.repair.rules import Why, retell
from syncer.replacing import replace
from syncer.replication.control import decisions, repair
from syncer.replication.control.part import OperatorControl
from syncer.replication.local import observe
from syncer.replication.local.deletes import holding
from syncer.replication.local.part import OwnStore
from syncer.replication.recovery import rescoping
from tests.simulation.incomplete import Patches


def a_local_hold_ends_by_a_remote_change() -> Patches:
    """A newer version of another region publishes no held delete, and frees its path."""
    knowing = folding.knowing

    def freeing(register: Register, known: Version) -> Register:
        found = knowing(register, known)
        local = found.hold is not None and found.hold.local and found.hold.stamp != known.stamp
        return replace(found, hold=None) if local else found

    return [(folding, "knowing", freeing)]


def decisions_compare_only_what_is_known() -> Patches:
    """A decision is performed whatever the store holds by now."""

    def half(register: Register, look: Shown, hint: str) -> None:
        if register.shows.known != look.known:
            raise PreconditionFailed("the newest change is another one", hint=hint)

    return [(shown, "check_shown", half), (decisions, "check_shown", half)]


def any_hold_may_be_confirmed() -> Patches:
    """A decision is performed on whichever hold the path has by now."""

    def lenient(register: Register, look: Look) -> None:
        if register.hold is None:
            raise PreconditionFailed("nothing is held")
        shown.check_shown(register, look.shown, shown.HOLDS)

    return [(replica, "check_look", lenient)]


def what_was_due_is_done_though_the_path_has_left() -> Patches:
    """What waits is not let go with its path."""
    return [(rescoping, "left", Outcome)]


def deletes_found_after_a_change_of_scope_pass() -> Patches:
    """What lacks where the scope was changed was deleted by somebody just now."""
    hold = holding.hold_deletes

    def passing(local: OwnStore, *rest: Any) -> None:
        compared = local.core.uncompared
        local.core.uncompared = replace(compared, rules=False)
        try:
            hold(local, *rest)
        finally:
            local.core.uncompared = compared

    return [(observe, "hold_deletes", passing)]


def disputed_names_hold_nothing() -> Patches:
    """What names a cluster is written whatever the regions mean by it."""

    def undoubted(proposal: Proposal) -> GuardRefusal | None:
        return guards.examine(replace(proposal, facts=replace(proposal.facts, doubted=None)))

    return [(decided_writes, "examine", undoubted)]


def a_repair_tells_what_is_held_back() -> Patches:
    """A snapshot publishes this region's own change that waits for an operator."""

    def telling(settings: Settings, register: Register, *rest: Any) -> Outcome | Why:
        found = retell(settings, register, *rest)
        return Outcome(register) if found is Why.HELD else found

    return [(repair, "retell", telling)]


def a_restore_goes_over_an_unread_store() -> Patches:
    """An operator may restore a value before the whole store was read."""
    handler = Registry.handler

    def at_once(control: OperatorControl, *rest: Any) -> Any:
        identity = control.core.identity
        control.core.identity = replace(identity, first_scan_done=True)
        try:
            return decisions.restore(control, *rest)
        finally:
            control.core.identity = identity

    def handling(registry: Any, kind: str) -> Any:
        found = handler(registry, kind)
        return at_once if found is decisions.restore else found

    return [(Registry, "handler", handling)]


def nobody_owes_fields_at_first_contact() -> Patches:
    """A store that has met nobody keeps what its brokers have dropped before."""
    return [(folding, "owed", lambda _, folded, *__: folded)]


def a_rule_that_went_shares_on_a_write() -> Patches:
    """A write gives a store the group's value of a field that was its own until a rule went."""

    def by_rules(settings: Settings, register: Register) -> tuple[str, ...]:
        return tuple(sorted(excluding.names_at(settings, register.path)))

    return [(excluding, "here", by_rules)]


def a_changed_rule_is_not_read_again() -> Patches:
    """What stands at the revision that was read before is not read by other rules."""
    return [(excluding, "outdated", lambda *_: False)]


_OPTING: Final = ("repairs-opting-forgetting", "opting-trees")
BREAKS: Final[tuple[tuple[str, tuple[str, ...], Callable[[], Patches]], ...]] = (
    ("a local hold ends by a remote change", ("people", "guards"), a_local_hold_ends_by_a_remote_change),
    ("decisions compare only what is known", ("scoped-people", "people"), decisions_compare_only_what_is_known),
    ("any hold may be confirmed", ("collected-people", "scoped-people"), any_hold_may_be_confirmed),
    ("what was due is done though the path has left", _OPTING, what_was_due_is_done_though_the_path_has_left),
    ("deletes found after a change of scope pass", _OPTING, deletes_found_after_a_change_of_scope_pass),
    ("disputed names hold nothing", ("contradictions",), disputed_names_hold_nothing),
    ("a repair tells what is held back", ("repairs-held",), a_repair_tells_what_is_held_back),
    ("a restore goes over an unread store", ("found-people",), a_restore_goes_over_an_unread_store),
    ("nobody owes fields at first contact", ("versions",), nobody_owes_fields_at_first_contact),
    ("a rule that went shares on a write", ("excluded",), a_rule_that_went_shares_on_a_write),
    ("a changed rule is not read again", ("excluded",), a_changed_rule_is_not_read_again),
)
"""Each break, the modes that find it, and what it patches."""
RARELY_HARMFUL: Final = frozenset(
    {
        "any hold may be confirmed",
        "what was due is done though the path has left",
        "a repair tells what is held back",
    }
)
"""Those that take what is held for another reason by the time of a decision, or a path that leaves while it waits."""
