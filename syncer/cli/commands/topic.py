"""``syncer topic init``: what the bus needs in each Pulsar cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.confirmation import Yes, agree
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import CommandSession, log_to_stderr, session_of
from syncer.documents.topics import StepDocument, TopicDocument
from syncer.errors import PreconditionFailed

if TYPE_CHECKING:
    from syncer.admin.client import AdminSettings
    from syncer.bus.pulsar.topic import Step, WantedTopic
    from syncer.config import Config

ONE_CALL_S: Final = 10.0
"""How long one look at something is repeated; what is looked at as a whole is, for as long as --timeout says."""

app = typer.Typer(no_args_is_help=True, help="The topic that connects the regions.")


@app.callback()
def topic() -> None:
    """The topic that connects the regions."""


@app.command("init")
def init(
    context: typer.Context,
    cluster: Annotated[
        list[str],
        typer.Option("--cluster", metavar="NAME=URL", help="A Pulsar cluster and its admin URL; once for each."),
    ],
    region: Annotated[
        list[str] | None,
        typer.Option("--region", metavar="NAME=REGION", help="Region of a cluster, where it is not called the same."),
    ] = None,
    retention: Annotated[str, typer.Option("--retention", help="How long acknowledged messages are kept.")] = "7d",
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            min=0,
            metavar="SECONDS",
            help="How long to go on while a broker does not answer or is not ready: for looking, and again for doing.",
        ),
    ] = 60.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    yes: Yes = False,
) -> None:
    """Make tenant, namespaces, policies, topic and subscription in each cluster. Safe to repeat.

    All clusters are spoken to with the credentials of [admin].
    """
    import anyio

    from syncer.bus.pulsar.topic import WantedTopic
    from syncer.config.durations import parse_duration

    session = session_of(context)
    config = session.config()
    settings = config.bus_settings
    name = getattr(settings, "topic", None)
    if not isinstance(name, str):
        raise PreconditionFailed(f"the bus {config.bus.kind!r} needs no topic", hint="Nothing is to be done.")
    kept = parse_duration(retention)
    if kept is None:
        raise typer.BadParameter(f"{retention!r} is no duration; write it like 7d")
    urls = _pairs(cluster, "--cluster")
    wanted = WantedTopic(
        topic=name,
        regions=regions_of(config, urls, _pairs(region or [], "--region")),
        subscription=str(getattr(settings, "subscription", "pulsar-syncer")),
        retention=kept,
    )
    log_to_stderr()
    admins = admins_of(config, urls, timeout)
    with retries_told({each.url: name for name, each in admins.items()}, timeout_s=timeout):
        anyio.run(_run, session, wanted, admins, timeout, dry_run, yes)


@contextmanager
def retries_told(clusters: Mapping[str, str], *, timeout_s: float) -> Iterator[None]:
    """Say of each cluster once that its calls are repeated, and why.

    Args:
        clusters: Admin URL → name of the cluster.
        timeout_s: For how long they are.
    """
    from stamina.instrumentation import RetryDetails, get_on_retry_hooks, set_on_retry_hooks

    untold = dict(clusters)

    def say_why(details: RetryDetails) -> None:
        cause = str(details.caused_by)
        for url in [each for each in untold if f"{each}/" in cause]:
            say(f"{untold.pop(url)}: {cause}; trying again for {timeout_s:g} s")

    before = get_on_retry_hooks()
    set_on_retry_hooks([say_why])
    try:
        yield
    finally:
        set_on_retry_hooks(before)


def regions_of(config: Config, urls: dict[str, str], given: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Cluster → regions: as given, else this region for its own clusters, else the cluster's own name."""
    unknown = sorted(set(given) - set(urls))
    if unknown:
        raise typer.BadParameter(f"--region names {unknown[0]!r}, which no --cluster names")
    return {
        name: tuple(given[name].split(",")) if name in given else (config.region if name in config.clusters else name,)
        for name in urls
    }


def _pairs(texts: list[str], option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise typer.BadParameter(f"{option} {text!r}: write it as NAME=VALUE")
        if name in pairs:
            raise typer.BadParameter(f"{option} names {name!r} twice")
        pairs[name] = value
    return pairs


def admins_of(config: Config, urls: dict[str, str], timeout_s: float) -> dict[str, AdminSettings]:
    """Cluster → settings of its admin client: those of [admin], with another URL."""
    from syncer.admin.client import AdminSettings
    from syncer.config.admin_clients import admin_settings

    base = admin_settings(config.admin).model_dump() if config.admin is not None else {}
    base["retry_for"] = min(timeout_s, ONE_CALL_S)
    return {name: AdminSettings.model_validate({**base, "url": url.rstrip("/")}) for name, url in urls.items()}


async def _run(
    session: CommandSession,
    wanted: WantedTopic,
    settings: dict[str, AdminSettings],
    timeout_s: float,
    dry_run: bool,
    yes: bool,
) -> None:
    from syncer.admin.client import AdminClient
    from syncer.bus.pulsar.topic import StepState, apply_topic, plan_topic

    async with AsyncExitStack() as stack:
        admins = {name: await stack.enter_async_context(AdminClient(each)) for name, each in settings.items()}
        steps = await plan_topic(wanted, admins, within_s=timeout_s)
        needed = [step for step in steps if step.state is StepState.NEEDED]
        if needed and not dry_run:
            for step in needed:
                say(f"{step.cluster}: {step.subject}: {step.wanted} (now: {step.found})")
            agree(
                wanted.topic,
                f"{len(needed)} steps would be performed.",
                yes=yes,
            )
            steps = await apply_topic(steps, admins, within_s=timeout_s)
    _show(wanted, steps, session)


def _show(wanted: WantedTopic, steps: tuple[Step, ...], session: CommandSession) -> None:
    items = [
        StepDocument(
            cluster=step.cluster, subject=step.subject, wanted=step.wanted, found=step.found, state=step.state.value
        )
        for step in steps
    ]
    if session.form is Format.TABLE:
        output.table(
            ("cluster", "what", "wanted", "found", "state"),
            [(each.cluster, each.subject, each.wanted, each.found, each.state) for each in items],
        )
    else:
        output.document(TopicDocument(topic=wanted.topic, steps=items), session.form)
