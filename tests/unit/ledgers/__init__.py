"""Unit tests of the ledger audit."""
