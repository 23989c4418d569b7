"""Documents of ownership: who serves a bundle.

Source: NamespaceEphemeralData, ServiceUnitStateData, BrokersBase.getOwnedNamespaces, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from syncer.balancer.decoding.bundles import BUNDLE
from syncer.balancer.decoding.conflicts import UnitRecord, UnitState
from syncer.balancer.picture import FigureOrigin, Known, LoadFindingKind, Ownership, Tenure

if TYPE_CHECKING:
    from syncer.balancer.decoding.fields import DocumentFields
    from syncer.balancer.decoding.parts import PictureParts


def take_ownership_node(bundle: str, fields: DocumentFields, origin: FigureOrigin, parts: PictureParts) -> None:
    """Take the node that a broker of the modular manager keeps for each bundle that it owns.

    The owner is named by its address here, which only all registrations can tell whose it is.

    Args:
        bundle: Its full name.
        fields: The document.
        origin: Where it was read.
        parts: What it becomes part of.
    """
    for name in ("httpUrl", "httpUrlTls", "nativeUrl", "nativeUrlTls"):
        address = fields.text(name)
        if address is not None:
            parts.bundles.owners[bundle] = Known(Ownership(Tenure.OWNED, address), origin)
            return
    parts.notes.note(LoadFindingKind.TORN, fields.where, "it names no address of the owner, who stays unknown")


def broker_of(address: str, addresses: Mapping[str, str]) -> str:
    """Name the broker of an address: by the registrations, else by host and port.

    Args:
        address: A URL, or a broker's id already.
        addresses: Each registered URL's broker.
    """
    if "://" not in address:
        return address
    found = addresses.get(address.rstrip("/").lower())
    if found is not None:
        return found
    try:
        return urlsplit(address).netloc or address
    except ValueError:
        return address


def unit_record(fields: DocumentFields) -> UnitRecord | None:
    """Read a state of the extensible manager's channel; None where it is none."""
    name, version = fields.text("state"), fields.whole("versionId")
    if version is None:
        return None
    if name is None or name not in set(UnitState):
        fields.notes.note(LoadFindingKind.TORN, fields.where, f"its state is {name!r:.40}; the owner stays unknown")
        return None
    return UnitRecord(
        state=UnitState(name),
        target=_broker(fields.text("dstBroker")),
        source=_broker(fields.text("sourceBroker")),
        forced=fields.flag("force", default=False),
        version=version,
        written_ms=fields.time_ms("timestamp"),
    )


def take_unit(bundle: str, record: UnitRecord, origin: FigureOrigin, parts: PictureParts) -> None:
    """Take the state of a bundle in the extensible manager's channel.

    Args:
        bundle: Its full name.
        record: The state that stands.
        origin: Where it was read.
        parts: What it becomes part of.
    """
    if not BUNDLE.fullmatch(bundle):
        parts.notes.note(LoadFindingKind.TORN, origin.where, f"it names {bundle!r:.80}, which is no bundle")
        return
    match record.state:
        case UnitState.OWNED:
            held = Ownership(Tenure.OWNED, record.target)
        case UnitState.SPLITTING:
            held = Ownership(Tenure.SPLITTING, record.source)
        case UnitState.ASSIGNING | UnitState.RELEASING:
            held = Ownership(Tenure.MOVING, record.source, record.target)
        case UnitState.FREE | UnitState.INIT:
            held = Ownership(Tenure.FREE, None)
        case UnitState.DELETED:
            return
    if held.tenure in {Tenure.OWNED, Tenure.SPLITTING} and held.broker is None:
        parts.notes.note(
            LoadFindingKind.TORN,
            origin.where,
            f"{bundle} is {record.state.value} by no broker; the owner stays unknown",
        )
        return
    parts.bundles.owners[bundle] = Known(held, replace(origin, written_ms=record.written_ms or origin.written_ms))


def take_owned(broker: str, answer: Mapping[str, object], origin: FigureOrigin, parts: PictureParts) -> None:
    """Take a broker's own list of what it owns, where no store tells it.

    Args:
        broker: Its id.
        answer: Bundle → its status, as the broker gave it.
        origin: Where it was read.
        parts: What it becomes part of.
    """
    for bundle in answer:
        if not BUNDLE.fullmatch(bundle):
            parts.notes.note(LoadFindingKind.TORN, origin.where, f"it names {bundle!r:.80}, which is no bundle")
            continue
        known = parts.bundles.owners.get(bundle)
        if known is not None and known.origin.source is origin.source and known.value.broker != broker:
            parts.notes.note(
                LoadFindingKind.CONTRADICTION,
                origin.where,
                f"{bundle} is owned by {broker} and by {known.value.broker}",
            )
        parts.bundles.owners[bundle] = Known(Ownership(Tenure.OWNED, broker), origin)


def take_started(broker: str, answer: Mapping[str, object], origin: FigureOrigin, parts: PictureParts) -> None:
    """Note a broker of the extensible manager that owns nothing, not even its own heartbeat: it is not started.

    It is registered and answers before; a bundle that is brought to it then is served by nobody for a minute.

    Args:
        broker: Its id.
        answer: Bundle → its status, as the broker gave it.
        origin: Where it was read.
        parts: What it becomes part of.
    """
    if not answer:
        parts.brokers.unstarted.add(broker)
        parts.notes.note(
            LoadFindingKind.MISSING,
            origin.where,
            f"the load manager of {broker} is not started: it owns nothing, and is left out",
            "Ask again in a minute; if it stays so, look at the log of the broker.",
        )


def _broker(name: str | None) -> str | None:
    return name.strip() or None if name is not None else None
