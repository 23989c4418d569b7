"""Tests of the reach of commands."""
