"""Wanted paths by their shapes: a root, and below it a pattern for the name on each level. Plain data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Final, Self

from syncer.model import MetaPath
from syncer.paths import is_under
from syncer.wanted.contract import NamesBelow, ReadTerms, ReadTogether

ANY: Final = ".+"
"""The pattern of any name."""
MAX_MET: Final = 4_096
"""Paths kept in mind with the shapes that lead there; readers come to the same ones again shortly, or never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathShape:
    """Wanted paths of one form.

    Args:
        kind: Of all of them.
        root: Where they begin.
        names: A regular expression for the whole name on each level below the root; none: the root itself.
        together: So many names below the root tell which paths one reader reads together.
        of_tenants: The first name below the root is a tenant's.
        empties: Also paths without a value.
        sessions: Also paths that end with a session.
    """

    kind: str
    root: MetaPath
    names: tuple[str, ...] = ()
    together: int = 1
    of_tenants: bool = False
    empties: bool = False
    sessions: bool = False

    @property
    def patterns(self) -> tuple[str, ...]:
        """A pattern for each name of a path, those of the root included."""
        return (*map(re.escape, self.root.split("/")[1:]), *self.names)

    @property
    def names_together(self) -> int:
        """So many names of a path, those of the root included, tell which paths are read together."""
        return self.root.count("/") + min(self.together, len(self.names))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapedPaths:
    """Wanted paths of some shapes: a :class:`syncer.wanted.contract.WantedPaths`.

    Args:
        shapes: Of a path that fits several the first one counts. Those that lead below one path have one number of
            names that are read together.
        terms: Terms on which they are read.
    """

    shapes: tuple[PathShape, ...]
    terms: ReadTerms = field(default_factory=ReadTerms)
    _patterns: tuple[tuple[str, ...], ...] = field(init=False, repr=False, compare=False)
    _met: dict[str, tuple[int, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_patterns", tuple(shape.patterns for shape in self.shapes))

    @property
    def roots(self) -> tuple[MetaPath, ...]:
        """Subtrees that hold all that is wanted; none lies in another."""
        all_roots = dict.fromkeys(shape.root for shape in self.shapes)
        return tuple(
            root for root in all_roots if not any(root != other and is_under(root, other) for other in all_roots)
        )

    def levels_below(self, path: MetaPath) -> int:
        """How many levels below a path may hold wanted ones."""
        depth = path.count("/")
        return max((len(self._patterns[each]) - depth for each in self._leading(path)), default=0)

    def enters(self, path: MetaPath) -> bool:
        """Whether something that is wanted may lie below a path."""
        return self.levels_below(path) > 0

    def below(self, path: MetaPath) -> NamesBelow | None:
        """The wanted ones directly below a path; ``None``: there are none."""
        depth = path.count("/")
        fitting = [each for each in self._leading(path) if len(self._patterns[each]) == depth + 1]
        if not fitting:
            return None
        shapes: list[PathShape] = []
        patterns: list[tuple[str, str]] = []
        for each in fitting:
            shapes.append(self.shapes[each])
            patterns.append((self._patterns[each][-1], self.shapes[each].kind))
            if patterns[-1][0] == ANY:
                break  # it takes all that is left

        def kind_of(name: str) -> str | None:
            return next((kind for pattern, kind in patterns if _fits(pattern, name)), None)

        kind = patterns[0][1]
        return NamesBelow(
            kind=kind if all(each == kind for _, each in patterns) else None,
            tenant=next((_tenant(shape, path) for shape in shapes if shape.of_tenants), ""),
            kind_of=None if patterns[0][0] == ANY else kind_of,
            empties=any(shape.empties for shape in shapes),
            sessions=any(shape.sessions for shape in shapes),
        )

    def together(self, path: MetaPath) -> ReadTogether:
        """Paths that are read together with a path."""
        names = max((self.shapes[each].names_together for each in self._leading(path)), default=None)
        if names is None or path.count("/") < names:
            return ReadTogether(path, False)
        return ReadTogether("/".join(path.split("/")[: names + 1]), True)

    def digested(self) -> Self:
        """The same, with digests of the values."""
        return replace(self, terms=replace(self.terms, digests=True))

    def to_json(self) -> str:
        """As text, for an option of a data source."""
        return json.dumps({"shapes": [asdict(shape) for shape in self.shapes], "terms": asdict(self.terms)})

    def _leading(self, path: str) -> tuple[int, ...]:
        """Numbers of the shapes of which the path is one, or above one."""
        found = self._met.get(path)
        if found is None:
            above, _, name = path.rpartition("/")
            depth = path.count("/")
            if not depth:
                return tuple(range(len(self.shapes)))
            led = ((each, self._patterns[each]) for each in self._leading(above))
            found = tuple(each for each, patterns in led if len(patterns) >= depth and _fits(patterns[depth - 1], name))
            if len(self._met) >= MAX_MET:
                self._met.clear()
            self._met[path] = found
        return found

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From that text."""
        document = json.loads(text)
        shapes = (PathShape(**{**each, "names": tuple(each["names"])}) for each in document["shapes"])
        return cls(shapes=tuple(shapes), terms=ReadTerms(**document["terms"]))


def joined(*several: Iterable[PathShape]) -> tuple[PathShape, ...]:
    """Shapes of several kinds as one."""
    return tuple(shape for shapes in several for shape in shapes)


def _tenant(shape: PathShape, above: str) -> str | None:
    """Whose all below a path is; ``None``: each there is a tenant itself."""
    names, at = above.split("/"), shape.root.count("/") + 1
    return names[at] if len(names) > at else None


def _fits(pattern: str, name: str) -> bool:
    return bool(name) if pattern == ANY else _compiled(pattern).fullmatch(name) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)
