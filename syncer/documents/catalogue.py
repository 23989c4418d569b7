"""The catalogue of JSON documents that commands print with ``-o json``, a contract: fields may be added, none changes.

Units: ``*_ms`` milliseconds since the epoch, UTC; ``*_s`` seconds. A stamp is ``time@region``, a digest hexadecimal.
"""

from __future__ import annotations

from typing import Final

from syncer.documents.backups import BackupDocument, VerifyDocument
from syncer.documents.configuration import CheckDocument, KeyDocument
from syncer.documents.conflicts import ConflictDetail, ConflictList
from syncer.documents.explain import DecisionDocument, ExplainDocument
from syncer.documents.holds import HoldList, ParkedList
from syncer.documents.operations import OperationList
from syncer.documents.plans import AppliedDocument, PlanDocument
from syncer.documents.quarantine import QuarantineList
from syncer.documents.regions import FirstContactPlan, RegionList
from syncer.documents.repairs import RepairDocument, RepairList, RepairPreview
from syncer.documents.snapshots import SNAPSHOT_DOCUMENTS
from syncer.documents.state import CompactDocument, StateCheckDocument
from syncer.documents.status import StatusDocument, VerdictDocument
from syncer.documents.topics import TopicDocument

DOCUMENTS: Final = (
    StatusDocument, VerdictDocument, RegionList, DecisionDocument, ExplainDocument, HoldList, ParkedList, ConflictList,
    ConflictDetail, QuarantineList, OperationList, CheckDocument, TopicDocument, PlanDocument, AppliedDocument,
    BackupDocument, VerifyDocument, FirstContactPlan, StateCheckDocument, CompactDocument,
    RepairDocument, RepairList, RepairPreview, KeyDocument, *SNAPSHOT_DOCUMENTS,
)  # fmt: skip
