"""JSON documents of ``syncer ledgers``."""
