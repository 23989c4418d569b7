"""Comparing: strategies and settings of Pulsar beside each other over the same load, and our plans beside each.

contending  strategies with their settings that are compared
comparison  each of them played, and our cheapest plan that is as balanced as it
pictured    the load of a cluster as it was read, or recorded
own         a leader that makes the moves of our plan, and then rests
"""
