"""Metrics of audits of ledgers on schedule, of the daemon that takes them; all are 0 while none is taken here.

A cluster is no label: what several have is added, and of their audits the oldest counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from syncer.metrics.family import Family, gauge

CODES: Final = (
    "entries-lost", "topics-not-loadable", "topics-short-of-bookies", "ledgers-not-recoverable", "no-new-ledgers",
    "below-ack-quorum", "under-replicated", "single-copies-away", "bookies-lost", "recovery-disabled", "no-auditor",
    "two-auditors", "recovery-blocked", "not-marked", "marks-left-over", "not-spread", "racks-unreadable",
    "bookies-unknown", "not-read", "not-understood",
)  # fmt: skip
AUDITED: Final = gauge("ledger_audited_clusters", "Clusters whose ledgers are audited on schedule here.")
TAKEN: Final = gauge(
    "ledger_audit_taken_timestamp_seconds",
    "When the latest audit of ledgers was begun that is kept; of several clusters the longest ago; 0: one has none.",
)
TROUBLES: Final = gauge(
    "ledger_audit_troubled",
    "Clusters whose ledgers cannot be audited now; the condition ledger-audit-troubled says why.",
)
PARTIAL: Final = gauge(
    "ledger_audit_partial", "Clusters whose latest audit is a lower bound: not all was read, or understood."
)
LEDGERS: Final = gauge("ledger_audit_ledgers", "Ledgers of the latest audits.")
FINDINGS: Final = gauge(
    "ledger_findings", "What the latest audits of ledgers found: how many ledgers, topics or bookies.", "code", CODES
)
FAMILIES: Final = (AUDITED, TAKEN, TROUBLES, PARTIAL, LEDGERS, FINDINGS)


def samples(
    *, taken_ms: Sequence[int | None], troubled: int, partial: int, ledgers: int, findings: Mapping[str, int]
) -> Iterator[tuple[Family, float, str]]:
    """What to set each gauge to: metric, value, and label.

    Args:
        taken_ms: Of each cluster, when its latest audit was begun; None: none is kept.
        troubled: How many clusters cannot be audited.
        partial: Of how many the latest audit is a lower bound.
        ledgers: How many there are.
        findings: By code, how many of what.
    """
    known = [each for each in taken_ms if each is not None]
    yield AUDITED, len(taken_ms), ""
    yield TAKEN, min(known) / 1000 if known and len(known) == len(taken_ms) else 0.0, ""
    yield TROUBLES, troubled, ""
    yield PARTIAL, partial, ""
    yield LEDGERS, ledgers, ""
    yield from ((FINDINGS, findings.get(code, 0), code) for code in CODES)
