"""The contract of sidecar databases, noun by noun: its values, and the part of a transaction that is about it.

:class:`~syncer.state.contract.transaction.Transaction` joins the parts; :class:`~syncer.state.contract.state.State`
begins one. Two implementations: :mod:`syncer.state.sql.database` (SQLite, PostgreSQL) for the daemon, and
:mod:`syncer.state.memory` (plain dictionaries) for simulations and embedders.
"""
