"""Rendering of a cluster's load: a row for each broker or bundle, and what was wrong with what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.documents.words import counted

if TYPE_CHECKING:
    from syncer.documents.balancing.load import (
        BrokerLoadDocument,
        BundleLoadDocument,
        LoadDocument,
        OriginDocument,
        RatesDocument,
        UsageDocument,
    )

_BROKERS: Final = (
    "broker", "usage", "cpu", "direct memory", "in", "out", "messages/s", "bytes/s", "topics", "bundles", "age",
    "source",
)  # fmt: skip
_BUNDLES: Final = (
    "bundle", "owner", "tenure", "messages/s", "bytes/s", "topics", "producers", "consumers", "age", "source",
)  # fmt: skip
MOST_FINDINGS: Final = 20
"""Findings that are printed beside a table; all of them are in the JSON."""


def show_load(found: LoadDocument, form: Format, *, bundles: bool) -> None:
    """Print a cluster's load.

    Args:
        found: The document.
        form: Of the data.
        bundles: A table shows the bundles, not the brokers.
    """
    if form is not Format.TABLE:
        output.document(found, form)
        return
    if bundles:
        output.table(_BUNDLES, map(_bundle, found.bundles), empty="no bundles")
    else:
        output.table(_BROKERS, map(_broker, found.brokers), empty="no brokers")
    manager = "no manager that is known" if found.manager is None else f"the {found.manager.value} manager"
    say(
        f"{found.cluster}: {manager}, {counted(len(found.brokers), 'broker')}, {counted(len(found.bundles), 'bundle')};"
        f" of {counted(len(found.unknown_brokers), 'broker')} and {counted(len(found.unknown_bundles), 'bundle')} the"
        " load is not known"
    )
    for finding in found.findings[:MOST_FINDINGS]:
        say(f"{finding.kind.value}: {finding.where}: {finding.what}")
        say(f"hint: {finding.remedy}")
    if len(found.findings) > MOST_FINDINGS:
        say(f"{counted(len(found.findings) - MOST_FINDINGS, 'more finding')}: see '-o json'")


def _broker(each: BrokerLoadDocument) -> tuple[object, ...]:
    return (
        each.broker,
        _percent(each.usage),
        _share(each.cpu),
        _share(each.direct_memory),
        _share(each.bandwidth_in),
        _share(each.bandwidth_out),
        *_traffic(each.traffic),
        each.topics,
        each.bundles,
        *_origin(each.figures),
    )


def _bundle(each: BundleLoadDocument) -> tuple[object, ...]:
    return (
        each.bundle,
        each.owner,
        None if each.tenure is None else each.tenure.value,
        *_traffic(each.traffic),
        each.topics,
        each.producers,
        each.consumers,
        *_origin(each.figures),
    )


def _percent(fraction: float | None) -> str | None:
    return None if fraction is None else f"{fraction:.1%}"


def _share(usage: UsageDocument | None) -> str | None:
    """Share of a limit; only the usage where Pulsar could not read the limit."""
    if usage is None:
        return None
    return _percent(usage.usage / usage.limit) if usage.limit > 0 else f"{usage.usage:g} of ?"


def _traffic(rates: RatesDocument | None) -> tuple[str | None, str | None]:
    if rates is None:
        return None, None
    return f"{rates.rate_in + rates.rate_out:.0f}", f"{rates.throughput_in + rates.throughput_out:.0f}"


def _origin(origin: OriginDocument | None) -> tuple[str | None, str | None]:
    if origin is None:
        return None, None
    return None if origin.age_ms is None else f"{origin.age_ms // 1000} s", origin.source.value
