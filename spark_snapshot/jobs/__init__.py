"""The jobs: take a snapshot, compare snapshots."""
