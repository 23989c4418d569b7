"""Tests of the picture of a cluster's ledgers, and of what follows from it."""
