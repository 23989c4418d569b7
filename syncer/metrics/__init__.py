"""Every metric that the program exports, declared in one table. Prefix ``syncer_``, base units, bounded labels.

A label never holds a path. Its values come from a closed list, or are region ids, of which at most ``MAX_PEERS`` are
told apart; anything else is counted as ``other``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)

from syncer.conflict.acts import Decision
from syncer.conflict.register import HoldReason
from syncer.dispositions import DISPOSITIONS
from syncer.metrics import ledgers, load_history, migrations, moves, notices, streams
from syncer.metrics.family import OTHER, PEER, Family, Kind, counter, gauge
from syncer.model import Region
from syncer.terminal import visible

MAX_PEERS: Final = 64

LAG_BUCKETS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)
STAGE_BUCKETS_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Stage(StrEnum):
    """Steps of a batch on its way through the daemon."""

    CONSUME = "consume"
    READ = "read"
    DECIDE = "decide"
    APPLY = "apply"
    LANDED = "landed"
    PUBLISH = "publish"


_CODES: Final = tuple(sorted(cls.code for cls in DISPOSITIONS))
_DECISIONS: Final = tuple(Decision)
_HOLDS: Final = tuple(HoldReason)
_IGNORED: Final = (
    "duplicate", "out-of-scope", "echo-of-own-path", "no-resource", "ephemeral-or-sequential", "children-changed",
    "unknown-action", "asked-before",
)  # fmt: skip


EVENTS_PUBLISHED: Final = counter(
    "events_published",
    "Events of local changes: stamped (in the outbox) and acknowledged by the bus.",
    "result",
    ("stamped", "acknowledged"),
)
EVENTS_IGNORED: Final = counter(
    "events_ignored", "Messages of the bus that needed no fold, by reason.", "reason", _IGNORED
)
FOLDS: Final = counter("folds", "Decisions about candidates, local and remote.", "decision", _DECISIONS)
WRITES: Final = counter(
    "writes", "Writes into the store: landed, or refused with this error code.", "result", ("landed", *_CODES)
)
CONFLICTS: Final = counter(
    "conflicts",
    "Concurrent changes whose loser was kept.",
    "reason",
    ("concurrent", "drift", "value-unknown", "one-stamp-two-values", "overtaken"),
)
QUARANTINED: Final = counter("quarantined", "Messages and values put into the quarantine.", "code", _CODES)
REFUSED: Final = counter(
    "messages_refused",
    "Messages of the bus that were not taken: not signed with a key of the group, signed in the name of another "
    "member, or no room for what is to be kept.",
    "reason",
    (
        "signature-invalid",
        "speaks-for-another",
        "quarantine-full",
        "conflicts-full",
        "values-full",
        "heartbeats-full",
        "too-many-senders",
    ),
)
BELIEVED: Final = counter(
    "messages_believed",
    "Messages of the bus that were taken, by what proves who has made them: a key of their region, one of the group.",
    "reason",
    ("region-key", "group-key", "nothing"),
)
HELD: Final = counter("held", "Changes that began to wait for a person.", "reason", _HOLDS)
REPEATS: Final = counter("repeats", "Calls that failed and are tried again, by error code.", "code", _CODES)
WATCH_GAPS: Final = counter("watch_gaps", "Times that the watch may have missed something, healed by a scan.")
TOPIC_POLICIES: Final = counter(
    "topic_policies",
    "Topic policies in system topics: topics opened and closed, messages written, void because a broker was faster, "
    "written to put its value back, and brokers' values that were overtaken and kept as conflicts.",
    "result",
    ("opened", "closed", "written", "void", "restored", "overtaken"),
)
SCANS: Final = counter("scans", "Full scans of the store.", "result", ("finished", "abandoned"))

COMPARISONS: Final = counter(
    "comparisons",
    "Comparisons of digest trees begun here, paths told and asked for in them, steps that could not be understood.",
    "result",
    ("begun", "told", "asked", "malformed", "unknown-step"),
)
COMPARISON_BYTES: Final = counter(
    "comparison_sent_bytes", "What comparing digest trees has sent, without the registers that it found to differ."
)

OUTBOX_EVENTS: Final = gauge("outbox_events", "Events that wait for the bus's acknowledgement.")
OUTBOX_OLDEST: Final = gauge("outbox_oldest_age_seconds", "Age of the oldest event in the outbox.")
HOLDS: Final = gauge("holds", "Changes that wait for a person now.")
PARKED: Final = gauge("parked", "Writes that wait for a parent, for children or for the store now.")
QUARANTINE: Final = gauge("quarantine_entries", "Messages and values in the quarantine now.")
CONFLICTS_OPEN: Final = gauge("conflicts_open", "Conflicts whose loser was neither restored nor looked after.")
KEPT: Final = gauge(
    "kept_bytes",
    "What is kept of losers of conflicts, and of large values that are due and not written yet.",
    "what",
    ("conflicts", "values"),
)
PATHS: Final = gauge("paths", "Paths in scope that the store is known to hold.")
DUE: Final = gauge("writes_due", "Paths whose store is not known to hold what the group knows.")
PENDING_READS: Final = gauge("reads_pending", "Paths that changed and wait to be read.")
BUS_BACKLOG: Final = gauge(
    "bus_backlog_entries",
    "Entries of the bus that this region has not yet acknowledged; on Pulsar, several messages may share one.",
)
ACTIVE: Final = gauge("active", "Whether this daemon is the region's writer (1) or a standby (0).")
OBSERVING: Final = gauge("observing", "Whether this daemon only observes (1).")
PAUSED: Final = gauge("paused", "Whether writes and publications are paused (1).")
WATCH_WHOLE: Final = gauge("watch_whole", "Whether the watch is known to miss nothing (1).")
SCALABLE_TOPICS: Final = gauge(
    "scalable_topics",
    "Scalable topics (topic://) of the cluster whose store is watched, or as brokers tell; they are not carried.",
)
STORE_MIGRATION: Final = gauge(
    "store_migration", "Whether nothing is written to the store since Pulsar migrates it, or that is unclear (1)."
)
FENCE: Final = gauge("fence_number", "Number of the fence that this daemon holds; 0 while it holds none.")
SKEW: Final = gauge(
    "clock_skew_seconds", "Peer's clock minus ours, its delivery time included; at best an upper bound.", "peer", PEER
)
PEER_HEARD: Final = gauge("peer_heard_timestamp_seconds", "When a peer's heartbeat came last.", "peer", PEER)
DIFFERING: Final = gauge(
    "peer_differing_paths", "Paths that the last comparison with a peer found to differ; 0 once the trees are equal.",
    "peer", PEER,
)  # fmt: skip
EQUAL_AT: Final = gauge(
    "peer_equal_timestamp_seconds", "When the digest trees of a peer and this region were last seen to be equal.",
    "peer", PEER,
)  # fmt: skip
REGION_KEYS: Final = gauge(
    "region_keys_required", "Whether only messages are taken that a key of their region has signed (1)."
)
DEPENDENCY_UP: Final = gauge(
    "dependency_up",
    "Whether the daemon has what it needs (1), as /readyz?verbose says; nothing of what it does not use now.",
    "name",
    ("store", "bus", "state"),
)
STARTED: Final = gauge("started_timestamp_seconds", "When this daemon was started.")
BUILD: Final = gauge("build_info", "Always 1; the label is the version of the program.", "version", PEER)

LAG: Final = Family(
    name="syncer_lag_seconds",
    kind=Kind.HISTOGRAM,
    help="From the author's stamp to the value in our store, by the author's region; skew of clocks included.",
    label="peer",
    values=PEER,
    buckets=LAG_BUCKETS_S,
)
STAGES: Final = Family(
    name="syncer_batch_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="How long a batch took in each stage.",
    label="stage",
    values=tuple(Stage),
    buckets=STAGE_BUCKETS_S,
)

REPAIRS: Final = counter(
    "repairs",
    "Paths of snapshots that were to be told again: told, left out for a later change, refused.",
    "result",
    ("told", "superseded", "refused"),
)
HTTP_CONNECTIONS: Final = gauge("http_connections", "Connections to the daemon's HTTP server.")
HTTP_DROPPED: Final = counter(
    "http_connections_dropped",
    "Connections that the HTTP server ended: request or answer too slow, or more than there is room for.",
    "reason",
    ("late", "unread", "full", "crowded"),
)
HTTP_REFUSED: Final = counter(
    "http_requests_refused",
    "Requests over HTTP that were refused: no good credential (401), too small a role (403), too many failures (429).",
    "code",
    ("unauthorized", "forbidden", "too-many-failures"),
)
JOBS: Final = gauge("jobs", "Jobs on Spark that wait, or run, wherever they do.", "state", ("queued", "running"))
SNAPSHOT_RUNNING: Final = gauge("snapshot_running", "1 while a snapshot on schedule is taken here.")
SNAPSHOT_FAILED: Final = gauge("snapshot_failed", "1 when the last snapshot on schedule failed, or none can be begun.")
SNAPSHOT_TAKEN: Final = gauge(
    "snapshot_taken_timestamp_seconds", "When the last snapshot on schedule ended well; 0: none did here."
)

QUESTIONS_FAILED: Final = counter(
    "cluster_questions_failed", "Those of them that got no answer, by error code.", "code", _CODES
)
FAMILIES: Final = (
    EVENTS_PUBLISHED, EVENTS_IGNORED, FOLDS, WRITES, CONFLICTS, QUARANTINED, REFUSED, BELIEVED, HELD, REPEATS,
    WATCH_GAPS, SCANS, TOPIC_POLICIES, COMPARISONS, COMPARISON_BYTES, DIFFERING, EQUAL_AT,
    OUTBOX_EVENTS, OUTBOX_OLDEST, HOLDS, PARKED, QUARANTINE, CONFLICTS_OPEN, KEPT, PATHS, DUE, PENDING_READS,
    BUS_BACKLOG, HTTP_CONNECTIONS, HTTP_DROPPED, HTTP_REFUSED, REPAIRS, JOBS, SNAPSHOT_RUNNING, SNAPSHOT_FAILED,
    SNAPSHOT_TAKEN,
    ACTIVE, OBSERVING, PAUSED, WATCH_WHOLE, SCALABLE_TOPICS, STORE_MIGRATION,
    DEPENDENCY_UP, FENCE, SKEW, PEER_HEARD, REGION_KEYS, STARTED, BUILD,
    LAG, STAGES, *migrations.FAMILIES, *load_history.FAMILIES, *ledgers.FAMILIES, *moves.FAMILIES, *notices.FAMILIES,
    *streams.FAMILIES, QUESTIONS_FAILED,
)  # fmt: skip

TALLIES: Final[Mapping[str, Family]] = {
    "published": EVENTS_PUBLISHED,
    "ignored": EVENTS_IGNORED,
    "decisions": FOLDS,
    "writes": WRITES,
    "conflicts": CONFLICTS,
    "quarantined": QUARANTINED,
    "refused": REFUSED,
    "believed": BELIEVED,
    "held": HELD,
    "repeats": REPEATS,
    "watch": WATCH_GAPS,
    "scans": SCANS,
    "topic_policies": TOPIC_POLICIES,
    "comparisons": COMPARISONS,
    "compared": COMPARISON_BYTES,
    "repairs": REPAIRS,
    "http_dropped": HTTP_DROPPED,
    "http_streams_ended": streams.ENDED,
    "http_refused": HTTP_REFUSED,
    "notices": notices.NOTICES,
    "webhook_attempts": notices.ATTEMPTS,
    "cluster_questions": moves.ASKED,
    "cluster_questions_failed": QUESTIONS_FAILED,
}
"""Counts that are kept since the start, by the driver and the HTTP server, by their name there."""


class Metrics:
    """The metrics of one daemon, in a registry of its own.

    Args:
        version: Of the program.
        started_s: When it was started, seconds since the epoch.
    """

    def __init__(self, *, version: str, started_s: float) -> None:
        # Of the whole process: a series beside each, which nothing asks for.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the client declares none
        self.registry: Final = CollectorRegistry(auto_describe=True)
        ProcessCollector(registry=self.registry)
        self._collectors: Final = {family.name: _make(family, self.registry) for family in FAMILIES}
        self._peers: set[str] = set()
        self._absorbed: dict[tuple[str, str], int] = {}
        for family in FAMILIES:
            for value in family.values or ():
                self._child(family, value)
        self.set(BUILD, 1, version)
        self.set(STARTED, started_s)

    def add(self, family: Family, amount: float = 1, label: str = "") -> None:
        """Raise a counter."""
        child = self._child(family, label)
        if not isinstance(child, Counter):
            raise TypeError(f"{family.name} is no counter")
        child.inc(amount)

    def set(self, family: Family, value: float, label: str = "") -> None:
        """Set a gauge."""
        child = self._child(family, label)
        if not isinstance(child, Gauge):
            raise TypeError(f"{family.name} is no gauge")
        child.set(value)

    def dependencies(self, up: Mapping[str, bool]) -> None:
        """Note what the daemon needs now, and whether it has it."""
        for name in DEPENDENCY_UP.values or ():
            if name in up:
                self.set(DEPENDENCY_UP, up[name], name)
            else:
                with suppress(KeyError):  # not there already
                    self._collectors[DEPENDENCY_UP.name].remove(name)

    def lag(self, peer: Region, seconds: float) -> None:
        """Note how long a change of a peer took until our store held it."""
        self._observe(LAG, seconds, peer)

    def stage(self, stage: str, seconds: float) -> None:
        """Note how long a batch took in one stage."""
        self._observe(STAGES, seconds, stage)

    def move(self, outcome: str, predicted_s: float | None, observed_s: float | None) -> None:
        """Note a move of a bundle that has ended, and how long it took where both are known."""
        self.add(moves.ENDED, label=outcome)
        if predicted_s is not None and observed_s is not None:
            self._observe(moves.READY, predicted_s, "predicted")
            self._observe(moves.READY, observed_s, "observed")

    def absorb(self, tally: Mapping[tuple[str, str], int]) -> None:
        """Take over the driver's counts, which run from its start; what was taken before is not taken twice."""
        for (name, label), count in tally.items():
            family = TALLIES.get(name)
            if family is None:
                continue
            before = self._absorbed.get((name, label), 0)
            self.add(family, count - before if count >= before else count, label if family.label else "")
            self._absorbed[name, label] = count

    def peer_gone(self, peers: Iterable[Region]) -> None:
        """Forget peers that were taken out of the group, so that their last values do not stand for ever."""
        for peer in peers:
            if peer in self._peers:
                self._peers.discard(peer)
                for family in (SKEW, PEER_HEARD, DIFFERING, EQUAL_AT):
                    with suppress(KeyError):  # never compared
                        self._collectors[family.name].remove(visible(peer))

    def _observe(self, family: Family, seconds: float, label: str) -> None:
        child = self._child(family, label)
        if not isinstance(child, Histogram):
            raise TypeError(f"{family.name} is no histogram")
        child.observe(max(seconds, 0.0))

    def _child(self, family: Family, label: str) -> Counter | Gauge | Histogram:
        collector = self._collectors[family.name]
        if not family.label:
            return collector
        return collector.labels(visible(self._bounded(family, label)))

    def _bounded(self, family: Family, label: str) -> str:
        if family.values is not None:
            return label if label in family.values else OTHER
        if family is BUILD or label in self._peers:
            return label
        if len(self._peers) >= MAX_PEERS:
            return OTHER
        self._peers.add(label)
        return label


def _make(family: Family, registry: CollectorRegistry) -> Counter | Gauge | Histogram:
    labels = (family.label,) if family.label else ()
    match family.kind:
        case Kind.COUNTER:
            return Counter(family.name, family.help, labels, registry=registry)
        case Kind.GAUGE:
            return Gauge(family.name, family.help, labels, registry=registry)
        case Kind.HISTOGRAM:
            return Histogram(family.name, family.help, labels, registry=registry, buckets=family.buckets)


def reference() -> str:
    """The page of the documentation that lists every metric, as Markdown."""
    lines = [
        "# Metrics",
        "",
        "The daemon serves these at `/metrics`. Every label has a closed set of values: those listed here or `other`,",
        f"or region ids (the first {MAX_PEERS}; more are counted as `other`).",
        "",
        "| Metric | Type | Meaning | Label |",
        "| --- | --- | --- | --- |",
    ]
    for family in sorted(FAMILIES, key=lambda family: family.name):
        name = f"{family.name}_total" if family.kind is Kind.COUNTER else family.name
        label = ""
        if family.label:
            values = ", ".join(f"`{value}`" for value in family.values) if family.values else ""
            label = f"`{family.label}`" + (f": {values}" if values else "")
        lines.append(f"| `{name}` | {family.kind} | {family.help} | {label} |")
    lines += [
        "",
        "Beside them are those of every Prometheus client, of this process: `process_cpu_seconds_total`,",
        "`process_resident_memory_bytes`, `process_virtual_memory_bytes`, `process_open_fds`, `process_max_fds` and",
        "`process_start_time_seconds`. There are no `_created` series.",
    ]
    return "\n".join(lines) + "\n"
