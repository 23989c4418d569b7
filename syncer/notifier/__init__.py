"""Notifier of the active daemon: it looks what stands, has rules say what is due, and calls webhooks beside it.

    look (sidecar database) ─▶ rules (syncer.notices.rules) ─▶ one pending notice per receiver and kind ─▶ POST
                                     ▲                                                                     │ 2xx
                                     └────────── what the receiver was told (table ``notices``) ◀──────────┘

Nothing of the daemon waits for any part of it. What is pending is held in memory only: whoever becomes active next
finds in the table what was told, in the database what stands, and makes the same notice with the same id.
"""
