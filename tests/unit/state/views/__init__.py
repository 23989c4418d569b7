"""Tests of views of the sidecar database."""
