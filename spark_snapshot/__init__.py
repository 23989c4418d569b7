"""Bulk snapshots of metadata stores on Spark."""
