"""Moving bundles by a plan: the plan, its bounds, and the course of its run, all of it pure.

bounds     how many moves at once and in an hour, and at which hours
move_plan  the plan, bound to the picture that it was made by
split      the splits that come before moves of their halves
planning   a plan made of advice
run        what is recorded of a run
holding    who else holds the cluster's balancing
sight      the cluster as it was just seen
acts       what is asked of it
splitting  the course of the splits
course     what is done next
"""
