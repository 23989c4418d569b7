"""The sidecar database on SQL: SQLite or PostgreSQL."""
