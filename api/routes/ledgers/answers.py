"""``/api/v1/clusters/{cluster}/ledgers/…``: where a cluster's data is, and what the loss of bookies would cost.

All of it is read only: the cluster's store is read, no ledger is opened, no broker and no bookie is asked. An answer is
shared by those who ask the same at about the same time; each part of it says when it was read, and whether it is whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request, Response

from api.admission import Reader
from api.connections import allow_time
from api.inquiries import Inquiries
from api.inside import RegionInside
from api.routes.clusters import ASKING, Table
from syncer.config.clusters import cluster_table
from syncer.documents.ledgers.audit import LedgerAuditDocument
from syncer.documents.ledgers.explained import ExplainedLedgerDocument, ExplainedTopicDocument
from syncer.documents.ledgers.losses import AnyLossDocument, DecommissionDocument, LossDocument
from syncer.documents.ledgers.recovery import UnderReplicatedDocument
from syncer.documents.ledgers.references import OrphansDocument
from syncer.errors import RequestInvalid
from syncer.inspection.ledgers.questions import (
    LOOKS_APART_S,
    MOST_LOST,
    MOST_SHOWN,
    AnyLossQuestion,
    AuditQuestion,
    ExplainQuestion,
    LeavingQuestion,
    LedgersQuestion,
    LossQuestion,
    OpeningWish,
    OrphansQuestion,
    UnderReplicatedQuestion,
    opening_wish_of,
)
from syncer.inspection.ledgers.reading import LedgersWish
from syncer.paths import checked, fault_of
from syncer.wanted.ledgers import LEDGERS_ROOT

WITHIN_S: Final = 120.0
MOST_WITHIN_S: Final = 1800.0
MOST_APART_S: Final = 600.0
_APART: Final = "Seconds before references are asked for first, and again between the two looks."
_BYTES_PER_MIB: Final = 1 << 20
Bookie = Annotated[str, Query(min_length=1, max_length=300)]
Rack = Annotated[str, Query(min_length=1, max_length=300)]
Cluster = Annotated[str, Query(min_length=1, max_length=200)]


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """How a cluster's ledgers are read, and how long an answer is waited for."""

    max_reads: Annotated[
        int | None, Query(ge=1, le=10_000_000, description="The store is asked for so many paths a second at most.")
    ] = None
    ledgers_root: Annotated[
        str, Query(min_length=2, max_length=1_000, description="Where BookKeeper's own paths begin in the store.")
    ] = LEDGERS_ROOT
    within: Annotated[
        float, Query(ge=1, le=MOST_WITHIN_S, description="Seconds to wait for the answer; then there is none.")
    ] = WITHIN_S

    def wish(self, table: str, beside: tuple[str, ...] = ()) -> LedgersWish:
        """Which ledgers are read.

        Raises:
            RequestInvalid: The root is no path, or a cluster is there twice.
        """
        root = self.ledgers_root
        fault = fault_of(root)
        if fault is not None or not root.startswith("/") or root == "/":
            raise RequestInvalid(f"'ledgers_root' {root} is no path: {fault or 'it begins with / and names a node'}")
        if len({table, *beside}) <= len(beside):
            raise RequestInvalid("a cluster is named twice")
        return LedgersWish(table=table, others=beside, root=checked(root), max_reads_per_s=self.max_reads)


@dataclass(frozen=True, slots=True)
class BookiesQuery:
    """Bookies that go, and how brokers open ledgers then."""

    bookie: Annotated[tuple[Bookie, ...], Query(max_length=1_000, description="Id, as HOST:PORT; once for each.")] = ()
    rack: Annotated[tuple[Rack, ...], Query(max_length=1_000, description="All bookies of a rack; once for each.")] = ()
    quorums: Annotated[
        str | None,
        Query(max_length=20, description="E/QW/QA of the brokers, as 3/2/2; else those of most open ledgers."),
    ] = None
    enforce_racks: Annotated[
        int | None, Query(ge=1, le=1_000, description="Brokers refuse a write quorum on fewer racks than this.")
    ] = None

    def opening(self) -> OpeningWish:
        """How brokers open ledgers.

        Raises:
            RequestInvalid: No bookie is named, or the quorums are none.
        """
        if not (self.bookie or self.rack):
            raise RequestInvalid("no bookie is named", hint="Give 'bookie' or 'rack', once for each.")
        return opening_wish_of(self.quorums, self.enforce_racks)


Reading = Annotated[ReadQuery, Depends()]
Bookies = Annotated[BookiesQuery, Depends()]


def router(inside: RegionInside, inquiries: Inquiries) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1/clusters/{cluster}/ledgers", tags=["ledgers"])

    async def told(request: Request, question: LedgersQuestion, wish: LedgersWish, within_s: float) -> Response:
        for name in (wish.table, *wish.others):
            cluster_table(inside.config, name)  # at once: no process is begun for what is not there
        allow_time(request.scope, within_s)
        found = await inquiries.ask_of_ledgers(inside.config, wish, question, within_s)
        return Response(found, media_type="application/json")

    @routes.get("/audit", response_model=LedgerAuditDocument, responses=ASKING)
    async def audit(
        caller: Reader,
        request: Request,
        cluster: Table,
        read: Reading,
        by_topic: Annotated[bool, Query(description="A row for each topic, not for each namespace.")] = False,
        overview: Annotated[bool, Query(description="Tell, too, what the loss of bookies would harm.")] = False,
    ) -> Response:
        """All ledgers: replicas left, why bytes are kept, bookies, and findings with their remedies."""
        del caller
        question = AuditQuestion(topics=by_topic, overview=overview)
        return await told(request, question, read.wish(cluster), read.within)

    @routes.get("/explain", response_model=ExplainedLedgerDocument | ExplainedTopicDocument, responses=ASKING)
    async def explain(
        caller: Reader,
        request: Request,
        cluster: Table,
        read: Reading,
        what: Annotated[
            str, Query(min_length=1, max_length=33_000, description="Id of a ledger, or a topic's whole name.")
        ],
    ) -> Response:
        """Which entry of a ledger lies on which bookie, or the ledgers of a topic and whether it can be loaded."""
        del caller
        return await told(request, ExplainQuestion(what), read.wish(cluster), read.within)

    @routes.get("/loss", response_model=LossDocument, responses=ASKING)
    async def loss(caller: Reader, request: Request, cluster: Table, read: Reading, bookies: Bookies) -> Response:
        """What the loss of bookies harms, beside those that are away already, and whether writing goes on."""
        del caller
        question = LossQuestion(bookies=bookies.bookie, racks=bookies.rack, opening=bookies.opening())
        return await told(request, question, read.wish(cluster), read.within)

    @routes.get("/any-loss", response_model=AnyLossDocument, responses=ASKING)
    async def any_loss(
        caller: Reader,
        request: Request,
        cluster: Table,
        read: Reading,
        size: Annotated[int, Query(ge=1, le=MOST_LOST, description="How many bookies are lost, whichever they are.")],
        limit: Annotated[int, Query(ge=1, le=MOST_SHOWN, description="How many of the worst sets.")] = 10,
    ) -> Response:
        """The worst sets of so many bookies, and the probability that so many at random harm anything."""
        del caller
        return await told(request, AnyLossQuestion(size=size, shown=limit), read.wish(cluster), read.within)

    @routes.get("/decommission", response_model=DecommissionDocument, responses=ASKING)
    async def decommission(
        caller: Reader,
        request: Request,
        cluster: Table,
        read: Reading,
        bookies: Bookies,
        together: Annotated[bool, Query(description="All are stopped at once; else one after the other.")] = False,
        rate: Annotated[
            float | None, Query(ge=0.001, le=1e9, description="MiB a second that all recovery workers copy together.")
        ] = None,
    ) -> Response:
        """What it moves to stop bookies for good, in which order, how long it takes, and what blocks it for ever."""
        del caller
        question = LeavingQuestion(
            bookies=bookies.bookie,
            racks=bookies.rack,
            opening=bookies.opening(),
            together=together,
            bytes_per_s=None if rate is None else rate * _BYTES_PER_MIB,
        )
        return await told(request, question, read.wish(cluster), read.within)

    @routes.get("/under-replicated", response_model=UnderReplicatedDocument, responses=ASKING)
    async def under_replicated(caller: Reader, request: Request, cluster: Table, read: Reading) -> Response:
        """Ledgers that are marked as under-replicated, with their topics, and whether recovery moves."""
        del caller
        return await told(request, UnderReplicatedQuestion(), read.wish(cluster), read.within)

    @routes.get("/orphans", response_model=OrphansDocument, responses=ASKING)
    async def orphans(
        caller: Reader,
        request: Request,
        cluster: Table,
        read: Reading,
        beside: Annotated[
            tuple[Cluster, ...],
            Query(max_length=100, description="Other clusters of the same bookies."),
        ] = (),
        all_clusters: Annotated[bool, Query(description="These clusters are all of these bookies.")] = False,
        apart: Annotated[float, Query(ge=1, le=MOST_APART_S, description=_APART)] = (LOOKS_APART_S),
    ) -> Response:
        """Ledgers that nobody refers to, and references to ledgers that are not there, by two looks at the store."""
        del caller
        question = OrphansQuestion(whole=all_clusters, apart_s=apart)
        return await told(request, question, read.wish(cluster, beside), read.within + question.rests_s)

    return routes
