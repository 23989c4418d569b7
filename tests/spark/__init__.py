"""Bulk snapshots on a real Spark session."""
