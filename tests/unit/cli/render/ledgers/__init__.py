"""Tests of the rendering of answers about ledgers."""
