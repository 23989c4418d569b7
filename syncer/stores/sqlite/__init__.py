"""The embedded metadata store: one SQLite file that several processes open at once.

It stands for a cluster's metadata store in demonstrations, tests and small set-ups. Anyone may write to the file by
plain SQL, also by the ``sqlite3`` command line: triggers number every change, note its time and log it, so that every
watch sees it::

    INSERT INTO entries (path, value) VALUES ('/admin/policies/acme', '{"adminRoles":[]}');
    UPDATE entries SET value = '{"adminRoles":["ops"]}' WHERE path = '/admin/policies/acme';
    DELETE FROM entries WHERE path = '/admin/policies/acme';

:class:`OutsideWriter` does the same from Python. A revision is the number of the change in a store-wide log, which
never restarts. There are no parents: like etcd, the store takes a child without one. Of what a daemon deletes nothing
may stand below it, as everywhere; plain SQL may delete whatever it likes.
"""

from __future__ import annotations

from syncer.stores.sqlite.config import SqliteConfig
from syncer.stores.sqlite.store import SqliteStore
from syncer.stores.sqlite.writer import OutsideWriter

__all__ = ["OutsideWriter", "SqliteConfig", "SqliteStore"]
