"""Cost: the price of moving a bundle, before it is moved.

estimate  a figure with its basis: known, assumed or unknown, and unknown is never 0
retrying  when clients try again after they were cut off
price     seconds without service of each client, messages delivered again, bytes to catch up with
"""
