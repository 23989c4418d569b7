"""An answer of the admin API taken apart: a field that is missing, or of another type, is an error that names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from syncer.errors import AdminError

_SHOWN_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """An answer, or a part of it.

    Every method raises ``AdminError`` where the part is not what is asked for.

    Args:
        call: What was asked of which broker or topic, in words.
        value: JSON.
        field: Where in the answer it stands; empty: it is the whole.
    """

    call: str
    value: object
    field: str = ""

    def part(self, name: str) -> AnswerPart:
        """A field that has to be there."""
        found = self.find(name)
        if found is None:
            raise AdminError(f"{self.call}: the answer has no {self._below(name)!r}")
        return found

    def find(self, name: str) -> AnswerPart | None:
        """A field; ``None``: it is absent, or null, which Pulsar does not tell apart."""
        value = self._object().get(name)
        return None if value is None else AnswerPart(self.call, value, self._below(name))

    def parts(self) -> list[AnswerPart]:
        """The elements of a list."""
        if not isinstance(self.value, list):
            raise self._odd("a list")
        return [AnswerPart(self.call, value, f"{self.field}[{number}]") for number, value in enumerate(self.value)]

    def fields(self) -> dict[str, AnswerPart]:
        """The fields of an object that are not null, by name."""
        return {
            name: AnswerPart(self.call, value, self._below(name))
            for name, value in sorted(self._object().items())
            if value is not None
        }

    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str):
            raise self._odd("a text")
        return self.value

    def whole(self) -> int:
        """A whole number."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self._odd("a whole number")
        return self.value

    def number(self) -> float:
        """A number."""
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            raise self._odd("a number")
        return float(self.value)

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self._odd("true or false")
        return self.value

    def text_of(self, name: str) -> str:
        """A field's text; empty where the field is not there."""
        found = self.find(name)
        return "" if found is None else found.text()

    def texts_of(self, name: str) -> dict[str, str]:
        """A field that is an object of texts; empty where the field is not there."""
        found = self.find(name)
        return {} if found is None else found.texts()

    def texts(self) -> dict[str, str]:
        """An object of texts."""
        return {name: each.text() for name, each in self.fields().items()}

    def _object(self) -> dict[str, object]:
        if not isinstance(self.value, dict):
            raise self._odd("an object")
        return self.value

    def _below(self, name: str) -> str:
        return f"{self.field}.{name}" if self.field else name

    def _odd(self, expected: str) -> AdminError:
        where = f"{self.field!r} is" if self.field else "the answer is"
        return AdminError(f"{self.call}: {where} {str(self.value)[:_SHOWN_CHARS]!r} and not {expected}")
