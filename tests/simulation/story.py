"""What happened, in words: kept as cheap rows while a schedule runs, and told when it fails."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from syncer.model import MetaPath


@dataclass(slots=True)
class Story:
    """Rows of one schedule: step, true time, where, what, about which path (``None``: everything there)."""

    rows: list[tuple[int, int, str, str, MetaPath | None, tuple[object, ...]]] = field(default_factory=list)
    step: int = 0
    started_at_ms: int = 0
    now: int = 0

    def tell(self, where: str, what: str, path: MetaPath | None = None, *details: object) -> None:
        """Keep a row; nothing is formatted now."""
        self.rows.append((self.step, self.now, where, what, path, details))

    def about(self, path: str, last: int = 60) -> str:
        """The last rows about a path, and what befell whole regions between them."""
        chosen = [row for row in self.rows if not path or row[4] is None or row[4] == path or _related(row[4], path)]
        lines = []
        for step, now, where, what, at, details in chosen[-last:]:
            name = f" {at}" if at is not None else ""
            text = " ".join(str(detail) for detail in details)
            lines.append(f"{step:5} +{(now - self.started_at_ms) / 1000:8.3f}s {where:3} {what}{name} {text}".rstrip())
        return "\n".join(lines)

    @property
    def trace(self) -> str:
        """A short name of all that happened."""
        return hashlib.blake2b(self.text.encode(), digest_size=8).hexdigest()

    @property
    def text(self) -> str:
        """All of it; equal for equal schedules."""
        return "\n".join(
            f"{step} {now} {where} {what} {path or ''} {' '.join(map(str, details))}"
            for step, now, where, what, path, details in self.rows
        )


def _related(one: str, other: str) -> bool:
    return one.startswith(other + "/") or other.startswith(one + "/")
