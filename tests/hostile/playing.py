"""Plays the attacks: some groups at the same time, in each one attack after the other."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from syncer.bus.trust.signing import UNSIGNED
from syncer.waiting import WaitFailed
from tests.hostile.attack import EVERYBODY, Attack, Who
from tests.hostile.attacker import Signer
from tests.hostile.checks import all_well, standing
from tests.hostile.ground import Files, Ground
from tests.hostile.group import BUS_FILE, NAMES, Group
from tests.hostile.report import Played, happened
from tests.hostile.scene import OWN, Scene
from tests.hostile.surface import tokens_in
from tests.support import region_keys
from tests.support.group_keys import keyring, signing

OURS: Final = "ours"
THEIRS: Final = "theirs"
RIGHTS: Final = "tokens.json"
ANSWER_S: Final = "300"
"""How long a command waits for the daemon's answer."""


@dataclass(frozen=True, slots=True)
class Play:
    """One attack by one attacker."""

    attack: Attack
    who: Who


@dataclass(slots=True)
class Stage:
    """Where one kind of attacker meets group after group, each as long as it stands.

    Args:
        folder: Holds everything.
        who: Who attacks here; all of them meet the same group.
        seed: Of every choice.
        ground: Makes what a group stands on, given the place of a bus that is a file.
        title: What the lines say of it; empty: nothing.
    """

    folder: Path
    who: tuple[Who, ...]
    seed: int
    ground: Callable[[Path], Ground] = Files
    title: str = ""
    group: Group | None = None
    groups: int = 0
    number: int = 0

    async def play(self, plays: Iterable[Play]) -> AsyncIterator[Played]:
        """Play them in turn; after one that has failed, and for one that wants it, there is a new group."""
        try:
            for play in plays:
                if play.attack.apart:
                    self._end_group()
                played = await self._one(play)
                if played.failure or play.attack.apart:
                    self._end_group()
                yield played
        finally:
            self._end_group()

    async def _one(self, play: Play) -> Played:
        began = time.monotonic()
        self.number += 1
        failure, words = "", ""
        try:
            group = self.group or await self._new_group()
            words = await self._against(group, play)
        except (AssertionError, WaitFailed) as exc:
            failure = str(exc) or "it holds no longer"
        except Exception as exc:  # noqa: BLE001 - whatever it is, the next attack has its turn
            failure = f"{type(exc).__name__}: {exc}"
        return Played(
            attack=play.attack,
            who=", ".join(filter(None, (play.who, self.title))),
            maker=play.who,
            failure=failure,
            happened=words,
            seconds=time.monotonic() - began,
        )

    async def _against(self, group: Group, play: Play) -> str:
        attack, before = play.attack, standing(group)
        victim = group.take_victim()
        async with group.ground.attacker(signers_of(play.who), OWN if play.who is Who.NAMED else "") as attacker:
            scene = Scene(
                group=group, who=play.who, attacker=attacker, number=self.number, victim=victim, before=before
            )
            group.write_everywhere()
            await attack.does(scene)
            cure: Sequence[str] = ()
            if attack.sees is not None and (scene.believed or not attacker.foreign):
                await attack.sees(scene)
            if attacker.foreign and not scene.believed:
                await scene.refused()
            if scene.believed:
                cure = [command.format(name=scene.name) for command in attack.cure]
                for command in cure:
                    await scene.east.command(*command.split(), "--timeout", ANSWER_S)
                if play.who in EVERYBODY:
                    scene.edit_victim()
        await all_well(group, before, renews=attack.renews and play.who is not Who.STRANGER)
        return happened(before["east"], standing(group)["east"], cure)

    async def _new_group(self) -> Group:
        self.groups += 1
        folder = self.folder / f"{self.groups}"
        self.folder.mkdir(parents=True, exist_ok=True)
        ground = self.ground(folder / BUS_FILE)
        tables = tables_of(self.who, self.folder)
        self.group = group = Group(folder, ground, tables, self.seed + self.groups)
        if Who.NEIGHBOUR in self.who:
            group.tokens = tokens_in(self.folder / RIGHTS)
        await group.start()
        return group

    def _end_group(self) -> None:
        if self.group is not None:
            self.group.stop()
            self.group = None


def signers_of(who: Who) -> Sequence[Signer]:
    """What an attacker signs with: a stranger now with nothing, now with a key that is none of the group's."""
    match who:
        case Who.STRANGER:
            return [UNSIGNED, keyring(THEIRS)]
        case Who.MEMBER:
            return [keyring(OURS)]
        case Who.NAMED:
            return [region_keys.ring(OWN)]
        case _:
            return [UNSIGNED]


def tables_of(who: Sequence[Who], folder: Path) -> dict[str, dict[str, Any]]:
    """What the configuration of each region has for this attacker to meet."""
    if Who.NAMED in who:
        pairs = {name: [name] for name in NAMES}
        return {name: region_keys.tables(folder, name, pairs, required=True) for name in NAMES}
    tables: dict[str, Any] = {}
    if Who.ANYBODY not in who:
        tables["signing"] = signing(folder, OURS)
    if Who.NEIGHBOUR in who:
        tables["api"] = {"tokens": str(folder / RIGHTS)}
    if Who.OPERATOR in who:
        tables["scope"] = {"clusters": True}
    return dict.fromkeys(NAMES, tables)
