"""The daemon's HTTP surface: health, metrics and status."""
