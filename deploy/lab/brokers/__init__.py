"""Pulsar clusters whose bookies and brokers are processes of their own, each broker with a CPU figure of its own.

cluster       all of a cluster's processes, and what a test asks of them
settings      how one is set up
bookie        a bookie
bookie_shell  BookKeeper's own shell, and what it prints
broker        a broker
cpu_group     a cgroup in which one broker has a share of the CPU, and is told its own usage

A cluster is whole or not there: what does not come up in time ends with its log in the error.
"""
