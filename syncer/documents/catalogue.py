"""The catalogue of JSON documents that commands print with ``-o json``, a contract: fields may be added, none changes.

Units: ``*_ms`` milliseconds since the epoch, UTC; ``*_s`` seconds. A stamp is ``time@region``, a digest hexadecimal.
"""

from __future__ import annotations

from typing import Final

from syncer.documents.backups import BackupDocument, VerifyDocument
from syncer.documents.balancing.advice import AdviceDocument, SizeDocument
from syncer.documents.balancing.comparison import ComparisonDocument
from syncer.documents.balancing.doctor import DoctorDocument
from syncer.documents.balancing.history import LoadHistoryDocument
from syncer.documents.balancing.load import LoadDocument
from syncer.documents.balancing.moves import MoveRunDocument, MoveRunList
from syncer.documents.configuration import (
    CheckDocument,
    ClientCertificateList,
    KeyDocument,
    NewTokenDocument,
    TokenList,
)
from syncer.documents.conflicts import ConflictDetail, ConflictList
from syncer.documents.explain import DecisionDocument, ExplainDocument
from syncer.documents.holds import HoldList, ParkedList
from syncer.documents.jobs import JobDocument, JobList
from syncer.documents.ledgers.audit import LedgerAuditDocument
from syncer.documents.ledgers.explained import ExplainedLedgerDocument, ExplainedTopicDocument
from syncer.documents.ledgers.history import KeptAuditList, LedgerChangesDocument
from syncer.documents.ledgers.losses import AnyLossDocument, DecommissionDocument, LossDocument
from syncer.documents.ledgers.recovery import UnderReplicatedDocument
from syncer.documents.ledgers.references import OrphansDocument
from syncer.documents.migration import (
    MigrationEventDocument,
    MigrationList,
    MigrationPlanDocument,
    MigrationStatusDocument,
    PreflightDocument,
    PreparationDocument,
    RehearsalDocument,
)
from syncer.documents.migration_report.document import MigrationReportDocument
from syncer.documents.notices import NotifyTestDocument
from syncer.documents.operations import OperationDocument, OperationList
from syncer.documents.plans import AppliedDocument, PlanDocument
from syncer.documents.quarantine import QuarantineList
from syncer.documents.reached.contexts import ContextList, ReachedRegionList
from syncer.documents.regions import FirstContactPlan, RegionList
from syncer.documents.scopes import ScopeDocument, ScopeMatchesDocument, ScopeShiftsDocument
from syncer.documents.snapshots import SNAPSHOT_DOCUMENTS, RepairDocument, RepairList, RepairPreview
from syncer.documents.state import CompactDocument, StateCheckDocument
from syncer.documents.status import StatusDocument, VerdictDocument
from syncer.documents.topics import TopicDocument

DOCUMENTS: Final = (
    StatusDocument, VerdictDocument, RegionList, DecisionDocument, ExplainDocument, HoldList, ParkedList, ConflictList,
    ConflictDetail, QuarantineList, OperationList, OperationDocument, CheckDocument, TopicDocument, PlanDocument,
    AppliedDocument, BackupDocument, VerifyDocument, FirstContactPlan, StateCheckDocument, CompactDocument,
    RepairDocument, RepairList, RepairPreview, KeyDocument, MigrationPlanDocument, PreflightDocument,
    MigrationReportDocument, MigrationStatusDocument, MigrationList, MigrationEventDocument,
    RehearsalDocument, PreparationDocument, NewTokenDocument, TokenList, ClientCertificateList, NotifyTestDocument,
    JobDocument, JobList, ContextList, ReachedRegionList, LoadDocument, ComparisonDocument,
    AdviceDocument, SizeDocument, DoctorDocument, LoadHistoryDocument, MoveRunList, MoveRunDocument,
    LedgerAuditDocument, ExplainedLedgerDocument, ExplainedTopicDocument, LossDocument, AnyLossDocument,
    DecommissionDocument, UnderReplicatedDocument, OrphansDocument, KeptAuditList, LedgerChangesDocument,
    ScopeDocument, ScopeMatchesDocument, ScopeShiftsDocument, *SNAPSHOT_DOCUMENTS,
)  # fmt: skip
