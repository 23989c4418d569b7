"""The report of a migration: what has happened, from its plan and from what was noted while it ran.

report         its values, and how it is made
flips          waves as they were moved: what was foreseen, what was done, for how long
reckoning      what each subscription had left at blue, and has read at green; what can be said of losses
changes        what was set, and whether it was put back
happenings     what was noted, in words
"""
