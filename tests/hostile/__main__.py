"""Command line: ``python -m tests.hostile [--only TEXT] [--every N] [--table FILE] [--long]``.

The exit status is 1 when anything fails. A run of all attacks ends with the table of entries.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import anyio

from deploy.lab.postgres import PostgresServer
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, bring_up
from syncer.log import configure
from tests.hostile.attack import Attack, Who
from tests.hostile.attacks import ATTACKS
from tests.hostile.cells.columns import Column
from tests.hostile.cells.table import document, filled, lines
from tests.hostile.ground import Files, Topic
from tests.hostile.playing import Play, Stage
from tests.hostile.report import Played, last_line

STAGES: Final = ((Who.ANYBODY,), (Who.STRANGER, Who.NEIGHBOUR), (Who.MEMBER,), (Who.NAMED,), (Who.TENANT, Who.OPERATOR))
"""Attackers that meet the same group stand together."""
SERVED: Final = ((Who.ANYBODY,), (Who.MEMBER,))
"""Those who meet groups on real servers too, in the long form."""
PULSAR: Final = "us-east"
SIDE_BY_SIDE: Final = 3
"""Groups at the same time: each has three daemons, which beat several times a second."""
PORTION: Final = 10
"""Attacks on one group, at most: so no kind of attacker is the last by far."""

Makers = Mapping[str, Collection[Who]]
"""By whom each attack is made, by its name."""


def in_turn(attacks: Sequence[Attack]) -> Makers:
    """By whom each attack is made in the short form: one of those who are believed, in turn.

    A stranger without the group's key is refused alike whatever it says; it makes every twelfth. What fills a cell of
    the column ``forged`` is made by everybody who forges.
    """
    found: dict[str, Collection[Who]] = {}
    for number, attack in enumerate(attacks):
        if any(cell.column is Column.FORGED for cell in attack.fills):
            found[attack.name] = attack.who
            continue
        believed: list[Who] = [each for each in attack.who if each is not Who.STRANGER]
        turn = believed[number % len(believed)]
        refused = Who.STRANGER in attack.who and number % 12 == 0
        found[attack.name] = (turn, Who.STRANGER) if refused else (turn,)
    return found


async def play_all(attacks: Sequence[Attack], makers: Makers, stages: Sequence[Stage]) -> list[Played]:
    """Play all attacks by these attackers; each is printed when it is over."""
    played: list[Played] = []
    turn = anyio.CapacityLimiter(SIDE_BY_SIDE)

    async def on(stage: Stage, plays: Sequence[Play]) -> None:
        async with turn:
            async for each in stage.play(plays):
                played.append(each)
                print(each.line, flush=True)

    async with anyio.create_task_group() as tasks:
        for stage in stages:
            plays = [Play(attack, each) for each in stage.who for attack in attacks if each in makers[attack.name]]
            for first in range(0, len(plays), PORTION):
                part = replace(stage, folder=stage.folder / f"{first}", seed=stage.seed + first)
                tasks.start_soon(on, part, plays[first : first + PORTION])
    return played


def short_form(folder: Path, seed: int) -> list[Stage]:
    """Groups on files, side by side."""
    return [Stage(folder / f"files-{number}", who, seed) for number, who in enumerate(STAGES)]


@contextmanager
def on_postgres(folder: Path, seed: int) -> Iterator[list[Stage]]:
    """Groups whose sidecar databases are on a real PostgreSQL."""
    server = PostgresServer(folder / "postgres", leashed=True)
    try:
        server.start()
        ground = partial(Files, server=server)
        yield [
            Stage(folder / f"postgres-{number}", who, seed, ground, "on PostgreSQL")
            for number, who in enumerate(SERVED)
        ]
    finally:
        server.remove()


@contextmanager
def on_pulsar(folder: Path, seed: int) -> Iterator[list[Stage]]:
    """Groups whose bus is a real Pulsar."""
    cluster = PulsarCluster(folder / "pulsar", ClusterSettings(name=PULSAR, session_ms=30_000), leashed=True)
    try:
        bring_up([cluster])
        yield [
            Stage(folder / f"pulsar-{number}", who, seed, lambda _: Topic(cluster), "on Pulsar")
            for number, who in enumerate(SERVED)
        ]
    finally:
        cluster.stop()


def play_forms(attacks: Sequence[Attack], makers: Makers, folder: Path, seed: int, *, long: bool) -> list[Played]:
    """Play the short form; in the long one, then on real servers."""
    played = anyio.run(play_all, attacks, makers, short_form(folder, seed))
    if long:
        for served in (on_postgres, on_pulsar):
            with served(folder, seed) as stages:
                played += anyio.run(play_all, attacks, makers, stages)
    return played


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print, judge."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--only", action="append", metavar="TEXT", help="attacks whose name or aim holds this text")
    parser.add_argument(
        "--who", action="append", type=Who, choices=tuple(Who), help="attackers; in turn when not given"
    )
    parser.add_argument(
        "--long",
        action="store_true",
        default=os.environ.get("TEST_FORM") == "long",
        help="all by everybody, on real servers too",
    )
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="only every so many of them; the long form plays all"
    )
    parser.add_argument("--seed", type=int, default=16, help="of every choice")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep stores, databases and logs here")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the table of entries there, as JSON")
    parser.add_argument("--list", action="store_true", help="only list them")
    options = parser.parse_args(arguments)
    texts = options.only or [""]
    attacks = [each for each in ATTACKS if any(text in f"{each.name} {each.topic}" for text in texts)]
    if not options.long:
        attacks = attacks[:: max(options.every, 1)]
    if options.list:
        for attack in attacks:
            print(f"{attack.name} ({', '.join(attack.who)}): {attack.what}")
        return 0
    configure(level="error", form="console")
    whole = options.long or options.only or options.who
    who = options.who or tuple(Who)
    by_all: Makers = {each.name: set(each.who).intersection(who) for each in attacks}
    makers = by_all if whole else in_turn(attacks)
    with tempfile.TemporaryDirectory(prefix="hostile-") as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        played = play_forms(attacks, makers, folder, options.seed, long=options.long)
    table = filled(ATTACKS, played)
    if options.table is not None:
        options.table.write_text(json.dumps(document(table), indent=2) + "\n", encoding="utf-8")
    if len(attacks) == len(ATTACKS) and not options.who:
        print(*lines(table), sep="\n")
    print(last_line(played))
    return 0 if played and not any(each.failure for each in played) else 1


if __name__ == "__main__":
    sys.exit(main())
