"""Tests of the commands about ledgers."""
