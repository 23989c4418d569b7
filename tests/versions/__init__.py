"""Versions of Pulsar: what their own classes say of the fields that they know."""
