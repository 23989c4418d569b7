"""Copies of frozen values with changes, at a fraction of the cost of ``dataclasses.replace``.

The copy is filled while it is of a twin class with the same slots that is not frozen, and becomes what it is at the
end: ``object.__setattr__``, slot by slot, costs several times as much. For slotted classes without ``__post_init__``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from syncer.making import plain_fields

__all__ = ["replace"]

if TYPE_CHECKING:
    from dataclasses import replace  # for its check of names and types
else:

    def replace(value: _Value, /, **changes: object) -> _Value:
        """Return a copy with some fields changed.

        Raises:
            TypeError: There is no such field, or the class cannot be copied so.
        """
        kind = type(value)
        copy = (_COPIERS.get(kind) or _learn(kind))(value)
        try:
            for name, field in changes.items():
                setattr(copy, name, field)
        except AttributeError:
            raise TypeError(f"{kind.__name__} has no field {name!r}") from None
        copy.__class__ = kind
        return copy


_Value = TypeVar("_Value")

_COPIERS: Final[dict[type, Callable[[Any], Any]]] = {}
"""For each class: makes a twin with the same values."""


def _learn(kind: type) -> Callable[[Any], Any]:
    names = [field.name for field in plain_fields(kind)]
    twin = type(f"_{kind.__name__}", (), {"__slots__": tuple(names)})
    lines = ["def copy(value):", "    twin = new(Twin)", *(f"    twin.{name} = value.{name}" for name in names)]
    scope: dict[str, Any] = {"new": object.__new__, "Twin": twin}
    exec("\n".join([*lines, "    return twin"]), scope)  # noqa: S102 - the names of a dataclass's own fields
    copier: Callable[[Any], Any] = scope["copy"]
    _COPIERS[kind] = copier
    return copier
