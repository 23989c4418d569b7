"""Tests of the typed client."""
