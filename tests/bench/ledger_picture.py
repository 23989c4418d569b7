"""What an audit without Spark costs for each ledger: gathered, judged and told, in a process of its own.

``python -m tests.bench.ledger_picture COUNT`` is that process; it says microseconds and bytes. The entries are made
before the clock runs; they lie in memory beside the picture, and count for it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from syncer.documents.ledgers.audit import ledger_audit_document
from syncer.ledgers.auditing.findings import findings
from syncer.ledgers.auditing.gathering import PictureGathering, StoredEntry
from syncer.ledgers.auditing.standing import standing
from syncer.terminal import json_text
from syncer.wanted.ledgers import LedgerPart, LedgerPathKind
from tests.bench.ledger_values import BOOKIES, bookie, values

FEW: Final = 10_000
MANY: Final = 100_000
AWAY: Final = 4
ROUNDS: Final = 3
TIMEOUT_S: Final = 300.0
_AT_MS: Final = 1_700_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureCost:
    """Microseconds of CPU for each ledger, at best, and the memory of the process at most."""

    cpu_us: float
    peak_bytes: int


def measure(count: int) -> PictureCost:
    """Audit so many ledgers in a process of its own.

    Args:
        count: How many.
    """
    command = [sys.executable, "-m", "tests.bench.ledger_picture", str(count)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S)
    cpu_us, peak_bytes = done.stdout.split()
    return PictureCost(cpu_us=float(cpu_us), peak_bytes=int(peak_bytes))


def _cost(count: int) -> PictureCost:
    entries = [StoredEntry(path, LedgerPathKind.LEDGER, value, _AT_MS) for path, value in values(0, count)]
    best_s = float("inf")
    for _ in range(ROUNDS):
        began_s = time.process_time()
        _audited(entries)
        best_s = min(best_s, time.process_time() - began_s)
    return PictureCost(cpu_us=best_s / count * 1e6, peak_bytes=_peak_bytes())


def _peak_bytes() -> int:
    """Memory of this program at most; what getrusage tells begins with that of whoever started it."""
    [kilobytes] = re.findall(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(kilobytes) * 1024


def _audited(entries: list[StoredEntry]) -> str:
    gathering = PictureGathering("bench", _AT_MS)
    up = [
        StoredEntry(f"/ledgers/available/{bookie(each)}", LedgerPathKind.BOOKIE, b"", _AT_MS)
        for each in range(BOOKIES)
        if each != AWAY
    ]
    for part, some in ((LedgerPart.LEDGERS, entries), (LedgerPart.BOOKIES, up)):
        gathering.begin(part, _AT_MS)
        gathering.take(part, some)
        gathering.end(part, _AT_MS)
    picture = gathering.picture
    found = standing(picture, picture.lost())
    return json_text(ledger_audit_document(picture, found, findings(picture, found)).model_dump(mode="json"))


if __name__ == "__main__":
    cost = _cost(int(sys.argv[1]))
    print(cost.cpu_us, cost.peak_bytes)
