"""Unit tests of what compares releases."""
