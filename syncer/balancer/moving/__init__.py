"""Moving bundles by a plan: the plan, its bounds, and the course of its run, all of it pure.

bounds     how many moves at once and in an hour, and at which hours
move_plan  the plan, bound to the picture that it was made by
run        what is recorded of a run
course     what is done next
"""
