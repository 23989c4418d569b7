"""Repair: telling the group again what snapshots show to differ (read repair of whole stores)."""
