"""Unit tests of decoding."""
