"""Audits on schedule: when one is due, how the latest ended, and the service of an active daemon that takes them."""
