"""Schedules of faults: whole migrations of small clusters by chance, what goes wrong in them, and who was harmed.

profile, seed ─▶ clusters with clients ─▶ a controller, killed or not ─▶ ended ─▶ verdict
                      ▲ troubles, each behind an event of the migration
"""
