"""Write sets: entries are laid over an ensemble round robin, by their own ids, whatever segment they are in.

An entry e is written at the indexes (e + w) mod E, w from 0 to Qw - 1; so the index b holds it if (b - e) mod E < Qw.
All is in closed form: a ledger may have as many entries as it likes.

Source: RoundRobinDistributionSchedule, LedgerFragment, BookKeeper 4.17.2; not its casts to 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator


def write_set(entry: int, ensemble: int, write: int) -> tuple[int, ...]:
    """The indexes at which an entry is written, in their order.

    Args:
        entry: Its id.
        ensemble: Size of the ensemble.
        write: The write quorum.
    """
    return tuple((entry + offset) % ensemble for offset in range(write))


def holds(index: int, entry: int, ensemble: int, write: int) -> bool:
    """Tell whether an index of an ensemble holds an entry.

    Args:
        index: Of the bookie.
        entry: Its id.
        ensemble: Size of the ensemble.
        write: The write quorum.
    """
    return (index - entry) % ensemble < write


def entries_alike(residue: int, first: int, last: int, ensemble: int) -> int:
    """Count the entries of a range whose ids have a residue modulo the ensemble: all of them lie on the same bookies.

    Args:
        residue: Below the ensemble's size.
        first: The first entry of the range.
        last: Its last one; before the first, there is none.
        ensemble: Size of the ensemble.
    """
    if last < first:
        return 0
    return (last - residue) // ensemble - (first - 1 - residue) // ensemble


def entries_on(index: int, first: int, last: int, ensemble: int, write: int) -> int:
    """Count the entries of a range that an index of an ensemble holds.

    Args:
        index: Of the bookie.
        first: The first entry of the range.
        last: Its last one.
        ensemble: Size of the ensemble.
        write: The write quorum.
    """
    if last < first:
        return 0
    start = index - write + 1  # the first residue of a run of Qw that the index holds
    return _held_below(last + 1 - start, ensemble, write) - _held_below(first - start, ensemble, write)


def _held_below(number: int, ensemble: int, write: int) -> int:
    """Count the numbers from 0 up to, and without, this one whose residue is below the write quorum."""
    rounds, rest = divmod(number, ensemble)
    return rounds * write + min(rest, write)


def striped(index: int, first: int, last: int, ensemble: int, write: int) -> Iterator[int]:
    """Yield the entries of a range that an index of an ensemble holds, ascending.

    Args:
        index: Of the bookie.
        first: The first entry of the range.
        last: Its last one.
        ensemble: Size of the ensemble.
        write: The write quorum.
    """
    return (entry for entry in range(first, last + 1) if holds(index, entry, ensemble, write))


def first_stored(index: int, first: int, last: int, ensemble: int, write: int) -> int | None:
    """Find the first entry of a range that an index of an ensemble holds.

    Args:
        index: Of the bookie.
        first: The first entry of the range.
        last: Its last one.
        ensemble: Size of the ensemble.
        write: The write quorum.
    """
    apart = (index - first) % ensemble
    entry = first if apart < write else first + apart - write + 1
    return entry if entry <= last else None


def last_stored(index: int, first: int, last: int, ensemble: int, write: int) -> int | None:
    """Find the last entry of a range that an index of an ensemble holds.

    Args:
        index: Of the bookie.
        first: The first entry of the range.
        last: Its last one.
        ensemble: Size of the ensemble.
        write: The write quorum.
    """
    apart = (index - last) % ensemble
    entry = last if apart < write else last - (ensemble - apart)
    return entry if entry >= first else None


def lost_of_write_sets(lost: frozenset[int], ensemble: int, write: int) -> list[int]:
    """Count for each residue of entries how many bookies of its write set are lost.

    Args:
        lost: Indexes of lost bookies.
        ensemble: Size of the ensemble.
        write: The write quorum; at most the ensemble.
    """
    counts = []
    within = sum(index in lost for index in range(write))
    for residue in range(ensemble):
        counts.append(within)
        within += ((residue + write) % ensemble in lost) - (residue in lost)
    return counts
