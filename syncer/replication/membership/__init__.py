"""Membership of the group: join, leave, forget."""
