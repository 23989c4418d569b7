"""A changed copy is what ``dataclasses.replace`` makes, and anything else is refused."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest

from syncer.conflict.register import Register
from syncer.model import MetaPath, Millis, Region, Stamp
from syncer.replacing import replace


def test_it_makes_what_the_standard_one_makes() -> None:
    register = Register(path=MetaPath("/a"), own=Millis(7), flips=(Millis(1),))
    allowed = Stamp(Millis(3), Region("east"))
    changed = replace(register, allowed=allowed, own=Millis(8))
    assert changed == dataclasses.replace(register, allowed=allowed, own=Millis(8))
    assert hash(changed) == hash(dataclasses.replace(register, allowed=allowed, own=Millis(8)))
    assert (register.allowed, register.own) == (None, 7)
    with pytest.raises(dataclasses.FrozenInstanceError):
        changed.own = Millis(9)  # type: ignore[misc]  # frozen
    assert replace(register) == register
    assert replace(register) is not register


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(TypeError, match="Register has no field 'colour'"):
        replace(Register(path=MetaPath("/a")), colour=1)  # type: ignore[call-arg]  # the point


@dataclass(frozen=True)
class WithoutSlots:
    """Has a dictionary."""

    a: int = 0
    b: int = 0


@dataclass(frozen=True, slots=True)
class Checked:
    """Must see its fields."""

    a: int = 0
    b: int = 0

    def __post_init__(self) -> None:
        if self.a > self.b:
            raise ValueError("a > b")


@pytest.mark.parametrize("value", [WithoutSlots(), Checked()])
def test_classes_that_it_would_copy_wrongly_are_refused(value: WithoutSlots | Checked) -> None:
    with pytest.raises(TypeError, match="is no slotted dataclass"):
        replace(value, a=1)
