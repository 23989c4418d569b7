"""Unit tests of losses."""
