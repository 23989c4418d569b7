"""All commands by their first word, in the order of the help; what a command needs is loaded when it is called.

A command line names one of them: the others, and the documents and readers that they import, cost each call a second
of CPU. So each word has a function that imports its own modules and adds them to an application.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, Final

import typer
from typer.main import get_group


def _init(app: typer.Typer) -> None:
    from syncer.cli.commands import config

    app.command("init")(config.init)


def _context(app: typer.Typer) -> None:
    from syncer.cli.commands.servers import context

    app.add_typer(context.app, name="context")


def _config(app: typer.Typer) -> None:
    from syncer.cli.commands import config

    app.add_typer(config.app, name="config")


def _scope(app: typer.Typer) -> None:
    from syncer.cli.commands.scopes import scope

    app.add_typer(scope.app, name="scope")


def _topic(app: typer.Typer) -> None:
    from syncer.cli.commands import topic

    app.add_typer(topic.app, name="topic")


def _keys(app: typer.Typer) -> None:
    from syncer.cli.commands import keys

    app.add_typer(keys.app, name="keys")


def _api(app: typer.Typer) -> None:
    from syncer.cli.commands import api

    app.add_typer(api.app, name="api")


def _run(app: typer.Typer) -> None:
    from syncer.cli.commands import run

    app.command("run")(run.run)


def _demo(app: typer.Typer) -> None:
    from syncer.cli.commands import run

    app.command("demo")(run.demo)


def _status(app: typer.Typer) -> None:
    from syncer.cli.commands import status

    app.command("status")(status.status)


def _regions(app: typer.Typer) -> None:
    from syncer.cli.commands import regions, status

    del regions  # its commands are in the group of the overview
    app.add_typer(status.regions, name="regions")


def _events(app: typer.Typer) -> None:
    from syncer.cli.commands import events

    app.add_typer(events.app, name="events")


def _explain(app: typer.Typer) -> None:
    from syncer.cli.commands import explain

    app.command("explain")(explain.explain)


def _conflicts(app: typer.Typer) -> None:
    from syncer.cli.commands import conflicts

    app.add_typer(conflicts.app, name="conflicts")


def _holds(app: typer.Typer) -> None:
    from syncer.cli.commands import holds

    app.add_typer(holds.app, name="holds")


def _quarantine(app: typer.Typer) -> None:
    from syncer.cli.commands import quarantine

    app.add_typer(quarantine.app, name="quarantine")


def _parked(app: typer.Typer) -> None:
    from syncer.cli.commands import quarantine

    app.add_typer(quarantine.parked, name="parked")


def _operations(app: typer.Typer) -> None:
    from syncer.cli.commands import operations

    app.add_typer(operations.app, name="operations")


def _notify(app: typer.Typer) -> None:
    from syncer.cli.commands import notify

    app.add_typer(notify.app, name="notify")


def _migration(app: typer.Typer) -> None:
    from syncer.cli.commands.migrations import control, migration, rehearsal, report, reverse, status

    del control, rehearsal, report, reverse, status  # their commands are in the group
    app.add_typer(migration.app, name="migration")


def _balancer(app: typer.Typer) -> None:
    from syncer.cli.commands.balancing import advise, balancer, compare, doctor, history, load, moves

    del advise, compare, doctor, history, load, moves  # their commands are in the group
    app.add_typer(balancer.app, name="balancer")


def _ledgers(app: typer.Typer) -> None:
    from syncer.cli.commands.ledgers import history, ledgers

    del history  # its group is in the group
    app.add_typer(ledgers.app, name="ledgers")


def _diff(app: typer.Typer) -> None:
    from syncer.cli.commands import plan

    app.command("diff")(plan.diff)


def _plan(app: typer.Typer) -> None:
    from syncer.cli.commands import plan

    app.add_typer(plan.app, name="plan")


def _backup(app: typer.Typer) -> None:
    from syncer.cli.commands import backup

    app.add_typer(backup.app, name="backup")


def _snapshot(app: typer.Typer) -> None:
    from syncer.cli.commands.snapshots import snapshot

    app.add_typer(snapshot.app, name="snapshot")


def _jobs(app: typer.Typer) -> None:
    from syncer.cli.commands import jobs

    app.add_typer(jobs.app, name="jobs")


def _state(app: typer.Typer) -> None:
    from syncer.cli.commands import state

    app.add_typer(state.app, name="state")


def _pause(app: typer.Typer) -> None:
    from syncer.cli.commands import run

    app.command("pause")(run.pause)


def _resume(app: typer.Typer) -> None:
    from syncer.cli.commands import run

    app.command("resume")(run.resume)


ADDING: Final[dict[str, Callable[[typer.Typer], None]]] = {
    "init": _init,
    "context": _context,
    "config": _config,
    "scope": _scope,
    "topic": _topic,
    "keys": _keys,
    "api": _api,
    "run": _run,
    "demo": _demo,
    "status": _status,
    "regions": _regions,
    "events": _events,
    "explain": _explain,
    "conflicts": _conflicts,
    "holds": _holds,
    "quarantine": _quarantine,
    "parked": _parked,
    "operations": _operations,
    "notify": _notify,
    "migration": _migration,
    "balancer": _balancer,
    "ledgers": _ledgers,
    "diff": _diff,
    "plan": _plan,
    "backup": _backup,
    "snapshot": _snapshot,
    "jobs": _jobs,
    "state": _state,
    "pause": _pause,
    "resume": _resume,
}
"""What adds the command, or the group of commands, of each first word."""


@functools.cache
def _command(word: str) -> Any:  # noqa: ANN401 - Typer's own copy of click
    app = typer.Typer(pretty_exceptions_enable=False)
    ADDING[word](app)
    return get_group(app).commands[word]


class LateCommands(MutableMapping[str, Any]):
    """The commands of the root; each is made when it is looked up. Commands of other words can be added."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = dict.fromkeys(ADDING)

    def __getitem__(self, word: str) -> Any:  # noqa: ANN401 - Typer's own copy of click
        found = self._made[word]
        if found is None:
            found = self._made[word] = _command(word)
        return found

    def __setitem__(self, word: str, command: Any) -> None:  # noqa: ANN401 - Typer's own copy of click
        self._made[word] = command

    def __delitem__(self, word: str) -> None:
        del self._made[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)
