"""Maintenance of a sidecar database: integrity check and compaction."""
