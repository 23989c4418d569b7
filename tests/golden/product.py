"""Everything of the product that golden tests touch by name: whoever moves a module changes this file alone."""

from __future__ import annotations

from api.app import create_app, openapi_text
from spark_snapshot.format.layout import open_snapshot, verify
from syncer.backup.reading import Backup
from syncer.bus.contract import Outgoing
from syncer.bus.embedded import set_link
from syncer.bus.trust.signing import UNSIGNED, sealed, unseal
from syncer.bus.wire.codec import decode, encode
from syncer.bus.wire.messages import (
    Control,
    ControlAction,
    Heartbeat,
    Ignored,
    Message,
    StatePage,
    StateRequest,
    TreeMessage,
)
from syncer.bus.wire.native import NativeEvent, NativeType, encode_native
from syncer.bus.wire.tree_bodies import (
    Listing,
    TreeEntry,
    TreeStep,
    buckets_body,
    buckets_of,
    groups_body,
    groups_of,
    listing_body,
    listing_of,
)
from syncer.cli.main import app
from syncer.config.showing import schema
from syncer.conflict.acts import Decision
from syncer.conflict.register import HoldReason, ParkReason
from syncer.dispositions import DISPOSITIONS
from syncer.documents.catalogue import DOCUMENTS
from syncer.errors import StateForeign
from syncer.inspection.conditions import WEIGHTS
from syncer.metrics import FAMILIES
from syncer.model import Digest, EventType, MetadataChangeEvent, MetaPath, Millis, Region, Stamp, TieOrder
from syncer.planning import plan_file
from syncer.repair.repair_file import RepairFile
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.state.contract.operations import OperationState
from syncer.state.contract.repairs import RepairState
from syncer.state.sql.opening import head
from syncer.state.sql.tables import metadata
from syncer.state.views.region import Views

__all__ = [
    "DISPOSITIONS",
    "DOCUMENTS",
    "FAMILIES",
    "UNSIGNED",
    "WEIGHTS",
    "Backup",
    "Control",
    "ControlAction",
    "Decision",
    "Digest",
    "EventType",
    "Heartbeat",
    "HoldReason",
    "Ignored",
    "Listing",
    "Message",
    "MetaPath",
    "MetadataChangeEvent",
    "Millis",
    "NativeEvent",
    "NativeType",
    "OperationState",
    "Outgoing",
    "ParkReason",
    "Region",
    "RepairFile",
    "RepairState",
    "Stamp",
    "StateForeign",
    "StatePage",
    "StateRequest",
    "TieOrder",
    "TreeEntry",
    "TreeMessage",
    "TreeStep",
    "Views",
    "app",
    "buckets_body",
    "buckets_of",
    "create_app",
    "decode",
    "encode",
    "encode_native",
    "groups_body",
    "groups_of",
    "head",
    "listing_body",
    "listing_of",
    "metadata",
    "open_snapshot",
    "openapi_text",
    "plan_file",
    "schema",
    "sealed",
    "set_link",
    "unseal",
    "verify",
    "wall_clock_ms",
]
