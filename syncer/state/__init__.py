"""The sidecar database: the state of one daemon that must outlive it."""
