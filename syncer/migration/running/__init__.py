"""Carrying a migration out: what was decided is asked of the clusters, call by call, and reported.

clock       the time, and waiting
in_state    what must outlive the process, in the daemon's database
preparing   green is given what it lacks
"""
