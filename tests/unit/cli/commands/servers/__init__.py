"""Tests of the commands about the daemons of several regions."""
