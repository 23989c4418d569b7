"""Questions about a cluster's load balancing: answered on this host by its configuration, or by a daemon over REST."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

import anyio
import orjson
import typer

from syncer.client.calls import RegionCalls
from syncer.client.http import HttpTransport
from syncer.client.reading import document_from
from syncer.documents.balancing.advice import AdviceDocument, SizeDocument
from syncer.errors import RequestInvalid
from syncer.inspection.balancing.questions import ComparisonQuestion, DrainQuestion, LookWish

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncer.balancer.moving.bounds import QuietHours, RunBounds
    from syncer.balancer.moving.move_plan import MovePlan
    from syncer.cli.reaching.choosing import ChosenServer
    from syncer.config import Config
    from syncer.documents.balancing.comparison import ComparisonDocument
    from syncer.documents.balancing.doctor import DoctorDocument
    from syncer.documents.balancing.load import LoadDocument
    from syncer.inspection.balancing.questions import AdviceQuestion

WITHIN_S: Final = 120.0
"""How long a daemon may take for an answer, beside the time that it listens."""

Advised = tuple[AdviceDocument | SizeDocument, "MovePlan | None"]
"""What is shown, and the plan of its moves where that was asked for and there is one."""


class AskedClusters(Protocol):
    """The clusters of a region's configuration, as far as their load balancing is looked at; nothing is changed."""

    def load(self, wish: LookWish) -> LoadDocument:
        """What is known of a cluster's load."""
        ...

    def doctor(self, wish: LookWish) -> DoctorDocument:
        """Whatever hinders its load balancing."""
        ...

    def advice(self, wish: LookWish, question: AdviceQuestion | DrainQuestion, bounds: RunBounds | None) -> Advised:
        """Moves that would be better; with bounds, their plan too."""
        ...

    def comparison(self, wish: LookWish, question: ComparisonQuestion) -> ComparisonDocument:
        """Strategies and settings beside each other, over its load."""
        ...


@contextmanager
def usage(option: str) -> Iterator[None]:
    """Tell of a question that cannot be understood as of a wrong option.

    Args:
        option: Which one.
    """
    try:
        yield
    except RequestInvalid as exc:
        raise typer.BadParameter(exc.message, param_hint=f"'{option}'") from exc


class LocalClusters:
    """The same, looked at from this host.

    Args:
        configured: Reads the configuration.
    """

    def __init__(self, configured: Callable[[], Config]) -> None:
        self._configured = configured

    def load(self, wish: LookWish) -> LoadDocument:
        """What is known of the load."""
        from syncer.documents.balancing.load import load_document
        from syncer.inspection.balancing.looking import look_at

        return load_document(anyio.run(look_at, self._configured(), wish).picture)

    def doctor(self, wish: LookWish) -> DoctorDocument:
        """Whatever hinders load balancing."""
        from syncer.inspection.balancing.answering import diagnosed
        from syncer.inspection.balancing.looking import look_at

        return diagnosed(anyio.run(look_at, self._configured(), wish))

    def advice(self, wish: LookWish, question: AdviceQuestion | DrainQuestion, bounds: RunBounds | None) -> Advised:
        """Moves that would be better."""
        from syncer.inspection.balancing.answering import advised, asked_by
        from syncer.inspection.balancing.looking import look_at
        from syncer.inspection.balancing.plans import plan_of_moves

        look = anyio.run(look_at, self._configured(), wish)
        asked = asked_by(look)
        document, moves = advised(question, look, asked)
        return document, None if bounds is None else plan_of_moves(moves, look, asked, bounds)

    def comparison(self, wish: LookWish, question: ComparisonQuestion) -> ComparisonDocument:
        """Strategies and settings beside each other."""
        from syncer.inspection.balancing.answering import compared
        from syncer.inspection.balancing.looking import look_at

        return compared(question, anyio.run(look_at, self._configured(), wish))


class RemoteClusters:
    """The same, asked of a daemon.

    Args:
        chosen: How it is reached.
    """

    def __init__(self, chosen: ChosenServer) -> None:
        self._calls = RegionCalls(HttpTransport(chosen.reached())).clusters
        self._label = chosen.label

    def load(self, wish: LookWish) -> LoadDocument:
        """What is known of the load."""
        return self._calls.load(wish.table, topics=wish.topics, listen=wish.listen_s, within=_within_s(wish)).found

    def doctor(self, wish: LookWish) -> DoctorDocument:
        """Whatever hinders load balancing."""
        return self._calls.doctor(wish.table, topics=wish.topics, listen=wish.listen_s, within=_within_s(wish)).found

    def advice(self, wish: LookWish, question: AdviceQuestion | DrainQuestion, bounds: RunBounds | None) -> Advised:
        """Moves that would be better; the plan is made by the picture that the advice was given by."""
        if isinstance(question, DrainQuestion):
            drained = self._calls.drain(
                wish.table, broker=list(question.brokers), listen=wish.listen_s, within=_within_s(wish)
            ).found
            return drained, self._plan(wish, question, bounds, drained)
        aim = question.aim
        found = self._calls.advice(
            wish.table,
            rolling_restart=question.rolling_restart,
            most_usage=question.most_usage,
            listen=wish.listen_s,
            within=_within_s(wish),
            rule=aim.rule.value,
            reach=aim.reach,
            act_above=aim.act_above,
            where_pulsar_rests=aim.where_pulsar_rests,
            fill=question.fill,
            cuts=question.cuts,
        ).found
        if question.most_usage is not None:
            return document_from(found, SizeDocument, self._label), None
        document = document_from(found, AdviceDocument, self._label)
        return document, self._plan(wish, question, bounds, document)

    def _plan(
        self,
        wish: LookWish,
        question: AdviceQuestion | DrainQuestion,
        bounds: RunBounds | None,
        shown: AdviceDocument,
    ) -> MovePlan | None:
        from syncer.balancer.running import plan_file

        if bounds is None or shown.plan is None or not shown.plan.moves:
            return None
        quiet = _hours(bounds.quiet)
        if isinstance(question, DrainQuestion):
            found = self._calls.drain_plan(
                wish.table,
                broker=list(question.brokers),
                listen=wish.listen_s,
                within=_within_s(wish),
                per_broker=bounds.per_broker,
                per_namespace=bounds.per_namespace,
                per_hour=bounds.per_hour,
                quiet=quiet,
                taken_ms=shown.taken_ms,
            ).found
        else:
            aim = question.aim
            found = self._calls.advice_plan(
                wish.table,
                listen=wish.listen_s,
                within=_within_s(wish),
                rule=aim.rule.value,
                reach=aim.reach,
                act_above=aim.act_above,
                where_pulsar_rests=aim.where_pulsar_rests,
                fill=question.fill,
                cuts=question.cuts,
                per_broker=bounds.per_broker,
                per_namespace=bounds.per_namespace,
                per_hour=bounds.per_hour,
                quiet=quiet,
                taken_ms=shown.taken_ms,
            ).found
        return plan_file.from_text(orjson.dumps(found), f"the plan of {self._label}")

    def comparison(self, wish: LookWish, question: ComparisonQuestion) -> ComparisonDocument:
        """Strategies and settings beside each other."""
        return self._calls.comparison(
            wish.table,
            rounds=question.rounds,
            setting=[f"{name}={value}" for name, value in question.settings.items()],
            strategy=list(question.strategies),
            recorded=question.recorded,
            since=None if wish.since is None else wish.since.total_seconds(),
            listen=wish.listen_s,
            within=_within_s(wish),
        ).found


def _within_s(wish: LookWish) -> float:
    return WITHIN_S + wish.listen_s


def _hours(quiet: QuietHours | None) -> str | None:
    if quiet is None:
        return None
    first, end = (f"{each // 60:02}:{each % 60:02}" for each in (quiet.first, quiet.end))
    return f"{first}-{end}"
