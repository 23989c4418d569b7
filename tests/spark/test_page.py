"""The page of a comparison as a browser lays it out: on a telephone and on a desk, by day and by night."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any, Final

import pytest

from deploy.lab.software import chromium
from spark_snapshot.diff.summary import CLASSES, ClassCounts
from spark_snapshot.report.page import render
from syncer.waiting import WAIT_S
from tests.conftest import require
from tests.unit.spark_snapshot.report.test_page import page, summary

NAMES: Final = (
    "customer-relations-europe-west",
    "a-tenant-with-a-name-that-is-longer-than-a-telephone-is-wide-0001",
    "x",
)
PATH: Final = "/admin/partitioned-topics/customer-relations-europe-west/invoices-and-reminders/persistent/topic-00001"
WIDTHS: Final = (420, 1280)
DAY, NIGHT = "1", "0"
"""Blink's own numbers of the schemes that a reader prefers."""

_HARNESS: Final = """<!doctype html><body>%s<script>
addEventListener("load", () => {
  const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const looked = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument, all = name => [...page.querySelectorAll(name)];
    all("details").forEach(each => each.open = true);
    const light = colour => colour.match(/[0-9.]+/g).slice(0, 3).reduce((sum, each) => sum + Number(each), 0);
    const body = frame.contentWindow.getComputedStyle(page.body);
    return {
      wide: page.documentElement.scrollWidth - page.documentElement.clientWidth,
      names: all(".w, .name, .legend li, .tag").length,
      broken: all(".w, .name, .legend li, .tag").filter(each => each.getClientRects().length > 1).map(e => e.innerText),
      plots: all("figure").length,
      covered: all("figure").filter(figure => {
        const legend = figure.querySelector(".legend"), bars = figure.querySelector(".bars");
        return legend && overlap(legend.getBoundingClientRect(), bars.getBoundingClientRect());
      }).length,
      paper: light(body.backgroundColor), ink: light(body.color),
    };
  });
  document.body.innerText = "LOOKED" + JSON.stringify(looked) + "END";
});
</script></body>"""


def looked_at(folder: Path, scheme: str) -> list[dict[str, Any]]:
    """What a browser says of the page, in the order of the widths."""
    counts = dict.fromkeys(CLASSES, 2)
    wide = summary(tenants=tuple(ClassCounts(name=name, by_class=counts) for name in NAMES), winners={NAMES[0]: 8})
    (finding,) = page().findings
    found = page(summary=wide, title=" × ".join(NAMES), findings=(_at(finding, PATH),), notes=(f"{PATH} is odd.",) * 2)
    (folder / "page.html").write_text(render(found), encoding="utf-8")
    frames = "".join(
        f'<iframe src="page.html" width="{width}" height="900" frameborder="0"></iframe>' for width in WIDTHS
    )
    (folder / "harness.html").write_text(_HARNESS % frames, encoding="utf-8")
    done = subprocess.run(
        [
            chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
            f"--user-data-dir={folder / 'profile'}", f"--blink-settings=preferredColorScheme={scheme}",
            "--window-size=1400,1000", "--dump-dom", (folder / "harness.html").as_uri(),
        ],
        capture_output=True, text=True, timeout=WAIT_S, check=True,
    )  # fmt: skip
    said = re.search(r"LOOKED(.*)END", done.stdout)
    assert said is not None, done.stdout[-2000:]
    looked: list[dict[str, Any]] = json.loads(unescape(said[1]))
    return looked


def _at(finding: Any, path: str) -> Any:
    return type(finding)(**{name: getattr(finding, name) for name in finding.__slots__} | {"path": path})


@pytest.mark.parametrize("scheme", [DAY, NIGHT])
def test_nothing_is_too_wide_broken_or_covered(tmp_path: Path, scheme: str) -> None:
    require(chromium)
    for looked in looked_at(tmp_path, scheme):
        assert looked["wide"] == 0, "the page does not move sideways"
        assert looked["names"] > 40
        assert looked["broken"] == []
        assert (looked["plots"], looked["covered"]) == (3, 0)
        paper, ink = looked["paper"], looked["ink"]
        assert (paper > 600 and ink < 150) if scheme == DAY else (paper < 150 and ink > 600)
