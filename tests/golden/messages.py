"""Messages of every kind that a daemon puts on the topic, and those of Pulsar's own synchronizer: made, kept, read."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

from tests.golden import product
from tests.golden.product import (
    Control,
    ControlAction,
    Heartbeat,
    Message,
    MetaPath,
    Millis,
    Outgoing,
    Region,
    Stamp,
    StatePage,
    StateRequest,
    TreeMessage,
    TreeStep,
)
from tests.shell.on_bus import change
from tests.support.group_keys import keyring
from tests.support.region_keys import ring

NAME: Final = "messages.json"
NOW: Final = Millis(1_700_000_000_000)
EAST, WEST = Region("east"), Region("west")
TENANT, SPACE = MetaPath("/admin/policies/acme"), MetaPath("/admin/policies/acme/orders")
TOPIC = MetaPath("/admin/partitioned-topics/acme/orders/persistent/created")
SENDER: Final = "d" * 32
KEYS: Final = {
    "": product.UNSIGNED,
    "group": keyring("ours"),
    "region": ring("west", ["west"], required=True),
    "both": ring("west", ["west"], group=["ours"]),
}
"""What a message is signed with; who reads it has the same keys."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One message as it lies in a release's folder.

    Args:
        name: What it is.
        keys: Which keys sign it, of :data:`KEYS`.
        sent: Payload and properties.
        ours: A daemon has made it; otherwise a broker has.
        meaning: All that the release understood, as JSON.
    """

    name: str
    keys: str
    sent: Outgoing
    ours: bool
    meaning: Any


def meaning(part: object) -> Any:
    """Everything that a message says, as plain JSON: its type does not count, its fields and their values do."""
    if isinstance(part, Enum):
        return part.value
    if isinstance(part, bytes):
        return {"base64": base64.b64encode(part).decode()}
    if is_dataclass(part) and not isinstance(part, type):
        return {each.name: meaning(getattr(part, each.name)) for each in fields(part)}
    if isinstance(part, dict):
        return {str(key): meaning(each) for key, each in part.items()}
    return [meaning(each) for each in part] if isinstance(part, list | tuple) else part


def body_meaning(message: TreeMessage) -> Any:
    """What stands in a step of a comparison."""
    if message.step == TreeStep.GROUPS:
        return product.groups_of(message.body)
    if message.step == TreeStep.BUCKETS:
        return meaning(product.buckets_of(message.body))
    return meaning(product.listing_of(message.body))


def all_of(message: Message) -> Any:
    """What a message means, a step's body included."""
    found = meaning(message)
    if isinstance(message, TreeMessage):
        found["body"] = body_meaning(message)
    return found


def _tree(step: TreeStep, body: bytes) -> TreeMessage:
    return TreeMessage(
        region=WEST, sender=SENDER, sent_at_ms=NOW, target="east", label="tree 1", step=step.value, round=7, body=body
    )


def _said() -> Iterator[tuple[str, Message]]:
    first = change(TENANT, b'{"adminRoles":["ops"],"allowedClusters":["east","west"]}', time_ms=NOW)
    yield "change-tenant", first
    yield "change-namespace", change(SPACE, b'{"replication_clusters":["east"]}', time_ms=NOW + 1, sequence=2)
    yield "change-bytes", change(TENANT, b"\xff\x00\xfe", time_ms=NOW + 2, sequence=3)
    yield "change-deleted", change(TOPIC, None, time_ms=NOW + 3, sequence=4)
    says: dict[str, Any] = {"region": WEST, "sender": SENDER, "sent_at_ms": NOW}
    told: dict[str, Any] = {
        "generation": 1_700_000_000,
        "last_sequence": 4,
        "watermark": NOW,
        "scope": "scope",
        "tie_order": product.TieOrder.SMALLER_REGION,
        "mode": "sync",
        "version": "0.1.0",
    }
    yield "heartbeat-bare", Heartbeat(**says, **told)
    yield (
        "heartbeat-full",
        Heartbeat(
            **says,
            **told,
            consumed={"e" * 32: 9},
            projections={"tenant": "1"},
            reached={"e" * 32: 11},
            tree="tree 1",
            root="0f" * 16,
            alive=3,
            unseated_deletes=1,
            oldest_unseated_ms=NOW,
            unfolded=0,
            retold=(3, 4),
            refused=(("north", "f" * 32),),
            generations={"east": (2, "e" * 32)},
        ),
    )
    yield "heartbeat-left", Heartbeat(**says, **{**told, "mode": "left"})
    for action in ControlAction:
        paths: tuple[str, ...] = {
            ControlAction.FORGET: ("north", "f" * 32),
            ControlAction.RETELL: (),
            ControlAction.PROVE: ("e" * 32,),
        }.get(action, (TENANT,))
        stamps = ((NOW, EAST),) if action in {ControlAction.REQUEST, ControlAction.LACKING} else ()
        asked = Control(**says, action=action, paths=paths, reason="why", target="east", number=5, stamps=stamps)
        yield f"control-{action}", asked
    yield "tree-groups", _tree(TreeStep.GROUPS, product.groups_body([number << 96 for number in range(256)]))
    yield "tree-buckets", _tree(TreeStep.BUCKETS, product.buckets_body({3: list(range(256))}))
    entry = product.TreeEntry(TENANT, product.Digest(b"\x01" * 16), Stamp(NOW, EAST))
    listing = product.Listing(buckets=[3, 700], entries=[entry], differing=1)
    yield "tree-listing", _tree(TreeStep.LISTING, product.listing_body(listing))
    yield "tree-remainder", _tree(TreeStep.REMAINDER, product.listing_body(product.Listing(buckets=[3], entries=[])))
    yield "listing-asked", StateRequest(**says, target="east", after=TENANT, told=12)
    entries = (
        (str(TENANT), int(NOW), "east", "east~1", {"east~1": int(NOW)}, "01" * 16),
        (str(TOPIC), int(NOW), "west", "west~2", {"west~2": int(NOW)}, None),
    )
    page = StatePage(**says, target="east", asker="e" * 32, entries=entries)
    yield "listing-told", page
    yield (
        "listing-told-last",
        StatePage(**says, target="east", asker="e" * 32, after=TOPIC, last=True, total=2, rebuilding=True),
    )


def _native() -> Iterator[tuple[str, Outgoing]]:
    for kind in product.NativeType:
        value = None if kind is product.NativeType.DELETED else b"{}"
        record = product.NativeEvent(TENANT, value, "north", kind, NOW)
        yield f"native-{kind.name.lower()}", Outgoing(product.encode_native(record), {})


def made() -> Iterator[Kept]:
    """Every message, by the code of the day."""
    for name, said in _said():
        assert not isinstance(said, product.Ignored)
        for keys in KEYS if name in {"change-tenant", "heartbeat-full", "listing-told"} else ("",):
            yield Kept(name, keys, product.sealed(said, KEYS[keys]), ours=True, meaning=all_of(said))
    for name, sent in _native():
        understood = product.unseal(sent.payload, sent.properties, product.UNSIGNED).message
        yield Kept(name, "", sent, ours=False, meaning=all_of(understood))


def write(folder: Path) -> None:
    """Keep them in a release's folder."""
    rows = [
        {
            "name": each.name,
            "keys": each.keys,
            "ours": each.ours,
            "payload": base64.b64encode(each.sent.payload).decode(),
            "properties": dict(each.sent.properties),
            "meaning": each.meaning,
        }
        for each in made()
    ]
    text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (folder / NAME).write_text(f"[\n{text}\n]\n", encoding="utf-8")


def read(folder: Path) -> list[Kept]:
    """What a release has left."""
    rows = json.loads((folder / NAME).read_text(encoding="utf-8"))
    return [
        Kept(
            row["name"],
            row["keys"],
            Outgoing(base64.b64decode(row["payload"]), row["properties"]),
            row["ours"],
            row["meaning"],
        )
        for row in rows
    ]
