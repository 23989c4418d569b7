"""Work of the active daemon that takes its time, as the sidecar database keeps it."""
