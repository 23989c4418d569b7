"""Reads of the sidecar database, beside a running daemon or without one."""
