"""Unit tests of judging."""
