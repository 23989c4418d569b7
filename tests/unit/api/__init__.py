"""Unit tests of the HTTP surface: what needs no server."""
