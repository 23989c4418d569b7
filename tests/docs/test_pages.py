"""Every command of the tutorial and of the how-to pages does, in the page's order, what the page shows."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from deploy.lab.software import java
from tests.conftest import require
from tests.docs.playing import Play, play
from tests.docs.plays import PLAYS
from tests.docs.plays_on_servers import ON_SERVERS
from tests.docs.plays_on_spark import ON_SPARK
from tests.docs.reading import DOCS, PAGES, Step, steps_of
from tests.docs.stage import Stage
from tests.docs.unplayed import UNPLAYED

STEPS = {page.relative_to(DOCS).with_suffix("").as_posix(): steps_of(page) for page in PAGES}
EVERY_PLAY: dict[str, Play] = {
    **PLAYS,
    **{page: how for page, (_, how) in ON_SERVERS.items()},
    **{page: how for page, (_, how) in ON_SPARK.items()},
}


def listed(step: Step) -> bool:
    return any(step.page == page and fnmatchcase(step.text, pattern) for page, pattern, _ in UNPLAYED)


def played(page: str) -> list[Step]:
    return [step for step in STEPS[page] if not listed(step)]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", PLAYS)
def test_a_page_does_what_it_shows(page: str, tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        play(played(page), PLAYS[page], stage)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", ON_SERVERS)
def test_a_page_does_on_real_servers_what_it_shows(page: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    fixture, how = ON_SERVERS[page]
    server: Any = request.getfixturevalue(fixture)
    with Stage(tmp_path, server=server) as stage:
        play(played(page), how, stage)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", ON_SPARK)
def test_a_page_does_on_spark_what_it_shows(page: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    require(java)
    fixtures, how = ON_SPARK[page]
    servers = tuple(request.getfixturevalue(each) for each in fixtures)
    with Stage(tmp_path, server=servers) as stage:
        play(played(page), how, stage)


def test_every_command_is_played_or_listed_with_the_reason() -> None:
    unplayed = [step for page, steps in STEPS.items() if page not in EVERY_PLAY for step in steps]
    assert [str(step) for step in unplayed if not listed(step)] == []


def test_every_play_is_of_a_page_with_commands() -> None:
    assert [page for page in EVERY_PLAY if not played(page)] == []


def test_every_reason_is_for_a_command_that_is_there() -> None:
    every = [step for steps in STEPS.values() for step in steps]
    assert [
        (page, pattern)
        for page, pattern, _ in UNPLAYED
        if not any(step.page == page and fnmatchcase(step.text, pattern) for step in every)
    ] == []


@pytest.mark.parametrize("page", EVERY_PLAY)
def test_every_part_of_a_play_is_for_a_command_that_is_there(page: str) -> None:
    how = EVERY_PLAY[page]
    patterns = {*how.before, *how.answers, *how.endings}
    assert [each for each in patterns if not any(fnmatchcase(step.text, each) for step in played(page))] == []
