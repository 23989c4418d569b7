"""Metadata stores: one contract, one module each."""
