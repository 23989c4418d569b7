"""Resources of the region's own store at paths that are not replicated: shown here, and never told to anybody.

Stores take paths that nobody else could hold, and a tenant may make them: a topic whose name has 40,000 characters, a
name with a zero byte. Whoever published such a path would publish what all others must refuse: a number that never
comes, a difference that no comparison ends. So it is set aside by its author, alone, and stops nothing else.

Namespaces of the first form (``PROPERTY/CLUSTER/NAMESPACE``) belong to one cluster by their name. They are counted.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from syncer.paths import first_form_namespace, misfit, shown
from syncer.replication.offloaded_elsewhere import OffloadedHere

MISFITS: Final = "paths-set-aside"
"""Code of the condition."""
FIRST_FORM: Final = "first-form-namespaces"
"""Code of the condition about namespaces of the first form."""
NAMED: Final = 3
"""Namespaces of the first form that the condition names."""
MISFIT: Final = "path-set-aside"
"""Code in the quarantine."""
KEPT: Final = 200
"""That are put into the quarantine since a scan; more of them are only counted."""
COUNTED: Final = 100_000


class _Names:
    """Short names of texts, up to :data:`COUNTED`."""

    def __init__(self) -> None:
        self._names: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._names)

    def __str__(self) -> str:
        return f"{COUNTED} or more" if len(self) >= COUNTED else str(len(self))

    def __contains__(self, text: str) -> bool:
        return _short(text) in self._names

    def add(self, text: str) -> bool:
        """Add a text; whether it is new and there was room."""
        name = _short(text)
        if len(self) >= COUNTED or name in self._names:
            return False
        self._names.add(name)
        return True

    def clear(self) -> None:
        """Forget all."""
        self._names.clear()


class Misfits:
    """Those that were met since the last scan began: in memory, a short name of each, up to a bound."""

    def __init__(self) -> None:
        self._met = _Names()
        self._first = ""
        self.blocked: Final[set[str]] = set()
        """Sound by their looks, and yet nothing of them can be taken: they are left alone until the next scan."""
        self._untaken = _Names()
        self._first_form = _Names()
        self._first_form_named: list[str] = []
        self.offloaded: Final = OffloadedHere()
        """Namespaces whose policies of offloading stay here, and name a driver."""
        self.news: Final[list[tuple[str, str]]] = []
        """Those to be put into the quarantine: a name that tells each from all others, and what is wrong with it."""

    def begin_scan(self) -> None:
        """Everything that stands in the store is met again."""
        self._met.clear()
        self.blocked.clear()
        self._first = ""
        self._first_form.clear()
        self._first_form_named.clear()

    def look_at(self, path: str) -> None:
        """Note a path that takes no part, if it is one of these."""
        if (fault := misfit(path)) is not None:
            self._note(path, fault)
        elif (namespace := first_form_namespace(path)) is not None:
            self._count(path, namespace)

    def block(self, path: str, fault: str) -> None:
        """Leave a path alone of which nothing can be taken: a database cannot keep it, or this program is at fault."""
        self.blocked.add(path)
        self._note(path, fault)

    def untaken(self, path: str, stamp: str) -> bool:
        """Whether this very change could not be taken before: it is told again and again, and was set aside once."""
        change = f"{stamp} {path}"
        if change in self._untaken:
            return True
        self._untaken.add(change)
        return False

    def _count(self, path: str, namespace: str) -> None:
        if self._first_form.add(path) and len(self._first_form_named) < NAMED:
            self._first_form_named.append(shown(namespace))

    def _note(self, path: str, fault: str) -> None:
        if not self._met.add(path):
            return
        text = f"{shown(path)}: {fault}"
        self._first = self._first or text
        if len(self._met) <= KEPT:
            self.news.append((f"{shown(path)} {_short(path).hex()}", text))

    def conditions(self) -> list[tuple[str, str]]:
        """Return the conditions that an operator should look at: codes and messages."""
        found: list[tuple[str, str]] = []
        if self._met:
            said = (
                f"{self._met} resources of this region's store have paths that cannot be replicated, and stay "
                f"in this region alone; the first: {self._first}. See 'syncer quarantine list'"
            )
            found.append((MISFITS, said))
        if self._first_form:
            said = (
                "this region's store has namespaces of the form PROPERTY/CLUSTER/NAMESPACE: "
                f"{self._first_form}, among them {', '.join(sorted(self._first_form_named))}. They are not "
                "carried. Pulsar 4.2 and later do not serve them: move their topics to namespaces of the form "
                "TENANT/NAMESPACE before brokers are upgraded"
            )
            found.append((FIRST_FORM, said))
        return found


def _short(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
