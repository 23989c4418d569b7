"""A quick constructor does what that of the dataclass does, and any other class is refused."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest

from syncer.conflict.acts import Outcome
from syncer.conflict.register import Register
from syncer.making import made_quickly
from syncer.model import MetaPath, Stamp, Version


@dataclass(frozen=True, slots=True)
class Slow:
    """What a quick one is compared with."""

    a: int
    b: str = "b"
    c: tuple[int, ...] = field(default=(), kw_only=True)


@made_quickly
@dataclass(frozen=True, slots=True)
class Quick:
    """The same, made quickly."""

    a: int
    b: str = "b"
    c: tuple[int, ...] = field(default=(), kw_only=True)


@pytest.mark.parametrize(
    ("by_place", "by_name"), [((1,), {}), ((1, "x"), {}), ((1,), {"b": "x", "c": (1,)}), ((), {"b": "x", "a": 2})]
)
def test_it_takes_and_makes_the_same(by_place: tuple[Any, ...], by_name: dict[str, Any]) -> None:
    slow, quick = Slow(*by_place, **by_name), Quick(*by_place, **by_name)
    assert dataclasses.astuple(quick) == dataclasses.astuple(slow)
    assert repr(quick) == repr(slow).replace("Slow", "Quick")
    assert hash(quick) == hash(slow)
    assert quick == Quick(*by_place, **by_name) == dataclasses.replace(quick) == pickle.loads(pickle.dumps(quick))
    with pytest.raises(dataclasses.FrozenInstanceError):
        quick.a = 3  # type: ignore[misc]  # frozen


@pytest.mark.parametrize(("by_place", "by_name"), [((), {}), ((1, "x", (1,)), {}), ((1,), {"d": 1}), ((1,), {"a": 1})])
def test_it_refuses_the_same(by_place: tuple[Any, ...], by_name: dict[str, Any]) -> None:
    for kind in (Slow, Quick):
        with pytest.raises(TypeError):
            kind(*by_place, **by_name)


def test_it_is_documented_as_before() -> None:
    assert str(inspect.signature(Quick)) == str(inspect.signature(Slow))


@pytest.mark.parametrize("kind", [Stamp, Version, Register, Outcome])
def test_what_is_made_for_each_event_is_made_quickly(kind: type) -> None:
    assert hasattr(vars(kind)["__init__"], "__wrapped__")


def test_defaults_stand_where_they_stood() -> None:
    register = Register(path=MetaPath("/a"))
    assert (register.known, register.own, register.flips) == (None, 0, ())
    assert Outcome(register).acts == ()


@dataclass(frozen=True)
class WithoutSlots:
    """Has a dictionary."""

    a: int = 0


@dataclass(frozen=True, slots=True)
class Checked:
    """Looks at what it was given."""

    a: int = 0

    def __post_init__(self) -> None:
        """Nothing, here."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Has a default that is made anew each time."""

    a: list[int] = field(default_factory=list)


@pytest.mark.parametrize("kind", [WithoutSlots, Checked, Listed])
def test_any_other_class_is_refused(kind: type) -> None:
    with pytest.raises(TypeError, match=f"{kind.__name__} is no slotted dataclass of plain fields"):
        made_quickly(kind)
