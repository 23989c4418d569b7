"""``syncer notify``: the webhooks that are told of what waits for an operator."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Annotated

import typer

from syncer.cli.render import output
from syncer.cli.render.output import Format
from syncer.cli.session import log_to_stderr, session_of
from syncer.dispositions import ExitCode
from syncer.errors import ConfigError, NotFound, PreconditionFailed

if TYPE_CHECKING:
    from syncer.config.webhooks import WebhookConfig
    from syncer.documents.notices import AttemptDocument, NoticeDocument
    from syncer.notices.lookups import HostLookups

app = typer.Typer(no_args_is_help=True, help="Notices to operators: webhooks and log.")


@app.callback()
def notify() -> None:
    """Notices to operators: webhooks and log."""


@app.command("test")
def send_test(
    context: typer.Context,
    webhook: Annotated[
        list[str] | None, typer.Option("--webhook", metavar="NAME", help="Only this one; may be given again.")
    ] = None,
) -> None:
    """Send one test notice to each webhook of the configuration, once, and tell what it answered."""
    import anyio

    from syncer.documents.notices import NotifyTestDocument, notice_document
    from syncer.notices.rules import NoticeEvent, NoticeKind, Outstanding

    session = session_of(context)
    config = session.config(whole=False)
    if not config.webhook:
        raise PreconditionFailed("the configuration names no webhook", hint="Give a table [webhook.NAME].")
    if unknown := sorted(set(webhook or ()) - set(config.webhook)):
        raise NotFound(
            f"there is no webhook named {unknown[0]!r}", hint=f"The configuration has: {', '.join(config.webhook)}."
        )
    called = {name: each for name, each in config.webhook.items() if not webhook or name in webhook}
    log_to_stderr()
    notice = notice_document(
        config.region,
        NoticeKind.HOLDS,
        NoticeEvent.TEST,
        Outstanding(count=0),
        f"msg_{secrets.token_hex(16)}",
        time.time_ns() // 1_000_000,
    )
    items = anyio.run(_send, called, notice)
    found = NotifyTestDocument(ok=all(each.ok for each in items), notice=notice, items=items)
    if session.form is not Format.TABLE:
        output.document(found, session.form)
    else:
        output.table(
            ("webhook", "place", "ok", "status", "seconds", "cause"),
            [
                (each.webhook, each.place, each.ok, each.status, f"{each.took_s:.2f}", each.cause or None)
                for each in found.items
            ],
        )
    if not found.ok:
        raise typer.Exit(ExitCode.UNREACHABLE)


async def _send(called: dict[str, WebhookConfig], notice: NoticeDocument) -> list[AttemptDocument]:
    """Call all at once; the answers in the order of the configuration."""
    import anyio

    from syncer.notices.lookups import HostLookups

    found, lookups = dict[str, "AttemptDocument"](), HostLookups()

    async def one(name: str, config: WebhookConfig) -> None:
        found[name] = await _attempt(name, config, notice, lookups)

    async with anyio.create_task_group() as tasks:
        for name, config in called.items():
            tasks.start_soon(one, name, config)
    return [found[name] for name in called]


async def _attempt(name: str, config: WebhookConfig, notice: NoticeDocument, lookups: HostLookups) -> AttemptDocument:
    import anyio.to_thread

    from syncer.documents.notices import AttemptDocument, body_of, template_values
    from syncer.notices.delivery import post
    from syncer.notices.pace import AttemptOutcome
    from syncer.notifier.webhook import prepared

    try:
        endpoint, body = await anyio.to_thread.run_sync(prepared, config, body_of(notice), template_values(notice))
    except ConfigError as exc:
        return AttemptDocument(
            webhook=name,
            place=config.url.place,
            ok=False,
            outcome="not-sent",
            status=None,
            took_s=0.0,
            cause=exc.message,
        )
    result = await post(endpoint, notice.data.id, body, time.time_ns() // 1_000_000_000, lookups)
    return AttemptDocument(
        webhook=name,
        place=config.url.place,
        ok=result.outcome is AttemptOutcome.DELIVERED,
        outcome=result.outcome.value,
        status=result.status,
        took_s=round(result.took_s, 3),
        cause=result.detail,
    )
