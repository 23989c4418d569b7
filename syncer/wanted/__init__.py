"""Values that say which paths of a store are wanted, how they are shared out, and on which terms they are read. No IO.

Readers (:mod:`spark_snapshot.sources`) take such a value and know nothing of what it stands for. There are two kinds:
policies, whose paths :mod:`syncer.paths` classifies and a scope narrows; and paths of given shapes, as ledgers have.
"""
