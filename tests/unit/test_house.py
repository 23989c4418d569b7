"""The house is one in which a stranger finds the way: sizes, names, first lines, and who may look into whom."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.suites import REPOSITORY

PRODUCT: Final = ("syncer", "api", "spark_snapshot")
ROOMS: Final = Path("syncer/replication")
DRIVER: Final = (ROOMS / "driver.py", ROOMS / "status.py")
UNSIZED: Final = {Path("syncer/state/migrations/versions")}
"""Schema revisions only grow in number, and one that was released is never changed."""
MAX_MODULES: Final = 20
MAX_FIELDS: Final = 18
MAX_SHARED_NAMES: Final = 1
MAX_REACHES: Final = {"product": 0, "tests": 1}
"""How often somebody reaches through the driver into its parts: tests have one door, ``tests/support/parts.py``."""

BY_THE_CLOCK: Final = {
    "deploy/lab/process.py",  # ends a process by force that has not ended when it was asked
    "deploy/lab/traffic/clients.py",  # counts what has arrived, whole or not, after a time that is asked for
    "tests/bench/api_clients.py",  # keeps a pace
    "tests/faults/wan.py",  # delays a line
    "tests/fleet/test_fleet.py",  # edits for a while
    "tests/real/test_shared_database.py",  # watches a heartbeat for a while
    "tests/run.py",  # ends a process by force, with the standard library alone
    "tests/shell/test_lifecycle.py",  # edits for a while
}
"""Modules with a loop that sleeps and looks at the clock, each with what it does; none of them waits for a state."""

UNIT: Final = Path("tests/unit")
TESTED: Final = (Path("syncer"), Path(), Path("tests"), Path("docs"))
"""Folders whose modules have unit tests in folders like theirs."""
OF_THE_WHOLE: Final = {
    UNIT / "backup/test_backup.py",
    UNIT / "cli/test_refusals.py",
    UNIT / "config/test_bus.py",
    UNIT / "conflict/test_replica_decisions.py",
    UNIT / "deploy/test_config.py",
    UNIT / "deploy/test_container.py",
    UNIT / "deploy/test_systemd.py",
    UNIT / "plan/test_plan.py",
    UNIT / "replication/membership/test_membership.py",
    UNIT / "test_house.py",
    UNIT / "test_readme.py",
    UNIT / "test_repository.py",
}
"""Unit tests of a whole folder, of files that are no modules, of the repository, or of one side of a module."""

RIDDLES: Final = {"What", "Whether", "How", "Which", "Where", "When", "Who", "Whom", "Whose", "Why"}
"""A first line that asks is no answer."""
FORMER: Final = frozenset(
    [
        "tell",
        "hear",
        "seat",
        "seated",
        "Talk",
        "Lack",
        "lacking",
        "listing",
        "ListingAsked",
        "ListingTold",
        "provenance",
        "marks",
        "ahead",
        "Ahead",
        "Remembered",
        "setting_aside",
        "Shelves",
        "Poison",
        "retelling",
        "forgetting",
        "echo",
        "Echo",
        "Sums",
        "Comparison",
        "asking",
        "unanswered",
        "Unanswered",
        "Unit",
        "Surroundings",
        "genesis",
        "doubted",
        "flipping",
        "Seated",
        "Retelling",
        "Forgetting",
        "Provenance",
        "person",
    ]
)
"""Words that the field's own words have taken the place of: no module, class or function bears one alone."""
FORMER_HERE: Final = frozenset({"Gap", "Origin", "Seen", "ready", "topics"})
"""Words that mean something else outside of the shell of replication."""


@cache
def trees(*roots: str, word: str = "") -> Mapping[Path, ast.Module]:
    """The modules below the folders that have a word in them, parsed."""
    files = [file for root in roots for file in sorted((REPOSITORY / root).rglob("*.py"))]
    texts = {file.relative_to(REPOSITORY): file.read_text(encoding="utf-8") for file in files}
    return {path: ast.parse(text) for path, text in texts.items() if word in text}


def product() -> Mapping[Path, ast.Module]:
    return trees(*PRODUCT)


def within(path: Path, folder: Path) -> bool:
    return folder in path.parents


def classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def test_a_folder_holds_no_more_modules_than_one_can_overlook() -> None:
    sizes = Counter(path.parent for path in product())
    assert {folder: size for folder, size in sizes.items() if size > MAX_MODULES and folder not in UNSIZED} == {}


def test_every_folder_is_a_package_and_every_module_says_first_what_it_is() -> None:
    folders = {path.parent for path in product()}
    assert [folder for folder in folders if folder / "__init__.py" not in product() and folder not in UNSIZED] == []
    short = []
    for path, tree in product().items():
        first = (ast.get_docstring(tree) or "").partition("\n")[0]
        if (
            len(first.split()) < 3
            or not first.endswith(".")
            or (first.split()[0] in RIDDLES and path.parent not in UNSIZED)
        ):
            short.append(f"{path}: {first}")
    assert short == []


def test_a_unit_test_stands_where_its_module_does_and_bears_its_name() -> None:
    lost = set()
    for file in (REPOSITORY / UNIT).rglob("test_*.py"):
        path = file.relative_to(REPOSITORY)
        tested = path.parent.relative_to(UNIT) / path.stem.removeprefix("test_")
        modules = [REPOSITORY / root / tested for root in TESTED]
        if not any(each.with_suffix(".py").is_file() or (each / "__init__.py").is_file() for each in modules):
            lost.add(path)
    assert lost == OF_THE_WHOLE


def fields_of(cls: ast.ClassDef) -> set[str]:
    """The names of what an instance holds: annotated in the class, or set on ``self``."""
    found = {
        node.target.id
        for node in cls.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and "ClassVar" not in ast.unparse(node.annotation)
    }
    return found | {
        node.attr
        for node in ast.walk(cls)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def test_no_class_of_replication_is_a_bag_of_everything() -> None:
    wide = {
        cls.name: len(fields_of(cls))
        for path, tree in product().items()
        if within(path, ROOMS)
        for cls in classes(tree)
        if len(fields_of(cls)) > MAX_FIELDS
    }
    assert wide == {}


def driver() -> tuple[ast.ClassDef, ...]:
    """The driver, and what it answers of its status."""
    found = [cls for path in DRIVER for cls in classes(product()[path]) if cls.name in {"Driver", "DriverStatus"}]
    assert len(found) == len(DRIVER)
    return tuple(found)


@cache
def held_by_the_driver() -> set[str]:
    """The names of what it holds."""
    return set().union(*map(fields_of, driver()))


def parts_of_the_driver() -> set[str]:
    """What the driver holds, and properties that hand it out."""
    given = {
        node.name
        for cls in driver()
        for node in cls.body
        if isinstance(node, ast.FunctionDef) and any(ast.unparse(each) == "property" for each in node.decorator_list)
    }
    return held_by_the_driver() | given


def is_driver(node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.lstrip("_") == "driver"


def reaches(tree: ast.Module, parts: set[str]) -> list[int]:
    """Lines on which a part of a driver is used as if it were one's own; a plain value that it gives is no part."""
    beyond = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute)
    }
    held = held_by_the_driver()
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and is_driver(node.value)
        and (node.attr in held or (node.attr in parts and id(node) in beyond))
    ]


@pytest.mark.parametrize("side", MAX_REACHES)
def test_nobody_reaches_through_the_driver_into_its_parts(side: str) -> None:
    parts = parts_of_the_driver()
    modules = product() if side == "product" else trees("tests", "deploy", word="driver")
    found = [f"{path}:{line}" for path, tree in modules.items() if path not in DRIVER for line in reaches(tree, parts)]
    assert len(found) <= MAX_REACHES[side], "\n".join(found)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("self.driver.context.peers.rows()", 1),
        ("work(driver.context)", 1),
        ("driver.heartbeat(now).region", 0),
        ("driver.Driver", 0),
    ],
)
def test_reaching_through_the_driver_is_seen(code: str, found: int) -> None:
    held = next(iter(sorted(held_by_the_driver())))
    assert len(reaches(ast.parse(code.replace("context", held)), parts_of_the_driver())) == found


def test_the_name_of_a_class_has_one_meaning() -> None:
    places = defaultdict[str, list[Path]](list)
    for path, tree in product().items():
        for cls in classes(tree):
            if not cls.name.startswith("_"):
                places[cls.name].append(path)
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert len(shared) <= MAX_SHARED_NAMES, sorted(shared)
    twice = {name for name, found in shared.items() if sum(within(path, ROOMS) for path in found) > 1}
    assert twice == set()


def names_in(path: Path, tree: ast.Module) -> Iterator[str]:
    """The names that a module brings into the world: its own, those of its classes and functions, its folder's."""
    yield path.parent.name if path.stem == "__init__" else path.stem
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name


def test_no_name_is_a_word_that_the_fields_own_took_the_place_of() -> None:
    found = defaultdict[str, list[str]](list)
    for path, tree in product().items():
        former = FORMER | FORMER_HERE if within(path, ROOMS) else FORMER
        for name in names_in(path, tree):
            if name in former:
                found[name].append(str(path))
    assert found == {}


def polls(tree: ast.Module) -> Iterator[ast.While]:
    """The loops that sleep, and look at the clock to see whether they have waited long enough."""
    for loop in ast.walk(tree):
        if isinstance(loop, ast.While):
            names = {each.attr for each in ast.walk(loop) if isinstance(each, ast.Attribute)}
            if "sleep" in names and names & {"monotonic", "perf_counter"}:
                yield loop


def test_states_are_waited_for_in_one_way() -> None:
    """See ``syncer.waiting``: a home-made loop has a deadline that is short somewhere, and no word when it runs out."""
    found = {path.as_posix() for path, tree in trees("tests", "deploy", word="sleep").items() if any(polls(tree))}
    assert found == BY_THE_CLOCK


def test_a_home_made_wait_is_seen() -> None:
    wait = "while not so():\n    assert time.monotonic() < deadline\n    time.sleep(0.1)\n"
    assert len(list(polls(ast.parse(wait)))) == 1
    assert not list(polls(ast.parse("while True:\n    time.sleep(1)\n")))
