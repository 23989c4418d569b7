"""Vectors: cases with the answers that Pulsar's and BookKeeper's own classes gave, and what plays them.

``python -m tests.vectors DIRECTORY`` plays every file of a known name there; the copy beside this module is the
default. A kind of vectors is one module with a function for a case, and one line in :mod:`tests.vectors.registry`.
"""
