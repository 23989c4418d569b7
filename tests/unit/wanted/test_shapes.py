"""Shapes of paths: what fits one is wanted, lies where readers look, and is in one share; nothing else is."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_snapshot.sources.folders import Folders
from spark_snapshot.sources.reach import Share
from syncer.model import MetaPath, Revision
from syncer.paths import is_under
from syncer.wanted import shapes as module
from syncer.wanted.contract import ReadTerms
from syncer.wanted.shapes import ANY, PathShape, ShapedPaths

ROOTS = st.sampled_from(["/a", "/a/b", "/a.b", "/c"]).map(MetaPath)
PATTERNS = st.sampled_from([ANY, "a|b", r"\d{2}", "(?!a$).+", "x.*"])
NAMES = st.sampled_from(["a", "b", "12", "x", "x1", "a.b", "é"])
TOGETHER = 2


@st.composite
def shapes(draw: st.DrawFn) -> PathShape:
    return PathShape(
        kind=draw(st.sampled_from(["one", "two", "three"])),
        root=draw(ROOTS),
        names=tuple(draw(st.lists(PATTERNS, max_size=3))),
        together=TOGETHER,
        of_tenants=draw(st.booleans()),
        empties=draw(st.booleans()),
    )


@st.composite
def values(draw: st.DrawFn) -> ShapedPaths:
    """Values of some shapes; roots that lie in each other would not agree on what is read together."""
    drawn = draw(st.lists(shapes(), min_size=1, max_size=5))
    return ShapedPaths(
        shapes=tuple(
            shape for shape in drawn if not any(is_under(shape.root, o.root) and shape.root != o.root for o in drawn)
        )
    )


PATHS = st.builds(lambda root, names: MetaPath("/".join([root, *names])), ROOTS, st.lists(NAMES, max_size=4))


def kind_of(wanted: ShapedPaths, path: str) -> str | None:
    """The kind of a path by the whole of it: the first shape that it fits."""
    for shape in wanted.shapes:
        patterns, names = [*map(re.escape, shape.root.split("/")), *shape.names], path.split("/")
        if len(patterns) == len(names) and all(map(re.fullmatch, patterns, names)):
            return shape.kind
    return None


@given(wanted=values(), path=PATHS, of=st.integers(1, 4))
def test_a_path_is_found_once_if_it_fits_a_shape_and_never_else(wanted: ShapedPaths, path: MetaPath, of: int) -> None:
    expected = kind_of(wanted, path)
    shares = [Folders(wanted, Share(index, of)) for index in range(of)]
    found = [each.found(path, b"value", None, Revision("1")) for each in shares]
    assert [each.kind for each in found if each is not None] == ([] if expected is None else [expected])
    above, _, name = path.rpartition("/")
    assert [list(each.at(above).sift([name])) == [name] for each in shares] == [each is not None for each in found]
    if expected is None:
        return
    (root,) = [root for root in wanted.roots if is_under(path, root)]
    (holder,) = [each for each, mine in zip(shares, found, strict=True) if mine is not None]
    way, levels = path, 0
    while way != root:
        way, levels = MetaPath(way.rpartition("/")[0]), levels + 1
        assert wanted.levels_below(way) >= levels
        assert wanted.enters(way)
        assert holder.enters(way)


@given(wanted=values(), path=PATHS)
def test_nothing_is_entered_below_which_nothing_fits(wanted: ShapedPaths, path: MetaPath) -> None:
    longer = [shape for shape in wanted.shapes if len(shape.patterns) > path.count("/")]
    segments = path.split("/")[1:]
    leading = [
        shape
        for shape in longer
        if all(re.fullmatch(pattern, name) for pattern, name in zip(shape.patterns, segments, strict=False))
    ]
    assert wanted.enters(path) == bool(leading)


@given(wanted=values())
def test_no_root_lies_in_another(wanted: ShapedPaths) -> None:
    roots = wanted.roots
    assert not [(one, other) for one in roots for other in roots if one != other and is_under(one, other)]
    assert all(any(is_under(shape.root, root) for root in roots) for shape in wanted.shapes)


@given(wanted=values(), terms=st.builds(ReadTerms, moment=st.booleans(), max_reads_per_s=st.none() | st.just(7)))
def test_a_value_travels_as_text_and_by_pickle(wanted: ShapedPaths, terms: ReadTerms) -> None:
    whole = ShapedPaths(shapes=wanted.shapes, terms=terms)
    assert ShapedPaths.from_json(whole.to_json()) == whole == pickle.loads(pickle.dumps(whole))
    assert whole.digested().terms.digests
    assert whole.digested().shapes == whole.shapes


def test_shapes_and_terms_survive_as_text() -> None:
    shape = PathShape(kind="k", root=MetaPath("/r"), names=("a|b", ANY), together=TOGETHER, of_tenants=True)
    whole = ShapedPaths(shapes=(shape,), terms=ReadTerms(max_reads_per_s=7))
    assert ShapedPaths.from_json(whole.to_json()) == whole
    assert whole.digested() == ShapedPaths(shapes=(shape,), terms=ReadTerms(max_reads_per_s=7, digests=True))


def test_what_is_read_together_is_in_one_share() -> None:
    wanted = ShapedPaths(shapes=(PathShape(kind="k", root=MetaPath("/r"), names=(ANY, ANY, ANY), together=2),))
    for of in (2, 3, 4):
        shares = [Folders(wanted, Share(index, of)) for index in range(of)]
        for unit in ("/r/a/b", "/r/a/c", "/r/d/e"):
            holders = {
                index
                for index, each in enumerate(shares)
                for name in ("1", "2", "3")
                if each.wants(MetaPath(f"{unit}/{name}"))
            }
            assert len(holders) == 1


def test_a_tenant_is_the_first_name_below_the_root() -> None:
    several = (
        PathShape(kind="k", root=MetaPath("/r/s"), names=(ANY,) * levels, of_tenants=True) for levels in (1, 2, 3)
    )
    folders = Folders(ShapedPaths(shapes=tuple(several)))
    for path in ("/r/s/t", "/r/s/t/n", "/r/s/t/n/x"):
        found = folders.found(MetaPath(path), b"v", None, Revision("1"))
        assert found is not None
        assert found.tenant == "t"


@pytest.mark.parametrize(
    ("empties", "sessions", "value", "session", "there"),
    [
        (False, False, b"v", False, True),
        (False, False, b"", False, False),
        (True, False, b"", False, True),
        (False, False, b"v", True, False),
        (False, True, b"v", True, True),
        (True, False, b"", True, False),
    ],
)
def test_inner_nodes_and_those_of_sessions_come_only_where_they_are_wanted(
    empties: bool, sessions: bool, value: bytes, session: bool, there: bool
) -> None:
    shape = PathShape(kind="k", root=MetaPath("/r"), names=(ANY,), empties=empties, sessions=sessions)
    found = Folders(ShapedPaths(shapes=(shape,))).found(MetaPath("/r/a"), value, None, Revision("1"), session=session)
    assert (found is not None) == there


def test_memory_is_bounded_and_what_is_forgotten_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_MET", 3)
    wanted = ShapedPaths(shapes=(PathShape(kind="k", root=MetaPath("/r"), names=(r"\d+", "x")),))
    for number in range(50):
        assert wanted.levels_below(MetaPath(f"/r/{number}")) == 1
        assert not wanted.enters(MetaPath(f"/r/{number}/y"))
        assert len(wanted._met) <= 3


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_never_ends_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="never ends"):
        ReadTerms(max_reads_per_s=limit)
