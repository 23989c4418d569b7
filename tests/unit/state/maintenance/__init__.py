"""Unit tests of the maintenance of a sidecar database."""
