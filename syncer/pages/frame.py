"""The frame of a page: its style, by day and by night, and the order of its parts; what differs comes first.

Nothing in it is wider than its room: names are never broken, so what holds them moves sideways in a box of its own.
"""

from __future__ import annotations

from string import Template
from typing import Final

PAGE: Final = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$name</title>
<style>
:root { color-scheme: light dark; --ink: #1c2127; --soft: #5f6b7c; --paper: #fff; --line: #d8dde3; --shade: #f3f5f7;
        --link: #215db0; --good: #238551; --bad: #c87619; --only-in: #2f6bc0; --differs: #b35f12; --deleted: #b82b2b;
        --held: #6547c9; --plain: #738091; --pulsar: #b35f12; --ours: #2f6bc0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e5e8eb; --soft: #abb3bf; --paper: #14181c; --line: #383e47; --shade: #1f252b; --link: #8abbff;
          --good: #32a467; --bad: #ec9a3c; --only-in: #2d6fca; --differs: #a8590f; --deleted: #c23a3a;
          --held: #7157d9; --pulsar: #a8590f; --ours: #2d6fca; }
}
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
a { color: var(--link); }
.w { white-space: nowrap; }
.wide, h1, summary, .note { overflow-x: auto; }
.made { color: var(--soft); margin-top: .2rem; }
.verdict { font-size: 1.15rem; padding: .7rem 1rem; border-left: .4rem solid; background: var(--shade); }
.good { border-color: var(--good); } .bad { border-color: var(--bad); }
.note { border-left: .4rem solid var(--plain); background: var(--shade); padding: .5rem 1rem; }
table { border-collapse: collapse; margin: .8rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; } .value { overflow-wrap: anywhere; min-width: 10rem; } code { font-size: .92em; }
figure { margin: .8rem 0; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; margin: 0 0 .6rem; padding: 0; }
.legend li { white-space: nowrap; }
.legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; }
.bar { display: grid; grid-template-columns: 18rem 1fr 5rem; gap: 0 .6rem; align-items: center;
       margin: .25rem 0; }
.name { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.track { display: flex; height: 1.1rem; min-width: 0; } .track i { min-width: 1px; } .count { white-space: nowrap; }
.columns { display: flex; align-items: flex-end; gap: 1px; height: 8rem; border-bottom: 1px solid var(--line); }
.columns i { flex: 1 1 0; max-width: 3rem; min-height: 1px; background: var(--plain); }
.most { margin: 0; color: var(--soft); }
.ends { display: flex; justify-content: space-between; margin: .2rem 0; color: var(--soft); white-space: nowrap; }
details { border-bottom: 1px solid var(--line); padding: .3rem 0; }
details .wide, details p { margin: .4rem 0 0 1.4rem; font-size: .92em; }
summary { cursor: pointer; }
.tag { font-size: .8rem; color: #fff; border-radius: .2rem; padding: .05rem .45rem; white-space: nowrap; }
.only-in { background: var(--only-in); } .differs { background: var(--differs); }
.deleted { background: var(--deleted); } .held { background: var(--held); }
.pulsar { background: var(--pulsar); } .ours { background: var(--ours); }
.whole { background: var(--ours); } .lacking { background: var(--pulsar); } .lost { background: var(--deleted); }
.heat td { padding: 0; border: 1px solid var(--line); width: 1.1rem; height: 1.1rem; min-width: 1.1rem; }
.heat th { border: 0; padding: 0 .6rem 0 0; font-weight: 400; white-space: nowrap; }
@media (max-width: 40rem) {
  .bar { grid-template-columns: 1fr auto; } .name { grid-column: 1 / -1; }
  details .wide, details p { margin-left: 0; }
}
</style>
</head>
<body>
<h1>$title</h1>
<p class="made">$made</p>
<p class="verdict $tone">$verdict</p>
$body
</body>
</html>
""")
