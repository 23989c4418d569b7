"""Hearsay, gossip about members: obeyed where this region's own evidence agrees, held where it does not.

A region that an operator forgets somewhere is to be refused everywhere, also by who was off then, or joins later; so
every heartbeat names the databases that its region refuses. But anybody who may speak can say so of a region that is
well. Refusing it would be for ever: it stands still, and deletes are forgotten without it. So what a member says of
another's database counts as hearsay:

    filed under a region that the database does not speak for         void, and shown
    said while this region joins: it knows nothing yet                obeyed; the plan of its joining shows it
    the database was silent here for `peers.silence`                  obeyed
    else                                                              held, and shown with who says it

What is held is obeyed once the silence is reached, dropped once nobody says it any more, and ended by an operator:
`syncer regions forget` obeys it, `syncer regions admit` decides that the region stays, also after it was obeyed.
Likewise a region that says by itself that it has left: that is final once it has said nothing else for as long, and is
taken back by its next ordinary heartbeat, so that nobody ends a region by saying it in its name.

Of its own database a region knows more. While its heartbeats come back to it, no honest operator was shown it as
silent; it goes on, and shows who says otherwise. If it was itself silent for as long, off or cut off, it may have been
forgotten; it stands still if every member that it has heard since says so. One liar alone does not bring that about
where an honest member is there to be heard: it moves again as soon as a member is heard that does not say so.

Nothing that cannot be undone comes of what is held, nor of what only some have obeyed: as long as any member refuses a
database that another one does not refuse, no tombstone is dropped (:func:`disputes`). A tombstone that is dropped is
therefore one that no database lacks which any member still takes anything from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from syncer.conflict.tombstones import Cause, Wait
from syncer.model import Millis, Region
from syncer.replication.group.evidence import Evidence
from syncer.replication.group.peers import Peers

CODE_HELD = "forget-held"
CODE_VOID = "hearsay-void"
CODE_OURS = "said-to-be-forgotten"
_NAMED = 3
"""Databases, or regions, that a condition names; the list shows all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What is said of a region's databases and not obeyed.

    Args:
        databases: Which are said to be refused, and by whom.
        unmet: None of them ever spoke here: what they send is kept aside.
        kept: Those of which an operator has decided that they stay: what they send is taken.
    """

    databases: Mapping[str, frozenset[Region]]
    unmet: bool
    kept: frozenset[str]

    @property
    def decided(self) -> bool:
        """An operator has decided about all of them."""
        return self.kept >= self.databases.keys()

    def puts_aside(self, database: str) -> bool:
        """Whether what a database sends waits until an operator decides."""
        return self.unmet and database in self.databases and database not in self.kept

    @property
    def tellers(self) -> list[Region]:
        """Who says so."""
        return sorted(frozenset[Region]().union(*self.databases.values()))


@dataclass(slots=True)
class Hearsay:
    """What is said of other regions and of this one, and is not obeyed. Memory only: heartbeats repeat it.

    Args:
        held: By region.
        void: Who says what of a database that is not of the region that it is said to be of, and whose it is.
        ours: Who says that this region was forgotten.
    """

    held: dict[Region, Held] = field(default_factory=dict)
    void: dict[Region, tuple[Region, str, Region]] = field(default_factory=dict)
    ours: frozenset[Region] = frozenset()

    def disputed(self, sender: str) -> Region | None:
        """The region whose database this is said to be, by members that refuse it, where it never spoke here."""
        if not self.held:
            return None
        return next((region for region, held in self.held.items() if held.puts_aside(sender)), None)

    def conditions(self, own: Region) -> list[tuple[str, str]]:
        """What an operator should look at: code and message, by region."""
        found = []
        for region, held in sorted(self.held.items()):
            if not held.decided:
                names = ", ".join(held.tellers[:_NAMED])
                what = "it never spoke here, and what it sends is kept aside" if held.unmet else "it was heard here"
                message = (
                    f"{names} says that {region} was forgotten, but {what}: this is held until it was silent for as "
                    f"long as peers.silence, and no delete is forgotten. 'syncer regions forget {region}' obeys it, "
                    f"'syncer regions admit {region}' decides that it stays"
                )
                found.append((CODE_HELD, message))
        for teller, (region, database, owner) in sorted(self.void.items()):
            message = (
                f"{teller} says that {region} was forgotten and names database {database}, which is not its own, but "
                f"that of {owner}: nothing comes of it here. 'syncer regions admit {region}' there takes it back"
            )
            if owner != own:
                message += f"; if {owner} is gone, 'syncer regions forget {owner}' here"
            found.append((CODE_VOID, message))
        if self.ours:
            names = ", ".join(sorted(self.ours)[:_NAMED])
            message = (
                f"{names} says that this region was forgotten, but it is there and is heard: it goes on, and no delete "
                f"is forgotten. There, 'syncer regions admit {own}' takes it back; 'syncer regions leave' obeys it"
            )
            found.append((CODE_OURS, message))
        return found

    def report(self) -> list[dict[str, object]]:
        """What is held, as JSON."""
        return [
            {"region": region, "said_by": held.tellers, "databases": sorted(held.databases), "kept": held.decided}
            for region, held in sorted(self.held.items())
        ]


@dataclass(slots=True)
class Verdict:
    """What becomes of what is said: ``due`` is obeyed, by region; the rest is as in :class:`Hearsay`."""

    due: dict[Region, list[str]] = field(default_factory=dict)
    held: dict[Region, dict[str, frozenset[Region]]] = field(default_factory=dict)
    void: dict[Region, tuple[Region, str, Region]] = field(default_factory=dict)
    ours: dict[str, frozenset[Region]] = field(default_factory=dict)


def judge(
    peers: Peers,
    evidence: Evidence,
    expected: Collection[Region],
    own: Region,
    is_ours: Callable[[str], bool],
    now: Millis,
    *,
    joining: bool,
) -> Verdict:
    """Compare what members say with what is known here.

    Args:
        peers: What was heard.
        evidence: That this region listens.
        expected: Who counts; empty: everybody who was heard.
        own: This region.
        is_ours: Whether a database speaks, or spoke, for this region.
        now: Our clock.
        joining: This region takes part only when an operator says so, and sees before what it obeys.
    """
    verdict = Verdict()
    for (region, database), tellers in sorted(peers.claims(expected).items(), key=itemgetter(0)):
        mine = is_ours(database)
        owner = own if mine else peers.region_of(database)
        if mine and region == own:
            verdict.ours[database] = tellers
        elif owner is not None and owner != region:
            verdict.void.update(dict.fromkeys(tellers, (region, database, owner)))
        elif region == own or peers.refuses(database) is not None:
            continue
        elif not peers.keeps(region, database) and (
            joining or evidence.silent(peers.spoke_at(database) or Millis(0), now)
        ):
            verdict.due.setdefault(region, []).append(database)
        else:
            verdict.held.setdefault(region, {})[database] = tellers
    return verdict


def disputes(
    peers: Peers, expected: Collection[Region], own: Region, is_ours: Callable[[str], bool]
) -> dict[Region, Wait]:
    """Members that do not refuse a database which a member refuses, this region too; its own claims included.

    What is void counts for nobody: nobody refuses a database under another region's name but who says so.
    """
    claims: dict[str, tuple[Region, frozenset[Region]]] = {}
    for (region, database), tellers in sorted(peers.claims(expected).items(), key=itemgetter(0)):
        if (own if is_ours(database) else peers.region_of(database)) in (None, region):
            first, before = claims.get(database, (region, frozenset()))
            claims[database] = first, tellers | before
    for named, database in peers.refusals:
        _, tellers = claims.get(database, (named, frozenset()))
        claims[database] = Region(named), tellers | {own}
    if not claims:
        return {}
    found: dict[Region, Wait] = {}
    for member, theirs in {**peers.refused_by(expected), own: peers.refused}.items():
        lacking = sorted(claims.keys() - theirs)
        if lacking:
            region, tellers = claims[lacking[0]]
            found[member] = _dispute(lacking, region, tellers, own)
    return found


def _dispute(lacking: Sequence[str], region: Region, tellers: Collection[Region], own: Region) -> Wait:
    """What is said of a member that does not refuse these databases; the first is of a region, and refused by some."""
    others = sorted(set(tellers) - {own})
    names = ["this region"] * (own in tellers) + list(map(str, others))
    who = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    more = f", nor {len(lacking) - 1} more databases" if len(lacking) > 1 else ""
    text = (
        f"does not refuse database {lacking[0]} of {region}, which {who} {'refuse' if names[1:] else 'refuses'}{more}"
    )
    cure = (
        f"If {region} is gone: 'syncer regions forget {region} --force' in every region that does not refuse it, or, "
        f"where its hearsay-void names another owner of that database, that owner. If it is there: 'syncer regions "
        f"admit {region}' in every region that does"
    )
    if others:
        cure += (
            f"; and if {others[0]} says so untruly, and goes on: 'syncer regions forget {others[0]} --force' in all "
            "others"
        )
    return Wait(cause=Cause.DISPUTED, text=text, cure=cure)
