"""Laws of streams: whatever happens, wherever a reader is cut off, nothing is lost in silence nor told twice.

A reader is cut off between any two events, and comes back with the id of the last that it has got.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from api.streams.bookmark import MAX_OPEN, MISSING, OVER, Bookmark
from api.streams.progress import ListEntry, ListSeen, StreamGap, advance

WINDOW = 3
STATES = ("q", "r", OVER)
PAGE = 3


@dataclass
class World:
    """A list, some of whose entries change and go; one may be late.

    Attributes:
        late: Numbers that were given, and are not committed.
    """

    comes_late: bool
    rows: dict[int, int] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)
    given: int = 0

    def act(self, action: str) -> None:
        """Something happens to the list."""
        open_now = [number for number, state in self.rows.items() if STATES[state] != OVER]
        over = [number for number, state in self.rows.items() if STATES[state] == OVER]
        match action:
            case "new" | "done":
                self.given += 1
                self.rows[self.given] = 0 if action == "new" else len(STATES) - 1
                if self.given - min(self.late, default=self.given) >= WINDOW - 1:
                    self.act("commit")
            case "late" if self.comes_late:
                self.given += 1
                self.late.add(self.given)
                self.act("done")
            case "commit" if self.late:
                number = min(self.late)
                self.late.discard(number)
                self.rows[number] = 0
            case "change" if open_now:
                self.rows[open_now[0]] += 1
            case "change last" if open_now:
                self.rows[open_now[-1]] += 1
            case "drop" if over:
                del self.rows[min(over)]

    def seen(self, bookmark: Bookmark) -> ListSeen:
        """As a source sees it."""
        changed = [n for n, tag in bookmark.open.items() if n not in self.rows or self.tag(n) != tag][:PAGE]
        behind = sorted(number for number in self.rows if number > bookmark.last)
        latest = max(self.rows, default=self.given)
        return ListSeen(
            new=[self.entry(number) for number in behind[:PAGE]],
            again=[self.entry(number) for number in changed if number in self.rows],
            gone=[n for n in changed if n not in self.rows and bookmark.open[n] != MISSING],
            latest=latest,
            settled=latest - WINDOW + 1 if self.comes_late else latest + 1,
            late=self.comes_late,
            whole=len(behind) <= PAGE,
        )

    def tag(self, number: int) -> str:
        return STATES[self.rows[number]]

    def entry(self, number: int) -> ListEntry:
        return ListEntry(number, self.tag(number), {})


@dataclass
class Reader:
    """Who follows it, knowing only what was told."""

    number: str = "d-0"
    told: dict[int, str] = field(default_factory=dict)
    gaps: set[int] = field(default_factory=set)

    def look(self, world: World, most: int) -> bool:
        """Come back, and get so many events at most of one look; whether there was anything."""
        bookmark = Bookmark.parse(self.number.replace("d-", "dddddddd-"))
        found = False
        for news in islice(advance(bookmark, world.seen(bookmark)), most):
            found = True
            self.number = news.number.replace("dddddddd-", "d-")
            if isinstance(news.what, StreamGap):
                self.gaps |= set(range(news.what.first, news.what.last + 1))
                continue
            number, tag = news.what.number, news.what.tag
            assert self.told.get(number) != tag, "nothing is told twice"
            assert self.told.get(number) != OVER, "what is over was told for the last time"
            self.told[number] = tag
        return found


ACTIONS = st.lists(
    st.sampled_from(["new", "new", "done", "late", "commit", "change", "change", "change last", "drop", "look", "cut"]),
    max_size=60,
)


@given(actions=ACTIONS, comes_late=st.booleans())
def test_a_reader_knows_in_the_end_all_that_is_there_and_is_told_of_all_that_is_gone(
    actions: list[str], comes_late: bool
) -> None:
    world, reader = World(comes_late), Reader()
    for action in actions:
        if action in {"look", "cut"}:
            reader.look(world, 100 if action == "look" else 1)
        else:
            world.act(action)
    while world.late:
        world.act("commit")
    while reader.look(world, 100):
        pass
    assert {number: tag for number, tag in reader.told.items() if number in world.rows} == {
        number: world.tag(number) for number in world.rows if number not in reader.gaps
    }
    assert not reader.gaps & world.rows.keys(), "what is there is no gap"
    settled = range(1, max(world.rows, default=world.given) - (WINDOW if comes_late else 0) + 1)
    gone = {number for number in settled if number not in world.rows}
    assert all(reader.told.get(number) == OVER or number in reader.gaps for number in gone)


@given(
    last=st.integers(0, 2**62),
    opened=st.dictionaries(st.integers(1, 2_000), st.sampled_from("pqrcm"), max_size=60),
    wide=st.booleans(),
)
def test_a_bookmark_comes_back_from_its_text_or_lies_before_all_that_is_open(
    last: int, opened: dict[int, str], wide: bool
) -> None:
    if wide:
        opened = {**dict.fromkeys(range(10_000, 10_000 + MAX_OPEN), "p"), **opened}
    opened = dict(sorted((number, tag) for number, tag in opened.items() if number <= last))
    found = Bookmark.parse(Bookmark("4f0c21aa", last, opened).text or "-")
    assert (found.last, found.open) in [(last, opened), (min(opened, default=0) - 1, {})]
