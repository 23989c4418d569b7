"""Plots are sound, whatever the names in them hold."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from syncer.pages import charts

EVIL = """<script>alert("x")</script>&'"$a_{b}$\x00\u202e東京"""
CLASSES = ("only-in", "differs", "deleted", "held")
COUNTS = dict.fromkeys(CLASSES, 2)


@pytest.mark.parametrize("rows", [0, 1, 40])
def test_plots_are_sound_and_take_any_name(rows: int) -> None:
    plot = ET.fromstring(charts.stacked([(f"{EVIL}{number}", COUNTS) for number in range(rows)], "paths", CLASSES))
    legend, bars = plot  # one before the other, what does not parse is no plot
    assert [each[0].get("class") for each in legend] == (list(CLASSES) if rows else [])
    assert [len(each[1]) for each in bars] == [len(CLASSES)] * rows
    widths = [box.get("style", "") for each in bars for box in each[1]]
    assert widths == ["width:25%"] * len(widths)
    heights = ET.fromstring(charts.columns({f"{EVIL}{number}": number for number in range(rows)}, "paths"))[1]
    assert len(heights) == rows


def test_only_classes_that_are_there_are_in_the_legend() -> None:
    legend, _ = ET.fromstring(charts.stacked([("a", {"ours": 3}), ("b", {"theirs": 0})], "things", ("theirs", "ours")))
    assert [each[0].get("class") for each in legend] == ["ours"]
