"""What the shell needs of a sidecar database, noun by noun: values and the part of a transaction that is about them.

:class:`syncer.state.contract.transaction.Transaction` joins the parts, :class:`syncer.state.contract.state.State` begins
one. Two implementations: :mod:`syncer.state.sql.database` (SQLite, PostgreSQL), which outlives the daemon, and
:mod:`syncer.state.memory`, which does not.
"""
