"""``syncer status`` and ``syncer regions``: how the region and its peers are."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from syncer.cli import output
from syncer.cli.documents import (
    NOT_CARRIED,
    Condition,
    Outbox,
    RegionDocument,
    RegionList,
    StatusDocument,
    Waiting,
)
from syncer.cli.output import Format, moment, out, span
from syncer.cli.session import Session, now_ms, session_of

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.state.contract import PeerRow
    from syncer.state.views import Status, Views

SILENT_AFTER_S: Final = 15.0
"""A daemon reports every few seconds; after so long without a report it does not run, or hangs."""

regions = typer.Typer(no_args_is_help=True, help="The regions of the group.")


def status(
    context: typer.Context,
    watch: Annotated[
        float | None, typer.Option("--watch", min=0.1, metavar="SECONDS", help="Show it again and again.")
    ] = None,
) -> None:
    """Show how replication is going, what waits, and what is not carried at all."""
    session = session_of(context)
    config = session.config(whole=False)
    with session.views() as views:
        while True:
            found = collect(views, config)
            if watch is not None and session.form is Format.TABLE and sys.stdout.isatty():
                sys.stdout.write("\x1b[H\x1b[2J")
            show(found, session, streaming=watch is not None)
            if watch is None:
                return
            time.sleep(watch)


@regions.command("list")
def list_regions(context: typer.Context) -> None:
    """List this region and every one that was ever heard."""
    session = session_of(context)
    config = session.config(whole=False)
    with session.views() as views:
        found = collect(views, config)
    here = RegionDocument(
        region=found.region,
        here=True,
        mode=found.mode,
        version=None,
        heard_at_ms=found.reported_at_ms,
        heard_age_s=found.reported_age_s,
        skew_s=None,
        watermark_ms=None,
        same_rules=None,
    )
    items = [here, *found.peers]
    if session.form is Format.TABLE:
        output.table(("region", "here", "mode", "version", "heard", "clock", "same rules"), map(_region_row, items))
    else:
        output.document(RegionList(items=items), session.form)


def collect(views: Views, config: Config) -> StatusDocument:
    """Read all that ``status`` shows."""
    now = now_ms()
    facts = views.status()
    report: dict[str, Any] = dict(facts.document or {})
    age_s = (now - facts.reported_at_ms) / 1000 if facts.reported_at_ms is not None else None
    oldest = facts.outbox.oldest_at_ms
    scope, ties = config.compiled_scope().fingerprint, config.tie_order.value
    return StatusDocument(
        region=facts.identity.region,
        daemon="never-started" if age_s is None else "running" if age_s <= SILENT_AFTER_S else "silent",
        mode=str(report.get("mode", config.mode)),
        reported_at_ms=facts.reported_at_ms,
        reported_age_s=age_s,
        paused=facts.identity.paused,
        baseline_done=facts.identity.genesis,
        watch_whole=report.get("watch_whole"),
        epoch=facts.identity.epoch,
        fence=report.get("fence"),
        paths=facts.counts.alive,
        outbox=Outbox(depth=facts.outbox.depth, oldest_age_s=None if oldest is None else max(0, now - oldest) / 1000),
        waiting=_waiting(facts),
        peers=[_peer(peer, now, scope, ties) for peer in views.peers() if peer.region != facts.identity.region],
        conditions=_conditions(report),
        not_carried=list(NOT_CARRIED),
    )


def _waiting(facts: Status) -> Waiting:
    counts = facts.counts
    return Waiting(
        due=counts.due,
        holds=counts.holds,
        future_events=counts.future_events,
        parked=counts.parked,
        conflicts=counts.conflicts,
        quarantine=counts.quarantine,
        operations=counts.operations,
    )


def _conditions(report: dict[str, Any]) -> list[Condition]:
    standing = [Condition(code=each["code"], message=each["message"]) for each in report.get("conditions", ())]
    disagreements = [
        Condition(code="regions-disagree", message=f"{each['peer']}, {each['kind']}: {each['message']}")
        for each in report.get("disagreements", ())
    ]
    return standing + disagreements


def _peer(peer: PeerRow, now: int, scope: str, ties: str) -> RegionDocument:
    told: dict[str, Any] = dict(peer.document)
    same = None
    if "scope" in told and "tie_order" in told:
        same = told["scope"] == scope and told["tie_order"] == ties
    return RegionDocument(
        region=peer.region,
        here=False,
        mode=told.get("mode"),
        version=told.get("version"),
        heard_at_ms=peer.heard_at_ms,
        heard_age_s=(now - peer.heard_at_ms) / 1000,
        skew_s=(peer.sent_at_ms - peer.heard_at_ms) / 1000,
        watermark_ms=told.get("watermark"),
        same_rules=same,
    )


def _region_row(region: RegionDocument) -> output.Row:
    return (
        region.region,
        region.here,
        region.mode,
        region.version,
        f"{span(region.heard_age_s)} ago" if region.heard_age_s is not None else None,
        span(region.skew_s),
        region.same_rules,
    )


def show(found: StatusDocument, session: Session, *, streaming: bool) -> None:
    """Print the status."""
    if session.form is not Format.TABLE:
        (output.stream if streaming else output.document)(found, session.form)
        return
    waiting, outbox = found.waiting, found.outbox
    reported = "never" if found.reported_age_s is None else f"{span(found.reported_age_s)} ago"
    output.facts(
        [
            ("region", found.region),
            ("daemon", f"{found.daemon} (last report {reported})"),
            ("mode", found.mode + (f", paused: {found.paused}" if found.paused is not None else "")),
            ("first scan", "finished" if found.baseline_done else "not finished: nothing is published before"),
            ("watch", {True: "whole", False: "broken, a scan will heal it", None: "-"}[found.watch_whole]),
            ("paths", found.paths),
            ("outbox", f"{outbox.depth}" + (f", oldest {span(outbox.oldest_age_s)}" if outbox.depth else "")),
            ("writes due", waiting.due),
            ("holds", waiting.holds + waiting.future_events),
            ("parked", waiting.parked),
            ("conflicts", waiting.conflicts),
            ("quarantine", waiting.quarantine),
        ]
    )
    if found.peers:
        out("")
        output.table(
            ("peer", "mode", "version", "heard", "clock", "published up to", "same rules"),
            [
                (
                    peer.region,
                    peer.mode,
                    peer.version,
                    f"{span(peer.heard_age_s)} ago",
                    span(peer.skew_s),
                    moment(peer.watermark_ms),
                    peer.same_rules,
                )
                for peer in found.peers
            ],
        )
    for condition in found.conditions:
        out(f"! {condition.code}: {condition.message}")
    out("")
    out("not carried: " + "; ".join(found.not_carried))
