"""Carrying a plan of moves out: what the course of its run decides is asked of the cluster, and kept.

plan_file  plans kept in files
looking    the cluster as it is
acting     calls that change it
in_state   the run in the daemon's database
runner     carries one run
service    carries the run that is open, and answers operators
"""
