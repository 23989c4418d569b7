"""The story of one path: all that the evidence has of it, in order, for whoever looks into a broken rule."""

from __future__ import annotations

from collections.abc import Sequence

from syncer.model import MetadataChangeEvent, MetaPath
from tests.faults.case import Case, token_in
from tests.faults.record import Write


def story(case: Case, path: MetaPath) -> Sequence[str]:
    """Tell it; times are milliseconds since the first write of the path."""
    writes = case.writes.get(path, [])
    changes = case.changes.get(path, {})
    begin = min([each.sent_at_ms for each in writes], default=min([each.updated_at_ms for each in changes], default=0))
    told = [(each.sent_at_ms, _written(each, begin)) for each in writes]
    told += [(stamp.updated_at_ms, _stamped(event, begin)) for stamp, event in changes.items()]
    lines = [f"{at - begin:8} {what}" for at, what in sorted(told)]
    lines += [
        f"conflict in {row.region}: {row.loser.updated_at_ms - begin}@{row.loser.region} "
        f"({'a delete' if row.was_delete else row.token}) lost to {row.winner.updated_at_ms - begin}@"
        f"{row.winner.region}, {row.reason}"
        for row in case.kept.get(path, [])
    ]
    return [*lines, f"at the end the stores hold {case.final.get(path, {})}"]


def _written(write: Write, begin: int) -> str:
    what = "deletes" if write.token is None else f"puts {write.token} over"
    over = f"{write.over or 'nothing'}{'' if write.over_known else ' (or another)'}, read at {write.read_at_ms - begin}"
    answer = f"{write.answer} at {write.answered_at_ms - begin} {write.detail}"
    return f"{write.region}: {write.writer} {what} {over}: {answer}".rstrip()


def _stamped(event: MetadataChangeEvent, begin: int) -> str:
    seen = ", ".join(f"{by} {time - begin}" for by, time in sorted(event.seen.items()) if by != event.by)
    return f"{event.stamp.region}: stamped {token_in(event) or 'a delete'} as {event.by}, seen {seen or 'nothing'}"
