"""``syncer scope``: rules of replication are tried on the store of this region, before a daemon goes by them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from syncer.cli.planning_calls import opened
from syncer.cli.render import output
from syncer.cli.render.output import Format
from syncer.cli.render.scopes import show_matches, show_path, show_rules, show_shifts
from syncer.cli.session import log_to_stderr, session_of
from syncer.documents.scopes import (
    ScopeDocument,
    ScopeMatchesDocument,
    ScopeShiftsDocument,
    scope_document,
    scope_shifts_document,
    scoped_path_document,
)
from syncer.errors import ConfigError
from syncer.model import MetaPath

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.conflict.scope import Scope
    from syncer.planning.scope_trial import PathPattern

app = typer.Typer(no_args_is_help=True, help="The scope: which paths take part, and which way.")


@app.callback()
def _scope() -> None:
    """A group, though it has one command."""


@app.command("test")
def try_scope(
    context: typer.Context,
    pattern: Annotated[
        str | None,
        typer.Argument(metavar="[PATTERN]", help="A path, or a pattern as rules have it: '/admin/policies/acme/**'."),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option("--rules", metavar="FILE", help="Try the scope of this configuration against the one in effect."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many paths to show.")] = 100,
) -> None:
    """Show what the rules of the scope match now: how much, which way, and what a pattern matches by which rule.

    The store is read, as its daemon reads it, and nothing is changed. The counts are those of one reading.
    """
    from syncer.planning.scope_trial import PathPattern

    session = session_of(context)
    asked = PathPattern(pattern) if pattern is not None else None
    config = session.config()
    then = _other(rules) if rules is not None else None
    log_to_stderr()
    if then is not None:
        found: ScopeDocument | ScopeMatchesDocument | ScopeShiftsDocument = anyio.run(
            _shifts, config, then, str(rules), asked, limit
        )
    elif asked is None:
        found = anyio.run(_rules, config)
    else:
        found = anyio.run(_matches if asked.path is None else _one_path, config, asked, limit)
    if session.form is not Format.TABLE:
        output.document(found, session.form)
    elif isinstance(found, ScopeDocument):
        show_rules(found)
    elif isinstance(found, ScopeShiftsDocument):
        show_shifts(found)
    elif asked is not None and asked.path is not None:
        show_path(found)
    else:
        show_matches(found)


def _other(file: Path) -> Scope:
    """The scope of another configuration of this region.

    Raises:
        ConfigError: It is wrong, or not there.
    """
    from syncer.config import load

    try:
        return load(file, check_adapters=False).compiled_scope()
    except ConfigError as exc:
        raise ConfigError(
            exc.message, hint=f"Check what --rules names: 'syncer config check --config {file}'."
        ) from exc


async def _rules(config: Config) -> ScopeDocument:
    from syncer.conflict.scope import ALLOWED_PREFIXES, DEFAULT_RULES
    from syncer.planning.scope_trial import RuleTally, read_over

    scope = config.compiled_scope()
    tally = RuleTally(scope)
    async with opened(config) as target:
        seen = await read_over(target.store, map(MetaPath, ALLOWED_PREFIXES), tally.take, needed=scope.prefixes)
    of_bus = len(scope.rules) - len(config.scope.compiled().rules)
    of_default = len(DEFAULT_RULES) if config.scope.rules is None else 0
    return scope_document(config.region, scope, tally, seen, of_bus=of_bus, of_default=of_default)


async def _matches(config: Config, pattern: PathPattern, limit: int) -> ScopeMatchesDocument:
    from syncer.planning.scope_trial import PathMatches, no_resource_since, read_over, ruled

    scope, matches = config.compiled_scope(), PathMatches(pattern, limit)
    excluded = config.scope.exclusions().at
    async with opened(config) as target:
        await read_over(target.store, pattern.prefixes, matches.take, needed=pattern.prefixes)
    found = matches.found
    return ScopeMatchesDocument(
        region=config.region,
        pattern=pattern.text,
        items=[scoped_path_document(scope, ruled(scope, path), stands=True, excluded=excluded) for path in found.paths],
        total=found.total,
        more=found.more,
        no_resource=None if pattern.prefixes else no_resource_since(MetaPath(pattern.text)),
    )


async def _one_path(config: Config, pattern: PathPattern, _limit: int) -> ScopeMatchesDocument:
    from syncer.paths import classify
    from syncer.planning.scope_trial import no_resource_since, ruled, stands_at

    scope, path = config.compiled_scope(), MetaPath(pattern.text)
    if classify(path) is None:
        why = no_resource_since(path)
        return ScopeMatchesDocument(
            region=config.region, pattern=pattern.text, items=[], total=0, more=0, no_resource=why
        )
    async with opened(config) as target:
        stands = await stands_at(target.store, path)
    return ScopeMatchesDocument(
        region=config.region,
        pattern=pattern.text,
        items=[scoped_path_document(scope, ruled(scope, path), stands=stands, excluded=config.scope.exclusions().at)],
        total=int(stands),
        more=0,
        no_resource=None,
    )


async def _shifts(
    config: Config, then: Scope, file: str, pattern: PathPattern | None, limit: int
) -> ScopeShiftsDocument:
    from syncer.planning.scope_trial import ScopeShift, read_over

    now = config.compiled_scope()
    shift = ScopeShift(now, then, pattern, limit)
    prefixes = sorted({*now.prefixes, *then.prefixes}) if pattern is None else pattern.prefixes
    async with opened(config) as target:
        await read_over(target.store, prefixes, shift.take, needed=prefixes)
    return scope_shifts_document(
        config.region, now, then, shift, file=file, pattern=None if pattern is None else pattern.text
    )
