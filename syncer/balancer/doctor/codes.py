"""Codes of the doctor's findings, with the severity and the source of each.

A source is a proposal, request or issue of Pulsar, or the class whose rule it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class DiagnosisSeverity(StrEnum):
    """An error harms now; a warning will, or keeps load where it is; a note explains."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class DiagnosisCode(StrEnum):
    """Stable codes of findings."""

    AVG_EVENLY = "avg-with-even-distribution"
    AVG_PLAN_UNUSED = "avg-plan-unused"
    AVG_PLAN_MISSING = "avg-plan-missing"
    AVG_PLAN_LOST = "avg-plan-lost"
    AVG_BOUNDS = "avg-low-not-below-high"
    SHED_BY_USAGE_PLACED_BY_RATE = "shed-by-usage-placed-by-rate"
    THRESHOLD_BELOW_GAP = "threshold-below-placement-gap"
    EVENLY_OVER_LOAD = "even-distribution-over-load"
    MISSPELT_WEIGHT = "misspelt-weight"
    SHARED_UNLOAD_LIMITS = "shared-unload-limits"
    GRACE_TOO_SHORT = "grace-not-longer-than-interval"
    OTHER_MANAGERS_SHEDDER = "shedder-of-other-manager"
    TRANSFER_OFF = "transfer-off"
    TRANSFER_DEBUG = "transfer-debug"
    SHEDDING_OFF = "shedding-off"
    FENCING_TIMEOUT_OFF = "fencing-timeout-off"
    SPLIT_UNLOADS = "split-unloads"
    SPLIT_BY_FLOW = "split-by-flow-refused"
    SETTINGS_DIFFER = "settings-differ"
    MIXED_MANAGERS = "mixed-managers"
    MIXED_VERSIONS = "mixed-versions"
    VERSION_UNKNOWN = "version-unknown"
    VERSION_ASSUMED = "version-assumed"
    REPORT_MISSING = "report-missing"
    REPORT_STALE = "report-stale"
    NIC_LIMIT = "nic-limit-unknown"
    THRESHOLD_MINIMUM = "threshold-minimum"
    THRESHOLD_UNREACHABLE = "threshold-minimum-unreachable"
    THRESHOLD_HOT_MAJORITY = "threshold-hot-majority"
    SOLE_BUNDLE = "hot-broker-with-sole-bundle"
    UNIFORM_OFF = "uniform-off"
    UNIFORM_MINIMUM = "uniform-minimum"
    AVG_MINIMUM = "avg-minimum"
    BUNDLES_TOO_BIG = "bundles-too-big"
    EXCLUDED_CHOSEN = "excluded-namespaces-chosen"
    TRANSFER_SILENT = "transfer-target"
    TRANSFER_STD_UNREACHABLE = "transfer-std-unreachable"
    OWNERSHIP_STUCK = "ownership-stuck"
    PING_PONG = "bundle-ping-pong"
    EQUAL_RANGES = "equal-ranges-under-way"
    TOPIC_UNSERVABLE = "topic-unservable"
    SINGLE_BUNDLE = "single-bundle"
    HOT_TOPIC = "hot-topic"


CANNOT_FIRE: Final = frozenset(
    {
        DiagnosisCode.THRESHOLD_MINIMUM,
        DiagnosisCode.THRESHOLD_UNREACHABLE,
        DiagnosisCode.THRESHOLD_HOT_MAJORITY,
        DiagnosisCode.SOLE_BUNDLE,
        DiagnosisCode.UNIFORM_OFF,
        DiagnosisCode.UNIFORM_MINIMUM,
        DiagnosisCode.AVG_MINIMUM,
        DiagnosisCode.BUNDLES_TOO_BIG,
        DiagnosisCode.EXCLUDED_CHOSEN,
        DiagnosisCode.TRANSFER_SILENT,
    }
)
"""Codes that say that shedding cannot act at this load."""


@dataclass(frozen=True, slots=True)
class CodeMeaning:
    """Severity of a finding, and where its rule is told."""

    severity: DiagnosisSeverity
    source: str


_ERROR: Final = DiagnosisSeverity.ERROR
_WARNING: Final = DiagnosisSeverity.WARNING
_NOTE: Final = DiagnosisSeverity.NOTE

MEANINGS: Final[dict[DiagnosisCode, CodeMeaning]] = {
    DiagnosisCode.AVG_EVENLY: CodeMeaning(_ERROR, "PIP-364"),
    DiagnosisCode.AVG_PLAN_UNUSED: CodeMeaning(_ERROR, "PIP-364"),
    DiagnosisCode.AVG_PLAN_MISSING: CodeMeaning(_WARNING, "PIP-364"),
    DiagnosisCode.AVG_PLAN_LOST: CodeMeaning(_WARNING, "PR 26246"),
    DiagnosisCode.AVG_BOUNDS: CodeMeaning(_WARNING, "AvgShedder, Pulsar 4.0.8"),
    DiagnosisCode.SHED_BY_USAGE_PLACED_BY_RATE: CodeMeaning(_WARNING, "PIP-181 (issue 16274), PR 18100"),
    DiagnosisCode.THRESHOLD_BELOW_GAP: CodeMeaning(_WARNING, "LeastResourceUsageWithWeight, Pulsar 4.0.8"),
    DiagnosisCode.EVENLY_OVER_LOAD: CodeMeaning(_WARNING, "PR 16059, issue 21722"),
    DiagnosisCode.MISSPELT_WEIGHT: CodeMeaning(_WARNING, "ServiceConfiguration, Pulsar 4.0.8"),
    DiagnosisCode.SHARED_UNLOAD_LIMITS: CodeMeaning(_NOTE, "AvgShedder, UniformLoadShedder, Pulsar 4.0.8"),
    DiagnosisCode.GRACE_TOO_SHORT: CodeMeaning(_WARNING, "ModularLoadManagerImpl, Pulsar 4.0.8"),
    DiagnosisCode.OTHER_MANAGERS_SHEDDER: CodeMeaning(_WARNING, "TransferShedder, Pulsar 4.0.8"),
    DiagnosisCode.TRANSFER_OFF: CodeMeaning(_WARNING, "TransferShedder, Pulsar 4.0.8"),
    DiagnosisCode.TRANSFER_DEBUG: CodeMeaning(_NOTE, "TransferShedder, Pulsar 4.0.8"),
    DiagnosisCode.SHEDDING_OFF: CodeMeaning(_NOTE, "ModularLoadManagerImpl, Pulsar 4.0.8"),
    DiagnosisCode.FENCING_TIMEOUT_OFF: CodeMeaning(_WARNING, "PR 8561; issues 5284, 14941, 15451, 6872, 2967"),
    DiagnosisCode.SPLIT_UNLOADS: CodeMeaning(_WARNING, "BundleSplitterTask, Pulsar 4.0.8"),
    DiagnosisCode.SPLIT_BY_FLOW: CodeMeaning(_WARNING, "issue 22254"),
    DiagnosisCode.SETTINGS_DIFFER: CodeMeaning(_ERROR, "ServiceConfiguration, Pulsar 4.0.8"),
    DiagnosisCode.MIXED_MANAGERS: CodeMeaning(_ERROR, "BrokerLoadManagerClassFilter, Pulsar 4.0.8"),
    DiagnosisCode.MIXED_VERSIONS: CodeMeaning(_NOTE, "BrokerVersionFilter, Pulsar 4.0.8"),
    DiagnosisCode.VERSION_UNKNOWN: CodeMeaning(_WARNING, "the brokers' registrations"),
    DiagnosisCode.VERSION_ASSUMED: CodeMeaning(_NOTE, "the brokers' registrations"),
    DiagnosisCode.REPORT_MISSING: CodeMeaning(_ERROR, "LocalBrokerData, BrokerLoadData, Pulsar 4.0.8"),
    DiagnosisCode.REPORT_STALE: CodeMeaning(_WARNING, "LocalBrokerData, BrokerLoadData, Pulsar 4.0.8"),
    DiagnosisCode.NIC_LIMIT: CodeMeaning(_WARNING, "ResourceUsage, LinuxInfoUtils, Pulsar 4.0.8"),
    DiagnosisCode.THRESHOLD_MINIMUM: CodeMeaning(_WARNING, "issues 21299, 19806; PR pulsar-site 882"),
    DiagnosisCode.THRESHOLD_UNREACHABLE: CodeMeaning(_NOTE, "issues 21299, 19806; PR pulsar-site 882"),
    DiagnosisCode.THRESHOLD_HOT_MAJORITY: CodeMeaning(_WARNING, "PR 17456; issues 19310, 12160, 13119"),
    DiagnosisCode.SOLE_BUNDLE: CodeMeaning(_WARNING, "ThresholdShedder, OverloadShedder, Pulsar 4.0.8"),
    DiagnosisCode.UNIFORM_OFF: CodeMeaning(_WARNING, "UniformLoadShedder, Pulsar 4.0.8"),
    DiagnosisCode.UNIFORM_MINIMUM: CodeMeaning(_WARNING, "UniformLoadShedder, Pulsar 4.0.8"),
    DiagnosisCode.AVG_MINIMUM: CodeMeaning(_WARNING, "PIP-364"),
    DiagnosisCode.BUNDLES_TOO_BIG: CodeMeaning(_WARNING, "AvgShedder, UniformLoadShedder, Pulsar 4.0.8"),
    DiagnosisCode.EXCLUDED_CHOSEN: CodeMeaning(_WARNING, "PIP-380; ModularLoadManagerImpl, Pulsar 4.2.4"),
    DiagnosisCode.TRANSFER_SILENT: CodeMeaning(_WARNING, "TransferShedder, Pulsar 4.0.8"),
    DiagnosisCode.TRANSFER_STD_UNREACHABLE: CodeMeaning(_WARNING, "TransferShedder, Pulsar 4.0.8"),
    DiagnosisCode.OWNERSHIP_STUCK: CodeMeaning(_ERROR, "PR 25379"),
    DiagnosisCode.PING_PONG: CodeMeaning(_WARNING, "PR 16059, issue 21722"),
    DiagnosisCode.EQUAL_RANGES: CodeMeaning(_WARNING, "PR 25518"),
    DiagnosisCode.TOPIC_UNSERVABLE: CodeMeaning(_ERROR, "NamespaceBundles, Pulsar 4.0.8"),
    DiagnosisCode.SINGLE_BUNDLE: CodeMeaning(_NOTE, "issues 20194, 23897"),
    DiagnosisCode.HOT_TOPIC: CodeMeaning(_WARNING, "FlowOrQpsEquallyDivideBundleSplitAlgorithm, Pulsar 4.0.8"),
}
"""Every code has one."""
