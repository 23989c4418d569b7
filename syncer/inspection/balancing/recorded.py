"""Recorded load: the part of a cluster's history that an answer goes by, where there is one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog

from syncer.balancer.cost.calibration import calibration
from syncer.balancer.recording.reading import HistoryReader
from syncer.config.clusters import history_file
from syncer.errors import HistoryError, HistoryMissing
from syncer.inspection.balancing.questions import MOST_ROUNDS, HistoryPart

if TYPE_CHECKING:
    from syncer.balancer.cost.calibration import Calibration
    from syncer.balancer.history.changes import OwnerChange
    from syncer.balancer.history.sample import LoadSample
    from syncer.config import Config
    from syncer.inspection.balancing.questions import LookWish

RECENT: Final = 5
"""Samples that are judged as pictures; changes of owner are taken of all of it."""
MOST_REPLAYED: Final = 1_000_000
"""Bundles of all samples together that are played over; of more, the latest samples are taken."""
_MS: Final = timedelta(milliseconds=1)
log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLoad:
    """What was recorded of a cluster, as far as a question goes by it.

    Args:
        samples: The oldest first.
        changes: Of owner, the oldest first; ``None``: nothing was recorded.
        calibration: Of prices; ``None``: too few moves were observed.
    """

    samples: tuple[LoadSample, ...] = ()
    changes: tuple[OwnerChange, ...] | None = None
    calibration: Calibration | None = None


def recorded_for(config: Config, wish: LookWish) -> RecordedLoad:
    """Bring along what a look is to have of the history.

    Advice and findings do without a history that cannot be used, which is said in the log; what is to be played over
    it does not.

    Args:
        config: Of the region.
        wish: Of which cluster, and what.

    Raises:
        NotFound: There is no such table.
        HistoryError: Samples are wished for, and there are none, or they cannot be read.
    """
    if wish.history is None:
        return RecordedLoad()
    try:
        with HistoryReader(history_file(config, wish.table), wish.table) as reader:
            match wish.history:
                case HistoryPart.OUTCOMES:
                    return RecordedLoad(calibration=calibration(reader.outcomes()))
                case HistoryPart.CHANGES:
                    return RecordedLoad(samples=tuple(reader.samples(newest=RECENT)), changes=tuple(reader.changes()))
                case HistoryPart.SAMPLES:
                    return RecordedLoad(
                        samples=tuple(_samples(reader, wish.since)), calibration=calibration(reader.outcomes())
                    )
    except HistoryError as exc:
        if wish.history is HistoryPart.SAMPLES:
            raise
        if not isinstance(exc, HistoryMissing):
            log.warning("without_history_of_load", code=exc.code, cause=exc.message)
        return RecordedLoad()


def _samples(reader: HistoryReader, since: timedelta | None) -> list[LoadSample]:
    size = max((len(each.bundles) for each in reader.samples(newest=1)), default=0)
    most = min(MOST_ROUNDS, max(1, MOST_REPLAYED // max(1, size)))
    begin_ms = 0 if since is None else max(0, time.time_ns() // 1_000_000 - since // _MS)
    return list(reader.samples(begin_ms, newest=most))
