"""The report of a comparison: whatever a store holds, it is one page of escaped text without scripts."""

from __future__ import annotations

import html.parser
import re
from dataclasses import replace

from spark_snapshot.diff.fields import Differences, FieldDifference
from spark_snapshot.diff.summary import CLASSES, ClassCounts, Summary
from spark_snapshot.report.page import Page, RegionFacts, ReportedPath, render
from syncer.model import Millis, Region, Stamp

EVIL = """<script>alert("x")</script>&'"$a_{b}$\x00\u202e東京"""
COUNTS = dict.fromkeys(CLASSES, 2)


def summary(**changes: object) -> Summary:
    plain = Summary(
        same=12_345,
        by_class=COUNTS,
        kinds=(ClassCounts(name="namespace", by_class=COUNTS),),
        tenants=(ClassCounts(name=EVIL, by_class=COUNTS), ClassCounts(name="", by_class=COUNTS)),
        more_tenants=3,
        winners={"east": 8},
        losers={"west": 8},
        origins={"register": 8},
        reasons={"newer": 7, "same-stamp": 1},
        holds={"west": 2},
        days={"2026-11-20": 3, "2026-11-21": 5},
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # names of its own fields


def page(**changes: object) -> Page:
    finding = ReportedPath(
        path=f"/admin/policies/{EVIL}",
        kind="namespace",
        of_class="held",
        underlying="differs",
        winner="east",
        stamp=Stamp(Millis(1_700_000_000_000), Region("east")),
        reason="newer",
        origin="register",
        losers=("west",),
        holds=(("west", "mass-delete"),),
        fields=Differences(
            replicated=(FieldDifference(pointer=f"/{EVIL}", values={"east": f'"{EVIL}"', "west": None}),),
            unreadable=("north",),
        ),
    )
    plain = Page(
        title=f"east against west {EVIL}",
        made_at_ms=1_700_000_000_000,
        made_by="pulsar-syncer",
        regions=(
            RegionFacts(name="east", facts=(("taken", "then"),)),
            RegionFacts(name="west", facts=(("rows", "5"),)),
        ),
        summary=summary(),
        findings=(finding,),
        notes=(EVIL,),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


class Seen(html.parser.HTMLParser):
    """Collects tags, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_nothing_of_a_store_becomes_markup() -> None:
    text = render(page())
    seen = Seen(text)
    assert "script" not in seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert not [value for name, value in seen.attributes if name in {"href", "src", "xlink:href"} and value[:1] != "#"]  # type: ignore[index]
    assert '<script>alert("x")</script>' in "".join(seen.words)
    assert "\x00" not in text
    assert "\u202e" not in text, "a sign that turns the direction of writing is shown as a replacement"


def test_it_says_what_a_reader_asks_first() -> None:
    words = "".join(Seen(render(page())).words)
    for expected in ("8 paths are not the same.", "12,345 paths are the same.", "mass-delete", "… and 3 more tenants"):
        assert expected in words
    assert "The first 1 of 8" in words


def test_equal_regions_make_a_short_page() -> None:
    zero = dict.fromkeys(CLASSES, 0)
    text = render(page(summary=summary(by_class=zero), findings=()))
    assert "All regions hold the same." in text
    assert "<figure" not in text


def test_the_page_is_the_same_for_the_same_data() -> None:
    assert render(page()) == render(page())


def test_what_differs_comes_before_the_facts() -> None:
    text = render(page())
    order = [
        "8 paths are not the same",
        "How far to trust this: 1 notes",
        "<h2>Differences",
        "<h2>Paths",
        "<h2>What was compared",
        'id="notes"',
    ]
    places = [text.index(each) for each in order]
    assert places == sorted(places)


def test_the_page_has_a_scheme_for_the_night() -> None:
    text = render(page())
    assert '<meta name="color-scheme" content="light dark">' in text
    day, _, night = text.partition("@media (prefers-color-scheme: dark)")
    names = set(re.findall(r"(--[a-z-]+):", day))
    assert names - set(re.findall(r"(--[a-z-]+):", night.partition("}\n}")[0])) <= {"--plain"}
    assert not re.search(r"#[0-9a-f]{3,6}\b", night.partition("}\n}")[2].replace("color: #fff", "")), "only by its name"
