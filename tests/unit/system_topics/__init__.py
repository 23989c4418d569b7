"""Tests of topic policies in system topics."""
