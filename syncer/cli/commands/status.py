"""``syncer status`` and ``syncer regions``: how the region and its peers are."""

from __future__ import annotations

import time
from collections import Counter
from typing import Annotated

import typer

from syncer.cli.commands.servers.status_all import status_all
from syncer.cli.commands.status_check import check, lines
from syncer.cli.render import output
from syncer.cli.render.output import Format, cleared, out
from syncer.cli.session import CommandSession, session_of
from syncer.cli.waiting import wait_for_first_scan
from syncer.documents.status import DaemonDocument, RegionDocument, RepairProgress, SnapshotsDocument, StatusDocument
from syncer.documents.words import moment, span, with_times
from syncer.inspection.verdict import judge

regions = typer.Typer(no_args_is_help=True, help="The regions of the group.")


def status(
    context: typer.Context,
    watch: Annotated[
        float | None, typer.Option("--watch", min=0.1, metavar="SECONDS", help="Show it again and again.")
    ] = None,
    judged: Annotated[
        bool, typer.Option("--check", help="Print the verdict and the next step only; for monitoring.")
    ] = False,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Every region of 'syncer context', asked at once, in one table.")
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="With --all: for the answer of each region.")
    ] = 10.0,
    wait: Annotated[
        float | None,
        typer.Option(
            "--wait",
            min=0,
            metavar="SECONDS",
            help="First wait until the first scan of the store is done, at most so long.",
        ),
    ] = None,
) -> None:
    """Show how replication is going, what waits, and what is not carried at all.

    With --check, exit status 0: well; 1: an operator is needed; 4: no daemon works, there is no database, or no
    answer; 6: this user has no right to it. --all has the greatest status of all regions.
    """
    if judged and watch is not None:
        raise typer.BadParameter("--check looks once: give either --check or --watch")
    session = session_of(context)
    if everywhere:
        if watch is not None or wait is not None:
            raise typer.BadParameter("--all looks once: give neither --watch nor --wait")
        status_all(session, timeout, judged=judged)
    if wait is not None:
        wait_for_first_scan(session, wait)
    if judged:
        check(session)
    with session.region() as region:
        while True:
            found = region.status()
            if watch is not None:
                cleared(session.form)
            show(found, session, streaming=watch is not None)
            if watch is None:
                return
            time.sleep(watch)


@regions.command("list")
def list_regions(context: typer.Context) -> None:
    """List this region and every one that was ever heard."""
    session = session_of(context)
    with session.region() as region:
        listed = region.regions()
    if session.form is Format.TABLE:
        output.table(
            ("region", "here", "member", "mode", "version", "heard", "clock", "same rules", "key", "held"),
            map(_region_row, listed.items),
        )
    else:
        output.document(listed, session.form)


def _region_row(region: RegionDocument) -> output.Row:
    return (
        region.region,
        region.here,
        region.member,
        region.mode,
        region.version,
        f"{span(region.heard_age_s)} ago" if region.heard_age_s is not None else None,
        span(region.skew_s),
        region.same_rules,
        region.key_id,
        region.held or (f"said to be forgotten by {', '.join(said)}" if (said := region.said_forgotten_by) else None),
    )


def _daemon_row(daemon: DaemonDocument) -> output.Row:
    seen = f"{span(daemon.seen_age_s)} ago"
    return (
        daemon.host,
        daemon.pid,
        daemon.version,
        daemon.role,
        moment(daemon.since_ms),
        f"silent, {seen}" if daemon.silent else seen,
    )


def show(found: StatusDocument, session: CommandSession, *, streaming: bool) -> None:
    """Print the status."""
    if session.form is not Format.TABLE:
        (output.stream if streaming else output.document)(found, session.form)
        return
    for line in lines(judge(found), session):
        out(line)
    out("")
    waiting, outbox = found.waiting, found.outbox
    reported = "never" if found.reported_age_s is None else f"{span(found.reported_age_s)} ago"
    output.facts(
        [
            ("region", found.region),
            ("daemon", f"{found.daemon} (last report {reported})"),
            ("mode", found.mode + (f", paused: {found.paused}" if found.paused is not None else "")),
            *([("database", found.rebuilding)] if found.rebuilding is not None else []),
            ("first scan", "finished" if found.baseline_done else "not finished: nothing is published before"),
            *([("migration", moving)] if (moving := _store_migration(found)) else []),
            ("watch", {True: "whole", False: "broken, a scan will heal it", None: "-"}[found.watch_whole]),
            *([("signed", signed)] if (signed := _signed(found)) else []),
            *([("brokers", told)] if (told := _brokers(found)) else []),
            ("paths", found.paths),
            *([("scalable", scalable)] if (scalable := _scalable(found)) else []),
            *([("topic policies", followed)] if (followed := _topic_policies(found)) else []),
            ("outbox", f"{outbox.depth}" + (f", oldest {span(outbox.oldest_age_s)}" if outbox.depth else "")),
            ("writes due", waiting.due),
            ("holds", waiting.holds + waiting.future_events),
            ("parked", waiting.parked),
            ("conflicts", waiting.conflicts),
            ("quarantine", waiting.quarantine),
            *([("snapshots", _snapshots(found.snapshots))] if found.snapshots is not None else []),
            *([("repair", _repair(found.repair))] if found.repair is not None else []),
        ]
    )
    if found.daemons:
        out("")
        output.table(("host", "process", "version", "role", "since", "seen"), map(_daemon_row, found.daemons))
    if found.peers:
        out("")
        output.table(
            ("peer", "mode", "version", "brokers", "heard", "clock", "published up to", "same rules", "compared"),
            [
                (
                    peer.region,
                    peer.mode,
                    peer.version,
                    ", ".join(peer.brokers) or None,
                    f"{'away, ' if peer.away else ''}{span(peer.heard_age_s)} ago",
                    span(peer.skew_s),
                    moment(peer.watermark_ms),
                    peer.same_rules,
                    _shared(peer, _compared(peer.compared, peer.differing_paths, waiting.unreadable)),
                )
                for peer in found.peers
            ],
        )
    for condition in sorted(found.conditions, key=lambda each: each.severity != "alarm"):
        out(f"{'!' if condition.severity == 'alarm' else 'advice,'} {with_times(condition.line)}")
    out("")
    out("not carried: " + "; ".join(found.not_carried))


def _brokers(found: StatusDocument) -> str:
    """How many brokers have which version of Pulsar; empty: that is not known."""
    counted = Counter(found.brokers.values())
    return ", ".join(f"{count} of {version}" for version, count in sorted(counted.items()))


def _scalable(found: StatusDocument) -> str:
    """How many scalable topics stay where they are; empty: none, as far as that is seen."""
    counted = found.scalable_topics
    if counted is None or not counted.total:
        return ""
    some = "" if counted.whole else "at least "
    return f"{some}{counted.total} in {len(counted.namespaces)} namespaces, not carried"


def _topic_policies(found: StatusDocument) -> str:
    """How topic policies in system topics fare; empty: none are carried from there."""
    told = found.topic_policies
    if told is None:
        return ""
    open_now = f"{told.namespaces} namespaces, the topics of {told.followed} are open"
    waiting = f", {told.unread} not read yet" if told.unread else ""
    lost = f", {told.overtaken} edits overtaken" if told.overtaken else ""
    return f"{open_now}{waiting}{lost}"


def _store_migration(found: StatusDocument) -> str:
    """How far Pulsar's migration of the store is; empty: there is none, as far as that was looked at."""
    told = found.store_migration or ""
    return "" if told in {"", "NOT_STARTED"} else f"of the store: {told}"


def _signed(found: StatusDocument) -> str:
    """What messages are signed with here, and whether others must do so; empty: nothing is."""
    keys = [
        *([f"key {found.region_key} of the region"] if found.region_key is not None else []),
        *([f"key {found.signing_key} of the group"] if found.signing_key is not None else []),
    ]
    return " and ".join(keys) + ("; others by their region's key only" if found.region_keys_required else "")


def _repair(found: RepairProgress) -> str:
    return f"{found.id}: {found.done} of {found.total} paths ('syncer snapshot progress {found.id}')"


def _snapshots(found: SnapshotsDocument) -> str:
    """How the taking of snapshots on schedule stands."""
    last = f"last {moment(found.last_ended_at_ms)}" + ("" if found.last_succeeded else ", failed")
    parts = [last if found.last_ended_at_ms is not None else "none yet"]
    if found.running:
        rows = f", {found.rows} rows" if found.rows is not None else ""
        left = f", {span(found.eta_s)} left" if found.eta_s is not None else ""
        parts.append(f"one is taken: {found.phase or 'it starts'}{rows}{left}")
    elif found.next_at_ms:
        parts.append(f"next {moment(found.next_at_ms)}")
    return "; ".join(parts)


def _shared(peer: RegionDocument, compared: str | None) -> str | None:
    """How the trees stand, and over how many paths, where the two regions have different rules."""
    if compared is None or peer.same_rules is not False or peer.shared_paths is None:
        return compared
    return f"{compared} ({peer.shared_paths} shared path{'' if peer.shared_paths == 1 else 's'})"


def _compared(state: str | None, differing: int | None, unreadable: int) -> str | None:
    """How the trees stand, in a few words; what cannot be read here is in no comparison."""
    if state == "equal" and unreadable:
        return f"equal, but for {unreadable} path{'s' if unreadable > 1 else ''} that cannot be read here"
    return f"differs, {differing} paths" if state == "differs" and differing else state
